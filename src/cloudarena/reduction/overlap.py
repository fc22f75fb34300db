"""How many of the best by score are among the best by prediction: the exact distribution.

Of n strategies with independent pairs of a prediction U and a score V, both standard normal with
correlation rho, the s with the largest U are selected. Given the largest U of the others, u, the
scores of the s selected are independent draws of V given U > u, those of the n - s - 1 others are
draws of V given U < u, and the one at u has the score rho u plus noise. At least k of the g best by
score are selected exactly if no more than g - k of those not selected have a larger score than the
k-th best of the selected. Both integrals, over u and over the score v of the k-th best, are
replaced by sums over small parts of their distributions.
"""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Floats

EDGES = 24
"""Parts of the distribution of u."""
SCORES = 250
"""Scores v that are tried, over the range in which the k-th best may lie."""
FARTHEST = 9.0
"""No score is farther from the mean, in standard deviations."""
UNLIKELY = 1e-7


def exact_alignment(
    correlation: float, strategies: int, selected: int, good: int, at_least: int
) -> float:
    """The probability that at least k of the g best are among the s selected, to some 1e-3."""
    from scipy.special import bdtr, betaincinv, ndtr, ndtri

    if selected == strategies or correlation >= 1.0 - 1e-12:
        return 1.0
    others = strategies - selected - 1
    middle = (np.arange(EDGES) + 0.5) / EDGES
    # P(U > u) for the largest U of those not selected, which is the (s + 1)-th largest of n.
    above = betaincinv(selected + 1.0, strategies - selected, middle)[:, None]
    edge = ndtri(1.0 - above)
    score = np.linspace(-FARTHEST, FARTHEST, SCORES)[None, :]
    ends = [0, EDGES - 1]
    coarse = _below(above[ends], edge[ends], score, correlation, selected, at_least)
    possible = np.flatnonzero(((coarse > UNLIKELY) & (coarse < 1.0 - UNLIKELY)).any(axis=0))
    low, high = max(possible[0] - 1, 0), min(possible[-1] + 1, SCORES - 1)
    score = np.linspace(score[0, low], score[0, high], SCORES)[None, :]
    below = _below(above, edge, score, correlation, selected, at_least)
    joint = _both_above(edge, score, correlation)
    of_others = np.clip((ndtr(-score) - joint) / (1.0 - above), 0.0, 1.0)
    at_edge = ndtr((correlation * edge - score) / math.sqrt(1.0 - correlation**2))
    spare = good - at_least
    right = (1.0 - at_edge) * bdtr(spare, others, of_others)
    if spare > 0:
        right += at_edge * bdtr(spare - 1, others, of_others)
    middles = (right[:, 1:] + right[:, :-1]) / 2.0
    return float(np.clip((np.diff(below, axis=1) * middles).sum(axis=1).mean(), 0.0, 1.0))


def _below(
    above: Floats, edge: Floats, score: Floats, correlation: float, selected: int, at_least: int
) -> Floats:
    """The probability that the k-th best score of the selected is below each score."""
    from scipy.special import betainc

    of_selected = np.clip(_both_above(edge, score, correlation) / above, 0.0, 1.0)
    return np.asarray(1.0 - betainc(at_least, selected - at_least + 1.0, of_selected))


def _both_above(first: Floats, second: Floats, correlation: float) -> Floats:
    """``P(U > first, V > second)`` by Owen's T function, for all pairs."""
    from scipy.special import ndtr, owens_t

    h, k = np.broadcast_arrays(-first, -second)
    h = np.where(np.abs(h) < 1e-12, 1e-12, h)
    k = np.where(np.abs(k) < 1e-12, 1e-12, k)
    root = math.sqrt(1.0 - correlation**2)
    joint = (ndtr(h) + ndtr(k)) / 2.0 - np.where(h * k < 0.0, 0.5, 0.0)
    joint -= owens_t(h, (k - correlation * h) / (h * root))
    joint -= owens_t(k, (h - correlation * k) / (k * root))
    return np.asarray(np.clip(joint, 0.0, 1.0))
