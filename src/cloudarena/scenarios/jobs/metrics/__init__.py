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
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import AtLeast
from cloudarena.contract.metric import metric, shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.spans import Spans
from cloudarena.scenarios.jobs.state import Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.build.stream import Told
    from cloudarena.scenarios.jobs.run import JobsRun

BOUND_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson et al. 1997)."""


@shared
def _told(run: JobsRun) -> Told:
    return run.told


def _arrived_jobs(run: JobsRun) -> int:
    """The jobs that have arrived: in memory the last ones of all that were read."""
    clock = run.world.clock[0]
    return len(_told(run).submit) - int(clock["last"]) + int(clock["arrived"])


def _arrived_tasks(run: JobsRun) -> int:
    """The tasks of the jobs that have arrived."""
    return int(_told(run).first_task[_arrived_jobs(run)])


def _jobs_left(run: JobsRun) -> int:
    """The jobs that have not finished."""
    return int(run.world.clock[0]["jobs_left"])


def _of_jobs(run: JobsRun, spans: Spans) -> Spans:
    """Spans of jobs without those that a warm-up leaves out."""
    return spans.after(run.scenario.warmup_s, warm_up.first_job(run))


def _of_tasks(run: JobsRun, spans: Spans) -> Spans:
    """Spans of tasks without those that a warm-up leaves out."""
    return spans.after(run.scenario.warmup_s, warm_up.first_task(run))


def _all_waits(run: JobsRun) -> Spans:
    """Spans from the submission of a job to the first start of an instance of it."""
    told, arrived = _told(run), _arrived_jobs(run)
    start = np.minimum.reduceat(told.first_start, told.first_task[:-1])
    return Spans(told.submit[:arrived], start[:arrived], 1.0, 0.0, run.all_jobs)


def _counted_left(run: JobsRun) -> int:
    """The jobs that have not finished and were submitted after the warm-up."""
    if not warm_up.warms_up(run):
        return _jobs_left(run)
    return int(np.isinf(_told(run).job_finish[warm_up.first_job(run) :]).sum())


@shared
def _waits(run: JobsRun) -> Spans:
    """Such spans, of the jobs that count."""
    return _of_jobs(run, _all_waits(run))


@shared
def _all_completions(run: JobsRun) -> Spans:
    """Spans from the submission of a job to its finish."""
    told, arrived = _told(run), _arrived_jobs(run)
    finish = told.job_finish[:arrived]
    return Spans(told.submit[:arrived], finish, 1.0, 0.0, run.all_jobs)


@shared
def _completions(run: JobsRun) -> Spans:
    """Such spans, of the jobs that count."""
    return _of_jobs(run, _all_completions(run))


@shared
def _slowdowns(run: JobsRun) -> Spans:
    """Completions over the job's shortest possible time; at least 1 where it has not finished."""
    spans = _all_completions(run)
    shortest = 1.0 / _told(run).job_weight[: len(spans.begin)]
    least = np.where(np.isfinite(spans.end), 0.0, 1.0)
    return _of_jobs(run, spans._replace(unit=shortest, least=least))


@shared
def _bounded_slowdowns(run: JobsRun) -> Spans:
    """Slowdowns over at least 10 s, and at least 1."""
    spans = _all_completions(run)
    shortest = 1.0 / _told(run).job_weight[: len(spans.begin)]
    return _of_jobs(run, spans._replace(unit=np.maximum(BOUND_S, shortest), least=1.0))


@shared
def _all_task_completions(run: JobsRun) -> Spans:
    """Spans from the submission of a task's job to the finish of the task."""
    told, arrived = _told(run), _arrived_tasks(run)
    submit = np.repeat(told.submit, np.diff(told.first_task))[:arrived]
    return Spans(submit, told.last_finish[:arrived], 1.0, 0.0, run.all_tasks)


def _task_completions(run: JobsRun) -> Spans:
    """Such spans, of the tasks that count."""
    return _of_tasks(run, _all_task_completions(run))


def _task_slowdowns(run: JobsRun) -> Spans:
    """Such spans, over the durations of the tasks at speed 1."""
    return _of_tasks(run, _over_duration(run, _all_task_completions(run)))


@shared
def _all_task_runs(run: JobsRun) -> Spans:
    """Spans from the first start of an instance of a task to its finish."""
    spans = _all_task_completions(run)
    start = _told(run).first_start[: len(spans.begin)]
    return spans._replace(begin=np.minimum(start, run.now))


def _task_runs(run: JobsRun) -> Spans:
    """Such spans, of the tasks that count."""
    return _of_tasks(run, _all_task_runs(run))


def _task_run_slowdowns(run: JobsRun) -> Spans:
    """Such spans, over the durations of the tasks at speed 1."""
    return _of_tasks(run, _over_duration(run, _all_task_runs(run)))


def _over_duration(run: JobsRun, spans: Spans) -> Spans:
    """Spans of tasks over their durations at speed 1."""
    return spans._replace(unit=_told(run).duration[: len(spans.begin)])


