"""What a workflow run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.measures import UNSERVED, AtLeast, censored_mean, censored_quantiles, ratio
from cloudarena.contract import Metric, Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.spec import WorkflowScenario
    from cloudarena.scenarios.workflow.state import World

METRICS = (
    Metric(
        UNSERVED,
        "workflows that have not finished / workflows that have arrived",
        "lower",
    ),
    Metric("workflows", "workflows that have finished", "higher"),
    Metric("functions", "functions that have completed", "higher"),
    Metric(
        "makespan_sum_s",
        "sum over workflows: last completion - arrival; one that has not finished counts so far",
        "lower",
    ),
    Metric("makespan_mean_s", "its mean", "lower"),
    Metric("makespan_p50_s", "its median", "lower"),
    Metric("makespan_p95_s", "its 95th percentile", "lower"),
    Metric(
        "slowdown_mean",
        "mean over workflows: makespan / critical path on idle cores, without transfers",
        "lower",
    ),
    Metric("rent_usd", "hours rented times the hourly rates", "lower"),
    Metric(
        "weighted_cost",
        "objective.weight * makespan_sum_s + (1 - weight) * objective.rent_scale * rent_usd",
        "lower",
    ),
    Metric(
        "mean_cpu_utilisation",
        "operations done over what all cores could do, from 0 to the last completion",
        "higher",
    ),
    Metric("memory_wait_s", "sum over functions: start - creation", "lower"),
    Metric("transfer_s", "sum over functions: time for their data", "lower"),
    Metric("cold_starts", "servers booted", "lower"),
)

HEADLINE = "weighted_cost"
HIGHLIGHTS = (
    UNSERVED,
    "makespan_mean_s",
    "makespan_p95_s",
    "slowdown_mean",
    "rent_usd",
    "weighted_cost",
    "mean_cpu_utilisation",
    "cold_starts",
)
PLOTS = (
    Plot("Workflows in progress", "series", "time_s", "workflows", "workflows"),
    Plot("Threads of running functions", "series", "time_s", "parallelism", "threads"),
    Plot("Memory held", "series", "time_s", "memory_mb", "MB"),
    Plot("Rent so far", "series", "time_s", "rent_usd", "$"),
)


def measure(scenario: WorkflowScenario, world: World) -> dict[str, float]:
    """The metrics so far."""
    totals, sharing, now = world.totals[0], world.nodes.sharing, float(world.clock[0]["now"])
    arrived = int(world.clock[0]["arrived"])
    since = world.demand.arrival[:arrived]
    completion = world.progress.completion[:arrived]
    path = world.demand.critical_path[:arrived]
    done = np.isfinite(completion)
    makespan, so_far = (completion - since)[done], (now - since)[~done]
    median, tail = censored_quantiles(makespan, so_far, (0.5, 0.95))
    total = _bounded(float(makespan.sum() + so_far.sum()), len(so_far))
    cost = weighted_cost(scenario, total, float(totals["rent"]))
    capacity = float(sharing.cores.sum()) * sharing.core_speed
    values = (
        len(so_far) / max(1, arrived),
        int(totals["workflows"]),
        int(totals["functions"]),
        total,
        censored_mean(makespan, so_far),
        median,
        tail,
        censored_mean(makespan / path[done], so_far / path[~done]),
        float(totals["rent"]),
        _bounded(cost, len(so_far)),
        ratio(float(sharing.work.sum()), capacity * now),
        float(totals["memory_wait_s"]),
        float(totals["transfer_s"]),
        int(totals["cold_starts"]),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def _bounded(value: float, unfinished: int) -> float:
    """A sum, which is a lower bound while workflows that it counts have not finished."""
    return AtLeast(value) if unfinished else value


def weighted_cost(scenario: WorkflowScenario, makespan_sum_s: float, rent_usd: float) -> float:
    """Seconds of unfinished workflows and dollars of rent, weighed by the spec's objective."""
    weight = scenario.objective.weight
    return weight * makespan_sum_s + (1 - weight) * scenario.objective.rent_scale * rent_usd
