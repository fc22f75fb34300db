"""An immutable, validated description of a cloud and its work."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pydantic import PrivateAttr, ValidationError

from cloudarena.base.errors import SpecError, explain
from cloudarena.base.yaml import parse_yaml, write_yaml
from cloudarena.contract.result import RecordLevel
from cloudarena.contract.spec import SPEC_VERSION, Spec, SpecVersion, union_tags

if TYPE_CHECKING:
    from cloudarena.contract.decision import Observer
    from cloudarena.contract.kind import Kind
    from cloudarena.contract.metric import Metric
    from cloudarena.contract.run import Run
    from cloudarena.contract.source import Source


class MachineGroup(NamedTuple):
    """Machines that are alike, whose number is a key of the spec."""

    name: str
    key: str
    """The key of their number."""
    number: int
    hourly_usd: float = 0.0
    """What one costs for an hour; 0 if that is not known."""
    also: tuple[str, ...] = ()
    """Keys that have the same number."""
    entry: str = ""
    """The key of all that is said of them, to be left out if there are none; empty if their
    number may be 0."""

    @classmethod
    def listed(cls, index: int, name: str, number: int, hourly_usd: float) -> MachineGroup:
        """The machines of an entry of the list ``machines``."""
        entry = f"machines[{index}]"
        return cls(name, f"{entry}.count", number, hourly_usd, entry=entry)


class Scenario(Spec):
    """What a user writes, as far as all kinds share it; a kind's ``spec.py`` adds the rest.

    It only describes: what runs it is in the other rooms of its kind, which are imported when
    they are first needed.
    """

    kind: ClassVar[Kind]
    """What the scenario is made of."""

    scenario: str
    version: SpecVersion = SPEC_VERSION
    """The version of specs that the file is written for."""
    description: str = ""
    policy: str | None = None
    """The policy of a run when the user names none, such as ``utilisation:high=0.9``."""
    record: RecordLevel = "summary"
    start_date: datetime | None = None
    """The date and time of time 0, as in 2026-01-05T00:00:00Z; UTC if it names no zone."""

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The catalogue name or the path the scenario was loaded from."""
        return self._name or self.kind.name

    @classmethod
    def parse(
        cls, data: Mapping[str, Any], name: str = "", folder: str | Path | None = None
    ) -> Self:
        """Validates a description; relative paths in it start from ``folder``."""
        try:
            scenario = cls.model_validate(dict(data), context={"folder": folder})
        except ValidationError as error:
            problems = error.errors(include_url=False)
            for problem in problems:
                problem["branches"] = union_tags(cls)  # type: ignore[typeddict-unknown-key]
            prefix = f"{name}: " if name else ""
            raise SpecError(
                "\n".join(prefix + line for line in explain(problems).splitlines())
            ) from None
        scenario._name = name
        return scenario

    def to_yaml(self, absolute: bool = False) -> str:
        """The whole spec, defaults included, as a YAML file that loads again.

        Args:
            absolute: makes paths absolute, so that the file may lie in any folder.
        """
        plain = _absolute(self.model_dump()) if absolute else self.model_dump(mode="json")
        return write_yaml(plain)

    @property
    def facts(self) -> tuple[str, ...]:
        """What the spec lets policies know besides what all of them see, such as ``durations``."""
        return ()

    @property
    def length_s(self) -> float | None:
        """The seconds that a run lasts, where the spec says it; amounts are then told by day."""
        return None

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The machines whose number is a key of the spec: what ``cloudarena size`` looks for."""
        return ()

    @property
    def source(self) -> Source | None:
        """Where its work comes from, of kinds whose work may be a recorded trace."""
        return None

    @property
    def resampled(self) -> str:
        """What replications draw again of a recorded trace, in words; nothing if they do not."""
        return "" if self.source is None else self.source.resampled

    @property
    def is_one_trace(self) -> bool:
        """Whether the work is a recorded trace, the same in all replications."""
        return self.source is not None and self.source.reads_files and not self.resampled

    @property
    def draws_nothing(self) -> bool:
        """Whether the seed decides nothing but what a policy may draw."""
        return False

    def measuring(self, *metrics: Metric) -> Self:
        """The scenario with metrics of a user's besides those of its kind."""
        copy = self.model_copy()
        copy.__dict__["kind"] = self.kind.measuring(*metrics)
        return copy

    def apart(self) -> Self:
        """The scenario with parts of its own: who writes to them changes no run."""
        copy = self.model_copy()
        for name in type(self).model_fields:
            copy.__dict__[name] = deepcopy(getattr(self, name))
        return copy

    def like(self, other: Scenario) -> Self:
        """The scenario with the metrics of users and the work that another was given."""
        copy = self.measuring(*other.kind.own_metrics)
        if "load_workload" in vars(other):
            copy.__dict__["load_workload"] = vars(other)["load_workload"]
        return copy

    def compared_policies(self) -> list[str]:
        """The built-in policies that are compared when nobody names any."""
        return self.kind.policies.compared_names(self.facts)

    @abstractmethod
    def load_workload(self, seed: int) -> Any:
        """The work of a seed, as the sources of the kind give it."""

    def with_workload(self, workload: Any, **changes: Any) -> Self:
        """The scenario with other work, whatever the seed, and other values of its keys."""
        copy = self.model_copy(update=changes)
        copy.__dict__["load_workload"] = lambda seed: workload
        return copy

    def not_told(self, seed: int) -> Mapping[str, str]:
        """The figures of its work that do not stand in its source, and where they come from."""
        return {}

    def memory_needs(self, record: RecordLevel) -> tuple[float, str]:
        """How many bytes a run takes at least, and the keys that decide it with their values."""
        return self.kind.memory_needs(self, record)

    def start(self, seed: int = 0, record: RecordLevel | None = None) -> Run[Any]:
        """Begins a run. The seed decides everything that is random in it."""
        return self.kind.run(self, seed, record or self.record)

    def observer(self, reward: str | None = None) -> Observer:
        """The features, masks and rewards for learning; ``reward`` names the metric to earn."""
        return self.kind.observer(self, reward or self.kind.headline)


def scenario_from_yaml(text: str, name: str = "") -> Scenario:
    """The scenario that ``to_yaml`` wrote, under the name that it had.

    Its kind is asked of ``cloudarena.scenarios``, which is above this layer and is imported now.
    """
    try:
        data = parse_yaml(text)
    except ValueError as error:
        raise SpecError(f"spec.yaml, {error}") from None
    if not isinstance(data, dict) or "scenario" not in data:
        raise SpecError("spec.yaml: scenario: is required")
    kind: Kind = importlib.import_module("cloudarena.scenarios").kind_named(str(data["scenario"]))
    return kind.scenario.parse(data, name)


def _absolute(value: Any) -> Any:
    """Plain values, with absolute paths."""
    if isinstance(value, dict):
        return {key: _absolute(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_absolute(entry) for entry in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value.absolute()) if isinstance(value, Path) else value
