"""What methods claim, tested as claims: the share of runs in which each comes true.

``python -m benchmarks.optimize claims [--runs 200] [--objectives 1,2] [--out FILE]``. A cell is a
truth (normal, uniform, exponential, two-point, a smooth surface), a level of noise, and whether
designs err independently or mostly together. In each run the truth is drawn again. A claim holds in
a cell if the share of runs in which it comes true is not below the mean claim by more than two
standard errors. The table has the means over the cells of a truth, and the worst cell. It is
written to FILE after each cell; ``--objectives 2`` tries those alone.

``python -m benchmarks.optimize cost [--runs 100] [--out FILE]``: what LOS selects for it.
``docs/optimize-methods.md`` has beside it what version 0.1.0 selected on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.statistics import front_of
from cloudarena.engine.streams import stream
from cloudarena.optimizers import (
    blind_pick,
    kim_nelson,
    los,
    mocba,
    monte_carlo,
    ocba,
    ocba_m,
    successive_halving,
)
from cloudarena.optimizers.selection import Selection
from cloudarena.optimizers.synthetic import TRUTHS, NormalProblem, draw_means

DESIGNS = 100
EACH = 20
"""Evaluations for each design."""
LEVEL = 10.0
"""Is added to all means, so that a share of them makes sense."""
NOISES = (0.5, 2.0)
COMMON = (0.0, 0.8)
WITHIN = "5%"
TOP = 5


class Cell(NamedTuple):
    """What is tried."""

    truth: str
    noise: float
    common_share: float
    objectives: int


class Outcome(NamedTuple):
    """Of one claim in one run."""

    claim: float
    came_true: bool
    selected: int
    evaluations: int


Trial = Callable[[NormalProblem, int], Iterator[tuple[str, Outcome]]]


def cells(objectives: int) -> list[Cell]:
    """All that is tried with so many objectives."""
    return [
        Cell(truth, noise, common, objectives)
        for truth in TRUTHS
        for noise in NOISES
        for common in COMMON
    ]


def problem_of(cell: Cell, seed: int) -> NormalProblem:
    """A problem of the cell."""
    rng = stream(seed, f"{cell.truth} {cell.objectives}")
    means = LEVEL + draw_means(cell.truth, DESIGNS, cell.objectives, rng)
    return NormalProblem(means, cell.noise, seed, cell.common_share)


def outcome(selection: Selection, came_true: bool) -> Outcome:
    """Of what a selection claims; no claim counts as 0."""
    claim = np.nan_to_num(selection.alignment.probability)
    return Outcome(float(claim), bool(came_true), len(selection.selected), selection.evaluations)


def covered(selection: Selection, problem: NormalProblem) -> Outcome:
    """Whether the chosen design's true mean is in its interval, by the first objective."""
    place = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
    low, high = selection.estimates.low[place, 0], selection.estimates.high[place, 0]
    inside = low <= problem.truth[selection.best, 0] <= high
    return Outcome(selection.confidence, bool(inside), 1, selection.evaluations)


