"""What searches claim of their finalists, tested as claims.

``python -m benchmarks.optimize search [--runs 200] [--out FILE]``, with OPENBLAS_NUM_THREADS=1.
Designs are a grid of 20 x 20 points. Of the five truths of ``optimize_claims`` only the surface is
smooth; the means of the others are drawn point by point, which no model of a search expects. A run
has 100 evaluations, of which 84 visit 42 designs, twice each; the noise is 1, about the spread of
the means, independent or 80 % common. What is claimed is of the finalists, so what came true is
looked up among them: they are those that were simulated more often than a search does.
A margin, several objectives and limits are handed to OCBA, MOCBA and OCBA-CO alike by all searches:
they are tried with random search, whose runs are cheap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.optimize_claims import (
    COMMON,
    LEVEL,
    WITHIN,
    Cell,
    Outcome,
    Record,
    claim_cells,
    covered,
    outcome,
    recorded,
)
from cloudarena.base.limits import Limit
from cloudarena.base.statistics import front_of
from cloudarena.engine.streams import stream
from cloudarena.optimizers import cma_es, gp, random_search, tpe
from cloudarena.optimizers.methods.method import Method
from cloudarena.optimizers.selection import Selection
from cloudarena.optimizers.spaces.regions import Axis, Region
from cloudarena.optimizers.synthetic import TRUTHS, NormalProblem, draw_means

SIDE = 20
NOISE = 1.0
EVALUATIONS = 100
VISITED_TIMES = 2
"""Replications of each design that is visited; who has more is a finalist."""
SEARCHES: dict[str, Method[Any]] = {one.name: one for one in (gp, tpe, cma_es, random_search)}


class Searched(NormalProblem):
    """Designs on a square, which knows which of them were finalists.

    Args:
        means: of (designs, objectives and limits).
        cell: the noise.
        seed: decides it.
        limits: how many of the columns, the last ones, may be at most 0.
    """

    def __init__(self, means: np.ndarray, cell: Cell, seed: int, limits: int = 0) -> None:
        super().__init__(means, cell.noise, seed, cell.common_share)
        objectives = means.shape[1] - limits
        self.objectives = self.objectives[:objectives]
        self.limits = tuple(Limit(f"metric_{k}", "<=", 0.0) for k in range(limits))
        self.simulated: Counter[int] = Counter()
        """How many replications of each design were asked for."""

    @property
    def finalists(self) -> list[int]:
        """Who had more replications than a search gives."""
        return sorted(one for one, times in self.simulated.items() if times > VISITED_TIMES)

    @property
    def regions(self) -> tuple[Region, ...]:
        """One region of two ordered axes."""
        axes = (Axis(SIDE), Axis(SIDE))
        numbers = lambda points: points[:, 0] * SIDE + points[:, 1]  # noqa: E731
        return (Region(axes, numbers, lambda points: np.ones(len(points), np.bool_)),)

    def simulate(self, designs: np.ndarray, replications: np.ndarray) -> np.ndarray:
        """Truth and noise."""
        for design in designs.tolist():
            self.simulated[design] += len(replications)
        return super().simulate(designs, replications)


def means_of(cell: Cell, seed: int) -> np.ndarray:
    """The truth of a run."""
    rng = stream(seed, f"search {cell.truth} {cell.objectives}")
    return np.asarray(LEVEL + draw_means(cell.truth, SIDE * SIDE, cell.objectives, rng))


def limited_means(cell: Cell, seed: int) -> np.ndarray:
    """A cost, and a metric that is drawn as the cost is, of which the lowest fifth is kept."""
    cost = means_of(cell, seed)
    excess = means_of(cell, seed + 10**6)
    return np.hstack((cost, excess - np.quantile(excess, 0.2)))


def of_one(cell: Cell, name: str, seed: int) -> Iterator[tuple[str, Outcome]]:
    """Claims of a single objective."""
    for within in (None, WITHIN) if name == random_search.name else (None,):
        problem = Searched(means_of(cell, seed), cell, seed)
        found = _searched(name, problem, seed, within=within)
        truth = problem.truth[:, 0]
        best = truth[problem.finalists].min()
        gap = truth[found.best] - best
        if within is not None:
            yield f"{name}, within {WITHIN}", outcome(found, gap <= 0.05 * best)
            continue
        yield name, outcome(found, gap <= 0.0)
        if found.shortfall is not None:
            short = Outcome(found.confidence, bool(gap <= found.shortfall), 1, found.evaluations)
            yield f"{name}: shortfall", short
        yield f"{name}: interval", covered(found, problem)


def of_two(cell: Cell, name: str, seed: int) -> Iterator[tuple[str, Outcome]]:
    """Claims of two objectives: the front of the finalists, whole and nothing else."""
    problem = Searched(means_of(cell, seed), cell, seed)
    found = _searched(name, problem, seed)
    finalists = np.array(problem.finalists)
    front = finalists[front_of(problem.truth[finalists])]
    yield name, outcome(found, np.array_equal(np.sort(found.selected), front))
    yield f"{name}: interval", covered(found, problem)


def with_a_limit(cell: Cell, name: str, seed: int) -> Iterator[tuple[str, Outcome]]:
    """Claims of limits: the best that keeps them, and that nothing is called sure wrongly."""
    problem = Searched(limited_means(cell, seed), cell, seed, limits=1)
    found = _searched(name, problem, seed)
    cost, keeps = problem.truth[:, 0], problem.truth[:, 1] <= 0.0
    finalists = np.array(problem.finalists)
    best = np.where(keeps, cost, np.inf)[finalists].min()
    yield f"{name}, limit", outcome(found, keeps[found.best] and cost[found.best] <= best)
    kept = found.feasibility
    assert kept is not None
    called = found.selected[kept.surely.all(axis=1)]
    right = bool(keeps[called].all())
    yield f"{name}, limit: sure", Outcome(found.confidence, right, len(called), found.evaluations)


def _searched(name: str, problem: Searched, seed: int, **options: Any) -> Selection:
    return SEARCHES[name](
        problem, evaluations=EVALUATIONS, replications=VISITED_TIMES, seed=seed, **options
    )


CASES = {"1": (1, of_one), "2": (2, of_two), "1 and a limit": (1, with_a_limit)}
"""What is tried: how many objectives a cell has, and the claims."""


def search_records(
    cell: Cell, case: str, name: str, runs: int, first_seed: int = 0
) -> dict[str, Record]:
    """What a search claims in a cell, by the name of the claim."""
    claims = CASES[case][1]
    seeds = range(first_seed, first_seed + runs)
    return recorded(one for seed in seeds for one in claims(cell, name, seed))


def search_names(case: str) -> list[str]:
    """The searches that are tried in a case."""
    return list(SEARCHES) if case == "1" else [random_search.name]


def search_cells(case: str) -> list[Cell]:
    """All that is tried in a case."""
    return [Cell(truth, NOISE, common, CASES[case][0]) for truth in TRUTHS for common in COMMON]


def search_rows(runs: int, watch: Callable[[str], None]) -> list[list[str]]:
    """A row for each claim: claimed and true by truth, and the worst cell."""
    rows = []
    for case in CASES:
        for name in search_names(case):
            tried: dict[str, dict[Cell, Record]] = {}
            for cell in search_cells(case):
                watch(f"{case} {name} {' '.join(map(str, cell))}")
                for claim, record in search_records(cell, case, name, runs).items():
                    tried.setdefault(claim, {})[cell] = record
            rows += [[case, claim, *claim_cells(by_cell)] for claim, by_cell in tried.items()]
    return rows
