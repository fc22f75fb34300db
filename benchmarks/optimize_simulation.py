"""LOS on a real simulation: does it reach Monte Carlo's choice at a tenth of its evaluations?

Monte Carlo runs every design in R replications. LOS has R/10 evaluations for each design, half of
them for its first look, and other replications than Monte Carlo. What it chooses is measured on
Monte Carlo's replications, pair by pair with Monte Carlo's own choice: by the objective, or with
several by the sum of objectives, each stretched over Monte Carlo's front, of which the knee has the
least. "Cannot be told apart" means that the 95 % interval of that difference does not lie above 0.
Monte Carlo's choice is the luckiest on its own replications, so this is hard to pass, also for
Monte Carlo itself: the yardstick is a second Monte Carlo on other replications.

A single LOS says little. So both are played again on replications that are drawn, with replacement,
from those that were simulated (bootstrap).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.mapping import markdown
from cloudarena.catalogue import FOLDER, STUDY, read_yaml
from cloudarena.experiments.compare import Estimate, interval
from cloudarena.experiments.study import design_text, read_study
from cloudarena.experiments.tuning import ScenarioProblem
from cloudarena.optimize import Objective, Problem, Selection, los, monte_carlo
from cloudarena.optimize.selection import knee_scores

STUDIED = "tiers/rubis-hour"
OBJECTIVES = (
    ("response_p95_s",),
    ("cost_usd",),
    ("total_cost_usd",),
    ("response_p95_s", "cost_usd"),
)
TENTH = 10
progress = Console(stderr=True)


class Played(Problem):
    """Replications that were simulated before, in any order and as often as wanted."""

    def __init__(self, values: np.ndarray, objectives: tuple[Objective, ...], order: np.ndarray):
        self.values, self.order = values, order
        self.size, self.objectives = len(values), objectives

    def simulate(self, designs: np.ndarray, replications: np.ndarray) -> np.ndarray:
        return self.values[np.ix_(designs, self.order[replications])]


def rule_for(objectives: tuple[Objective, ...]) -> Any:
    return "knee" if len(objectives) > 1 else "first_objective"


def tenth(problem: Problem, replications: int, seed: int = 0) -> Selection:
    """LOS with a tenth of the evaluations that Monte Carlo has, half of them for the first look."""
    evaluations = problem.size * replications // TENTH
    return los(
        problem,
        rough=max(2, evaluations // (2 * problem.size)),
        evaluations=evaluations,
        final_rule=rule_for(problem.objectives),
        seed=seed,
    )


def behind(values: np.ndarray, proper: Selection, design: int) -> Estimate:
    """How far a design is behind Monte Carlo's choice, on Monte Carlo's replications."""
    scores = knee_scores(values[[design, proper.best]], proper.front.mean)
    return interval(scores[0] - scores[1])


def simulation(spec: str, designs: int, replications: int, runs: int) -> str:
    """Two tables: the choices, and how often they cannot be told from Monte Carlo's."""
    study = read_study({"spec": spec, **read_yaml(FOLDER / f"{STUDIED}{STUDY}", STUDIED)})
    if designs < len(study.space(0)):
        study = study._replace(study=study.study.model_copy(update={"sample": designs}))
    space = study.space(0)
    names = sorted({name for wanted in OBJECTIVES for name in wanted})
    everything = study.objectives(names)
    start = time.perf_counter()
    simulated = ScenarioProblem(study, space, everything)
    values = np.empty((len(space), replications, len(everything)))
    for replication in range(replications):
        values[:, replication : replication + 1] = simulated.evaluate(
            range(len(space)), [replication]
        )
        words = f"replication {replication + 1} of {replications}"
        progress.print(f"{words}, {time.perf_counter() - start:,.0f} s", style="dim")
    choices, shares = [], []
    for wanted in OBJECTIVES:
        objectives = study.objectives(wanted)
        some = values[:, :, [names.index(name) for name in wanted]]
        others = ScenarioProblem(study, space, objectives, seed=10**6)
        progress.print(f"LOS by {', '.join(wanted)}", style="dim")
        choices.append(_choices(some, objectives, tenth(others, replications), space))
        shares.append(_shares(some, objectives, runs))
    return _tables(choices, shares, len(space), replications, runs)


def _choices(
    values: np.ndarray, objectives: tuple[Objective, ...], quick: Selection, space: Any
) -> list[str]:
    """A row: both choices, and how far that of LOS is behind."""
    count = values.shape[1]
    everything = Played(values, objectives, np.arange(count))
    proper = monte_carlo(everything, replications=count, final_rule=rule_for(objectives))
    gap = behind(values, proper, quick.best)
    is_equal = bool((values[quick.best] == values[proper.best]).all())
    rank = knee_scores(values.mean(axis=1), proper.front.mean).argsort().argsort()[quick.best] + 1
    verdict = "equal" if is_equal else "not told apart" if gap.low <= 0.0 else "behind"
    return [
        ", ".join(objective.name for objective in objectives),
        design_text(space[proper.best]),
        design_text(space[quick.best]),
        f"{len(quick.selected):,}"
        + (", in it" if proper.best in quick.selected else ", not in it"),
        f"{gap.low:+.3g} to {gap.high:+.3g}: {verdict}",
        f"{rank:,}",
        f"{quick.evaluations:,}",
    ]


def _shares(values: np.ndarray, objectives: tuple[Objective, ...], runs: int) -> list[str]:
    """A row: how often LOS, and another Monte Carlo, cannot be told from Monte Carlo."""
    count = values.shape[1]
    same, level = np.zeros(2), np.zeros(2)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        drawn, other = rng.integers(0, count, (2, 1000 + count))
        everything = Played(values, objectives, drawn)
        proper = monte_carlo(everything, replications=count, final_rule=rule_for(objectives))
        again = monte_carlo(
            Played(values, objectives, other), replications=count, final_rule=rule_for(objectives)
        )
        quick = tenth(Played(values, objectives, other), count, seed)
        for place, selection in enumerate((quick, again)):
            seen = values[:, drawn[:count]]
            same[place] += bool((seen[selection.best] == seen[proper.best]).all())
            level[place] += behind(seen, proper, selection.best).low <= 0.0
    cells = [f"{part:.2f}" for pair in zip(level / runs, same / runs, strict=True) for part in pair]
    return [", ".join(objective.name for objective in objectives), *cells]


def _tables(
    choices: list[list[str]], shares: list[list[str]], designs: int, replications: int, runs: int
) -> str:
    first = markdown(
        [
            "objectives",
            f"Monte Carlo's choice ({designs * replications:,} evaluations)",
            "choice of LOS",
            "LOS selected; Monte Carlo's choice",
            "LOS behind, paired, 95 %",
            "its rank",
            "evaluations of LOS",
        ],
        choices,
    )
    second = markdown(
        [
            f"{runs} draws",
            "LOS not told apart",
            "equal",
            "another Monte Carlo not told apart",
            "equal",
        ],
        shares,
    )
    return f"{first}\n{second}"
