"""Counts, means and squared deviations of the objectives of designs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints


class Moments(NamedTuple):
    """What is kept of the replications of some designs."""

    counts: Ints  # (designs,)
    mean: Floats  # (designs, objectives)
    squares: Floats  # (designs, objectives): sums of squared deviations from the mean

    @property
    def variance(self) -> Floats:
        """The unbiased variance of a replication; NaN where there is a single one."""
        freedom = np.where(self.counts > 1, self.counts - 1, np.nan)
        return np.asarray(self.squares / freedom[:, None])

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean, if replications are independent of each other."""
        return np.asarray(np.sqrt(self.variance / self.counts[:, None]))

    def at(self, indices: Ints) -> Moments:
        """The moments of some of the designs."""
        return Moments(self.counts[indices], self.mean[indices], self.squares[indices])

    def times(self, signs: Floats) -> Moments:
        """The moments of the objectives times 1 or -1 each."""
        return Moments(self.counts, self.mean * signs, self.squares)


def moments_of(values: Floats) -> Moments:
    """The moments over the replications of an array of (designs, replications, objectives).

    A design's are the same to the last bit whatever other designs are in the array. They are those
    of differences from the first replication, so that what never varies has a variance of 0 and not
    of a rounding error: that it was never seen to vary is what intervals must know.
    """
    by_objective = np.ascontiguousarray(values.transpose(0, 2, 1))
    first = by_objective[:, :, :1]
    if by_objective.shape[2]:
        by_objective = by_objective - first
    mean = by_objective.mean(axis=2)
    deviations = by_objective - mean[:, :, None]
    squares = (deviations * deviations).sum(axis=2)
    if by_objective.shape[2]:
        mean = mean + first[:, :, 0]
    return Moments(np.full(len(values), values.shape[1], np.int64), mean, squares)


def independent_squares(deviations: Floats) -> Floats:
    """Sums of squared deviations without what all designs have in common in a replication.

    What moves all designs alike moves none past another. With independent designs the sums are,
    on average, what they are with it.

    Args:
        deviations: from each design's mean, an array of (designs, replications, objectives).
    """
    designs = len(deviations)
    if designs == 1:
        return np.asarray((deviations * deviations).sum(axis=1))
    own = deviations - deviations.mean(axis=0)
    return np.asarray((own * own).sum(axis=1) * (designs / (designs - 1)))


def skewness_of(values: Floats) -> Floats:
    """The skewness of a replication by objective, from (designs, replications, objectives).

    The mean third cumulant of the designs over the mean 3/2 power of their variances; 0 for fewer
    than three replications.
    """
    replications = values.shape[1]
    if replications < 3:
        return np.zeros(values.shape[2])
    deviations = values - values.mean(axis=1, keepdims=True)
    variance = (deviations**2).sum(axis=1) / (replications - 1)
    third = (deviations**3).sum(axis=1) * (replications / ((replications - 1) * (replications - 2)))
    scale = (variance**1.5).mean(axis=0)
    return np.divide(third.mean(axis=0), scale, out=np.zeros_like(scale), where=scale > 0.0)


def merge(a: Moments, b: Moments) -> Moments:
    """The moments of the replications of both, for the same designs; either may have none.

    After Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
    """
    count = a.counts + b.counts
    share = (b.counts / np.maximum(count, 1))[:, None]
    gap = b.mean - a.mean
    squares = a.squares + b.squares + gap * gap * share * a.counts[:, None]
    return Moments(count, a.mean + gap * share, squares)


def no_moments(designs: int, objectives: int) -> Moments:
    """The moments of designs that were never evaluated."""
    zeros = np.zeros((designs, objectives))
    return Moments(np.zeros(designs, np.int64), zeros, zeros.copy())
