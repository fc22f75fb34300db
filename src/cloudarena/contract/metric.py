"""A metric is a function of a run, with a docstring that says what it is::

    @metric(better="lower", highlight=True)
    def energy_kwh(run: VmRun) -> float: ...

The name carries the unit. What is undefined, such as a mean over nothing served, is NaN; what is
known only as a bound is an ``AtLeast``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, Literal, TypeVar

from cloudarena.base.names import USERS

Direction = Literal["higher", "lower"]
Part = TypeVar("Part")

UNITS = {
    "_usd": "$",
    "_kwh": "kWh",
    "_wh": "Wh",
    "_j": "J",
    "_w": "W",
    "_s": "s",
    "_g": "g",
    "_mb": "MB",
    "_gb": "GB",
    "_ticks": "ticks",
}
"""The units that the end of a metric's name stands for."""
WORDS = {"cpu": "CPU", "gpu": "GPU", "sla": "SLA", "vm": "VM", "vms": "VMs"}
QUANTILES = {"p50": "median", "p75": "75th percentile", "p95": "95th percentile"}


@dataclass(frozen=True)
class Metric:
    """One number that every run of a kind measures, and how to read it."""

    name: str
    description: str
    """What it is and its formula, in the words of its docstring."""
    better: Direction | None = None
    """Which of two values is the better one; None where neither is."""
    highlight: bool = False
    """Whether a short table shows it."""
    label: str = ""
    """What people call it, such as ``Profit, $``."""
    unit: str = ""
    function: Callable[[Any], float] = lambda run: math.nan
    """What measures it; NaN where only values that were measured elsewhere are compared."""
    reward: Callable[[Any], float] | None = None
    """What learning earns: a finite number at every moment of a run, higher is better."""

    def __call__(self, run: Any) -> float:
        """The value for a run as it stands."""
        return self.function(run)

    def earned(self, run: Any) -> float:
        """What learning has earned so far; the reward of a step is its increase."""
        if self.reward is not None:
            return self.reward(run)
        value = self.function(run)
        return -value if self.better == "lower" else value

    def __reduce__(self) -> Any:
        module = self.function.__module__
        is_users = module == "__main__" or module.startswith(USERS)
        if getattr(sys.modules.get(module), self.name, None) is self and not is_users:
            return _metric_named, (module, self.name)
        return Metric, tuple(getattr(self, one.name) for one in fields(self))


def _metric_named(module: str, name: str) -> Any:
    """The metric of a room, for another process."""
    return getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)


def metric(
    better: Direction | None = None,
    highlight: bool = False,
    label: str | None = None,
    unit: str | None = None,
    reward: Callable[[Any], float] | None = None,
) -> Callable[[Callable[[Any], float]], Metric]:
    """The decorator that makes a metric of a function of a run.

    Args:
        better: which of two values is the better one; None where neither is.
        highlight: whether a short table shows it.
        label: what people call it; made from its name by default.
        unit: the unit; that of the end of its name by default.
        reward: what learning earns instead of the metric, where the metric is undefined at
            times or could be improved by leaving work undone: finite, higher is better.
    """

    def make(function: Callable[[Any], float]) -> Metric:
        name = function.__name__
        suffix = next((end for end in UNITS if name.endswith(end)), "")
        found = UNITS.get(suffix, "") if unit is None else unit
        words = label or _label(name.removesuffix(suffix), found)
        description = " ".join((function.__doc__ or "").split())
        return Metric(name, description, better, highlight, words, found, function, reward)

    return make


def _label(words: str, unit: str) -> str:
    """A name as people write it, with its unit."""
    parts = [WORDS.get(part, QUANTILES.get(part, part)) for part in words.split("_")]
    text = " ".join(parts)
    text = text if text[:2].isupper() else text[:1].upper() + text[1:]
    return f"{text}, {unit}" if unit else text


def shared(function: Callable[[Any], Part]) -> Callable[[Any], Part]:
    """Makes a part of several metrics be computed once for each state of a run."""

    @wraps(function)
    def once(run: Any) -> Part:
        parts = run.parts
        if function not in parts:
            parts[function] = function(run)
        found: Part = parts[function]
        return found

    return once
