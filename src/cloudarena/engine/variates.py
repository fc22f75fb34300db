"""Random variates of times: constant, exponential, normal, log-normal, Weibull, gamma, empirical.

One uniform number gives one draw, by the inverse of the distribution function between the bounds:
nothing is rejected, and with common random numbers two policies draw the same from the same
distribution. Gamma variates are interpolated between quantiles, which are exact, at 1,025 normal
numbers from -8 to 8: to some 3e-5 of the scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit, jit_inline, jit_uncounted
from cloudarena.engine.distributions import (
    CONSTANT,
    EMPIRICAL,
    EXPONENTIAL,
    GAMMA,
    LOG_NORMAL,
    RECORDED,
    WEIBULL,
    Distribution,
    probabilities,
)

DISTRIBUTION = np.dtype(
    [
        *(("kind", np.int64), ("loc", np.float64), ("scale", np.float64), ("sigma", np.float64)),
        *(("least", np.float64), ("most", np.float64)),
        ("low", np.float64),  # the probability below the least, without bounds
        ("high", np.float64),
        ("table", np.int64),  # how far behind it its table begins, a value in each ``loc``,
        ("count", np.int64),  # and how many values it has
    ]
)
FARTHEST, PER_UNIT = 8.0, 64
"""Normal numbers at which a table of quantiles begins and ends, and how many there are in 1."""
Distributions = NDArray[np.void]
"""Many distributions for kernels, of DISTRIBUTION."""


def make_distributions(distributions: Sequence[Distribution]) -> Distributions:
    """Returns distributions as records, in the same order; behind them, tables of some.

    A table is found by how far it is from its record, so arrays of records may be joined.
    """
    tables = [_table(distribution) for distribution in distributions]
    records = np.zeros(len(distributions) + sum(map(len, tables)), DISTRIBUTION)
    end = len(distributions)
    for k, (distribution, table) in enumerate(zip(distributions, tables, strict=True)):
        *plain, _ = distribution
        records[k] = (*plain, *probabilities(distribution), end - k, len(table))
        records["loc"][end : end + len(table)] = table
        end += len(table)
    return records


def _table(distribution: Distribution) -> NDArray[np.float64]:
    """The values of an empirical distribution, or the quantiles of a gamma one."""
    if distribution.kind != GAMMA:
        return np.array(distribution.values, np.float64)
    from scipy.special import gammainccinv, gammaincinv, ndtr

    at = np.linspace(-FARTHEST, FARTHEST, round(2 * FARTHEST * PER_UNIT) + 1)
    shape = distribution.sigma
    # By the nearer tail, whose probability has all its digits.
    return np.where(at < 0, gammaincinv(shape, ndtr(at)), gammainccinv(shape, ndtr(-at)))


@jit_uncounted
def draw(distributions: Distributions, distribution: int, uniform: float) -> float:
    """The value of a distribution for a uniform number between 0 and 1, neither included."""
    kind = distributions[distribution].kind
    if kind == CONSTANT:
        return distributions[distribution].loc
    share = distributions[distribution].low + uniform * (
        distributions[distribution].high - distributions[distribution].low
    )
    first, count = (
        distribution + distributions[distribution].table,
        distributions[distribution].count,
    )
    if kind == EXPONENTIAL:
        standardised = -np.log(1.0 - share)
    elif kind == WEIBULL:
        standardised = (-np.log(1.0 - share)) ** (1.0 / distributions[distribution].sigma)
    elif kind in (EMPIRICAL, RECORDED):
        standardised = distributions[first + min(int(share * count), count - 1)].loc
    else:
        standardised = normal_quantile(share)
        if kind == LOG_NORMAL:
            standardised = np.exp(distributions[distribution].sigma * standardised)
        elif kind == GAMMA:
            place = (standardised + FARTHEST) * PER_UNIT
            below = min(max(int(place), 0), count - 2)
            low, high = distributions[first + below].loc, distributions[first + below + 1].loc
            standardised = low + (high - low) * (place - below)
    value = distributions[distribution].loc + distributions[distribution].scale * standardised
    return min(max(value, distributions[distribution].least), distributions[distribution].most)


@jit_inline
def share_of(distributions: Distributions, distribution: int, number: int, uniform: float) -> float:
    """What ``draw`` takes for an event of a number: a uniform number, or its place in a record."""
    if distributions[distribution].kind == RECORDED:
        count = distributions[distribution].count
        return (number % count + 0.5) / count
    return uniform


@jit
def draw_all(
    distributions: Distributions, distribution: int, uniforms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The values of a distribution for many uniform numbers."""
    values = np.empty(len(uniforms))
    for k in range(len(uniforms)):
        values[k] = draw(distributions, distribution, uniforms[k])
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


@jit_uncounted
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


@jit_inline
def _ratio(coefficients: tuple[tuple[float, float], ...], r: float) -> float:
    """A ratio of polynomials; the coefficients above and below, of the highest power first."""
    above, below = 0.0, 0.0
    for k in range(len(coefficients)):
        above = above * r + coefficients[k][0]
        below = below * r + coefficients[k][1]
    return above / below
