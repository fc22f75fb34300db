"""The best designs of a scenario: its policies, their parameters, its own keys.

A scenario with a space of designs is a problem for ``cloudarena.optimizers``: replication r of
every design has the seed ``seed + r``, as in a comparison, so all designs see the same work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError, check_choice
from cloudarena.base.parallel import check_workers, in_parallel, worker_count
from cloudarena.contract import Result, Scenario
from cloudarena.engine.streams import stream
from cloudarena.experiments.designs import Design, DesignSpace
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.study import (
    LoadedStudy,
    Objectives,
    design_text,
    policy_text,
    read_study,
    spec_changes,
)
from cloudarena.optimizers import METHODS, Encoding, Objective, Problem, Progress, Selection
from cloudarena.optimizers.budget.remembered import Remembered
from cloudarena.optimizers.ordinal.alignment import NOTHING
from cloudarena.optimizers.ordinal.final_rules import FINAL_RULES

if TYPE_CHECKING:
    import pyarrow as pa

EACH = 20
"""Evaluations for each design when nobody says how many."""
CHECKED = 100
"""Designs that are looked at before the first run, so that mistakes are found early."""
CHUNKS = 4
"""Parts of the work for each process, so that none waits long for the others."""


class ScenarioProblem(Problem):
    """Designs of a scenario, measured by simulation.

    Args:
        study: the scenario, and how a design changes it.
        space: the designs.
        objectives: metrics of the scenario.
        seed: of replication 0; replication r has ``seed + r``.
        workers: processes; -1 is one for each core. The result does not depend on it.
        common_random_numbers: whether all designs see the same work in a replication.
    """

    def __init__(
        self,
        study: LoadedStudy,
        space: DesignSpace,
        objectives: Sequence[Objective],
        seed: int = 0,
        workers: int = -1,
        common_random_numbers: bool = True,
    ) -> None:
        self.study = study
        self.space = space
        self.size = len(space)
        self.objectives = tuple(objectives)
        self.seed = seed
        self.workers = check_workers(workers)
        self.common_random_numbers = common_random_numbers
        self._scenarios: dict[str, Scenario] = {}
        for number in np.unique(np.linspace(0, self.size - 1, CHECKED).astype(np.int64)):
            design = self.space[int(number)]
            compile_once(self.scenario(design), policy_text(design))

    def design(self, number: int) -> Design:
        """Its policy, parameters and keys of the spec."""
        return self.space[int(number)]

    @property
    def encoding(self) -> Encoding:
        """A gene for each key, if there is a single policy."""
        return self.space.encoding or super().encoding

    def scenario(self, design: Design) -> Scenario:
        """The scenario as the design has it."""
        key = repr(spec_changes(design))
        if key not in self._scenarios:
            try:
                self._scenarios[key] = self.study.scenario_of(design)
            except CloudarenaError as error:
                raise SpecError(f"design {design_text(design)}: {error}") from None
        return self._scenarios[key]

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Runs each design in each replication; a process takes designs of one replication."""
        chosen = [self.space[int(number)] for number in designs]
        runs = [(self.scenario(design), policy_text(design)) for design in chosen]
        names = [objective.name for objective in self.objectives]
        parts = -(-CHUNKS * worker_count(self.workers) // len(replications))
        jobs = [
            (
                [runs[place] for place in places],
                self._seeds(designs[places], replication),
                names,
                places,
                column,
            )
            for column, replication in enumerate(replications.tolist())
            for places in np.array_split(np.arange(len(runs)), min(parts, len(runs)))
        ]
        values = np.empty((len(runs), len(replications), len(names)))
        for places, column, rows in in_parallel(_measure, jobs, self.workers):
            values[places, column] = rows
        return values

    def _seeds(self, designs: Ints, replication: int) -> list[int]:
        if self.common_random_numbers:
            return [self.seed + replication] * len(designs)
        return [
            int(stream(self.seed, f"design {design} replication {replication}").integers(2**31))
            for design in designs.tolist()
        ]


def _measure(
    runs: list[tuple[Scenario, str]], seeds: list[int], names: list[str], places: Ints, column: int
) -> tuple[Ints, int, list[list[float]]]:
    """The objectives of some designs in one replication."""
    rows = []
    for (scenario, policy), seed in zip(runs, seeds, strict=True):
        metrics = simulate(scenario, policy, seed, "none").metrics
        rows.append([metrics[name] for name in names])
    return places, column, rows


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was chosen among the designs of a study, and what others would have chosen."""

    study: LoadedStudy
    problem: Problem
    selection: Selection
    others: tuple[Selection, ...]
    """Of methods that were to be compared, with the same number of evaluations."""
    failures: dict[str, str]
    """Methods that could not be compared, and why."""
    asked_method: str
    """What was asked for; ``auto`` may have become another."""
    evaluations: int
    """How many were allowed."""
    seed: int
    options: dict[str, Any]
    """Of the method."""

    @cached_property
    def winner(self) -> Any:
        """The chosen design."""
        return self.problem.design(self.selection.best)

    @cached_property
    def winning_scenario(self) -> Scenario:
        """The scenario as the chosen design has it, its policy included."""
        shares = self.study.study.shares
        if shares is not None:
            return shares.scenario(self.winner, self.study.description)
        scenario = self.study.scenario_of(self.winner)
        return scenario.model_copy(update={"policy": policy_text(self.winner)})

    @cached_property
    def winning_run(self) -> Result:
        """Replication 0 of the winner, with its tables."""
        return simulate(self.winning_scenario, seed=self.seed)

    @property
    def monte_carlo_evaluations(self) -> int:
        """What Monte Carlo needs to know every design as well as the chosen one is known."""
        place = int(np.flatnonzero(self.selection.estimates.designs == self.selection.best)[0])
        return self.selection.designs * int(self.selection.estimates.replications[place])

    @property
    def saving(self) -> float:
        """How many times as many evaluations Monte Carlo needs for that."""
        return self.monte_carlo_evaluations / self.selection.evaluations

    def designs(self, selection: Selection, numbers: Ints) -> list[dict[str, Any]]:
        """Selected designs with their objectives, as plain values."""
        rows = []
        for number in numbers.tolist():
            place = int(np.flatnonzero(selection.estimates.designs == number)[0])
            design = self.problem.design(number)
            row: dict[str, Any] = {"design": number, "text": design_text(design)}
            if isinstance(design, Mapping):
                row |= {"policy": policy_text(dict(design)), "set": spec_changes(dict(design))}
            else:
                row["share"] = list(design)
            row["objectives"] = selection.estimates.plain(place, selection.objectives)
            row["replications"] = int(selection.estimates.replications[place])
            rows.append(row)
        return rows

    def summary(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {
            "scenario": self.study.name,
            "kind": self.winning_scenario.kind.name,
            "seed": self.seed,
            **self.selection.summary(),
            "chosen": self.designs(self.selection, self.selection.chosen),
            "front": self.designs(self.selection, self.selection.front.designs),
            "monte_carlo_evaluations": self.monte_carlo_evaluations,
            "times_fewer_than_monte_carlo": self.saving,
            "conclusion": self.conclusion(),
            "compared": [
                {**other.summary(), "chosen": self.designs(other, other.chosen)}
                for other in self.others
            ]
            + [{"method": method, "error": why} for method, why in self.failures.items()],
        }

    def table(self) -> pa.Table:
        """A row for each design that was evaluated: what it is, and its objectives.

        ``layer`` and the columns ``rough_...`` are of the first look. Those that were selected have
        means, the ends of their intervals, ``low_...`` and ``high_...``, and ``replications``.
        """
        import pyarrow as pa

        selection, look = self.selection, self.selection.look
        estimates = selection.estimates
        numbers = estimates.designs if look is None else np.arange(selection.designs)
        rows = np.searchsorted(numbers, estimates.designs)
        columns: dict[str, Any] = {
            "design": numbers,
            "text": [design_text(self.problem.design(number)) for number in numbers.tolist()],
            "selected": np.isin(numbers, selection.selected),
            "front": np.isin(numbers, selection.front.designs),
            "chosen": np.isin(numbers, selection.chosen),
            "replications": np.zeros(len(numbers), np.int64),
        }
        columns["replications"][rows] = estimates.replications
        if look is not None:
            columns["layer"] = look.layer + 1
        for k, objective in enumerate(selection.objectives):
            if look is not None:
                columns[f"rough_{objective.name}"] = look.moments.mean[:, k] * objective.sign
            for prefix, values in (
                ("", estimates.mean),
                ("low_", estimates.low),
                ("high_", estimates.high),
            ):
                column = np.full(len(numbers), np.nan)
                column[rows] = values[:, k]
                columns[f"{prefix}{objective.name}"] = pa.array(column, from_pandas=True)
        return pa.table(columns)

    def headline(self) -> str:
        """What to take, and who says so."""
        selection = self.selection
        several = f" and {len(selection.chosen) - 1} more" if len(selection.chosen) > 1 else ""
        return (
            f"Take {design_text(self.winner)}{several}: the choice of {selection.method} among "
            f"{selection.designs:,} designs."
        )

    def conclusion(self) -> str:
        """What to take, what is claimed of it, and what was traded for what."""
        words = [self.headline(), f"Claimed: {self.sure()}.", self.at_most()]
        return " ".join(word for word in (*words, self.trade()) if word)

    def sure(self) -> str:
        """What is claimed, and what that takes for granted."""
        alignment = self.selection.alignment
        if not alignment.says_something or alignment.assumes == NOTHING:
            return str(alignment)
        return f"{alignment}, if {alignment.assumes}"

    def at_most(self) -> str:
        """By how much another design may be better, in a sentence, if the method can tell."""
        selection = self.selection
        if selection.shortfall is None:
            return ""
        place = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
        size = abs(float(selection.estimates.mean[place, 0]))
        share = f" ({selection.shortfall / size:.2%} of its own)" if size > 0.0 else ""
        return (
            f"With probability {selection.confidence:g} no design is better by more than "
            f"{selection.shortfall:.3g}{share} in {selection.objectives[0].name}."
        )

    def trade(self) -> str:
        """What the chosen design has of each objective, and what the front has, in a sentence."""
        selection = self.selection
        if len(selection.objectives) == 1 or len(selection.front.designs) < 2:
            return ""
        place = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
        parts = []
        for k, objective in enumerate(selection.objectives):
            means = selection.front.mean[:, k] * objective.sign
            best, worst = (means.min() * objective.sign, means.max() * objective.sign)
            parts.append(
                f"{objective.name} {selection.estimates.mean[place, k]:.4g} "
                f"(on the front from {best:.4g}, the best, to {worst:.4g})"
            )
        return f"It trades one objective for another: {', '.join(parts)}."

    def cost(self) -> str:
        """One sentence: what it cost, and what Monte Carlo would have."""
        spent = f"{self.selection.evaluations:,} evaluations"
        needed = f"{self.monte_carlo_evaluations:,}"
        if self.selection.method == "monte-carlo":
            return f"It took {spent}, the same for every design."
        if self.saving <= 1.0:
            return f"It took {spent}; Monte Carlo needs {needed} to know all designs as well."
        return (
            f"It took {spent}; to know every design as well as this one, Monte Carlo needs "
            f"{needed}: {self.saving:.3g} times as many. How sure the choice is says only the "
            "claim."
        )


def tune(
    spec: str | Path | Mapping[str, Any],
    method: str = "auto",
    objectives: Objectives | None = None,
    evaluations: int | None = None,
    confidence: float = 0.95,
    compare: Sequence[str] = (),
    seed: int = 0,
    workers: int = -1,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    watcher: Callable[[str, Progress, Problem], None] | None = None,
    **options: Any,
) -> Tuning:
    """Chooses among the designs of a scenario by simulation.

    Args:
        spec: a name of the catalogue, a YAML file of a scenario or a study, or the same as a dict.
        method: one of ``cloudarena.optimizers.METHODS``; ``auto`` takes a rough look and decides.
        objectives: metrics, or metrics with directions; those of the study by default.
        evaluations: runs in all, at most; by default 20 for each design.
        confidence: the probability to reach; also the level of the intervals.
        compare: further methods, which get as many evaluations.
        seed: of replication 0; also of what the methods draw.
        workers: processes; -1 is one for each core. The result does not depend on it.
        overrides: changes of the scenario, as for ``cloudarena.load``.
        watcher: is called again and again with a method, its progress, and the problem.
        options: of the methods, such as ``rough=5`` for ``los``, ``top=3`` for ``ocba-m``, or
            ``within="1%"`` for what is good enough.
    """
    given = _options((method, *compare), options)
    study = read_study(spec, overrides)
    wanted = study.objectives(objectives)
    problem: Problem
    if study.scenario is None:
        problem = study.closed_form(wanted, seed)
    else:
        space = study.space(seed)
        problem = Remembered(ScenarioProblem(study, space, wanted, seed, workers))
    evaluations = EACH * problem.size if evaluations is None else evaluations

    def run(name: str) -> Selection:
        watch = None
        if watcher is not None:

            def watch(progress: Progress) -> None:
                watcher(name, progress, problem)

        fitting = _fitting(name, problem.size, evaluations, seed)
        return METHODS[name](
            problem,
            evaluations=evaluations,
            confidence=confidence,
            watcher=watch,
            **{**fitting, **given[name]},
        )

    selection = run(method)
    others, failures = [], {}
    for name in compare:
        try:
            others.append(run(name))
        except SpecError as error:
            failures[name] = str(error)
    return Tuning(
        study, problem, selection, tuple(others), failures, method, evaluations, seed, options
    )


def _options(methods: Sequence[str], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each method the options that it takes; each must be taken by some method."""
    if "final_rule" in options:
        # Some methods come to it only at the end, when all evaluations are spent.
        check_choice("final_rule", options["final_rule"], FINAL_RULES)
    given = {}
    for place, name in enumerate(methods):
        check_choice("compare" if place else "method", name, METHODS)
        known = inspect.signature(METHODS[name]).parameters
        given[name] = {key: value for key, value in options.items() if key in known}
        for key, parameter in known.items():
            needed = (
                parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
            )
            if needed and key != "evaluations" and key not in options:
                raise SpecError(f"{key}: is required for method {name}")
    for key in options:
        if not any(key in taken for taken in given.values()):
            raise SpecError(f"{key}: is not allowed for method {' or '.join(methods)}")
    return given


def _fitting(method: str, designs: int, evaluations: int, seed: int) -> dict[str, Any]:
    """Options that suit the number of evaluations: half of them, at most, for the first look."""
    first = min(10, max(2, evaluations // (2 * designs)))
    fitting = {"rough": first, "first": first, "seed": seed}
    known = inspect.signature(METHODS[method]).parameters
    return {name: value for name, value in fitting.items() if name in known}
