"""What a jobs run measures.

A job that has not finished counts in means and quantiles with the time it has taken so far, which
makes them lower bounds (``AtLeast``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import UNSERVED, AtLeast, censored_mean, censored_quantiles
from cloudarena.contract import Metric, Plot
from cloudarena.workloads.jobs import RESOURCES

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.state import World
    from cloudarena.workloads.jobs import JobWorkload

BOUND_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson et al. 1997)."""

METRICS = (
    Metric(UNSERVED, "jobs that have not finished / jobs", "lower"),
    Metric("jobs", "jobs of the workload"),
    Metric("jobs_finished", "jobs whose tasks have all finished", "higher"),
    Metric("instances", "instances of all tasks"),
    Metric("instances_finished", "instances that have finished", "higher"),
    Metric("makespan_s", "from the first submission to the last finish of a job", "lower"),
    Metric("wait_mean_s", "mean over jobs: first start of an instance - submission", "lower"),
    Metric("wait_p50_s", "its median", "lower"),
    Metric("wait_p95_s", "its 95th percentile", "lower"),
    Metric("completion_mean_s", "mean over jobs: finish - submission", "lower"),
    Metric("completion_p50_s", "its median", "lower"),
    Metric("completion_p95_s", "its 95th percentile", "lower"),
    Metric(
        "slowdown_mean",
        "mean over jobs: completion / longest path of durations on the fastest machine",
        "lower",
    ),
    Metric(
        "bounded_slowdown_mean",
        "mean over jobs: max(1, completion / max(10 s, that path))",
        "lower",
    ),
    Metric("bounded_slowdown_p95", "its 95th percentile", "lower"),
    Metric(
        "fairness_jain",
        "Jain's index of the jobs' slowdowns, (sum s)^2 / (n sum s^2): 1 is equal for all; "
        "undefined while a job has not finished",
        "higher",
    ),
    Metric("mean_cpu_utilisation", "CPU held over capacity, up to the makespan", "higher"),
    Metric("mean_memory_utilisation", "memory held over capacity, up to the makespan", "higher"),
    Metric("mean_disk_utilisation", "disk held over capacity, up to the makespan", "higher"),
    Metric("mean_gpu_utilisation", "GPUs held over capacity, up to the makespan", "higher"),
    Metric("lost_instances", "instances lost when their machine failed, and tried again", "lower"),
    Metric("lost_work_s", "instance-seconds of work that were lost", "lower"),
    Metric(
        "instance_wait_mean_s",
        "mean over instances of tasks that were ready: last start - the moment of that",
        "lower",
    ),
    Metric("task_completion_mean_s", "mean over tasks: finish - submission", "lower"),
    Metric(
        "task_slowdown_mean",
        "mean over tasks: (finish - submission) / duration at speed 1",
        "lower",
    ),
    Metric(
        "task_completion_from_first_start_s",
        "mean over tasks: finish - first start; blind to queueing (CloudSimPy's "
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
    UNSERVED,
    "wait_mean_s",
    "wait_p95_s",
    "bounded_slowdown_mean",
    "completion_mean_s",
    "makespan_s",
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
    totals, clock = world.totals[0], world.clock[0]
    left = int(clock["jobs_left"])
    jobs = len(workload.submit)
    values = {
        UNSERVED: left / jobs,
        "jobs": jobs,
        "jobs_finished": jobs - left,
        "instances": int(workload.instances.sum()),
        "instances_finished": int(totals["completed"]),
        "makespan_s": AtLeast(clock["now"]) if left else float(totals["makespan"]),
        **_of_jobs(world, workload),
        **_of_tasks(world, workload),
        **_utilisation(world),
        "lost_instances": int(totals["lost"]),
        "lost_work_s": float(totals["lost_s"]),
        "instance_wait_mean_s": _instance_wait(world),
    }
    return {metric.name: values[metric.name] for metric in METRICS}


def _of_jobs(world: World, workload: JobWorkload) -> dict[str, float]:
    """What is measured of jobs that have arrived."""
    progress, now = world.progress, float(world.clock[0]["now"])
    arrived = int(world.clock[0]["arrived"])
    submit = workload.submit[:arrived]
    start = np.minimum.reduceat(progress.first_start, workload.first_task[:-1])[:arrived]
    finish = progress.job_finish[:arrived]
    shortest = 1.0 / world.demand.job_weight[:arrived]
    bound = np.maximum(BOUND_S, shortest)
    begun, done = np.isfinite(start), np.isfinite(finish)
    spent = np.where(done, finish, now) - submit
    slowdown = np.maximum(spent / shortest, np.where(done, 0.0, 1.0))
    bounded = np.maximum(1.0, spent / bound)
    wait = np.where(begun, start, now) - submit
    wait_median, wait_tail = _quantiles(wait, begun, (0.5, 0.95))
    median, tail = _quantiles(spent, done, (0.5, 0.95))
    (bounded_tail,) = _quantiles(bounded, done, (0.95,))
    return {
        "wait_mean_s": _mean(wait, begun),
        "wait_p50_s": wait_median,
        "wait_p95_s": wait_tail,
        "completion_mean_s": _mean(spent, done),
        "completion_p50_s": median,
        "completion_p95_s": tail,
        "slowdown_mean": _mean(slowdown, done),
        "bounded_slowdown_mean": _mean(bounded, done),
        "bounded_slowdown_p95": bounded_tail,
        "fairness_jain": _jain(slowdown) if world.clock[0]["jobs_left"] == 0 else math.nan,
    }


def _of_tasks(world: World, workload: JobWorkload) -> dict[str, float]:
    """What is measured of the tasks of jobs that have arrived."""
    progress, now = world.progress, float(world.clock[0]["now"])
    arrived = int(workload.first_task[world.clock[0]["arrived"]])
    finish, start = progress.last_finish[:arrived], progress.first_start[:arrived]
    duration = workload.duration[:arrived]
    done = np.isfinite(finish)
    until = np.where(done, finish, now)
    in_system = until - world.tasks.submit[:arrived]
    from_start = until - np.where(np.isfinite(start), start, now)
    return {
        "task_completion_mean_s": _mean(in_system, done),
        "task_slowdown_mean": _mean(in_system / duration, done),
        "task_completion_from_first_start_s": _mean(from_start, done),
        "task_slowdown_from_first_start": _mean(from_start / duration, done),
    }


def _instance_wait(world: World) -> float:
    """The mean time from ready to the last start, over instances whose task has been ready."""
    tasks, progress, now = world.tasks, world.progress, float(world.clock[0]["now"])
    ready = np.isfinite(progress.ready_time)
    count = int(tasks.instances[ready].sum())
    if count == 0:
        return math.nan
    running = world.machines.rows[world.finishes.payloads[: world.finishes.counters[0]]]
    waited = float(world.totals[0]["wait_s"])
    waited += float(running["count"] @ (running["start"] - progress.ready_time[running["task"]]))
    waited += float(tasks.waiting[ready] @ (now - progress.ready_time[ready]))
    mean = waited / count
    return AtLeast(mean) if tasks.waiting[ready].any() else mean


def _utilisation(world: World) -> dict[str, float]:
    """What was held over what there is, up to the makespan; while jobs are left, up to now."""
    clock, totals = world.clock[0], world.totals[0]
    span = float(totals["makespan"] if clock["jobs_left"] == 0 else clock["now"])
    held = world.held_s / (np.maximum(world.machines.total, 1) * max(span, 1e-300))
    return {f"mean_{name}_utilisation": float(held[r]) for r, name in enumerate(RESOURCES)}


def _jain(values: NDArray[np.float64]) -> float:
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def _mean(values: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    """A mean of which those that are not known are lower bounds."""
    return censored_mean(values[known], values[~known])


def _quantiles(
    values: NDArray[np.float64], known: NDArray[np.bool_], levels: tuple[float, ...]
) -> tuple[float, ...]:
    return censored_quantiles(values[known], values[~known], levels)