@shared
def overtime_s(run: JobsRun) -> float:
    """How much longer what is left when a run has ended counts as unfinished.

    Twice the time, on the slowest machine, of all work of the workload, one instance after the
    other: longer than who works on would need. 0 while the run goes on, and when all jobs finished.
    """
    if run.is_deciding or _jobs_left(run) == 0:
        return 0.0
    work = float(_told(run).instances @ _told(run).duration)
    return 2.0 * work / float(run.world.machines.speed.min())


def _waits_and_left(run: JobsRun) -> Spans:
    """Waits in which jobs that are left when a run has ended count as if they had not begun."""
    if overtime_s(run) == 0.0:
        return _waits(run)
    spans = _all_waits(run)
    end = np.where(np.isfinite(_all_completions(run).end), spans.end, np.inf)
    return _of_jobs(run, spans._replace(end=end))


def _minus_mean(of: Callable[[JobsRun], Spans]) -> Callable[[JobsRun], float]:
    """The reward of a mean: minus the sum of the spans so far over how many there are in all."""

    def earned(run: JobsRun) -> float:
        spans = of(run)
        return -float(spans.until(run.now + overtime_s(run)).sum()) / spans.total

    return earned


def _minus_integral(
    integral: str, unfinished: str, of: Callable[[JobsRun], Spans]
) -> Callable[[JobsRun], float]:
    """The reward of a mean by the integral of what was unfinished, so far and in overtime.

    With a warm-up it is made of the spans.
    """

    def earned(run: JobsRun) -> float:
        if warm_up.warms_up(run):
            return _minus_mean(of)(run)
        totals, count = run.world.totals[0], of(run).total
        return -float(totals[integral] + overtime_s(run) * totals[unfinished]) / count

    return earned


def _minus_quantile(of: Callable[[JobsRun], Spans], level: float) -> Callable[[JobsRun], float]:
    """The reward of a quantile: minus that of the spans so far."""

    def earned(run: JobsRun) -> float:
        values = of(run).until(run.now + overtime_s(run))
        return -float(np.quantile(values, level)) if len(values) else 0.0

    return earned


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: JobsRun) -> float:
    """Jobs that have not finished / jobs.

    Those of a warm-up count too, on both sides: else who leaves many of them, and few of the later
    ones, would leave a smaller part undone.
    """
    return _jobs_left(run) / run.all_jobs


@metric()
def jobs(run: JobsRun) -> float:
    """Jobs of the workload, after the warm-up."""
    return run.all_jobs - warm_up.first_job(run)


@metric(better="higher")
def jobs_finished(run: JobsRun) -> float:
    """Jobs whose tasks have all finished."""
    return jobs(run) - _counted_left(run)


@metric()
def instances(run: JobsRun) -> float:
    """Instances of all tasks that have been read: all, when a run has ended."""
    return int(_told(run).instances[warm_up.first_task(run) :].sum())


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
    return AtLeast(_length_s(run)) if _jobs_left(run) else _length_s(run)


def _length_s(run: JobsRun) -> float:
    """How long the run lasted after the warm-up: to the makespan or, if jobs are left, to now."""
    end = run.now if _jobs_left(run) else float(run.world.totals[0]["makespan"])
    return warm_up.since(run, end)


def _used_s(run: JobsRun) -> Floats:
    """How long each machine has had something to run, so far."""
    if warm_up.warms_up(run):
        return warm_up.used_s(run)
    world = run.world
    now = np.where(world.occupants > 0, run.now - world.used_since, 0.0)
    return world.used_s + now


@shared
def _hourly_usd(run: JobsRun) -> tuple[Floats, Floats]:
    """The price of an hour of each machine: of those that are paid for at all times, and by use."""
    kinds = run.scenario.machines
    counts = [kind.count for kind in kinds]
    hourly = np.repeat([kind.price.hourly_usd for kind in kinds], counts)
    by_use = np.repeat([kind.price.is_by_use for kind in kinds], counts)
    return np.where(by_use, 0.0, hourly), np.where(by_use, hourly, 0.0)


def _penalties_usd(run: JobsRun) -> float:
    """What jobs cost that waited too long, and that are left when a run has ended."""
    prices, spans = run.scenario.prices, _waits(run)
    late = int((spans.until(run.now) > prices.late_after_s).sum()) if prices.late_usd else 0
    left = 0 if run.is_deciding else _jobs_left(run)
    return late * prices.late_usd + left * prices.unserved_usd


def _cost_usd(run: JobsRun) -> float:
    """The cost so far."""
    always, by_use = _hourly_usd(run)
    used = float(by_use @ _used_s(run)) if by_use.any() else 0.0
    return (float(always.sum()) * _length_s(run) + used) / 3600.0 + _penalties_usd(run)