def with_one(problem: NormalProblem, seed: int) -> Iterator[tuple[str, Outcome]]:
    """The claims of all methods for a single objective."""
    truth = problem.truth[:, 0]
    budget = EACH * problem.size
    least = truth.min()
    margin = 0.05 * least
    for name, within, enough in (("", None, least), (f", within {WITHIN}", WITHIN, least + margin)):
        selection = los(problem, evaluations=budget, within=within, seed=seed)
        yield f"los{name}", outcome(selection, truth[selection.selected].min() <= enough)
        if within is None:
            yield "los: interval", covered(selection, problem)
        for method in (monte_carlo, ocba, successive_halving):
            selection = method(problem, evaluations=budget, within=within)
            yield f"{selection.method}{name}", outcome(selection, truth[selection.best] <= enough)
            if within is None:
                short = truth[selection.best] - least <= selection.shortfall
                yield (
                    f"{selection.method}: shortfall",
                    Outcome(selection.confidence, short, 1, selection.evaluations),
                )
                yield f"{selection.method}: interval", covered(selection, problem)
    selection = los(problem, evaluations=budget, at_least=3, good_layers=5, seed=seed)
    good = truth[selection.selected] <= np.sort(truth)[4]
    yield "los, 3 of the best 5", outcome(selection, np.count_nonzero(good) >= 3)
    selection = los(problem, evaluations=budget, size=10, seed=seed)
    yield "los, 10 selected", outcome(selection, truth[selection.selected].min() <= least)
    selection = ocba_m(problem, top=TOP, evaluations=budget)
    wanted = np.sort(truth)[:TOP]
    yield "ocba-m", outcome(selection, np.array_equal(np.sort(truth[selection.chosen]), wanted))
    selection = blind_pick(problem, good=10, at_least=2, evaluations=budget, seed=seed)
    good = truth[selection.selected] <= np.sort(truth)[9]
    yield "blind-pick", outcome(selection, np.count_nonzero(good) >= 2)
    yield "blind-pick: interval", covered(selection, problem)
    selection = kim_nelson(problem, indifference=0.5, step=5, evaluations=20 * budget)
    yield "kim-nelson", outcome(selection, truth[selection.best] <= least + 0.5)


