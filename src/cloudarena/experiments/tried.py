"""The designs that were tried in a study: what was measured of each, and which keys matter.

The shares of importance are those of a functional analysis of variance without interactions: a
level of each key (numbers in up to eight classes of as many designs each) has an effect, the
effects are fitted together by least squares with a little shrinkage, and the share of a key is the
variance of its effect over that of all means. What is left is interaction and noise. A search
tries more designs where they are good, so the shares are about the designs that were tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.optimizers import MemoizedProblem, Problem, Selection
from cloudarena.optimizers.risk import RiskProblem

MOST_KEPT = 20_000
"""Designs that are kept; of more, every n-th."""
CLASSES = 8
"""Classes of the values of a key whose levels are more."""
LEAST = 8
"""Designs that must have been tried for anything to be said of keys."""
SHRINKAGE = 1.0
"""Added to the number of designs of a class."""


class Tried(NamedTuple):
    """Designs with their means over all replications in which they were evaluated."""

    designs: Ints
    means: Floats  # (designs, columns): objectives, then the metrics of limits
    runs: Ints

    def at(self, rows: Ints | list[int]) -> Tried:
        """Some of the designs."""
        return Tried(self.designs[rows], self.means[rows], self.runs[rows])


class Importance(NamedTuple):
    """How much of the variance of the first objective goes with a key."""

    key: str
    share: float


def tried_designs(problem: Problem, selection: Selection) -> Tried:
    """All designs that were evaluated, as far as that is remembered; else those selected."""
    memory = problem.problem if isinstance(problem, RiskProblem) else problem
    if isinstance(memory, MemoizedProblem) and len(memory.known):
        found: dict[int, list[Floats]] = {}
        for (design, _), values in memory.known.items():
            found.setdefault(design, []).append(values)
        designs = np.array(sorted(found), np.int64)
        means = np.array([_value(problem, np.array(found[one])) for one in designs.tolist()])
        tried = Tried(designs, means, np.array([len(found[one]) for one in designs.tolist()]))
    elif selection.screening is not None:
        moments = selection.screening.moments
        signs = np.array([one.sign for one in selection.objectives])
        means = moments.mean[:, : len(signs)] * signs
        tried = Tried(np.arange(len(means)), means, moments.counts)
    else:
        estimates = selection.estimates
        tried = Tried(estimates.designs, estimates.mean, estimates.replications)
    step = -(-len(tried.designs) // MOST_KEPT)
    kept = np.unique(
        np.concatenate(
            (
                np.arange(0, len(tried.designs), step),
                np.searchsorted(tried.designs, np.intersect1d(tried.designs, selection.selected)),
            )
        )
    )
    return tried.at(kept)


def importances(designs: Sequence[Mapping[str, Any]], losses: Floats) -> list[Importance]:
    """The keys by their share of the variance, the largest first.

    Args:
        designs: those that were tried, with their keys.
        losses: their means of what is minimised.
    """
    total = float(np.var(losses))
    keys = dict.fromkeys(key for design in designs for key in design)
    classes = {key: classes_of([design.get(key) for design in designs]) for key in keys}
    free = {key: found for key, found in classes.items() if found.max() > 0}
    if len(designs) < LEAST or not free or total == 0.0:
        return []
    columns = [
        (key, found == level) for key, found in free.items() for level in range(found.max() + 1)
    ]
    matrix = np.array([flags for _, flags in columns], np.float64).T
    matrix = matrix - matrix.mean(axis=0)
    penalty = SHRINKAGE * np.eye(len(columns))
    effects = np.linalg.solve(matrix.T @ matrix + penalty, matrix.T @ (losses - losses.mean()))
    shares = []
    for key in free:
        own = [k for k, (name, _) in enumerate(columns) if name == key]
        shares.append(Importance(key, float(np.var(matrix[:, own] @ effects[own])) / total))
    return sorted(shares, key=lambda one: -one.share)


def classes_of(values: Sequence[Any]) -> Ints:
    """The class of each value: its level, or, of many numbers, where it is among them.

    A design without the key is in a class of its own.
    """
    levels = list(dict.fromkeys(map(repr, values)))
    if len(levels) <= CLASSES or not all(map(is_number, filter(lambda v: v is not None, values))):
        return np.array([levels.index(repr(value)) for value in values], np.int64)
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    there = numbers[~np.isnan(numbers)]
    edges = np.unique(np.quantile(there, np.linspace(0.0, 1.0, CLASSES + 1)[1:-1]))
    found = np.searchsorted(edges, numbers, side="right")
    return np.where(np.isnan(numbers), len(edges) + 1, found).astype(np.int64)


def is_number(value: Any) -> bool:
    """Whether a level is a number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def keeps_limits(problem: Problem, tried: Tried) -> Flags:
    """Whether the means of each design keep all limits; all do if there is none."""
    objectives = len(problem.objectives)
    if not problem.limits or tried.means.shape[1] <= objectives:
        return np.ones(len(tried.designs), np.bool_)
    kept = [limit.holds(tried.means[:, objectives + k]) for k, limit in enumerate(problem.limits)]
    return np.asarray(np.logical_and.reduce(kept))


def _value(problem: Problem, values: Floats) -> Floats:
    """The mean of runs, or what else is taken of them."""
    if not isinstance(problem, RiskProblem):
        return np.asarray(values.mean(axis=0))
    return np.array(
        [
            float(risk.value(values[:, k], way))
            for k, (risk, way) in enumerate(zip(problem.risks, problem.ways, strict=True))
        ]
    )
