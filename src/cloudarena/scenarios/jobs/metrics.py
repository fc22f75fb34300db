"""What a jobs run measures.

A job that has not finished counts in means and quantiles with the time it has taken so far, which
makes them lower bounds (``AtLeast``).

As rewards all are finite at every moment. What is left when a run has ended, since a machine is
gone for good, counts as if it ended after twice the time that all work of the workload takes one
instance after the other on the slowest machine: nobody earns by leaving work undone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import AtLeast, censored_mean, censored_quantiles
from cloudarena.contract.metric import metric, shared
from cloudarena.scenarios.jobs.state import Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun

BOUND_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson et al. 1997)."""


class Spans(NamedTuple):
    """A span of time of each job, or task, that has arrived, over a unit of its own."""

    begin: Floats
    end: Floats
    """Infinity where it has not ended."""
    unit: Floats | float
    least: Floats | float
    """No span counts less, in its unit."""
    total: int
    """How many there are in all, also of jobs that have not arrived."""

    def until(self, time: float) -> Floats:
        """The spans, if those that have not ended do so at a time."""
        return np.maximum((np.minimum(self.end, time) - self.begin) / self.unit, self.least)

    def mean(self, now: float) -> float:
        """The mean so far; a lower bound if one has not ended."""
        values, ended = self.until(now), np.isfinite(self.end)
        return censored_mean(values[ended], values[~ended])

    def quantile(self, now: float, level: float) -> float:
        """A quantile so far; a lower bound unless it is the same however long the others take."""
        values, ended = self.until(now), np.isfinite(self.end)
        return censored_quantiles(values[ended], values[~ended], (level,))[0]


def _arrived_jobs(run: JobsRun) -> int:
    return int(run.world.clock[0]["arrived"])


def _arrived_tasks(run: JobsRun) -> int:
    """The tasks of the jobs that have arrived."""
    return int(run.workload.first_task[_arrived_jobs(run)])


def _jobs_left(run: JobsRun) -> int:
    """The jobs that have not finished."""
    return int(run.world.clock[0]["jobs_left"])


@shared
def _waits(run: JobsRun) -> Spans:
    """From the submission of a job to the first start of an instance of it."""
    submit, arrived = run.workload.submit, _arrived_jobs(run)
    start = np.minimum.reduceat(run.world.progress.first_start, run.workload.first_task[:-1])
    return Spans(submit[:arrived], start[:arrived], 1.0, 0.0, len(submit))


@shared
def _completions(run: JobsRun) -> Spans:
    """From the submission of a job to its finish."""
    submit, arrived = run.workload.submit, _arrived_jobs(run)
    finish = run.world.progress.job_finish[:arrived]
    return Spans(submit[:arrived], finish, 1.0, 0.0, len(submit))


@shared
def _slowdowns(run: JobsRun) -> Spans:
    """The same over the job's shortest possible time; at least 1 where it has not finished."""
    spans = _completions(run)
    shortest = 1.0 / run.world.demand.job_weight[: len(spans.begin)]
    return spans._replace(unit=shortest, least=np.where(np.isfinite(spans.end), 0.0, 1.0))


@shared
def _bounded_slowdowns(run: JobsRun) -> Spans:
    """The same over at least 10 s, and at least 1."""
    spans = _completions(run)
    shortest = 1.0 / run.world.demand.job_weight[: len(spans.begin)]
    return spans._replace(unit=np.maximum(BOUND_S, shortest), least=1.0)


@shared
def _task_completions(run: JobsRun) -> Spans:
    """From the submission of a task's job to the finish of the task."""
    world, arrived = run.world, _arrived_tasks(run)
    finish = world.progress.last_finish[:arrived]
    return Spans(world.tasks.submit[:arrived], finish, 1.0, 0.0, len(world.tasks.submit))


@shared
def _task_runs(run: JobsRun) -> Spans:
    """From the first start of an instance of a task to its finish."""
    spans = _task_completions(run)
    start = run.world.progress.first_start[: len(spans.begin)]
    return spans._replace(begin=np.minimum(start, run.now))


def _over_duration(run: JobsRun, spans: Spans) -> Spans:
    """Spans of tasks over their durations at speed 1."""
    return spans._replace(unit=run.workload.duration[: len(spans.begin)])


@shared
def overtime_s(run: JobsRun) -> float:
    """How much longer what is left when a run has ended counts as unfinished.

    Twice the time, on the slowest machine, of all work of the workload, one instance after the
    other: longer than who works on would need. 0 while the run goes on, and when all jobs finished.
    """
    if run.is_deciding or _jobs_left(run) == 0:
        return 0.0
    work = float(run.workload.instances @ run.workload.duration)
    return 2.0 * work / float(run.world.machines.speed.min())


def _waits_and_left(run: JobsRun) -> Spans:
    """As the waits; jobs that are left when a run has ended count as if they had not begun."""
    spans = _waits(run)
    if overtime_s(run) == 0.0:
        return spans
    return spans._replace(end=np.where(np.isfinite(_completions(run).end), spans.end, np.inf))