def _all_hours_usd(run: JobsRun) -> float:
    """The price of all machines for the overtime of what is left undone; 0 if nothing is."""
    always, by_use = _hourly_usd(run)
    return float((always + by_use).sum()) * overtime_s(run) / 3600.0


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -(_cost_usd(run) + _all_hours_usd(run)),
    most=_all_hours_usd,
)
def cost_usd(run: JobsRun) -> float:
    """The price of machines, up to the makespan, and of broken promises.

    A machine that is owned or reserved is paid for up to the makespan, one on demand or spot for
    the time in which something runs on it; jobs that are late, or do not finish, add their
    penalties. As a reward what is left undone costs all machines for the time that it would take.
    """
    return AtLeast(_cost_usd(run)) if _jobs_left(run) else _cost_usd(run)


@metric(better="lower", highlight=True, label="Mean wait, s", reward=_minus_mean(_waits_and_left))
def wait_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: first start of an instance - submission."""
    return _waits(run).mean(run.now)


@metric(
    better="lower",
    label="Median wait, s",
    reward=_minus_quantile(_waits_and_left, 0.5),
    most=overtime_s,
)
def wait_p50_s(run: JobsRun) -> float:
    """The median over jobs of: first start of an instance - submission."""
    return _waits(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of wait, s",
    reward=_minus_quantile(_waits_and_left, 0.95),
    most=overtime_s,
)
def wait_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: first start of an instance - submission."""
    return _waits(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    highlight=True,
    label="Mean completion, s",
    reward=_minus_integral("job_s", "jobs", _completions),
)
def completion_mean_s(run: JobsRun) -> float:
    """The mean over jobs of: finish - submission."""
    return _completions(run).mean(run.now)


@metric(
    better="lower",
    label="Median completion, s",
    reward=_minus_quantile(_completions, 0.5),
    most=overtime_s,
)
def completion_p50_s(run: JobsRun) -> float:
    """The median over jobs of: finish - submission."""
    return _completions(run).quantile(run.now, 0.5)


@metric(
    better="lower",
    label="95th percentile of completion, s",
    reward=_minus_quantile(_completions, 0.95),
    most=overtime_s,
)
def completion_p95_s(run: JobsRun) -> float:
    """The 95th percentile over jobs of: finish - submission."""
    return _completions(run).quantile(run.now, 0.95)


@metric(
    better="lower",
    label="Mean slowdown",
    reward=_minus_integral("job_weight_s", "job_weight", _slowdowns),
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
    most=lambda run: overtime_s(run) / BOUND_S,
)
def bounded_slowdown_p95(run: JobsRun) -> float:
    """The 95th percentile over jobs of: max(1, completion / max(10 s, that path))."""
    return _bounded_slowdowns(run).quantile(run.now, 0.95)


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
        -unserved_share(run) if overtime_s(run) else _jain(_slowdowns(run).until(run.now))
    ),
)
def fairness_jain(run: JobsRun) -> float:
    """Jain's index of the jobs' slowdowns, (sum s)^2 / (n sum s^2): 1 is equal for all.

    It is undefined while a job has not finished. As a reward it counts these with the time so far;
    where jobs are left in the end it is minus their share, less than it can be.
    """
    return math.nan if _jobs_left(run) else _jain(_slowdowns(run).until(run.now))


def _utilisation(run: JobsRun, resource: Resource, overtime: float = 0.0) -> float:
    """What was held over what there is, up to the makespan; while jobs are left, up to now."""
    capacity = max(int(run.world.machines.total[resource]), 1)
    return float(_held_s(run)[resource]) / (capacity * max(_length_s(run) + overtime, 1e-300))


@shared
def _held_s(run: JobsRun) -> Floats:
    """What was held of each resource of all machines, times how long."""
    return warm_up.held_s(run) if warm_up.warms_up(run) else run.world.held_s


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
    return int(_told(run).instances.sum()) - int(run.world.totals[0]["completed"])


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
    reward=lambda run: -float(_losses(run)[0] + _left_undone(run)),
)
def lost_instances(run: JobsRun) -> float:
    """Instances lost when their machine failed, and tried again."""
    return _losses(run)[0]


@metric(
    better="lower",
    reward=lambda run: -float(_losses(run)[1] + overtime_s(run) * _left_undone(run)),
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
    waited = _instance_wait_s(run) + overtime_s(run) * _left_undone(run)
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
    reward=_minus_integral("task_s", "tasks", _task_completions),
)
def task_completion_mean_s(run: JobsRun) -> float:
    """The mean over tasks of: finish - submission."""
    return _task_completions(run).mean(run.now)


@metric(
    better="lower",
    label="Mean slowdown of tasks",
    reward=_minus_integral("task_weight_s", "task_weight", _task_slowdowns),
)
def task_slowdown_mean(run: JobsRun) -> float:
    """The mean over tasks of: (finish - submission) / duration at speed 1."""
    return _task_slowdowns(run).mean(run.now)


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
    reward=_minus_mean(_task_run_slowdowns),
)
def task_slowdown_from_first_start(run: JobsRun) -> float:
    """The mean over tasks of: (finish - first start) / duration at speed 1.

    It is blind to queueing (CloudSimPy's average_slowdown).
    """
    return _task_run_slowdowns(run).mean(run.now)
