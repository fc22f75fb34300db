"""Laws of random times as they are described: constant, exponential, normal, log-normal.

Nothing here needs Numba, so specs can check what they describe; ``laws`` draws from them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from cloudarena.base.errors import SpecError

CONSTANT, EXPONENTIAL, NORMAL, LOG_NORMAL = range(4)


class Law(NamedTuple):
    """A law, truncated to ``least <= X <= most``.

    With Z standard normal and E exponential of mean 1, X is ``loc`` (CONSTANT), ``loc + scale E``
    (EXPONENTIAL), ``loc + scale Z`` (NORMAL) or ``loc + scale exp(sigma Z)`` (LOG_NORMAL).
    """

    kind: int
    loc: float
    scale: float = 0.0
    sigma: float = 0.0
    least: float = -math.inf
    most: float = math.inf


def constant(value: float) -> Law:
    """Always the same."""
    return Law(CONSTANT, value)


def exponential(mean: float) -> Law:
    """Exponential times."""
    return _checked(Law(EXPONENTIAL, 0.0, mean))


def normal(mean: float, deviation: float, least: float = 0.0, most: float = math.inf) -> Law:
    """Normal, by default without what is below 0."""
    return _checked(Law(NORMAL, mean, deviation, 0.0, least, most))


def log_normal(
    sigma: float, loc: float, scale: float, least: float = -math.inf, most: float = math.inf
) -> Law:
    """``loc + scale exp(sigma Z)``: the parameters of SciPy's ``lognorm``."""
    return _checked(Law(LOG_NORMAL, loc, scale, sigma, least, most))


def _checked(law: Law) -> Law:
    if not (law.scale > 0 and math.isfinite(law.scale)):
        raise SpecError(f"scale: {law.scale:g} is not allowed: a number more than 0")
    if law.kind == LOG_NORMAL and not (law.sigma > 0 and math.isfinite(law.sigma)):
        raise SpecError(f"sigma: {law.sigma:g} is not allowed: a number more than 0")
    low, high = probabilities(law)
    if not high - low > 1e-9:
        raise SpecError(
            f"bounds: {law.least:g} to {law.most:g} are not allowed: the law hardly ever "
            "falls between them"
        )
    return law


def _phi(z: float) -> float:
    """The distribution function of a standard normal number."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _standard(law: Law, bound: float) -> float:
    """Where a bound lies on the scale of Z or E."""
    place = (bound - law.loc) / law.scale
    if law.kind != LOG_NORMAL:
        return place
    if place <= 0.0:
        return -math.inf
    return math.log(place) / law.sigma if math.isfinite(place) else math.inf


def probabilities(law: Law) -> tuple[float, float]:
    """The probabilities that the law without bounds falls below the one and the other bound."""
    if law.kind == CONSTANT:
        return 0.0, 1.0
    least, most = _standard(law, law.least), _standard(law, law.most)
    if law.kind == EXPONENTIAL:
        return -math.expm1(-max(least, 0.0)), -math.expm1(-max(most, 0.0))
    return _phi(least), _phi(most)


def mean(law: Law) -> float:
    """The mean of a law within its bounds."""
    if law.kind == CONSTANT:
        return law.loc
    low, high = probabilities(law)
    a, b = _standard(law, law.least), _standard(law, law.most)
    if law.kind == EXPONENTIAL:
        a = max(a, 0.0)
        above = (b + 1.0) * math.exp(-b) if math.isfinite(b) else 0.0
        part = (a + 1.0) * math.exp(-a) - above
    elif law.kind == NORMAL:
        part = (math.exp(-0.5 * a * a) - math.exp(-0.5 * b * b)) / math.sqrt(2.0 * math.pi)
    else:
        part = math.exp(0.5 * law.sigma**2) * (_phi(b - law.sigma) - _phi(a - law.sigma))
    return law.loc + law.scale * part / (high - low)
