"""A part of the work of a scenario: so many pieces of it in a row, or those of so many hours."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.arrays import is_whole
from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOURS = "hours"
"""The unit of windows of time; others count pieces of work, such as ``jobs``."""
WHOLE = ""
"""The unit of windows that are the whole work of a seed."""
SECONDS_PER_HOUR = 3600.0
STARTS = 1024
"""The most places, evenly spaced over the work, at which windows begin."""
SEEDS = 8
"""The number of seeds whose work is taken, where the seed decides it."""


def whole_windows(arrivals: NDArray[Any], unit: str, length: float) -> int:
    """How many of the pieces of work, the first ones, a whole window can begin with.

    Args:
        arrivals: when each piece of work arrives, rising, in seconds.
        unit: ``hours``, or anything else for pieces of work.
        length: of the window, in that unit.
    """
    if unit == HOURS:
        last = arrivals[-1] - length * SECONDS_PER_HOUR
        return int(np.searchsorted(arrivals, last, side="right"))
    return max(0, len(arrivals) - int(length) + 1)


def end_of_window(arrivals: NDArray[Any], first: int, unit: str, length: float) -> int:
    """The piece of work behind the last one of a window that begins with the piece ``first``."""
    if unit == HOURS:
        return int(np.searchsorted(arrivals, arrivals[first] + length * SECONDS_PER_HOUR))
    return min(first + int(length), len(arrivals))


class Window(NamedTuple):
    """How long an episode is, and where it may begin."""

    unit: str
    """``hours``, the kind's pieces of work, such as ``jobs``, or ``WHOLE``."""
    length: float
    seeds: int = SEEDS
    starts: int = STARTS
    warmup: float = 0.0
    """How much of the same unit comes before, in which the scenario's own policy decides."""

    @property
    def with_warmup(self) -> Window:
        """The window together with what comes before it."""
        return self._replace(length=self.length + self.warmup, warmup=0.0)

    @classmethod
    def of(cls, given: Mapping[str, Any], units: tuple[str, ...]) -> Window:
        """A window as a user writes it: ``{"jobs": 256}`` or ``{"hours": 24, "seeds": 1}``.

        ``{"seeds": 8}`` alone means whole runs of eight seeds.
        """
        if not isinstance(given, Mapping):
            example = f"{{{units[0]!r}: 24}}" if units else "{'seeds': 8}"
            raise SpecError(f"window: {given!r} is not allowed: a mapping such as {example}")
        allowed = (*units, "seeds", "starts", "warmup") if units else ("seeds",)
        for name in given:
            if name not in allowed:
                raise SpecError(f"window.{name}: is not allowed: one of {', '.join(allowed)}")
        named = [unit for unit in units if unit in given]
        if len(named) > 1 or (not named and set(given) != {"seeds"}):
            wanted = f"one of {', '.join(units)}" if units else "seeds"
            raise SpecError(f"window: {dict(given)!r} is not allowed: {wanted}")
        counts = {"seeds": given.get("seeds", SEEDS), "starts": given.get("starts", STARTS)}
        for name, count in counts.items():
            if not is_whole(count) or not count >= 1:
                raise SpecError(f"window.{name}: {count!r} is not allowed: a whole number from 1")
        seeds, starts = int(counts["seeds"]), int(counts["starts"])
        if not named:
            return cls(WHOLE, 0.0, seeds, seeds)
        unit = named[0]
        length, warmup = given[unit], given.get("warmup", 0)
        for name, amount in ((unit, length), ("warmup", warmup)):
            least = "above 0" if name == unit else "from 0"
            if not _is_amount(amount) or not (amount > 0 or (name == "warmup" and amount == 0)):
                raise SpecError(f"window.{name}: {amount!r} is not allowed: a number {least}")
            if unit != HOURS and not is_whole(amount):
                raise SpecError(f"window.{name}: {amount!r} is not allowed: a whole number")
        return cls(unit, float(length), seeds, starts, float(warmup))


def _is_amount(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