def _minus_integral(run: JobsRun, integral: str, unfinished: str, count: int) -> float:
    """Minus what was unfinished, over time so far and overtime, over the number of it."""
    totals = run.world.totals[0]
    return -float(totals[integral] + overtime_s(run) * totals[unfinished]) / count


def _minus_mean(of: Callable[[JobsRun], Spans]) -> Callable[[JobsRun], float]:
    """The reward of a mean: minus the sum of the spans so far over how many there are in all."""

    def earned(run: JobsRun) -> float:
        spans = of(run)
        return -float(spans.until(run.now + overtime_s(run)).sum()) / spans.total

    return earned


def _minus_quantile(of: Callable[[JobsRun], Spans], level: float) -> Callable[[JobsRun], float]:
    """The reward of a quantile: minus that of the spans so far."""
    return lambda run: -float(np.quantile(of(run).until(run.now + overtime_s(run)), level))


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: JobsRun) -> float:
    """Jobs that have not finished / jobs."""
    return _jobs_left(run) / jobs(run)


@metric()
def jobs(run: JobsRun) -> float:
    """Jobs of the workload."""
    return len(run.workload.submit)


@metric(better="higher")
def jobs_finished(run: JobsRun) -> float:
    """Jobs whose tasks have all finished."""
    return jobs(run) - _jobs_left(run)


@metric()
def instances(run: JobsRun) -> float:
    """Instances of all tasks."""
    return int(run.workload.instances.sum())


@metric(better="higher")
def instances_finished(run: JobsRun) -> float:
    """Instances that have finished."""
    return int(run.world.totals[0]["completed"])


@metric(better="lower", highlight=True, reward=lambda run: -(run.now + overtime_s(run)))
def makespan_s(run: JobsRun) -> float:
    """The time from the first submission to the last finish of a job."""
    return AtLeast(run.now) if _jobs_left(run) else float(run.world.totals[0]["makespan"])


@metric(better="lower", highlight=True, label="Mean wait, s", reward=_minus_mean(_waits_and_left))
def wait_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: first start of an instance - submission."""
    return _waits(run).mean(run.now)


@metric(better="lower", label="Median wait, s", reward=_minus_quantile(_waits_and_left, 0.5))
def wait_p50_s(run: JobsRun) -> float:
    """The median over jobs of: first start of an instance - submission."""
    return _waits(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of wait, s",
    reward=_minus_quantile(_waits_and_left, 0.95),
)
def wait_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: first start of an instance - submission."""
    return _waits(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    highlight=True,
    label="Mean completion, s",
    reward=lambda run: _minus_integral(run, "job_s", "jobs", len(run.workload.submit)),
)
def completion_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: finish - submission."""
    return _completions(run).mean(run.now)


@metric(better="lower", label="Median completion, s", reward=_minus_quantile(_completions, 0.5))
def completion_p50_s(run: JobsRun) -> float:
    """The median over jobs of: finish - submission."""
    return _completions(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    label="95th percentile of completion, s",
    reward=_minus_quantile(_completions, 0.95),
)
def completion_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: finish - submission."""
    return _completions(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    label="Mean slowdown",
    reward=lambda run: _minus_integral(run, "job_weight_s", "job_weight", len(run.workload.submit)),
)
def slowdown_mean(run: JobsRun) -> float:
    """The mean over jobs of: completion / longest path of durations on the fastest machine."""
    return _slowdowns(run).mean(run.now)


@metric(
    better="lower",
    highlight=True,
    label="Mean bounded slowdown",
    reward=_minus_mean(_bounded_slowdowns),
)
def bounded_slowdown_mean(run: JobsRun) -> float:
    """The mean over jobs of: max(1, completion / max(10 s, that path))."""
    return _bounded_slowdowns(run).mean(run.now)


@metric(
    better="lower",
    label="95th percentile of bounded slowdown",
    reward=_minus_quantile(_bounded_slowdowns, 0.95),
)
def bounded_slowdown_p95(run: JobsRun) -> float:
    """The 95th percentile over jobs of: max(1, completion / max(10 s, that path))."""
    return _bounded_slowdowns(run).quantile(run.now, 0.95)


