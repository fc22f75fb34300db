"""A metric is a function of a run, with a docstring that says what it is.

This is one::

    @metric(better="lower", highlight=True)
    def energy_kwh(run: VmRun) -> float: ...

The name carries the unit. What is undefined, such as a mean over nothing served, is NaN; what is
known only as a bound is an ``AtLeast``.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, Literal, TypeVar

from cloudarena.base.errors import CloudarenaError, Ended, written
from cloudarena.base.measures import AtLeast
from cloudarena.base.names import UNSERVED, USERS

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
    most: Callable[[Any], float] | None = None
    """About the most it can be where lower is better: so much costs all work left undone."""
    worst: Callable[[Any], float] | None = None
    """What it costs besides to end a run with nothing served at all; ``most`` by default."""

    def __call__(self, run: Any) -> float:
        """The value for a run as it stands."""
        if self.function.__module__.startswith("cloudarena."):
            return self.function(run)
        return self._of_a_user(run)

    def _of_a_user(self, run: Any) -> float:
        """The value by a user's function; what it raises, or returns and is no number, is told."""
        from cloudarena.policies.blame import location_of, words_of

        try:
            value = self.function(run)
        except (CloudarenaError, Ended):
            raise
        except Exception as error:
            where = location_of(self.function, error)
            raise CloudarenaError(f"metric {self.name} ({where}): {words_of(error)}") from error
        is_number = isinstance(value, numbers.Real) or getattr(value, "shape", None) == ()
        if not is_number or math.isinf(float(value)):
            where = location_of(self.function)
            raise CloudarenaError(
                f"metric {self.name} ({where}): {written(value)} is not allowed: a finite number, "
                "or NaN where there is none"
            )
        return value if isinstance(value, AtLeast) else float(value)

    def earned(self, run: Any) -> float:
        """What learning has earned so far; the reward of a step is its increase."""
        if self.reward is not None:
            return self.reward(run) - self.left_undone(run)
        value = self(run)
        return (-value if self.better == "lower" else value) - self.left_undone(run)

    def objective(self, run: Any) -> float:
        """What an optimiser compares when a run has ended, in the direction of the metric.

        It is the metric where all work was served; else what learning would have earned, so that
        nobody is ahead by leaving work undone.
        """
        if self.better is None or run.scenario.kind.metric[UNSERVED](run) == 0.0:
            return self(run)
        earned = self.earned(run)
        return -earned if self.better == "lower" else earned

    def left_undone(self, run: Any) -> float:
        """What work that was not served costs who earns by this metric, not below 0."""
        most, worst = self.most, self.worst or self.most
        if worst is None:
            return 0.0
        share = run.scenario.kind.metric[UNSERVED](run)
        cost = share * most(run) if most is not None else 0.0
        # Only the end shows that nothing is served.
        return cost + worst(run) if share >= 1.0 and not run.is_deciding else cost

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
    most: Callable[[Any], float] | None = None,
    worst: Callable[[Any], float] | None = None,
) -> Callable[[Callable[[Any], float]], Metric]:
    """The decorator that makes a metric of a function of a run.

    Args:
        better: which of two values is the better one; None where neither is.
        highlight: whether a short table shows it.
        label: what people call it; made from its name by default.
        unit: the unit; that of the end of its name by default.
        reward: what learning earns instead of the metric, where the metric is undefined at
            times or could be improved by leaving work undone: finite, higher is better.
        most: about the most it can be in a run, where lower is better. As a reward and as an
            objective it has the share of work left undone times this added: who serves less does
            not earn more.
        worst: what is added besides if a run ends with nothing served; ``most`` by default.
    """

    def make(function: Callable[[Any], float]) -> Metric:
        name = function.__name__
        suffix = _suffix(name)
        found = UNITS.get(suffix, "") if unit is None else unit
        words = label or _label(name.removesuffix(suffix), found)
        description = " ".join((function.__doc__ or "").split())
        return Metric(
            name, description, better, highlight, words, found, function, reward, most, worst
        )

    return make


def label_of_column(name: str, has_unit: bool = True) -> str:
    """What people call a column of a table, such as ``Idle, W``."""
    suffix = _suffix(name)
    return _label(name.removesuffix(suffix), UNITS.get(suffix, "") if has_unit else "")


def _suffix(name: str) -> str:
    """The end of a name that stands for a unit."""
    return next((end for end in UNITS if name.endswith(end)), "")


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
