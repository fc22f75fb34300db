"""Harder and harder: a key of the spec that moves while training goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cloudarena.base.errors import SpecError
from cloudarena.catalogue import override
from cloudarena.contract import Scenario

LEVELS = 8
"""A curriculum goes from one end to the other in so many steps."""
LOAD = "load"
"""Stands for the kind's own keys of how much work comes, as a multiple of what the spec says."""


@dataclass(frozen=True)
class Curriculum:
    """A key of the spec, and from where to where it goes."""

    key: str
    begin: float
    end: float

    @classmethod
    def parse(cls, text: str) -> Curriculum:
        """A curriculum such as ``load=0.5:1.2`` or ``workload.vms=5000:12000``."""
        key, _, values = text.partition("=")
        begin, separator, end = values.partition(":")
        try:
            if not key or not separator:
                raise ValueError
            return cls(key, float(begin), float(end))
        except ValueError:
            raise SpecError(
                f"curriculum: {text!r} is not allowed: KEY=FROM:TO, such as load=0.5:1.2"
            ) from None

    def __str__(self) -> str:
        return f"{self.key}={self.begin:g}:{self.end:g}"

    def scenario(self, scenario: Scenario, part: float) -> Scenario:
        """The scenario as it is at a part of the training, from 0 to 1."""
        level = min(LEVELS - 1, int(part * LEVELS)) / (LEVELS - 1)
        value = self.begin + level * (self.end - self.begin)
        data: dict[str, Any] = scenario.model_dump(mode="json")
        for key, before in self._moved(scenario, data):
            after = value * before if self.key == LOAD else value
            override(data, key, round(after) if isinstance(before, int) else after)
        kind = scenario.kind
        return kind.scenario.parse(data, scenario.name).measuring(*kind.own_metrics)

    def _moved(self, scenario: Scenario, data: Any) -> list[tuple[str, float]]:
        """The keys that move, and what the spec has there."""
        if self.key != LOAD:
            return [(self.key, _value(data, self.key))]
        known = scenario.kind.load_keys
        found = [(key, _value(data, key)) for key in known if _is_number(_under(data, key))]
        if not found:
            raise SpecError(
                f"curriculum: load is not allowed: {scenario.name} has no key that says how much "
                f"work comes ({', '.join(known) or 'none of this kind does'}); name a key of the "
                "spec"
            )
        return found


def _value(data: Any, key: str) -> Any:
    """The number under a key such as ``workload.vms`` or ``machines[0].count``."""
    here = _under(data, key)
    if here is None:
        raise SpecError(f"curriculum: {key} is not allowed: the spec has no such key")
    if not _is_number(here):
        raise SpecError(f"curriculum: {key} is not allowed: it is no number in the spec")
    return here


def _under(data: Any, key: str) -> Any:
    """What is under a key; nothing where there is none."""
    here = data
    for word in key.replace("[", ".").replace("]", "").split("."):
        try:
            here = here[int(word)] if isinstance(here, (list, tuple)) else here[word]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return here


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
