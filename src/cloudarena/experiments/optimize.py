"""The best designs of a scenario: its policies, their parameters, its own keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.base.names import UNSERVED
from cloudarena.base.notices import notebook_bar
from cloudarena.contract import Metric, Scenario
from cloudarena.experiments.evaluations import open_evaluations
from cloudarena.experiments.input_uncertainty import check_resampled, input_uncertainty
from cloudarena.experiments.macro import Play, compare_methods
from cloudarena.experiments.objectives import Objectives
from cloudarena.experiments.optimization import Optimization, RiskFigures
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.study import LoadedStudy, ScenarioStudy, read_study
from cloudarena.experiments.tried import tried_designs
from cloudarena.optimizers import METHODS, Problem, Progress, Selection
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.methods.auto import can_be_searched
from cloudarena.optimizers.risk import RiskProblem, in_runs, split_risk

EACH = 20
"""Evaluations for each design when nobody says how many."""
EACH_KEY = 100
"""Evaluations for each key, and as many more, where designs are too many to try each."""
ALIASES = {"optuna": "tpe"}
"""Other names of methods."""
POST_REPLICATIONS = 50
"""Replications by which a design is judged that a method recommended."""
MOST_TRIED = 5000
"""Designs that are each tried when nobody says how many evaluations."""


def optimize(
    spec: str | Path | Mapping[str, Any] | Scenario,
    method: str = "auto",
    objectives: Objectives | None = None,
    evaluations: int | None = None,
    confidence: float = 0.95,
    compare: Sequence[str] = (),
    seed: int = 0,
    workers: int = -1,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    watcher: Callable[[str, Progress, Problem], None] | None = None,
    executor: Executor | None = None,
    where: Sequence[str] = (),
    metrics: Sequence[str | Metric] = (),
    store: str | Path | None = None,
    macro_replications: int = 0,
    post_replications: int = POST_REPLICATIONS,
    input_traces: int = 0,
    **options: Any,
) -> Optimization:
    """Chooses among the designs of a scenario by simulation.

    Args:
        spec: a name of the catalogue, a YAML file of a scenario or a study, the same as a dict, or
            a scenario, which may measure metrics of your own (``scenario.measuring(mine)``).
        method: one of ``cloudarena.optimizers.METHODS``; ``auto`` screens all designs and decides.
        objectives: metrics, or metrics with directions; those of the study by default.
        evaluations: runs in all, at most; by default 20 for each design, or if a key is continuous
            or there are more than 5000, 100 for each key and as many more.
        confidence: the probability to reach; also the level of the intervals.
        compare: further methods, which get as many evaluations; ``optuna`` is ``tpe``.
        seed: of replication 0; also of what the methods draw.
        workers: processes; -1 is one for each core. The result does not depend on it.
        overrides: changes of the scenario, as for ``cloudarena.load``.
        watcher: is called again and again with a method, its progress, and the problem.
        executor: any ``concurrent.futures.Executor`` to run on, such as that of a cluster.
        where: limits that the means of metrics must keep, such as ``["sla_minutes_ok >= 0.97"]``,
            or rules on designs, besides those of the study.
        metrics: of your own, besides those of the kind: functions under ``@cloudarena.metric()``,
            or ``FILE.py:NAME``.
        store: a folder that keeps every evaluation as a row, and has those of before: a study that
            was stopped goes on, and may be given more evaluations.
        macro_replications: how often the method, and those of ``compare``, are played besides, each
            time on work of its own: progress curves, solvability profiles and areas.
        post_replications: by which designs that were recommended there are judged.
        input_traces: how often the recorded trace is drawn again for the chosen design, to tell the
            share of the variance that comes from the trace (input uncertainty).
        options: of the methods, such as ``rough=5`` for ``los``, ``top=3`` for ``ocba-m``, or
            ``within="1%"`` for what is good enough; ``METHODS[name].options`` lists them.
    """
    method, *compare = (ALIASES.get(name, name) for name in (method, *compare))
    _check((method, *compare), options, confidence)
    check_whole("macro_replications", macro_replications, 0)
    check_whole("post_replications", post_replications, 2)
    study = read_study(spec, overrides).measuring(*metrics)
    study = study.with_limits([where] if isinstance(where, str) else where)
    if input_traces:
        check_whole("input_traces", input_traces, 2)
        if not isinstance(study, ScenarioStudy):
            raise SpecError(f"input_traces: {input_traces} is not allowed: a model has no trace")
        check_resampled(study.scenario)
    with open_evaluations(store, _kept_kind(study, store)) as kept:
        problem = study.problem(study.objectives(objectives), seed, workers, executor, kept)
        if evaluations is None:
            evaluations = _usual_evaluations(problem, method)
        found = _chosen(
            study, problem, method, compare, evaluations, confidence, seed, options, watcher
        )
        if macro_replications:
            each = evaluations // _batch(problem)
            plays = {
                name: _play(name, each, confidence, options)
                for name in dict.fromkeys((method, *compare))
            }
            macro, failures = compare_methods(
                problem, plays, each, macro_replications, post_replications, seed
            )
            if macro is not None:
                in_all = tuple(budget * _batch(problem) for budget in macro.budgets)
                macro = macro._replace(budgets=in_all)
            found = replace(found, macro=macro, failures={**found.failures, **failures})
    if not isinstance(study, ScenarioStudy):
        return found
    found = replace(found, repeated=_not_run(problem))
    scenario = found.winning_scenario
    if input_traces:
        names = dict.fromkeys(split_risk(name)[0] for name in found.problem.columns)
        drawn = input_uncertainty(
            scenario, tuple(names), input_traces, confidence, seed, workers, executor
        )
        found = replace(found, inputs=drawn)
    first = simulate(scenario, seed=seed, record="none")
    return replace(found, unserved=float(first.metrics[UNSERVED]))


def _kept_kind(study: LoadedStudy, store: str | Path | None) -> str:
    """The kind of the rows of a study; raises where they cannot be kept."""
    if store is None:
        return ""
    if not isinstance(study, ScenarioStudy):
        raise SpecError(f"store: {store} is not allowed: a model is computed, nothing is run")
    if "load_workload" in vars(study.scenario):
        raise SpecError(f"store: {store} is not allowed for a scenario with work of one's own")
    return study.scenario.kind.name


def _not_run(problem: Any) -> int:
    """The evaluations that were not run, since they would have been the same as others."""
    while not isinstance(problem, ScenarioProblem):  # one around it has it as its problem
        problem = problem.problem
    return max(0, problem.repeated)


def _batch(problem: Problem) -> int:
    """Runs that an evaluation takes: more than one if a quantile or CVaR is asked for."""
    return problem.batch if isinstance(problem, RiskProblem) else 1


def _chosen(
    study: LoadedStudy,
    problem: Problem,
    method: str,
    compare: Sequence[str],
    evaluations: int,
    confidence: float,
    seed: int,
    options: dict[str, Any],
    watcher: Callable[[str, Progress, Problem], None] | None,
) -> Optimization:
    """What the method chooses, and what those do that it is compared with."""
    batch = _batch(problem)
    if evaluations < batch:
        raise SpecError(f"evaluations: {evaluations:,} are not enough: {batch} runs make a batch")

    def run(name: str) -> Selection:
        watch: Watcher | None = None
        bar = notebook_bar(f"evaluations of {name}")
        if watcher is not None:

            def watch(progress: Progress) -> None:
                spent, expected = progress.evaluations * batch, progress.expected * batch
                watcher(name, Progress(spent, expected, progress.best), problem)

        elif bar is not None:

            def watch(progress: Progress) -> None:
                bar(progress.evaluations * batch, progress.expected * batch)

        given = method_options(name, problem, evaluations // batch, confidence, seed, options)
        return in_runs(METHODS[name](problem, watcher=watch, **given), batch)

    selection = run(method)
    others, failures = [], {}
    for name in compare:
        try:
            others.append(run(name))
        except SpecError as error:
            failures[name] = str(error)
    return Optimization(
        study,
        problem,
        selection,
        tuple(others),
        failures,
        method,
        evaluations,
        seed,
        options,
        risk=_risk(problem, selection),
        tried=tried_designs(problem, selection),
    )


def _risk(problem: Problem, selection: Selection) -> RiskFigures | None:
    """The statistics of the chosen design over all its runs, if they are more than means.

    Their intervals know among how many designs it was chosen (Bonferroni).
    """
    if not isinstance(problem, RiskProblem):
        return None
    runs = int(selection.estimates.replications[selection.row(selection.best)])
    level = 1.0 - (1.0 - selection.confidence) / len(selection.estimates.designs)
    figures = problem.pooled(selection.best, runs // problem.batch, level)
    return RiskFigures(
        runs, problem.batch, tuple(figures), np.array([tuple(one) for one in figures.values()])
    )


def _play(name: str, evaluations: int, confidence: float, options: Mapping[str, Any]) -> Play:
    """What plays a method in a macro-replication."""

    def play(problem: Problem, seed: int, watcher: Watcher) -> Selection:
        given = method_options(name, problem, evaluations, confidence, seed, options)
        return METHODS[name](problem, watcher=watcher, **given)

    return play


def method_options(
    name: str,
    problem: Problem,
    evaluations: int,
    confidence: float,
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The options that a method gets: those of the user that it has, and what fits the budget."""
    first = min(10, max(2, evaluations // (2 * problem.size)))
    fitting = {"rough": first, "first": first, "seed": seed, **options}
    given = {key: value for key, value in fitting.items() if key in METHODS[name].option_names}
    return {**given, "evaluations": evaluations, "confidence": confidence}


def _usual_evaluations(problem: Problem, method: str) -> int:
    """How many evaluations there are when nobody says."""
    searched = METHODS[method].searches and can_be_searched(problem)
    if searched and (problem.is_continuous or problem.size > MOST_TRIED):
        keys = sum(region.free for region in problem.regions)
        return EACH_KEY * (1 + keys) * _batch(problem)
    return EACH * problem.size * _batch(problem)


def _check(methods: Sequence[str], options: Mapping[str, Any], confidence: float) -> None:
    """Raises for options that are wrong, before anything is simulated.

    Each must be one of some method: those that are compared may have others than the first.
    """
    for index, name in enumerate(methods):
        check_choice("compare" if index else "method", name, METHODS)
    known = dict.fromkeys(option for name in methods for option in METHODS[name].option_names)
    for key in options:
        if key not in known:
            raise SpecError(
                f"{key}: is not allowed for method {' or '.join(methods)}: one of "
                f"{', '.join(known)}.{nearest(key, known)}"
            )
    for name in methods:
        own = METHODS[name].option_names
        given = {key: value for key, value in options.items() if key in own}
        METHODS[name].read({"evaluations": 1, "confidence": confidence, **given})
