"""What a clusters run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.measures import UNSERVED, AtLeast, ratio
from cloudarena.contract import Metric, Plot
from cloudarena.scenarios.clusters.kernel import BACKLOG, BUSY, MEMORY

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.simulation import ClustersRun

METRICS = (
    Metric(UNSERVED, "tasks that are not done / tasks that have arrived", "lower"),
    Metric("tasks", "tasks that were done"),
    Metric("throughput_per_s", "tasks / makespan_s", "higher"),
    Metric("makespan_s", "when the last task ended; so far, while there are others", "lower"),
    Metric("backlog_mean_tasks", "tasks arrived and not done, mean over time", "lower"),
    Metric("memory_mb", "sum of VMs of a class times memory of one, mean over time", "lower"),
    Metric("utilisation", "VM-seconds of service / (vms * makespan_s)", "higher"),
    Metric("stages", "stages that there were"),
    Metric("decisions", "decisions that were taken", "lower"),
    Metric("evaluations", "policy evaluations that the decider spent", "lower"),
    Metric("deciding_share", "share of makespan_s in which the decider was thinking", "lower"),
)

HEADLINE = "makespan_s"
HIGHLIGHTS = (
    UNSERVED,
    "throughput_per_s",
    "makespan_s",
    "memory_mb",
    "utilisation",
    "decisions",
    "deciding_share",
)
PLOTS = (
    Plot("Backlog at the begin of a stage", "stages", "begin_s", "backlog_tasks", "tasks"),
    Plot("Length of stages", "stages", "begin_s", "length_s", "s"),
    Plot(
        "Similarity of a batch to the one before, and where stages begin",
        "batches",
        "time_s",
        "similarity",
        "cosine",
        marks=("stages", "begin_s"),
    ),
)


def measure(run: ClustersRun) -> dict[str, float]:
    """The metrics so far."""
    totals, now = run.world.totals, run.now
    # The sum of parts of tasks is only nearly whole.
    tasks = int(run.batches.tasks.sum()) if run.ended else float(run.world.done.sum())
    left = 0.0 if run.ended else float(run.backlog().sum())
    # What is decided before the first stage is thought out beforehand.
    counted = run.plans[1:] if run.scenario.pipelined else run.plans
    values = (
        left / (tasks + left) if left else 0.0,
        tasks,
        ratio(tasks, now),
        now if run.ended else AtLeast(now),
        ratio(float(totals[BACKLOG]), now),
        ratio(float(totals[MEMORY]), now),
        ratio(float(totals[BUSY]), run.scenario.vms * now),
        len(run.stages),
        len(run.plans),
        sum(taken.plan.evaluations for taken in counted),
        ratio(sum(stage.thinking_s for stage in run.stages), now),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}
