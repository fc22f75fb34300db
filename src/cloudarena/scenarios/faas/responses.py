"""Response times that are no longer kept one by one: how many there were of each length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

QUANTILES = (0.5, 0.95, 0.99)
LEAST_S = 1e-6
"""Shorter times count as this one."""
STEP = 1e-3
"""The lengths that count as one differ by so much, in their natural logarithm."""
BINS = 1 << 16
"""More than there are from a microsecond to a billion years."""


class Responses:
    """Counts by function and length; memory does not grow with requests."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)  # function * BINS + length, rising
        self._counts = np.empty(0, np.int64)

    def add(self, seconds: NDArray[np.float64], functions: NDArray[np.int32]) -> None:
        """Counts response times of functions."""
        lengths = np.log(np.maximum(seconds, LEAST_S) / LEAST_S) / STEP
        keys, counts = np.unique(
            functions.astype(np.int64) * BINS + lengths.astype(np.int64), return_counts=True
        )
        both = np.concatenate((self._keys, keys))
        self._keys, place = np.unique(both, return_inverse=True)
        counts = np.concatenate((self._counts, counts))
        self._counts = np.bincount(place, counts, len(self._keys)).astype(np.int64)

    def quantiles_s(
        self, seconds: NDArray[np.float64], function: int | None = None
    ) -> NDArray[np.float64]:
        """The 50th, 95th and 99th percentile of these and what was counted; zeros if none were.

        Exact if nothing was counted; else within half a step, 0.05 %.
        """
        keys, counts = self._keys, self._counts
        if function is not None:
            own = keys // BINS == function
            keys, counts = keys[own], counts[own]
        if len(keys) == 0:
            if len(seconds) == 0:
                return np.zeros(len(QUANTILES))
            return np.asarray(np.quantile(seconds, QUANTILES), np.float64)
        middles = LEAST_S * np.exp((keys % BINS + 0.5) * STEP)
        values = np.concatenate((middles, seconds))
        order = np.argsort(values, kind="stable")
        below = np.cumsum(np.concatenate((counts, np.ones(len(seconds), np.int64)))[order])
        ranks = np.asarray(QUANTILES) * (below[-1] - 1)
        return np.asarray(values[order][np.searchsorted(below, ranks, side="right")], np.float64)
