"""Means with their intervals, and differences that are no more than rounding."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
ROUNDING = 1e-9
"""Differences below this part of the size of the numbers are rounding, not a difference."""


class Estimate(NamedTuple):
    """A mean and its confidence interval; without one (NaN) after a single replication.

    A high end that is infinite says that the mean is a lower bound, since some work had not
    finished; a low end that is infinite says that it is an upper bound.
    """

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    @property
    def is_at_least(self) -> bool:
        """Whether the mean is a lower bound."""
        return self.high == math.inf

    @property
    def is_at_most(self) -> bool:
        """Whether the mean is an upper bound."""
        return self.low == -math.inf


def interval(values: NDArray[np.float64], level: float = CONFIDENCE) -> Estimate:
    """The mean of independent values with Student's confidence interval.

    Values that differ by rounding alone have an interval without width.
    """
    if len(values) == 0:
        return Estimate(math.nan, math.nan, math.nan)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan)
    if is_constant(values):
        return Estimate(float(values[0]), float(values[0]), float(values[0]))
    from scipy.special import stdtrit

    quantile = -float(stdtrit(len(values) - 1, (1 - level) / 2))
    half = quantile * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(mean, mean - half, mean + half)


def is_constant(values: NDArray[np.float64]) -> bool:
    """Whether all values are the same, up to rounding; not if one of them is NaN."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def differences(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """What x exceeds y by, pair by pair; 0 where that is rounding."""
    change = x - y
    size = max(float(np.abs(values).max(initial=0.0)) for values in (x, y))
    return np.where(np.abs(change) <= ROUNDING * size, 0.0, change)
