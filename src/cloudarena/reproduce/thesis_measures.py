"""What the figures of the elastic-cloud thesis are made of, each measured in one place.

``cloudarena reproduce thesis`` holds the claims of the thesis against it, at sizes of its own, and
``python -m benchmarks.thesis`` prints it as tables, at those of the thesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.contract import Scenario
from cloudarena.experiments.simulate import simulate
from cloudarena.optimizers import los
from cloudarena.reduction import reduce_metrics
from cloudarena.reduction.reduce import Reduction
from cloudarena.scenarios.clusters import ClusterModel
from cloudarena.scenarios.clusters.policies.model.stages import similarities

MODEL, RULE = "model-based:margin=1.15", "utilisation"
CLASSES = 7
THROUGHPUT, MEMORY = "throughput_per_s", "memory_mb"
HORIZON_S = 3600.0
SHARES = (0.1, 0.5, 0.9)
"""The parts of the front that figures 4.5 and 4.6 ask for."""
WORKLOADS = ("lflc", "lfhc", "hflc", "hfhc")
PAIRS = 10_000
"""Pairs of which figure 6.4 shows how alike they are."""
METRICS_OF_HITS = {10: 1, 20: 2, 30: 4, 40: 7, 50: 10, 60: 15, 70: 23, 80: 36, 90: 159}
"""Table 7.4: how many metrics are needed for k of the best 100."""


def values_of(scenario: Scenario, policy: str, seeds: int, *metrics: str) -> Floats:
    """Metrics of a policy, a row for each metric and a column for each seed."""
    runs = [simulate(scenario, policy, seed, "none").metrics for seed in range(seeds)]
    return np.array([[run[metric] for run in runs] for metric in metrics])


def predicted_and_measured(minutes: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Figure 3.7: the responses of the minutes that have both."""
    predicted = np.array(minutes["response_predicted_s"], float)
    measured = np.array(minutes["response_mean_s"], float)
    good = np.isfinite(predicted) & np.isfinite(measured)
    return predicted[good], measured[good]


def error_and_correlation(predicted: Floats, measured: Floats) -> tuple[float, float]:
    """The median error of a prediction, as a share of what was measured, and how both go along."""
    error = np.median(np.abs(predicted / measured - 1.0))
    return float(error), float(np.corrcoef(predicted, measured)[0, 1])


def wanted_of(front: int) -> list[int]:
    """How many designs are each of the parts of a front."""
    return [max(1, round(share * front)) for share in SHARES]


def selected_by_los(model: ClusterModel, wanted: int, **options: Any) -> int:
    """Figures 4.5 and 4.6: how many designs LOS evaluates properly to have so many of the front."""
    selection: Any = los(model, at_least=wanted, **options)
    return len(selection.selected)


def deciding(vms: int, thinking: float, evaluations: int, **others: Any) -> dict[str, Any]:
    """A virtual cluster that knows its work, in which Monte Carlo thinks for a part of the horizon.

    Args:
        vms: how many VMs it has.
        thinking: the part of the horizon for which Monte Carlo thinks.
        evaluations: how many simulations Monte Carlo makes of its designs meanwhile.
        others: other keys of the spec.
    """
    seconds = thinking * HORIZON_S / evaluations
    return {"vms": vms, "decide_seconds": seconds, "information": "oracle", **others}


def alike(tasks: Floats, pairs: Ints) -> Floats:
    """Figure 6.4: how alike the batches of each pair are."""
    return similarities(tasks[pairs[:, 0]], tasks[pairs[:, 1]])


def reduced(table: Floats, keep: int) -> Reduction:
    """A few metrics by stepwise regression; their correlation is adjusted for their number."""
    return reduce_metrics(table, keep=keep, correlation="adjusted")


def held(few: Reduction, table: Floats, best: int) -> float:
    """How many of the best of a table are among as many by the few metrics."""
    return float(few.hits(table, best, best))
