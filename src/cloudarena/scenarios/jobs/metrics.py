"""What a jobs run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Metric, Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.state import World
    from cloudarena.workloads.jobs import JobWorkload

BOUND_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson et al. 1997)."""

METRICS = (
    Metric("jobs", "jobs of the workload"),
    Metric("jobs_finished", "jobs whose tasks have all finished", "higher"),
    Metric("instances", "instances of all tasks"),
    Metric("instances_finished", "instances that have finished", "higher"),
    Metric("makespan_s", "from the first submission to the last finish of a job", "lower"),
    Metric("completion_mean_s", "mean over finished jobs: finish - submission", "lower"),
    Metric("completion_p50_s", "its median", "lower"),
    Metric("completion_p95_s", "its 95th percentile", "lower"),
    Metric(
        "wait_mean_s",
        "mean over finished instances: start - the moment their task was ready",
        "lower",
    ),
    Metric(
        "slowdown_mean",
        "mean over finished jobs: completion / longest path of durations on the fastest machine",
        "lower",
    ),
    Metric(
        "bounded_slowdown_mean",
        "mean over finished jobs: max(1, completion / max(10 s, that path))",
        "lower",
    ),
    Metric(
        "fairness_jain",
        "Jain's index of the jobs' slowdowns, (sum s)^2 / (n sum s^2): 1 is equal for all",
        "higher",
    ),
    Metric("mean_cpu_utilisation", "CPU held over capacity, up to the makespan", "higher"),
    Metric("mean_memory_utilisation", "memory held over capacity, up to the makespan", "higher"),
    Metric("mean_disk_utilisation", "disk held over capacity, up to the makespan", "higher"),
    Metric("mean_gpu_utilisation", "GPUs held over capacity, up to the makespan", "higher"),
    Metric("lost_instances", "instances lost when their machine failed, and tried again", "lower"),
    Metric("lost_work_s", "instance-seconds of work that were lost", "lower"),
    Metric("task_completion_mean_s", "mean over finished tasks: finish - submission", "lower"),
    Metric(
        "task_slowdown_mean",
        "mean over finished tasks: (finish - submission) / duration at speed 1",
        "lower",
    ),
    Metric(
        "task_completion_from_first_start_s",
        "mean over finished tasks: finish - first start; blind to queueing (CloudSimPy's "
        "average_completion)",
        "lower",
    ),
    Metric(
        "task_slowdown_from_first_start",
        "the same over the duration (CloudSimPy's average_slowdown)",
        "lower",
    ),
)

HEADLINE = "completion_mean_s"
HIGHLIGHTS = (
    "makespan_s",
    "completion_mean_s",
    "completion_p95_s",
    "wait_mean_s",
    "bounded_slowdown_mean",
    "fairness_jain",
    "mean_cpu_utilisation",
)
PLOTS = (
    Plot("Jobs in the cluster", "series", "time_s", "jobs", "jobs"),
    Plot("Ready tasks with waiting instances", "series", "time_s", "ready_tasks", "tasks"),
    Plot("CPU held", "series", "time_s", "cpu", "cores"),
    Plot("Memory held", "series", "time_s", "memory", "units of memory"),
)


def measure(world: World, workload: JobWorkload) -> dict[str, float]:
    """The metrics so far."""
    totals, progress, tasks = world.totals[0], world.progress, world.tasks
    shortest = 1.0 / world.demand.job_weight
    makespan = float(totals["makespan"])
    done = np.isfinite(progress.job_finish)
    completion = (progress.job_finish - workload.submit)[done]
    slowdown = completion / shortest[done]
    bounded = np.maximum(1.0, completion / np.maximum(BOUND_S, shortest[done]))
    task_done = np.isfinite(progress.last_finish)
    finish, duration = progress.last_finish[task_done], workload.duration[task_done]
    in_system = finish - tasks.submit[task_done]
    from_start = finish - progress.first_start[task_done]
    # While the run goes on, what was held up to now counts.
    span = makespan if world.clock[0]["jobs_left"] == 0 else float(world.clock[0]["now"])
    held = world.held_s / (np.maximum(world.machines.total, 1) * max(span, 1e-300))
    finished = int(totals["completed"])
    median, tail = np.quantile(completion, (0.5, 0.95)) if len(completion) else (0.0, 0.0)
    values = (
        len(workload.submit),
        int(done.sum()),
        int(workload.instances.sum()),
        finished,
        makespan,
        _mean(completion),
        float(median),
        float(tail),
        float(totals["wait_s"]) / max(1, finished),
        _mean(slowdown),
        _mean(bounded),
        float(slowdown.sum() ** 2 / (len(slowdown) * (slowdown**2).sum())) if done.any() else 1.0,
        *(float(share) for share in held),
        int(totals["lost"]),
        float(totals["lost_s"]),
        _mean(in_system),
        _mean(in_system / duration),
        _mean(from_start),
        _mean(from_start / duration),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
