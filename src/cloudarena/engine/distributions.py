"""Distributions of random times as they are described, from constant to empirical.

Nothing here needs Numba, so specs can check what they describe; ``variates`` draws from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from cloudarena.base.errors import SpecError

CONSTANT, EXPONENTIAL, NORMAL, LOG_NORMAL, WEIBULL, GAMMA, EMPIRICAL, RECORDED = range(8)


class Distribution(NamedTuple):
    """A distribution, truncated to ``least <= X <= most``.

    With Z standard normal and E exponential of mean 1, X is ``loc`` (CONSTANT), ``loc + scale E``
    (EXPONENTIAL), ``loc + scale Z`` (NORMAL), ``loc + scale exp(sigma Z)`` (LOG_NORMAL), ``loc +
    scale E^(1 / sigma)`` (WEIBULL), gamma of shape ``sigma`` (GAMMA), or any of ``values``, times
    ``scale`` (EMPIRICAL; RECORDED, of which each stands for one event, in order). The last four
    have no bounds.
    """

    kind: int
    loc: float
    scale: float = 0.0
    sigma: float = 0.0
    least: float = -math.inf
    most: float = math.inf
    values: tuple[float, ...] = ()
    """What was measured: of an empirical distribution in ascending order, else as it was."""


def constant(value: float) -> Distribution:
    """Always the same."""
    return Distribution(CONSTANT, value)


def exponential(mean: float) -> Distribution:
    """The exponential distribution with a mean."""
    return _checked(Distribution(EXPONENTIAL, 0.0, mean))


def normal(
    mean: float, deviation: float, least: float = 0.0, most: float = math.inf
) -> Distribution:
    """Normal, by default without what is below 0."""
    return _checked(Distribution(NORMAL, mean, deviation, 0.0, least, most))


def log_normal(
    sigma: float, loc: float, scale: float, least: float = -math.inf, most: float = math.inf
) -> Distribution:
    """``loc + scale exp(sigma Z)``: the parameters of SciPy's ``lognorm``."""
    return _checked(Distribution(LOG_NORMAL, loc, scale, sigma, least, most))


def weibull(shape: float, scale: float) -> Distribution:
    """The Weibull distribution: ``scale E^(1 / shape)``."""
    return _checked(Distribution(WEIBULL, 0.0, scale, shape))


def gamma(shape: float, mean: float) -> Distribution:
    """The gamma distribution of a shape, with a mean."""
    return _checked(Distribution(GAMMA, 0.0, mean / shape, shape))


def empirical(values: Iterable[float]) -> Distribution:
    """Any of some values, each as often as it was measured."""
    ordered = tuple(sorted(values))
    if not ordered:
        raise SpecError("empirical: no values are not allowed: at least one")
    return Distribution(EMPIRICAL, 0.0, 1.0, values=ordered)


def recorded(values: Iterable[float]) -> Distribution:
    """Values of which each stands for one event, in their order."""
    ordered = tuple(values)
    if not ordered:
        raise SpecError("recorded: no values are not allowed: at least one")
    return Distribution(RECORDED, 0.0, 1.0, values=ordered)


def _checked(distribution: Distribution) -> Distribution:
    if not (distribution.scale > 0 and math.isfinite(distribution.scale)):
        raise SpecError(f"scale: {distribution.scale:g} is not allowed: a number more than 0")
    if distribution.kind in (LOG_NORMAL, WEIBULL, GAMMA) and not (
        distribution.sigma > 0 and math.isfinite(distribution.sigma)
    ):
        name = "sigma" if distribution.kind == LOG_NORMAL else "shape"
        raise SpecError(f"{name}: {distribution.sigma:g} is not allowed: a number more than 0")
    low, high = probabilities(distribution)
    if not high - low > 1e-9:
        raise SpecError(
            f"bounds: {distribution.least:g} to {distribution.most:g} are not allowed: the "
            "distribution hardly ever falls between them"
        )
    return distribution


def _phi(z: float) -> float:
    """The distribution function of a standard normal number."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _standard(distribution: Distribution, bound: float) -> float:
    """Where a bound lies on the scale of Z or E."""
    standardised = (bound - distribution.loc) / distribution.scale
    if distribution.kind != LOG_NORMAL:
        return standardised
    if standardised <= 0.0:
        return -math.inf
    return math.log(standardised) / distribution.sigma if math.isfinite(standardised) else math.inf


def probabilities(distribution: Distribution) -> tuple[float, float]:
    """The probabilities, without bounds, of falling below the least and below the most value."""
    if distribution.kind in (CONSTANT, WEIBULL, GAMMA, EMPIRICAL, RECORDED):
        return 0.0, 1.0
    least, most = (
        _standard(distribution, distribution.least),
        _standard(distribution, distribution.most),
    )
    if distribution.kind == EXPONENTIAL:
        return -math.expm1(-max(least, 0.0)), -math.expm1(-max(most, 0.0))
    return _phi(least), _phi(most)


def mean(distribution: Distribution) -> float:
    """The mean of a distribution within its bounds."""
    if distribution.kind == CONSTANT:
        return distribution.loc
    if distribution.kind == WEIBULL:
        return distribution.loc + distribution.scale * math.gamma(1.0 + 1.0 / distribution.sigma)
    if distribution.kind == GAMMA:
        return distribution.loc + distribution.scale * distribution.sigma
    if distribution.kind in (EMPIRICAL, RECORDED):
        middle = math.fsum(distribution.values) / len(distribution.values)
        return distribution.loc + distribution.scale * middle
    low, high = probabilities(distribution)
    a, b = _standard(distribution, distribution.least), _standard(distribution, distribution.most)
    if distribution.kind == EXPONENTIAL:
        a = max(a, 0.0)
        above = (b + 1.0) * math.exp(-b) if math.isfinite(b) else 0.0
        part = (a + 1.0) * math.exp(-a) - above
    elif distribution.kind == NORMAL:
        part = (math.exp(-0.5 * a * a) - math.exp(-0.5 * b * b)) / math.sqrt(2.0 * math.pi)
    else:
        part = math.exp(0.5 * distribution.sigma**2) * (
            _phi(b - distribution.sigma) - _phi(a - distribution.sigma)
        )
    return distribution.loc + distribution.scale * part / (high - low)
