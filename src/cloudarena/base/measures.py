"""Means, quantiles and ratios of what a run measured, honest about what was left undone.

What is undefined, such as the mean over nothing, is NaN. What is known only as a bound, since some
work had not finished when the run ended, is an ``AtLeast``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNSERVED = "unserved_share"
"""The metric that every kind has: the share of its work that was not served, lower is better."""


class AtLeast(float):
    """A metric of which only a lower bound is known: some of what it measures has not finished.

    It is a float like any other in calculations; tables show it as ``> x``, and a verdict never
    calls it the lower of two.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"AtLeast({float(self)!r})"


def ratio(numerator: float, denominator: float) -> float:
    """A quotient; NaN when there is nothing to divide by."""
    return numerator / denominator if denominator else math.nan


def censored_mean(finished: ArrayLike, waited: ArrayLike = ()) -> float:
    """The mean of times of which some had not ended: they count as long as they lasted so far.

    Args:
        finished: the times of what has ended.
        waited: how long the rest has lasted up to the end of the run; its times are longer.
    """
    ended, open_ended = _times(finished), _times(waited)
    if len(ended) + len(open_ended) == 0:
        return math.nan
    mean = float(np.concatenate([ended, open_ended]).mean())
    return AtLeast(mean) if len(open_ended) else mean


def censored_quantiles(
    finished: ArrayLike, waited: ArrayLike, levels: tuple[float, ...]
) -> tuple[float, ...]:
    """The quantiles of times of which some had not ended.

    A quantile is exact when it is the same however long the unfinished will take; else it is a
    lower bound, the quantile if they all ended at the end of the run.
    """
    ended, open_ended = _times(finished), _times(waited)
    if len(ended) + len(open_ended) == 0:
        return (math.nan,) * len(levels)
    low = np.quantile(np.concatenate([ended, open_ended]), levels)
    if len(open_ended) == 0:
        return tuple(float(value) for value in low)
    # Not infinity: where a quantile is exactly one of the times, 0 * infinity would be added to it.
    never = np.concatenate([ended, np.full(len(open_ended), 1e300)])
    high = np.quantile(never, levels)
    return tuple(
        float(least) if least == most else AtLeast(least)
        for least, most in zip(low, high, strict=True)
    )


def _times(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64).ravel()
