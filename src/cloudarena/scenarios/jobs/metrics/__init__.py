"""What a jobs run measures.

A job that has not finished counts in means and quantiles with the time it has taken so far, which
makes them lower bounds (``AtLeast``).

As rewards all are finite at every moment. What is left when a run has ended, since a machine is
gone for good, counts as if it ended after twice the time that all work of the workload takes one
instance after the other on the slowest machine: nobody earns by leaving work undone.

What a warm-up leaves out is in ``warm_up``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import AtLeast
from cloudarena.contract.metric import metric, shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.costs import all_hours_usd, cost_so_far_usd, length_s
from cloudarena.scenarios.jobs.metrics.holding import utilisation, utilisation_earned
from cloudarena.scenarios.jobs.metrics.rewards import (
    left_undone,
    minus_integral,
    minus_mean,
    minus_quantile,
    overtime_s,
    waits_and_left,
)
from cloudarena.scenarios.jobs.metrics.times import (
    BOUND_S,
    bounded_slowdowns,
    completions,
    counted_left,
    jobs_left,
    slowdowns,
    task_completions,
    task_run_slowdowns,
    task_runs,
    task_slowdowns,
    told_of,
    waits,
)
from cloudarena.scenarios.jobs.state import Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: JobsRun) -> float:
    """Jobs that have not finished / jobs.

    Those of a warm-up count too, on both sides: else who leaves many of them, and few of the later
    ones, would leave a smaller part undone.
    """
    return jobs_left(run) / run.all_jobs


@metric()
def jobs(run: JobsRun) -> float:
    """Jobs of the workload, after the warm-up."""
    return run.all_jobs - warm_up.first_job(run)


@metric(better="higher")
def jobs_finished(run: JobsRun) -> float:
    """Jobs whose tasks have all finished."""
    return jobs(run) - counted_left(run)


@metric()
def instances(run: JobsRun) -> float:
    """Instances of all tasks that have been read: all, when a run has ended."""
    return int(told_of(run).instances[warm_up.first_task(run) :].sum())


@metric(better="higher")
def instances_finished(run: JobsRun) -> float:
    """Instances that have finished."""
    if warm_up.warms_up(run):
        return warm_up.instances_finished(run)
    return int(run.world.totals[0]["completed"])


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -(warm_up.since(run, run.now) + overtime_s(run)),
    most=overtime_s,
)
def makespan_s(run: JobsRun) -> float:
    """The time from the first submission, or the end of the warm-up, to a job's last finish."""
    return AtLeast(length_s(run)) if jobs_left(run) else length_s(run)


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -(cost_so_far_usd(run) + all_hours_usd(run)),
    most=all_hours_usd,
)
def cost_usd(run: JobsRun) -> float:
    """The price of machines, up to the makespan, and of broken promises.

    A machine that is owned or reserved is paid for up to the makespan, one on demand or spot for
    the time in which something runs on it; jobs that are late, or do not finish, add their
    penalties. As a reward what is left undone costs all machines for the time that it would take.
    """
    return AtLeast(cost_so_far_usd(run)) if jobs_left(run) else cost_so_far_usd(run)


@metric(better="lower", highlight=True, label="Mean wait, s", reward=minus_mean(waits_and_left))
def wait_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: first start of an instance - submission."""
    return waits(run).mean(run.now)


@metric(
    better="lower",
    label="Median wait, s",
    reward=minus_quantile(waits_and_left, 0.5),
    most=overtime_s,
)
def wait_p50_s(run: JobsRun) -> float:
    """The median over jobs of: first start of an instance - submission."""
    return waits(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of wait, s",
    reward=minus_quantile(waits_and_left, 0.95),
    most=overtime_s,
)
def wait_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: first start of an instance - submission."""
    return waits(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    highlight=True,
    label="Mean completion, s",
    reward=minus_integral("job_s", "jobs", completions),
)
def completion_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: finish - submission."""
    return completions(run).mean(run.now)


@metric(
    better="lower",
    label="Median completion, s",
    reward=minus_quantile(completions, 0.5),
    most=overtime_s,
)
def completion_p50_s(run: JobsRun) -> float:
    """The median over jobs of: finish - submission."""
    return completions(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    label="95th percentile of completion, s",
    reward=minus_quantile(completions, 0.95),
    most=overtime_s,
)
def completion_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: finish - submission."""
    return completions(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    label="Mean slowdown",
    reward=minus_integral("job_weight_s", "job_weight", slowdowns),
)
def slowdown_mean(run: JobsRun) -> float:
    """The mean over jobs of: completion / longest path of durations on the fastest machine."""
    return slowdowns(run).mean(run.now)


@metric(
    better="lower",
    highlight=True,
    label="Mean bounded slowdown",
    reward=minus_mean(bounded_slowdowns),
)
def bounded_slowdown_mean(run: JobsRun) -> float:
    """The mean over jobs of: max(1, completion / max(10 s, that path))."""
    return bounded_slowdowns(run).mean(run.now)


@metric(
    better="lower",
    label="95th percentile of bounded slowdown",
    reward=minus_quantile(bounded_slowdowns, 0.95),
    most=lambda run: overtime_s(run) / BOUND_S,
)
def bounded_slowdown_p95(run: JobsRun) -> float:
    """The 95th percentile over jobs of: max(1, completion / max(10 s, that path))."""
    return bounded_slowdowns(run).quantile(run.now, 0.95)


def _jain(values: Floats) -> float:
    """Jain's index: 1 is equal for all."""
    if len(values) == 0:
        return 1.0  # in the warm-up
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


