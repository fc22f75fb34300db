"""Response times: how long requests took, those without an answer included.

A request that is in the system has waited so long, and its response time is longer: it is censored
(``measures.censored_quantiles``). Response times that are no longer kept one by one are counted by
their length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import censored_mean, censored_quantiles

QUANTILES = (0.5, 0.95, 0.99)
LEAST_S = 1e-6
"""Shorter times count as this one."""
STEP = 1e-3
"""The lengths that count as one differ by so much, in their natural logarithm."""
BINS = 1 << 16
"""More than there are from a microsecond to a billion years."""

Seconds = NDArray[np.float64]
Counts = NDArray[np.int64]


class ResponseTimes(NamedTuple):
    """Response times in seconds: NaN without requests, ``AtLeast`` where only bounds are known."""

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
        self._keys, inverse = np.unique(both, return_inverse=True)
        counts = np.concatenate((self._counts, counts))
        self._counts = np.bincount(inverse, counts, len(self._keys)).astype(np.int64)

    def times_s(
        self, seconds: Seconds, waited: Seconds, function: int | None = None, without: int = 0
    ) -> ResponseTimes:
        """The mean and percentiles of these and what was counted.

        Args:
            seconds: response times beside those that were counted.
            waited: how long the requests without an answer have waited.
            function: of which counts are taken; all by default.
            without: so many of the shortest that were answered do not count.

        Exact if nothing was counted; else each time is within half a step, 0.05 %.
        """
        keys, counts = self._keys, self._counts
        if function is not None:
            own = keys // BINS == function
            keys, counts = keys[own], counts[own]
        if len(keys) == 0:
            return _times(np.sort(seconds)[without:] if without else seconds, waited, None)
        middles = LEAST_S * np.exp((keys % BINS + 0.5) * STEP)
        counts = np.concatenate((counts, np.ones(len(seconds), np.int64)))
        both, counts = _without(np.concatenate((middles, seconds)), counts, without)
        return _times(both, waited, counts)


def _without(seconds: Seconds, counts: Counts, shortest: int) -> tuple[Seconds, Counts]:
    """Times and how often there is each, without so many of the shortest."""
    order = np.argsort(seconds, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    left = counts.copy()
    left[order] -= np.clip(shortest - before, 0, counts[order])
    return seconds[left > 0], left[left > 0]


def _times(seconds: Seconds, waited: Seconds, counts: Counts | None) -> ResponseTimes:
    return ResponseTimes(
        censored_mean(seconds, waited, counts),
        *censored_quantiles(seconds, waited, QUANTILES, counts),
    )
