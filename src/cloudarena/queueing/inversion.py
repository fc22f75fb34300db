"""Tails of distributions from their Laplace transforms.

Source: J. Abate and W. Whitt, "Numerical Inversion of Laplace Transforms of Probability
Distributions", ORSA J. on Computing 7(1), 1995, algorithm EULER: a Fourier series whose
alternating terms are summed by averaging partial sums with binomial weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import comb

from cloudarena.base.arrays import Complexes, Floats, Ints

DAMPING = 23.0
"""The series for P(T > t) is wrong by at most exp(-23) = 1e-10 P(T > 3 t)."""
FIRST_TERMS, MOST_TERMS = 24, 1 << 16
AVERAGED = 12
"""Partial sums that are averaged are one more."""
EARLIER = 4
"""The sum is compared with that of so many terms less."""
TOLERANCE = 1e-9
SHORTEST = 1e-200
"""Seconds that are as good as none: nothing is over so soon."""
MOST_CELLS = 200_000
"""Values of transforms in memory at a time."""


def tail_of_transform(
    transform: Callable[[Complexes, Ints], Complexes],
    seconds: Floats,
    distributions: Ints,
    terms: Ints,
) -> Floats:
    """``P(T > t)`` of the distributions with these indices, each at its own time t, to about 1e-9.

    ``transform(s, distributions)`` returns ``E[exp(-s T)]``, where s has a row for each
    distribution. The narrower a distribution, the more terms it needs: they are doubled until the
    sum no longer changes, and noted in ``terms``, which has an entry for every distribution, to
    begin with at the next time.
    """
    tail = np.ones(len(seconds))
    rows = np.flatnonzero(seconds > SHORTEST)
    while len(rows):
        fewest = int(terms[distributions[rows]].min())
        is_next = terms[distributions[rows]] == fewest
        part = rows[is_next][: max(1, MOST_CELLS // (fewest + AVERAGED + 1))]
        tail[part], change = _sums(transform, seconds[part], distributions[part], fewest)
        again = part[(change > TOLERANCE) & (fewest < MOST_TERMS)]
        terms[distributions[again]] *= 2
        rows = np.union1d(np.setdiff1d(rows, part), again)
    return np.clip(tail, 0.0, 1.0)


def _sums(
    transform: Callable[[Complexes, Ints], Complexes],
    seconds: Floats,
    distributions: Ints,
    terms: int,
) -> tuple[Floats, Floats]:
    """The sum of the series, and how far it is from the sum of some terms less."""
    term = np.arange(terms + AVERAGED + 1)
    s = ((0.5 * DAMPING + 1j * np.pi * term) / seconds[:, None]).astype(np.complex128)
    values = ((1.0 - transform(s, distributions)) / s).real
    values[:, 0] *= 0.5
    partial = np.cumsum(np.where(term % 2 == 0, values, -values), axis=1)
    weights = comb(AVERAGED, np.arange(AVERAGED + 1)) / 2.0**AVERAGED
    scale = np.exp(0.5 * DAMPING) / seconds
    last = scale * (partial[:, terms:] @ weights)
    earlier = scale * (partial[:, terms - EARLIER : -EARLIER] @ weights)
    return last, np.abs(last - earlier)