@metric(
    better="higher",
    highlight=True,
    label="Fairness (Jain's index)",
    reward=lambda run: (
        -unserved_share(run) if overtime_s(run) else _jain(slowdowns(run).until(run.now))
    ),
)
def fairness_jain(run: JobsRun) -> float:
    """Jain's index of the jobs' slowdowns, (sum s)^2 / (n sum s^2): 1 is equal for all.

    It is undefined while a job has not finished. As a reward it counts these with the time so far;
    where jobs are left in the end it is minus their share, less than it can be.
    """
    return math.nan if jobs_left(run) else _jain(slowdowns(run).until(run.now))


@metric(better="higher", highlight=True, reward=utilisation_earned(Resource.CPU))
def mean_cpu_utilisation(run: JobsRun) -> float:
    """CPU held over capacity, up to the makespan."""
    return utilisation(run, Resource.CPU)


@metric(better="higher", reward=utilisation_earned(Resource.MEMORY))
def mean_memory_utilisation(run: JobsRun) -> float:
    """Memory held over capacity, up to the makespan."""
    return utilisation(run, Resource.MEMORY)


@metric(better="higher", reward=utilisation_earned(Resource.DISK))
def mean_disk_utilisation(run: JobsRun) -> float:
    """Disk held over capacity, up to the makespan."""
    return utilisation(run, Resource.DISK)


@metric(better="higher", reward=utilisation_earned(Resource.GPU))
def mean_gpu_utilisation(run: JobsRun) -> float:
    """GPUs held over capacity, up to the makespan."""
    return utilisation(run, Resource.GPU)


@shared
def _losses(run: JobsRun) -> tuple[int, float]:
    """The instances that were lost, and their work."""
    if warm_up.warms_up(run):
        return warm_up.losses(run)
    totals = run.world.totals[0]
    return int(totals["lost"]), float(totals["lost_s"])


@metric(
    better="lower",
    label="Lost instances",
    reward=lambda run: -float(_losses(run)[0] + left_undone(run)),
)
def lost_instances(run: JobsRun) -> float:
    """Instances lost when their machine failed, and tried again."""
    return _losses(run)[0]


@metric(
    better="lower",
    reward=lambda run: -float(_losses(run)[1] + overtime_s(run) * left_undone(run)),
)
def lost_work_s(run: JobsRun) -> float:
    """Instance-seconds of work that were lost."""
    return _losses(run)[1]


@shared
def _instance_wait_s(run: JobsRun) -> float:
    """How long all instances have waited since their tasks were ready, before their last start."""
    if warm_up.warms_up(run):
        return warm_up.instance_waits(run)[0]
    world, ready_time = run.world, run.world.progress.ready_time
    ready = np.isfinite(ready_time)
    running = world.machines.rows[world.finishes.payloads[: world.finishes.counters[0]]]
    waited = float(world.totals[0]["wait_s"])
    waited += float(running["count"] @ (running["start"] - ready_time[running["task"]]))
    waited += float(world.tasks.waiting[ready] @ (run.now - ready_time[ready]))
    return waited


def _instance_wait_earned(run: JobsRun) -> float:
    """Minus how long instances have waited, and will where they are left, over all instances."""
    waited = _instance_wait_s(run) + overtime_s(run) * left_undone(run)
    return -waited / instances(run)


@metric(better="lower", label="Mean wait of instances, s", reward=_instance_wait_earned)
def instance_wait_mean_s(run: JobsRun) -> float:
    """The mean over instances of tasks that were ready of: last start - the moment of that."""
    tasks, ready = run.world.tasks, np.isfinite(run.world.progress.ready_time)
    if warm_up.warms_up(run):
        waited, count, is_bound = warm_up.instance_waits(run)
        mean = waited / count if count else math.nan
        return AtLeast(mean) if is_bound else mean
    forgotten = int(instances(run)) - int(tasks.instances.sum())  # all of them were ready
    count = forgotten + int(tasks.instances[ready].sum())
    if count == 0:
        return math.nan
    mean = _instance_wait_s(run) / count
    return AtLeast(mean) if tasks.waiting[ready].any() else mean


@metric(
    better="lower",
    label="Mean completion of tasks, s",
    reward=minus_integral("task_s", "tasks", task_completions),
)
def task_completion_mean_s(run: JobsRun) -> float:
    """The mean over tasks of: finish - submission."""
    return task_completions(run).mean(run.now)


@metric(
    better="lower",
    label="Mean slowdown of tasks",
    reward=minus_integral("task_weight_s", "task_weight", task_slowdowns),
)
def task_slowdown_mean(run: JobsRun) -> float:
    """The mean over tasks of: (finish - submission) / duration at speed 1."""
    return task_slowdowns(run).mean(run.now)


@metric(
    better="lower",
    label="Mean completion of tasks from their first start, s",
    unit="s",
    reward=minus_mean(task_runs),
)
def task_completion_from_first_start_s(run: JobsRun) -> float:
    """The mean over tasks of: finish - first start.

    It is blind to queueing (CloudSimPy's average_completion).
    """
    return task_runs(run).mean(run.now)


@metric(
    better="lower",
    label="Mean slowdown of tasks from their first start",
    reward=minus_mean(task_run_slowdowns),
)
def task_slowdown_from_first_start(run: JobsRun) -> float:
    """The mean over tasks of: (finish - first start) / duration at speed 1.

    It is blind to queueing (CloudSimPy's average_slowdown).
    """
    return task_run_slowdowns(run).mean(run.now)
