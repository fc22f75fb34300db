"""The best designs of a scenario: its policies, their parameters, its own keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.experiments.objectives import Objectives
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.study import read_study
from cloudarena.optimizers import METHODS, Problem, Progress, Selection

EACH = 20
"""Evaluations for each design when nobody says how many."""


def optimize(
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
) -> Optimization:
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
            ``within="1%"`` for what is good enough; ``METHODS[name].options`` lists them.
    """
    _check((method, *compare), options, confidence)
    study = read_study(spec, overrides)
    problem = study.problem(study.objectives(objectives), seed, workers)
    evaluations = EACH * problem.size if evaluations is None else evaluations

    def run(name: str) -> Selection:
        watch = None
        if watcher is not None:

            def watch(progress: Progress) -> None:
                watcher(name, progress, problem)

        first = min(10, max(2, evaluations // (2 * problem.size)))
        fitting = {"rough": first, "first": first, "seed": seed, **options}
        given = {key: value for key, value in fitting.items() if key in METHODS[name].option_names}
        shared = {"evaluations": evaluations, "confidence": confidence}
        return METHODS[name](problem, watcher=watch, **given, **shared)

    selection = run(method)
    others, failures = [], {}
    for name in compare:
        try:
            others.append(run(name))
        except SpecError as error:
            failures[name] = str(error)
    return Optimization(
        study, problem, selection, tuple(others), failures, method, evaluations, seed, options
    )


def _check(methods: Sequence[str], options: Mapping[str, Any], confidence: float) -> None:
    """Raises for options that are wrong, before anything is simulated.

    Each must be one of some method: those that are compared may have others than the first.
    """
    for place, name in enumerate(methods):
        check_choice("compare" if place else "method", name, METHODS)
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
