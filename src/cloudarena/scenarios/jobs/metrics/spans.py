"""Spans of time of jobs and tasks, and their means and quantiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.measures import censored_mean, censored_quantiles


def _longest(values: Floats, ended: NDArray[np.bool_], count: int) -> Ints:
    """Which values are the longest, so many of them; what has not ended is longer than the rest."""
    order = np.lexsort((values, ~ended))
    return np.sort(order[max(0, len(values) - count) :])


class Spans(NamedTuple):
    """A span of time of each job, or task, that has arrived, over a unit of its own."""

    begin: Floats
    end: Floats
    """Infinity where it has not ended."""
    unit: Floats | float
    least: Floats | float
    """No span counts less, in its unit."""
    total: int
    """How many there are in all, also of jobs that have not arrived."""
    counted: int | None = None
    """How many count, the longest ones; all if there is no warm-up."""

    def until(self, time: float) -> Floats:
        """The spans, if those that have not ended do so at a time."""
        return self._counted(time)[0]

    def _counted(self, time: float) -> tuple[Floats, NDArray[np.bool_]]:
        """The spans that count until a time, and which of them have ended."""
        values = np.maximum((np.minimum(self.end, time) - self.begin) / self.unit, self.least)
        ended = np.isfinite(self.end)
        if self.counted is None or len(values) <= self.counted:
            return values, ended
        chosen = _longest(values, ended, self.counted)
        return values[chosen], ended[chosen]

    def after(self, warmup_s: float, first: int) -> Spans:
        """The spans from the first on that was submitted after a warm-up, or that end after it."""
        if warmup_s == 0.0:
            return self
        chosen = (np.arange(len(self.end)) >= first) | (self.end > warmup_s)
        unit, least = (np.broadcast_to(of, self.end.shape)[chosen] for of in self[2:4])
        counted = max(0, len(self.end) - first)
        return Spans(self.begin[chosen], self.end[chosen], unit, least, self.total - first, counted)

    def mean(self, now: float) -> float:
        """The mean so far; a lower bound if one has not ended."""
        values, ended = self._counted(now)
        return censored_mean(values[ended], values[~ended])

    def quantile(self, now: float, level: float) -> float:
        """A quantile so far; a lower bound unless it is the same however long the others take."""
        values, ended = self._counted(now)
        return censored_quantiles(values[ended], values[~ended], (level,))[0]
