"""Probabilities of limits, tested as such: ``python -m benchmarks.optimize kept``.

Means are drawn around a bound, each has one check of n replications, and what is stated of it is
compared with the truth: how probable it is that the limit is kept, and whether it is called sure.
The first round that the search has before is 10 replications of 40 other designs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cloudarena.base.limits import Limit
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.kept import Ends, Seen, keeping
from cloudarena.optimizers.budget.moments import moments_of, skewness_of
from cloudarena.optimizers.selection import intervals

FIRST, OTHERS = 10, 40
CONFIDENCE = 0.95
EDGES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0001)
HEADER = [
    *("replications", "n", "stated", "kept", "0 to .05", ".05 to .2", ".2 to .5", ".5 to .8"),
    *(".8 to .95", ".95 to 1", "cannot be told", "called sure", "wrongly", "ends hold"),
]

Draw = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]


class Case(NamedTuple):
    """A family of metrics: the bound of their mean, how means are drawn, and replications."""

    bound: float
    means: Callable[[np.random.Generator, int], np.ndarray]
    draw: Draw


def _log_uniform(low: float, high: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, count: np.exp(rng.uniform(np.log(low), np.log(high), count))


def _bits(rng: np.random.Generator, means: np.ndarray, count: int) -> np.ndarray:
    return (rng.random((len(means), count)) < means[:, None]).astype(float)


def _rare(rng: np.random.Generator, means: np.ndarray, count: int) -> np.ndarray:
    """Mostly 0; now and then a part, 0.05 on average."""
    sizes = rng.beta(2.0, 38.0, (len(means), count))
    return _bits(rng, np.minimum(means / 0.05, 1.0), count) * sizes


def _skewed(sigma: float) -> Draw:
    def draw(rng: np.random.Generator, means: np.ndarray, count: int) -> np.ndarray:
        values = rng.lognormal(-(sigma**2) / 2.0, sigma, (len(means), count))
        return means[:, None] + (values - 1.0) / np.sqrt(np.expm1(sigma**2))

    return draw


def _heavy(rng: np.random.Generator, means: np.ndarray, count: int) -> np.ndarray:
    """A tail without a variance: Pareto with exponent 1.5, whose mean is 2."""
    return means[:, None] + rng.pareto(1.5, (len(means), count)) - 2.0


def _normal(rng: np.random.Generator, means: np.ndarray, count: int) -> np.ndarray:
    return means[:, None] + rng.normal(0.0, 1.0, (len(means), count))


def _around(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(0.0, 1.0, count)


CASES = {
    "normal": Case(0.0, _around, _normal),
    "log-normal, sigma 1": Case(0.0, _around, _skewed(1.0)),
    "0 or 1": Case(0.03, _log_uniform(0.001, 0.5), _bits),
    "0 or 1, rare": Case(0.003, _log_uniform(0.0001, 0.05), _bits),
    "a share, mostly 0": Case(0.002, _log_uniform(0.0001, 0.02), _rare),
    "log-normal, sigma 2": Case(0.0, _around, _skewed(2.0)),
    "Pareto, no variance": Case(0.0, _around, _heavy),
}
COUNTS = (20, 60, 300)


class Outcome(NamedTuple):
    """What was stated of each mean, and what is true."""

    probability: np.ndarray
    is_kept: np.ndarray
    is_sure: np.ndarray
    is_covered: np.ndarray

    @property
    def wrong(self) -> float:
        """The share of the means that are called sure and break the limit."""
        return float((self.is_sure & ~self.is_kept).mean())


def outcome(name: str, count: int, runs: int, seed: int = 0) -> Outcome:
    """A check of each of ``runs`` means, one at a time."""
    case, rng = CASES[name], stream(seed, f"kept {name} {count}")
    limit = (Limit("metric", "<=", case.bound),)
    rows = []
    for mean in case.means(rng, runs):
        others = case.draw(rng, case.means(rng, OTHERS), FIRST)[:, :, None] - case.bound
        values = case.draw(rng, np.array([mean]), count)[:, :, None] - case.bound
        before, now = moments_of(others), moments_of(values)
        widest = np.sqrt(2.0 * np.maximum(before.squares.max(axis=0), now.squares.max(axis=0)))
        seen = Seen(skewness_of(others), widest, before.mean)
        student = intervals(np.zeros(1), now, CONFIDENCE, 1, None, seen.skewness, widest)
        chance = (1.0 - CONFIDENCE) / 2.0
        found = keeping(limit, now, values, seen, Ends(student.low, student.high), chance)
        low, high = found.low[0, 0], found.high[0, 0]
        row = (found.probability[0, 0], mean <= case.bound, high <= case.bound)
        rows.append((*row, low <= mean <= high))
    stated, kept, sure, covered = zip(*rows, strict=True)
    flags = (np.array(one, bool) for one in (kept, sure, covered))
    return Outcome(np.array(stated), *flags)


def row_of(name: str, count: int, found: Outcome) -> list[str]:
    """A row of the table: stated and true, by how much was stated."""
    told = ~np.isnan(found.probability)
    stated, kept = found.probability[told], found.is_kept[told]
    bins = []
    for low, high in itertools.pairwise(EDGES):
        own = (stated >= low) & (stated < high)
        bins.append(f"{stated[own].mean():.2f} → {kept[own].mean():.2f}" if own.any() else "-")
    return [
        name,
        str(count),
        f"{stated.mean():.3f}",
        f"{kept.mean():.3f}",
        *bins,
        *(f"{one:.3f}" for one in (1.0 - told.mean(), found.is_sure.mean(), found.wrong)),
        f"{found.is_covered.mean():.3f}",
    ]


def kept_rows(runs: int, watch: Callable[[str], None]) -> list[list[str]]:
    """A row for each kind of replications and each number of them."""
    rows = []
    for name in CASES:
        for count in COUNTS:
            watch(f"{name} {count}")
            rows.append(row_of(name, count, outcome(name, count, runs)))
    return rows
