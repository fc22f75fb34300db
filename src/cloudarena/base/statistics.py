"""Means with Student's intervals, differences that are no more than rounding, Pareto fronts.

Comparisons and optimisers say how sure they are by these; there are no others in the package.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Flags, Floats, Ints

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


def interval(values: Floats, level: float = CONFIDENCE) -> Estimate:
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
    quantile = float(student_quantile(len(values) - 1, (1 - level) / 2))
    half = quantile * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(mean, mean - half, mean + half)


def student_quantile(freedom: ArrayLike, tail: ArrayLike) -> Floats:
    """How many standard errors a mean is off at most, but with the probability ``tail``.

    Args:
        freedom: degrees of freedom of the standard error: replications less one.
        tail: the probability that is left out on one side.
    """
    from scipy.special import stdtrit

    return np.asarray(-stdtrit(freedom, tail))


def is_constant(values: Floats) -> bool:
    """Whether all values are the same, up to rounding; not if one of them is NaN."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def differences(x: Floats, y: Floats) -> Floats:
    """What x exceeds y by, pair by pair; 0 where that is rounding."""
    change = x - y
    size = max(float(np.abs(values).max(initial=0.0)) for values in (x, y))
    return np.where(np.abs(change) <= ROUNDING * size, 0.0, change)


def front_of(losses: Floats) -> Ints:
    """The indices of the points that no other dominates, ascending; equal points are all on it.

    A point dominates another if it is nowhere larger and somewhere smaller.

    Args:
        losses: what is minimised, an array of (points, objectives), without NaN.
    """
    if losses.shape[1] == 1:
        return np.flatnonzero(losses[:, 0] == losses[:, 0].min(initial=math.inf))
    left = _undominated_by_central(losses)
    points = losses[left]
    if losses.shape[1] == 2:
        return left[_is_on_front_of_pairs(points)]
    return left[_is_on_front_of_many(points)]


def _undominated_by_central(losses: Floats) -> Ints:
    """The points that the one with the least sum of stretched losses leaves: most often few."""
    if not len(losses):
        return np.arange(0)
    columns = np.ascontiguousarray(losses.T)  # several times as fast as rows
    total = np.zeros(len(losses))
    for column in columns:
        low, high = column.min(), column.max()
        if high > low:
            total += (column - low) / (high - low)
    central = losses[np.argmin(total)]
    smaller, larger = np.zeros((2, len(losses)), np.bool_)
    for column, value in zip(columns, central, strict=True):
        smaller |= column < value
        larger |= column > value
    return np.flatnonzero(smaller | ~larger)


def _is_on_front_of_pairs(points: Floats) -> Flags:
    """Marks, in the order of both objectives, each new least value of the second one."""
    first, second = points.T
    order = np.lexsort((second, first))
    x, y = first[order], second[order]
    is_lower = np.ones(len(order), np.bool_)
    is_lower[1:] = y[1:] < np.minimum.accumulate(y)[:-1]
    # What equals the last point of the front is on it too.
    last = np.maximum.accumulate(np.where(is_lower, np.arange(len(order)), 0))
    on_front = np.empty(len(order), np.bool_)
    on_front[order] = (x == x[last]) & (y == y[last])
    return on_front


def _is_on_front_of_many(points: Floats) -> Flags:
    """Marks the front in the order of the sums, where nobody precedes one that dominates it."""
    on_front = np.zeros(len(points), np.bool_)
    left = np.lexsort((*points.T[::-1], points.sum(axis=1)))
    while len(left):
        point = points[left[0]]
        on_front[left[0]] = True
        others = points[left[1:]]
        left = left[1:][(others < point).any(axis=1) | (others == point).all(axis=1)]
    return on_front
