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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import AtLeast, censored_mean, censored_quantiles

QUANTILES = (0.5, 0.95, 0.99)
LEAST_S = 1e-6
"""Shorter times count as this one."""
STEP = 1e-3
"""The lengths that count as one differ by so much, in their natural logarithm."""
SLACK = 1e-12
"""By which sums of shares may be off."""
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
            return _estimate(seconds, None, waited)
        middles = LEAST_S * np.exp((keys % BINS + 0.5) * STEP)
        counts = np.concatenate((counts, np.ones(len(seconds), np.int64)))
        return _estimate(np.concatenate((middles, seconds)), counts, waited)


def _estimate(times: Seconds, counts: Counts | None, waited: Seconds) -> ResponseTimes:
    """Of times that were there so often, once by default, and some that are longer than waited.

    By redistribution to the right (Efron 1967): all times between two that were censored have the
    same weight, and what is censored leaves its own to those that are longer, in equal parts.
    """
    part = np.searchsorted(np.sort(waited), times)
    numbers = np.bincount(part, counts, len(waited) + 1)
    sums = np.bincount(part, times if counts is None else times * counts, len(waited) + 1)
    total = numbers.sum() + len(waited)
    longer = total - np.cumsum(numbers)[:-1] - np.arange(1, len(waited) + 1)
    growth = np.divide(longer + 1.0, longer, out=np.ones(len(waited)), where=longer > 0)
    weights = np.cumprod(np.concatenate(([1.0 / total], growth)))
    upto = np.cumsum(weights * numbers)
    censored = len(waited) / total
    found: list[float] = []
    for level in QUANTILES:
        if level <= 1.0 - censored and upto[-1] >= level - SLACK:
            k = int(np.searchsorted(upto, level - SLACK))
            more = (level - SLACK - upto[k] + weights[k] * numbers[k]) / weights[k]
            rank = int(numbers[:k].sum()) + max(math.ceil(more), 1) - 1
            found.append(_ranked(times, counts, rank))
        else:
            ones = np.ones(len(waited), np.int64)
            both = None if counts is None else np.concatenate((counts, ones))
            rank = max(math.ceil(level * total) - 1, 0)
            found.append(AtLeast(_ranked(np.concatenate((times, waited)), both, rank)))
    if censored > MOST_CENSORED or numbers[-1] == 0:
        mean: float = AtLeast((sums.sum() + waited.sum()) / total)
    else:
        mean = float(weights @ sums)
    return ResponseTimes(mean, *found)


def _ranked(times: Seconds, counts: Counts | None, rank: int) -> float:
    """The time of a rank, from 0 on, in rising order."""
    if counts is None:
        return float(np.partition(times, rank)[rank])
    order = np.argsort(times, kind="stable")
    return float(times[order][np.searchsorted(np.cumsum(counts[order]), rank, side="right")])
