"""How much a few metrics tell of a score, and how surely they find the good strategies.

A score Y is predicted by some metrics with correlation rho. If both are normal, everything about
the order of strategies follows from rho. After chapter 7 of the thesis, with its corrections: the
trials of the binomial are the selected strategies, not all of them, and its event is "at least k".
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.engine.streams import stream
from cloudarena.reduction.overlap import exact_alignment

Conditional = Literal["ols", "thesis"]
NEGLIGIBLE = 1e-12
"""Bounds nearer to 0 than this are taken as 0, so that slopes are finite or infinite."""
ONE_SIDED = 1.6449
"""The 95 % quantile of the normal distribution."""
DRAWS = 4000
"""Draws of whole populations, when the alignment probability is simulated."""


def both_above(first: float, second: float, correlation: float) -> float:
    """``P(U > first, V > second)`` of standard normals with a correlation.

    By Owen's T function; D. B. Owen, "Tables for computing bivariate normal probabilities", 1956.
    """
    from scipy.special import ndtr, owens_t

    if not -1.0 <= correlation <= 1.0:
        raise SpecError(f"correlation: {correlation!r} is not allowed: -1 to 1")
    h, k = (0.0 if abs(bound) < NEGLIGIBLE else -bound for bound in (first, second))
    if correlation == 1.0:
        return float(ndtr(min(h, k)))
    if correlation == -1.0:
        return float(max(0.0, ndtr(h) + ndtr(k) - 1.0))
    if h == 0.0 and k == 0.0:
        return 0.25 + math.asin(correlation) / (2.0 * math.pi)
    root = math.sqrt(1.0 - correlation**2)
    with np.errstate(divide="ignore"):
        slope_h = np.float64(k - correlation * h) / np.float64(h * root)
        slope_k = np.float64(h - correlation * k) / np.float64(k * root)
    apart = h * k < 0.0 or (h * k == 0.0 and h + k < 0.0)
    joint = (ndtr(h) + ndtr(k)) / 2.0 - owens_t(h, slope_h) - owens_t(k, slope_k) - 0.5 * apart
    return float(min(max(joint, 0.0), 1.0))


def information_bits(correlation: float, strategies: int) -> float:
    """Bits of knowledge of the best of I strategies that a prediction gives.

    ``log2 I + log2 P(best | predicted best)``, each the upper 1/I tail: 0 without correlation,
    log2 I with a perfect one.
    """
    from scipy.special import ndtri

    check_whole("strategies", strategies, 2)
    tail = float(ndtri(1.0 - 1.0 / strategies))
    joint = both_above(tail, tail, correlation)
    return 2.0 * math.log2(strategies) + math.log2(joint) if joint > 0.0 else -math.inf


def correlation_of(
    residual_variance: float, variance: float, conditional: Conditional = "ols"
) -> float:
    """The correlation of a score with its prediction.

    By least squares the residual is uncorrelated with the prediction: ``rho^2 = 1 - s2 / s1``. The
    thesis takes the prediction as the score plus an independent error:
    ``rho^2 = 1 / (1 + s2 / s1)``.

    Args:
        residual_variance: s2, of the residual.
        variance: s1, of the score.
        conditional: which of the two.
    """
    check_choice("conditional", conditional, ("ols", "thesis"))
    if variance <= 0.0:
        return 0.0
    ratio = residual_variance / variance
    squared = 1.0 - ratio if conditional == "ols" else 1.0 / (1.0 + ratio)
    return math.sqrt(max(squared, 0.0))


def at_least_so_high(correlation: float, strategies: int) -> float:
    """The lower 95 % limit of a correlation that was estimated from so many strategies, or 0.

    After Fisher, whose transform ``atanh`` of it is normal with variance ``1 / (n - 3)``.
    """
    if strategies <= 3:
        return 0.0
    turned = math.atanh(min(correlation, 1.0 - NEGLIGIBLE))
    return max(math.tanh(turned - ONE_SIDED / math.sqrt(strategies - 3.0)), 0.0)


def metric_alignment(
    correlation: float,
    strategies: int,
    selected: int,
    good: int,
    at_least: int,
    method: Literal["exact", "binomial", "mc"] = "exact",
    seed: int = 0,
) -> float:
    """The probability that the best by prediction hold at least k of the truly best.

    ``exact`` integrates over who is selected, and among these over who is the k-th best by score.
    ``binomial``, the thesis's way with its trials corrected, takes each of the s selected as good
    with ``p = P(good | selected)``, independently, or if fewer are good than selected, each of the
    g good as selected. It is careful for s = g (0.944 instead of 0.974 at rho 0.95, s = g = 15,
    k = 10, n = 100), and promises too much for k = min(s, g) if s is not g: 0.95 where 0.89 is
    right (s = 10, g = k = 5). ``mc`` simulates.

    Args:
        correlation: of score and prediction.
        strategies: n, how many there are.
        selected: s, how many are taken by prediction.
        good: g, how many of the best count as good.
        at_least: k, how many good ones are wanted among the selected.
        method: ``exact``, ``binomial`` or ``mc``.
        seed: of the simulation.
    """
    check_choice("method", method, ("exact", "binomial", "mc"))
    check_whole("strategies", strategies, 2)
    check_whole("selected", selected, 1, strategies)
    check_whole("good", good, 1, strategies)
    check_whole("at_least", at_least, 1, min(selected, good))
    if method == "exact":
        return exact_alignment(correlation, strategies, selected, good, at_least)
    if method == "mc":
        return _simulated(correlation, strategies, selected, good, at_least, seed)
    from scipy.special import bdtrc, ndtri

    trials = min(selected, good)
    joint = both_above(
        float(ndtri(1.0 - selected / strategies)),
        float(ndtri(1.0 - good / strategies)),
        correlation,
    )
    # P(good | selected) for each selected, or P(selected | good) for each good, of which the fewer.
    hit = min(joint / (trials / strategies), 1.0)
    return float(bdtrc(at_least - 1, trials, hit))


def _simulated(
    correlation: float, strategies: int, selected: int, good: int, at_least: int, seed: int
) -> float:
    rng = stream(seed, "metric alignment")
    enough = 0
    for _ in range(DRAWS):
        score = rng.standard_normal(strategies)
        noise = rng.standard_normal(strategies)
        prediction = correlation * score + math.sqrt(1.0 - correlation**2) * noise
        by_prediction = np.argpartition(-prediction, selected - 1)[:selected]
        by_score = np.argpartition(-score, good - 1)[:good]
        enough += len(np.intersect1d(by_prediction, by_score)) >= at_least
    return enough / DRAWS
