"""Laws of random times: constant, exponential, normal and shifted log-normal, within bounds.

One uniform number gives one draw, by the inverse of the distribution function between the bounds:
nothing is rejected, and with common random numbers two policies draw the same from the same law.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled, inner, lean
from cloudarena.engine.distributions import (
    CONSTANT,
    EXPONENTIAL,
    NORMAL,
    Law,
    probabilities,
)

LAW = np.dtype(
    [
        *(("kind", np.int64), ("loc", np.float64), ("scale", np.float64), ("sigma", np.float64)),
        *(("least", np.float64), ("most", np.float64)),
        ("low", np.float64),  # the probability below the least, without bounds
        ("high", np.float64),
    ]
)
Laws = NDArray[np.void]
"""Many laws for kernels, of LAW."""


def make_laws(laws: Sequence[Law]) -> Laws:
    """Laws as records, in the same order."""
    return np.array([(*law, *probabilities(law)) for law in laws], LAW)


@lean
def draw(laws: Laws, law: int, uniform: float) -> float:
    """The value of a law for a uniform number between 0 and 1, neither included."""
    kind = laws[law].kind
    if kind == CONSTANT:
        return laws[law].loc
    share = laws[law].low + uniform * (laws[law].high - laws[law].low)
    if kind == EXPONENTIAL:
        place = -np.log(1.0 - share)
    elif kind == NORMAL:
        place = normal_quantile(share)
    else:
        place = np.exp(laws[law].sigma * normal_quantile(share))
    value = laws[law].loc + laws[law].scale * place
    return min(max(value, laws[law].least), laws[law].most)


@compiled
def draw_all(laws: Laws, law: int, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values of a law for many uniform numbers."""
    values = np.empty(len(uniforms))
    for k in range(len(uniforms)):
        values[k] = draw(laws, law, uniforms[k])
    return values


CENTRE = (
    (2509.0809287301226727, 5226.495278852854561),
    (33430.575583588128105, 28729.085735721942674),
    (67265.770927008700853, 39307.89580009271061),
    (45921.953931549871457, 21213.794301586595867),
    (13731.693765509461125, 5394.1960214247511077),
    (1971.5909503065514427, 687.1870074920579083),
    (133.14166789178437745, 42.313330701600911252),
    (3.387132872796366608, 1.0),
)
TAIL = (
    (7.7454501427834140764e-4, 1.05075007164441684324e-9),
    (0.0227238449892691845833, 5.475938084995344946e-4),
    (0.24178072517745061177, 0.0151986665636164571966),
    (1.27045825245236838258, 0.14810397642748007459),
    (3.64784832476320460504, 0.68976733498510000455),
    (5.7694972214606914055, 1.6763848301838038494),
    (4.6303378461565452959, 2.05319162663775882187),
    (1.42343711074968357734, 1.0),
)
FAR_TAIL = (
    (2.01033439929228813265e-7, 2.04426310338993978564e-15),
    (2.71155556874348757815e-5, 1.4215117583164458887e-7),
    (0.0012426609473880784386, 1.8463183175100546818e-5),
    (0.026532189526576123093, 7.868691311456132591e-4),
    (0.29656057182850489123, 0.0148753612908506148525),
    (1.7848265399172913358, 0.13692988092273580531),
    (5.4637849111641143699, 0.59983220655588793769),
    (6.6579046435011037772, 1.0),
)
"""Coefficients of normal quantiles."""


@lean
def normal_quantile(share: float) -> float:
    """The standard normal number below which a share falls; to 16 digits.

    Algorithm AS 241 (Wichura, "The percentage points of the normal distribution", Applied
    Statistics 37, 1988): ratios of polynomials, in the centre and in two parts of the tails.
    """
    q = share - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(CENTRE, 0.180625 - q * q)
    tail = share if q < 0.0 else 1.0 - share
    if tail <= 0.0:
        return -np.inf if q < 0.0 else np.inf
    r = np.sqrt(-np.log(tail))
    quantile = _ratio(TAIL, r - 1.6) if r <= 5.0 else _ratio(FAR_TAIL, r - 5.0)
    return -quantile if q < 0.0 else quantile


@inner
def _ratio(coefficients: tuple[tuple[float, float], ...], r: float) -> float:
    """A ratio of polynomials; the coefficients above and below, of the highest power first."""
    above, below = 0.0, 0.0
    for k in range(len(coefficients)):
        above = above * r + coefficients[k][0]
        below = below * r + coefficients[k][1]
    return above / below
