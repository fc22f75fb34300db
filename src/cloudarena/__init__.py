"""A simulator that tells which policy should run a cloud, and what it will cost.

The names below are the public interface; each is imported when it is first used, so that
``import cloudarena`` is quick. It also registers the environments ``cloudarena/<kind>-v0`` with
Gymnasium.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cloudarena.learn import register_with_gymnasium
from cloudarena.version import __version__

if TYPE_CHECKING:
    from cloudarena.base.errors import CloudarenaError as CloudarenaError
    from cloudarena.base.errors import InvalidAction as InvalidAction
    from cloudarena.catalogue import load as load
    from cloudarena.contract import Decision as Decision
    from cloudarena.contract import Metric as Metric
    from cloudarena.contract import Policy as Policy
    from cloudarena.contract import Result as Result
    from cloudarena.contract import Run as Run
    from cloudarena.contract import Scenario as Scenario
    from cloudarena.contract import metric as metric
    from cloudarena.experiments.ask_tell import AskTell as AskTell
    from cloudarena.experiments.compare import compare as compare
    from cloudarena.experiments.comparison import Comparison as Comparison
    from cloudarena.experiments.optimization import Optimization as Optimization
    from cloudarena.experiments.optimize import optimize as optimize
    from cloudarena.experiments.simulate import simulate as simulate
    from cloudarena.experiments.sweep.results import open_results as open_results
    from cloudarena.experiments.sweep.run import sweep as sweep
    from cloudarena.learn.train import train as train
    from cloudarena.learn.training import Training as Training
    from cloudarena.policies import parameters as parameters
    from cloudarena.policies import ranks_by as ranks_by

_HOMES = {
    "load": "catalogue",
    "simulate": "experiments.simulate",
    "compare": "experiments.compare",
    "optimize": "experiments.optimize",
    "AskTell": "experiments.ask_tell",
    "sweep": "experiments.sweep.run",
    "open_results": "experiments.sweep.results",
    "train": "learn.train",
    "Scenario": "contract",
    "Run": "contract",
    "Decision": "contract",
    "Policy": "contract",
    "Result": "contract",
    "Comparison": "experiments.comparison",
    "Optimization": "experiments.optimization",
    "Training": "learn.training",
    "Metric": "contract",
    "metric": "contract",
    "parameters": "policies",
    "ranks_by": "policies",
    "CloudarenaError": "base.errors",
    "InvalidAction": "base.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cloudarena' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cloudarena.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_with_gymnasium()
