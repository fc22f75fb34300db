"""Samplers of Optuna as searches, with ranking and selection among what they visited.

They need the extra ``opt``: ``pip install 'cloudarena[opt]'``. A trial is a design, whose value is
its mean over the replications that all have.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.methods.method import method
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.search.finish import Search, SearchOptions
from cloudarena.optimizers.selection import Selection
from cloudarena.optimizers.spaces.regions import Region

PATIENCE = 50
"""Trials in a row that propose no new design, after which the search ends."""


class TpeOptions(SearchOptions):
    """The options of TPE."""


class CmaOptions(SearchOptions):
    """The options of CMA-ES."""


@method("tpe", TpeOptions, limits=True, searches=True)
def tpe(problem: Problem, options: TpeOptions, watcher: Watcher | None) -> Selection:
    """Searches by Optuna's tree of Parzen estimators, then selects among the visited."""
    optuna = _optuna("tpe")
    search = Search(problem, options, watcher)
    number = int(stream(options.seed, "tpe").integers(2**31))
    limits = {"constraints_func": _excesses} if problem.limits else {}
    sampler = optuna.samplers.TPESampler(seed=number, **limits)
    return _searched(optuna, sampler, search, "tpe")


@method("cma-es", CmaOptions, searches=True)
def cma_es(problem: Problem, options: CmaOptions, watcher: Watcher | None) -> Selection:
    """Searches by Optuna's CMA-ES, one objective alone, then selects among the visited."""
    optuna = _optuna("cma-es")
    if importlib.util.find_spec("cmaes") is None:
        raise CloudarenaError(
            "cma-es: needs cmaes, which is not installed: pip install 'cloudarena[opt]'"
        )
    if len(problem.objectives) > 1:
        raise SpecError(
            f"objectives: {len(problem.objectives)} are not allowed for method cma-es: one"
        )
    search = Search(problem, options, watcher)
    number = int(stream(options.seed, "cma-es").integers(2**31))
    sampler = optuna.samplers.CmaEsSampler(seed=number, warn_independent_sampling=False)
    return _searched(optuna, sampler, search, "cma-es")


def _optuna(name: str) -> Any:
    try:
        import optuna
    except ImportError:
        raise CloudarenaError(
            f"{name}: needs optuna, which is not installed: pip install 'cloudarena[opt]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _searched(optuna: Any, sampler: Any, search: Search, name: str) -> Selection:
    """Asks the sampler for designs until the evaluations of the search are spent."""
    objectives = len(search.problem.objectives)
    study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
    idle = 0
    while search.left > 0 and idle < PATIENCE:
        search.watch()
        trial = study.ask()
        region, point = suggested(trial, search.regions)
        there = search.regions[region]
        fresh = search.visited.fresh(region, point[None, :])
        search.visited.visit(region, fresh)
        idle = 0 if len(fresh) else idle + 1
        if not there.allowed(point[None, :])[0]:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        number = int(there.numbers(point[None, :])[0])
        losses = search.visited.losses[search.visited.numbers.index(number)]
        trial.set_user_attr("excess", losses[objectives:].tolist())
        study.tell(trial, losses[:objectives].tolist())
    return search.finish(name)


def suggested(trial: Any, regions: tuple[Region, ...]) -> tuple[int, np.ndarray]:
    """The point that a trial of Optuna stands for: the region first, if there are several."""
    region = trial.suggest_categorical("region", range(len(regions))) if len(regions) > 1 else 0
    point = []
    for index, axis in enumerate(regions[region].axes):
        name = f"{region}.{index}"
        if axis.levels == 1:
            point.append(0)
        elif axis.is_ordered:
            point.append(trial.suggest_int(name, 0, axis.levels - 1))
        else:
            point.append(trial.suggest_categorical(name, range(axis.levels)))
    return region, np.array(point, np.int64)


def _excesses(trial: Any) -> list[float]:
    """How far a trial breaks each limit, as Optuna asks for it."""
    return list(trial.user_attrs.get("excess", ()))