def _jain(values: Floats) -> float:
    """Jain's index: 1 is equal for all."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


@metric(
    better="higher",
    highlight=True,
    label="Fairness (Jain's index)",
    reward=lambda run: 0.0 if overtime_s(run) else _jain(_slowdowns(run).until(run.now)),
)
def fairness_jain(run: JobsRun) -> float:
    """Jain's index of the jobs' slowdowns, (sum s)^2 / (n sum s^2): 1 is equal for all.

    It is undefined while a job has not finished. As a reward it counts these with the time so far,
    and is 0, less than it can be, where jobs are left in the end.
    """
    return math.nan if _jobs_left(run) else _jain(_slowdowns(run).until(run.now))


def _utilisation(run: JobsRun, resource: Resource, overtime: float = 0.0) -> float:
    """What was held over what there is, up to the makespan; while jobs are left, up to now."""
    world = run.world
    end = run.now if _jobs_left(run) else float(world.totals[0]["makespan"])
    capacity = max(int(world.machines.total[resource]), 1)
    return float(world.held_s[resource]) / (capacity * max(end + overtime, 1e-300))


def _utilisation_earned(resource: Resource) -> Callable[[JobsRun], float]:
    """The reward of a utilisation: up to the end of overtime, where something is left."""
    return lambda run: _utilisation(run, resource, overtime_s(run))


@metric(better="higher", highlight=True, reward=_utilisation_earned(Resource.CPU))
def mean_cpu_utilisation(run: JobsRun) -> float:
    """CPU held over capacity, up to the makespan."""
    return _utilisation(run, Resource.CPU)


@metric(better="higher", reward=_utilisation_earned(Resource.MEMORY))
def mean_memory_utilisation(run: JobsRun) -> float:
    """Memory held over capacity, up to the makespan."""
    return _utilisation(run, Resource.MEMORY)


@metric(better="higher", reward=_utilisation_earned(Resource.DISK))
def mean_disk_utilisation(run: JobsRun) -> float:
    """Disk held over capacity, up to the makespan."""
    return _utilisation(run, Resource.DISK)


@metric(better="higher", reward=_utilisation_earned(Resource.GPU))
def mean_gpu_utilisation(run: JobsRun) -> float:
    """GPUs held over capacity, up to the makespan."""
    return _utilisation(run, Resource.GPU)


def _left_undone(run: JobsRun) -> int:
    """The instances that have not finished when a run has ended; 0 while it goes on."""
    if run.is_deciding:
        return 0
    return int(run.workload.instances.sum()) - int(run.world.totals[0]["completed"])


@metric(
    better="lower",
    label="Lost instances",
    reward=lambda run: -float(run.world.totals[0]["lost"] + _left_undone(run)),
)
def lost_instances(run: JobsRun) -> float:
    """Instances lost when their machine failed, and tried again."""
    return int(run.world.totals[0]["lost"])


@metric(
    better="lower",
    reward=lambda run: -float(run.world.totals[0]["lost_s"] + overtime_s(run) * _left_undone(run)),
)
def lost_work_s(run: JobsRun) -> float:
    """Instance-seconds of work that were lost."""
    return float(run.world.totals[0]["lost_s"])


@shared
def _instance_wait_s(run: JobsRun) -> float:
    """How long all instances have waited since their tasks were ready, before their last start."""
    world, ready_time = run.world, run.world.progress.ready_time
    ready = np.isfinite(ready_time)
    running = world.machines.rows[world.finishes.payloads[: world.finishes.counters[0]]]
    waited = float(world.totals[0]["wait_s"])
    waited += float(running["count"] @ (running["start"] - ready_time[running["task"]]))
    waited += float(world.tasks.waiting[ready] @ (run.now - ready_time[ready]))
    return waited


def _instance_wait_earned(run: JobsRun) -> float:
    """Minus how long instances have waited, and will where they are left, over all instances."""
    waited = _instance_wait_s(run) + overtime_s(run) * _left_undone(run)
    return -waited / instances(run)


@metric(better="lower", label="Mean wait of instances, s", reward=_instance_wait_earned)
def instance_wait_mean_s(run: JobsRun) -> float:
    """The mean over instances of tasks that were ready of: last start - the moment of that."""
    tasks, ready = run.world.tasks, np.isfinite(run.world.progress.ready_time)
    count = int(tasks.instances[ready].sum())
    if count == 0:
        return math.nan
    mean = _instance_wait_s(run) / count
    return AtLeast(mean) if tasks.waiting[ready].any() else mean


@metric(
    better="lower",
    label="Mean completion of tasks, s",
    reward=lambda run: _minus_integral(run, "task_s", "tasks", len(run.workload.instances)),
)
def task_completion_mean_s(run: JobsRun) -> float:
    """The mean over tasks of: finish - submission."""
    return _task_completions(run).mean(run.now)


@metric(
    better="lower",
    label="Mean slowdown of tasks",
    reward=lambda run: _minus_integral(
        run, "task_weight_s", "task_weight", len(run.workload.instances)
    ),
)
def task_slowdown_mean(run: JobsRun) -> float:
    """The mean over tasks of: (finish - submission) / duration at speed 1."""
    return _over_duration(run, _task_completions(run)).mean(run.now)


@metric(
    better="lower",
    label="Mean completion of tasks from their first start, s",
    unit="s",
    reward=_minus_mean(_task_runs),
)
def task_completion_from_first_start_s(run: JobsRun) -> float:
    """The mean over tasks of: finish - first start.

    It is blind to queueing (CloudSimPy's average_completion).
    """
    return _task_runs(run).mean(run.now)


@metric(
    better="lower",
    label="Mean slowdown of tasks from their first start",
    reward=_minus_mean(lambda run: _over_duration(run, _task_runs(run))),
)
def task_slowdown_from_first_start(run: JobsRun) -> float:
    """The mean over tasks of: (finish - first start) / duration at speed 1.

    It is blind to queueing (CloudSimPy's average_slowdown).
    """
    return _over_duration(run, _task_runs(run)).mean(run.now)