def with_two(problem: NormalProblem, seed: int) -> Iterator[tuple[str, Outcome]]:
    """The claims of all methods for two objectives."""
    front = front_of(problem.truth)
    budget = EACH * problem.size
    is_good = np.isin(np.arange(problem.size), front)
    enough = good_enough(problem.truth, 0.05)
    for rule in ("knee", "first_objective"):
        selection = los(problem, evaluations=budget, final_rule=rule, seed=seed)
        yield f"los, {rule}", outcome(selection, is_good[selection.selected].any())
        if rule == "knee":
            yield "los: interval", covered(selection, problem)
    selection = los(problem, evaluations=budget, within=WITHIN, seed=seed)
    yield f"los, within {WITHIN}", outcome(selection, enough[selection.selected].any())
    for name, wanted in (("half the front", max(2, len(front) // 2)), ("the front", len(front))):
        for method in (los, monte_carlo):
            selection = method(problem, evaluations=budget, at_least=wanted, seed=seed)
            hits = np.count_nonzero(is_good[selection.selected])
            came_true = hits >= min(wanted, len(front))
            yield f"{selection.method}, {name}", outcome(selection, came_true)
    for method in (monte_carlo, successive_halving):
        selection = method(problem, evaluations=budget)
        yield selection.method, outcome(selection, is_good[selection.best])
        yield f"{selection.method}: interval", covered(selection, problem)
        selection = method(problem, evaluations=budget, within=WITHIN)
        yield f"{selection.method}, within {WITHIN}", outcome(selection, enough[selection.best])
    selection = mocba(problem, evaluations=budget)
    yield "mocba", outcome(selection, np.array_equal(selection.selected, front))
    yield "mocba: interval", covered(selection, problem)


def good_enough(truth: np.ndarray, share: float) -> np.ndarray:
    """Whether no design beats each in every objective by more than a share of its own loss."""
    raised = truth + share * np.abs(truth)
    beaten = (raised[None, :, :] < truth[:, None, :]).all(axis=2)
    return np.asarray(~beaten.any(axis=1))


class Record(NamedTuple):
    """The outcomes of a claim in a cell."""

    claim: float
    share: float
    selected: float
    evaluations: float
    runs: int

    @property
    def errors_below(self) -> float:
        """By how many standard errors the share is below the claim."""
        likely = min(max(self.claim, 1.0 / self.runs), 1.0 - 1.0 / self.runs)
        error = (likely * (1.0 - likely) / self.runs) ** 0.5
        return (self.claim - self.share) / error


def records(cell: Cell, runs: int, first_seed: int = 0) -> dict[str, Record]:
    """What is claimed in a cell, by the name of the claim."""
    trial: Trial = with_one if cell.objectives == 1 else with_two
    seeds = range(first_seed, first_seed + runs)
    return recorded(one for seed in seeds for one in trial(problem_of(cell, seed), seed))


def recorded(tried: Iterable[tuple[str, Outcome]]) -> dict[str, Record]:
    """The records of outcomes, by the name of the claim."""
    outcomes: dict[str, list[Outcome]] = {}
    for name, one in tried:
        outcomes.setdefault(name, []).append(one)
    return {
        name: Record(*(float(np.mean(column)) for column in zip(*some, strict=True)), len(some))
        for name, some in outcomes.items()
    }


def claim_tables(
    runs: int, objectives: Sequence[int], watch: Callable[[str], None]
) -> Iterator[list[list[str]]]:
    """After each cell, a row for each claim: claimed and true by truth, and the worst cell."""
    tried: dict[tuple[int, str], dict[Cell, Record]] = {}
    for cell in (cell for count in objectives for cell in cells(count)):
        watch(" ".join(map(str, cell)))
        for name, record in records(cell, runs).items():
            tried.setdefault((cell.objectives, name), {})[cell] = record
        yield [[f"{k}", name, *claim_cells(by_cell)] for (k, name), by_cell in tried.items()]


def claim_cells(by_cell: Mapping[Cell, Record]) -> list[str]:
    """Claimed and true by truth, and the worst cell."""
    row = []
    for truth in TRUTHS:
        some = [record for cell, record in by_cell.items() if cell.truth == truth]
        if not some:
            row.append("-")
            continue
        claim, share = (np.mean([one[k] for one in some]) for k in (0, 1))
        row.append(f"{claim:.2f} → {share:.2f}")
    worst, record = max(by_cell.items(), key=lambda item: item[1].errors_below)
    how = f"{record.claim:.3f} → {record.share:.3f} ({record.errors_below:+.1f})"
    words = f"{worst.truth}, {worst.noise:g}, {worst.common_share:.0%} common"
    return [*row, f"{how}: {words}"]


HEADER = ["objectives", "claim", *TRUTHS, "worst cell"]


COST_DESIGNS = 200
COST_CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "best of 1 objective": (1, {}),
    f"within {WITHIN}": (1, {"within": WITHIN}),
    "1 of the front of 2": (2, {}),
    "half of the front": (2, {"at_least": 0.5}),
    "the whole front": (2, {"at_least": 1.0}),
}


def cost_header() -> list[str]:
    """Of ``cost_rows``."""
    return ["truth", "noise", *COST_CASES]


def cost_rows(runs: int, watch: Callable[[str], None]) -> list[list[str]]:
    """Designs that LOS selects of 200 after ten replications, and the share of runs it is right."""
    rows = []
    for truth in TRUTHS:
        for common in COMMON:
            watch(f"{truth} {common}")
            row = [truth, "80 % common" if common else "independent"]
            for objectives, options in COST_CASES.values():
                tried = [_cost(truth, common, objectives, options, seed) for seed in range(runs)]
                selected, right = np.mean(tried, axis=0)
                row.append(f"{selected:.0f} ({right:.2f})")
            rows.append(row)
    return rows


def _cost(
    truth: str, common: float, objectives: int, options: dict[str, Any], seed: int
) -> tuple[int, bool]:
    """How many are selected, and whether enough of them are good."""
    means = LEVEL + draw_means(truth, COST_DESIGNS, objectives, stream(seed, f"{truth} cost"))
    problem = NormalProblem(means, 1.0, seed, common)
    front = front_of(means)
    wanted = max(1, int(options.get("at_least", 0.0) * len(front)))
    asked = {**options, "at_least": wanted}
    selected = los(problem, replications=2, seed=seed, **asked).selected
    if "within" in options:
        return len(selected), bool(means[selected].min() <= 1.05 * means.min())
    return len(selected), len(np.intersect1d(front, selected)) >= wanted
