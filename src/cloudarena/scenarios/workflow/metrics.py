"""What a workflow run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.contract import Metric, Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.spec import WorkflowScenario
    from cloudarena.scenarios.workflow.state import World

METRICS = (
    Metric("workflows", "workflows that have finished", "higher"),
    Metric("functions", "functions that have completed", "higher"),
    Metric("makespan_sum_s", "sum over finished workflows: last completion - arrival", "lower"),
    Metric("makespan_mean_s", "its mean", "lower"),
    Metric("makespan_p50_s", "its median", "lower"),
    Metric("makespan_p95_s", "its 95th percentile", "lower"),
    Metric(
        "slowdown_mean",
        "mean over finished workflows: makespan / critical path on idle cores, without transfers",
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
    totals, sharing = world.totals[0], world.nodes.sharing
    done = np.isfinite(world.progress.completion)
    makespan = (world.progress.completion - world.demand.arrival)[done]
    median, tail = np.quantile(makespan, (0.5, 0.95)) if done.any() else (0.0, 0.0)
    capacity = float(sharing.cores.sum()) * sharing.core_speed
    span = max(float(world.clock[0]["now"]), 1e-300)
    values = (
        int(totals["workflows"]),
        int(totals["functions"]),
        float(makespan.sum()),
        float(makespan.mean()) if done.any() else 0.0,
        float(median),
        float(tail),
        float((makespan / world.demand.critical_path[done]).mean()) if done.any() else 0.0,
        float(totals["rent"]),
        weighted_cost(scenario, float(makespan.sum()), float(totals["rent"])),
        float(sharing.work.sum()) / (capacity * span),
        float(totals["memory_wait_s"]),
        float(totals["transfer_s"]),
        int(totals["cold_starts"]),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def weighted_cost(scenario: WorkflowScenario, makespan_sum_s: float, rent_usd: float) -> float:
    """Seconds of unfinished workflows and dollars of rent, weighed by the spec's objective."""
    weight = scenario.objective.weight
    return weight * makespan_sum_s + (1 - weight) * scenario.objective.rent_scale * rent_usd
