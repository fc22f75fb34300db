"""Response times: how long requests took, those without an answer included.

A request that is in the system has waited so long, and its response time is longer: it is censored.
With some always under way at the end of a run, means and percentiles are those of the product-limit
estimate (Kaplan and Meier 1958): what is censored early counts, from then on, like the others that
took at least as long. A percentile that would fall among the censored, if they took for ever, is
only known as a lower bound, and marked as such: its value if all ended now. So is the mean if the
longest time is censored, or more than a twentieth of all.

Response times that are no longer kept one by one are counted by their length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.measures import AtLeast, censored_mean, censored_quantiles

QUANTILES = (0.5, 0.95, 0.99)
LEAST_S = 1e-6
"""Shorter times count as this one."""
STEP = 1e-3
"""The lengths that count as one differ by so much, in their natural logarithm."""
MOST_CENSORED = 0.05
"""The share of requests without an answer up to which the mean is estimated."""
BINS = 1 << 16
"""More than there are from a microsecond to a billion years."""

Seconds = NDArray[np.float64]
Counts = NDArray[np.int64]


class ResponseTimes(NamedTuple):
    """In seconds: NaN without requests, an ``AtLeast`` where only a lower bound is known."""

    mean: float
    p50: float
    p95: float
    p99: float


class Responses:
    """Counts by function and length; memory does not grow with requests."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)  # function * BINS + length, rising
        self._counts = np.empty(0, np.int64)

    def add(self, seconds: Seconds, functions: NDArray[np.int32]) -> None:
        """Counts response times of functions."""
        lengths = np.log(np.maximum(seconds, LEAST_S) / LEAST_S) / STEP
        keys, counts = np.unique(
            functions.astype(np.int64) * BINS + lengths.astype(np.int64), return_counts=True
        )
        both = np.concatenate((self._keys, keys))
        self._keys, place = np.unique(both, return_inverse=True)
        counts = np.concatenate((self._counts, counts))
        self._counts = np.bincount(place, counts, len(self._keys)).astype(np.int64)

    def times_s(
        self, seconds: Seconds, waited: Seconds, function: int | None = None
    ) -> ResponseTimes:
        """The mean and percentiles of these and what was counted.

        Args:
            seconds: response times beside those that were counted.
            waited: how long the requests without an answer have waited.
            function: of which counts are taken; all by default.

        Exact if nothing was counted; else each time is within half a step, 0.05 %.
        """
        keys, counts = self._keys, self._counts
        if function is not None:
            own = keys // BINS == function
            keys, counts = keys[own], counts[own]
        if len(keys) == 0 and len(waited) == 0:
            return ResponseTimes(
                censored_mean(seconds), *censored_quantiles(seconds, (), QUANTILES)
            )
        if len(keys) == 0:
            return _estimate(np.sort(seconds), np.ones(len(seconds), np.int64), waited)
        middles = LEAST_S * np.exp((keys % BINS + 0.5) * STEP)
        values = np.concatenate((middles, seconds))
        order = np.argsort(values, kind="stable")
        counts = np.concatenate((counts, np.ones(len(seconds), np.int64)))
        return _estimate(values[order], counts[order], waited)


def _estimate(times: Seconds, counts: Counts, waited: Seconds) -> ResponseTimes:
    """Of rising times that were there so many times, and of some that are longer than waited."""
    ended, total = int(counts.sum()), int(counts.sum()) + len(waited)
    passed = np.bincount(np.searchsorted(times, waited, "right"), minlength=len(times) + 1)
    longer = len(waited) - np.cumsum(passed[:-1])  # that have waited as long as each of the times
    at_risk = ended - np.cumsum(counts) + counts + longer
    survival = np.cumprod(1.0 - counts / at_risk)
    falling, censored = -survival, len(waited) / total
    found = [
        float(times[np.searchsorted(falling, level - 1.0 - 1e-12)])
        if level <= 1.0 - censored and survival[-1] <= 1.0 - level
        else AtLeast(_counted_quantile(times, counts, waited, level))
        for level in QUANTILES
    ]
    if censored > MOST_CENSORED or survival[-1] > 0.0:
        mean: float = AtLeast((times @ counts + waited.sum()) / total)
    else:
        mean = float(times @ -np.diff(survival, prepend=1.0))
    return ResponseTimes(mean, *found)


def _counted_quantile(times: Seconds, counts: Counts, waited: Seconds, level: float) -> float:
    """The least time that at least this share of all do not exceed, if all ended now."""
    values = np.concatenate((times, waited))
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(np.concatenate((counts, np.ones(len(waited), np.int64)))[order])
    return float(values[order][np.searchsorted(upto, level * upto[-1])])
