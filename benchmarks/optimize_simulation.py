"""Whether LOS, on a real simulation, reaches Monte Carlo's choice at a tenth of its evaluations.

Monte Carlo runs every design in R replications. LOS has R/10 evaluations for each design, half of
them for its screening stage, and other replications than Monte Carlo. What it chooses is measured
on Monte Carlo's replications, pair by pair with Monte Carlo's own choice, by what the final rule
compares: the first objective, or for the knee of two the sum of both, each stretched over Monte
Carlo's front. "Cannot be told apart" means that the 95 % interval of that difference does not lie
above 0. Monte Carlo's choice is the luckiest on its own replications, so this is hard to pass, also
for Monte Carlo itself: the yardstick is a second Monte Carlo on other replications. "Regret" is how
far a choice is behind the best by all replications that were simulated, in per cent of the
objective or, for the knee, of the range of the front.

A single LOS says little. So all designs are simulated in some replications, and the methods are
played many times on replications that are drawn from these with replacement (bootstrap).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.mapping import markdown
from cloudarena.base.statistics import front_of
from cloudarena.catalogue import read_yaml, studies
from cloudarena.experiments.compare import Estimate, interval
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.experiments.study import ScenarioStudy, read_study
from cloudarena.optimizers import Objective, Problem, Selection, los, monte_carlo
from cloudarena.optimizers.ordinal.final_rules import FinalRule, knee_scores

STUDIED = "tiers/rubis-hour"
CASES: tuple[tuple[tuple[str, ...], FinalRule], ...] = (
    (("response_p95_s",), "first_objective"),
    (("cost_usd",), "first_objective"),
    (("total_cost_usd",), "first_objective"),
    (("response_p95_s", "cost_usd"), "first_objective"),
    (("response_p95_s", "cost_usd"), "knee"),
)
"""Objectives and final rules."""
METRICS = ("response_p95_s", "cost_usd", "total_cost_usd")
TENTH = 10
MOST_PLAYED = 2000
"""Replications beyond Monte Carlo's that LOS may ask for, for the few that stay ahead."""
progress = Console(stderr=True)


class Played(Problem):
    """Replications that were simulated before, in any order and as often as wanted."""

    def __init__(self, values: np.ndarray, objectives: tuple[Objective, ...], order: np.ndarray):
        self.values, self.order = values, order
        self.size, self.objectives = len(values), objectives

    def simulate(self, designs: np.ndarray, replications: np.ndarray) -> np.ndarray:
        return self.values[np.ix_(designs, self.order[replications])]


def tenth(problem: Problem, replications: int, rule: FinalRule, seed: int = 0) -> Selection:
    """LOS with a tenth of the evaluations of Monte Carlo, half of them for screening."""
    evaluations = problem.size * replications // TENTH
    return los(
        problem,
        rough=max(2, evaluations // (2 * problem.size)),
        evaluations=evaluations,
        final_rule=rule,
        seed=seed,
    )


def scores_by(rule: FinalRule, losses: np.ndarray, front: np.ndarray) -> np.ndarray:
    """What the rule compares, the less the better; objectives are along the last axis."""
    return knee_scores(losses, front) if rule == "knee" else losses[..., 0]


def behind(rule: FinalRule, values: np.ndarray, proper: Selection, design: int) -> Estimate:
    """How far a design is behind Monte Carlo's choice, on Monte Carlo's replications."""
    scores = scores_by(rule, values[[design, proper.best]], proper.front.mean)
    return interval(scores[0] - scores[1])


def simulate(spec: str, designs: int, replications: int, seed: int) -> tuple[ScenarioStudy, Any]:
    """The study, and the metrics of its designs: (designs, replications, METRICS)."""
    study = read_study({"spec": spec, **read_yaml(studies()[STUDIED], STUDIED)})
    if designs < len(study.space(0)):
        study = study._replace(study=study.study.model_copy(update={"sample": designs}))
    space = study.space(0)
    problem = ScenarioProblem(study.scenario_of, space, study.objectives(METRICS), seed=seed)
    values = np.empty((len(space), replications, len(METRICS)))
    start = time.perf_counter()
    for replication in range(replications):
        values[:, [replication]] = problem.evaluate(range(len(space)), [replication])
        words = f"replication {replication + 1} of {replications}"
        progress.print(f"{words}, {time.perf_counter() - start:,.0f} s", style="dim")
    return study, values


def simulation(
    spec: str, designs: int, replications: int, played: int, runs: int, seed: int
) -> str:
    """A row for each set of objectives and final rule."""
    study, values = simulate(spec, designs, replications, seed)
    return table(study, values, played, runs)


def table(study: ScenarioStudy, values: Any, played: int, runs: int) -> str:
    """A row for each case: LOS, and another Monte Carlo, against Monte Carlo."""
    rows = []
    for wanted, rule in CASES:
        words = ", ".join(wanted) + (f" ({rule})" if len(wanted) > 1 else "")
        progress.print(words, style="dim")
        some = values[:, :, [METRICS.index(name) for name in wanted]]
        rows.append([words, *_row(some, study.objectives(wanted), rule, played, runs)])
    header = [
        "objectives (final rule)",
        "evaluations of Monte Carlo",
        "of LOS",
        "selected by LOS",
        "with Monte Carlo's choice",
        "choice not told apart",
        "equal",
        "regret",
        "another Monte Carlo: not told apart",
        "equal",
        "regret",
    ]
    return markdown(header, rows)


def _row(
    values: Any, objectives: tuple[Objective, ...], rule: FinalRule, played: int, runs: int
) -> list[str]:
    count = values.shape[1]
    seen = np.zeros((runs, 9))
    truth = values.mean(axis=1)
    scores = scores_by(rule, truth, truth[front_of(truth)])
    unit = 1.0 if rule == "knee" else scores.min()
    regret = 100.0 * (scores - scores.min()) / unit
    for seed in range(runs):
        drawn, other = np.random.default_rng(seed).integers(0, count, (2, played + MOST_PLAYED))
        everything, others = (Played(values, objectives, order) for order in (drawn, other))
        proper, again = (
            monte_carlo(problem, replications=played, final_rule=rule)
            for problem in (everything, others)
        )
        quick = tenth(others, played, rule, seed)
        on = values[:, drawn[:played]]
        seen[seed, :3] = quick.evaluations, len(quick.selected), proper.best in quick.selected
        for place, selection in ((3, quick), (6, again)):
            is_equal = bool((on[selection.best] == on[proper.best]).all())
            is_level = behind(rule, on, proper, selection.best).low <= 0.0
            seen[seed, place : place + 3] = is_level, is_equal, regret[selection.best]
    mean = seen.mean(axis=0)
    cells = [f"{len(values) * played:,}", f"{mean[0]:,.0f}", f"{mean[1]:,.0f}"]
    cells += [f"{share:.2f}" for share in mean[2:]]
    return [*cells[:6], f"{mean[5]:.2f} %", *cells[7:9], f"{mean[8]:.2f} %"]
