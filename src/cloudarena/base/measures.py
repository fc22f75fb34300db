"""Means, quantiles and ratios of what a run measured, honest about what was left undone.

What is undefined, such as the mean over nothing, is NaN. What is known only as a bound, since some
work had not finished when the run ended, is an ``AtLeast``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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


def censored_mean(
    finished: ArrayLike, waited: ArrayLike = (), counts: ArrayLike | None = None
) -> float:
    """The mean of times of which some had not ended: they count as long as they lasted so far.

    While there are any it is a lower bound: how long they will take nobody knows.

    Args:
        finished: the times of what has ended.
        waited: how long the rest has lasted up to the end of the run; its times are longer.
        counts: how often there is each of the finished; once by default.
    """
    ended, open_ended = _times(finished), _times(waited)
    often = np.ones(len(ended)) if counts is None else _times(counts)
    total = often.sum() + len(open_ended)
    if total == 0:
        return math.nan
    if counts is None:
        mean = float(np.concatenate([ended, open_ended]).mean())
    else:
        mean = float((ended @ often + open_ended.sum()) / total)
    return AtLeast(mean) if len(open_ended) else mean


def censored_quantiles(
    finished: ArrayLike,
    waited: ArrayLike,
    levels: tuple[float, ...],
    counts: ArrayLike | None = None,
) -> tuple[float, ...]:
    """The times within which these shares of all had ended.

    What has not ended is longer than all that has: who leaves work waiting never has a lower
    quantile for it, and "95 % had ended within x" is true however long the rest will take. Where
    a quantile falls among what has not ended it is a lower bound: the quantile if all of it ended
    at the end of the run. Between two times it is interpolated, as numpy does.

    Args:
        finished: the times of what has ended.
        waited: how long the rest has lasted up to the end of the run; its times are longer.
        levels: the shares, from 0 to 1.
        counts: how often there is each of the finished; once by default.
    """
    ended, open_ended = _times(finished), _times(waited)
    often = None if counts is None else np.asarray(counts, np.int64).ravel()
    done = len(ended) if often is None else int(often.sum())
    total = done + len(open_ended)
    if total == 0:
        return (math.nan,) * len(levels)
    # Rounding must not carry a quantile that is the last of the finished to the one behind it.
    is_known = [level * (total - 1) <= done - 1 + 1e-12 * total for level in levels]
    longest = np.full(len(open_ended), ended.max(initial=0.0))
    known = _quantiles(ended, longest, levels, often)
    if all(is_known):
        return tuple(known.tolist())
    least = _quantiles(ended, open_ended, levels, often)
    return tuple(
        float(time) if exact else AtLeast(bound)
        for exact, time, bound in zip(is_known, known, least, strict=True)
    )


def _quantiles(
    times: NDArray[np.float64],
    others: NDArray[np.float64],
    levels: tuple[float, ...],
    counts: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Quantiles of times, which are there so often, and others, which are there once."""
    both = np.concatenate([times, others])
    if counts is None:
        return np.asarray(np.quantile(both, levels))
    order = np.argsort(both, kind="stable")
    upto = np.cumsum(np.concatenate([counts, np.ones(len(others), np.int64)])[order])
    position = np.asarray(levels) * (upto[-1] - 1)
    below, above = (
        both[order][np.searchsorted(upto, rank, side="right")]
        for rank in (np.floor(position), np.ceil(position))
    )
    return np.asarray(below + (above - below) * (position - np.floor(position)))


def _times(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64).ravel()
