"""How long jobs and tasks waited, ran and took: the spans of time that metrics are made of.

A metric takes those that a warm-up leaves; ``all_...`` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.contract.metric import shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.spans import Spans

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.build.stream import Told
    from cloudarena.scenarios.jobs.run import JobsRun

BOUND_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson et al. 1997)."""


@shared
def told_of(run: JobsRun) -> Told:
    """What is known of the jobs that were read, put together once for each state."""
    return run.told


def _arrived_jobs(run: JobsRun) -> int:
    """The jobs that have arrived: in memory the last ones of all that were read."""
    clock = run.world.clock[0]
    return len(told_of(run).submit) - int(clock["last"]) + int(clock["arrived"])


def _arrived_tasks(run: JobsRun) -> int:
    """The tasks of the jobs that have arrived."""
    return int(told_of(run).first_task[_arrived_jobs(run)])


def jobs_left(run: JobsRun) -> int:
    """The jobs that have not finished."""
    return int(run.world.clock[0]["jobs_left"])


def of_jobs(run: JobsRun, spans: Spans) -> Spans:
    """Spans of jobs without those that a warm-up leaves out."""
    return spans.after(run.scenario.warmup_s, warm_up.first_job(run))


def _of_tasks(run: JobsRun, spans: Spans) -> Spans:
    """Spans of tasks without those that a warm-up leaves out."""
    return spans.after(run.scenario.warmup_s, warm_up.first_task(run))


def all_waits(run: JobsRun) -> Spans:
    """Spans from the submission of a job to the first start of an instance of it."""
    told, arrived = told_of(run), _arrived_jobs(run)
    start = np.minimum.reduceat(told.first_start, told.first_task[:-1])
    return Spans(told.submit[:arrived], start[:arrived], 1.0, 0.0, run.all_jobs)


def counted_left(run: JobsRun) -> int:
    """The jobs that have not finished and were submitted after the warm-up."""
    if not warm_up.warms_up(run):
        return jobs_left(run)
    return int(np.isinf(told_of(run).job_finish[warm_up.first_job(run) :]).sum())


@shared
def waits(run: JobsRun) -> Spans:
    """The waits of the jobs that count, from submission to the first start."""
    return of_jobs(run, all_waits(run))


@shared
def all_completions(run: JobsRun) -> Spans:
    """Spans from the submission of a job to its finish."""
    told, arrived = told_of(run), _arrived_jobs(run)
    finish = told.job_finish[:arrived]
    return Spans(told.submit[:arrived], finish, 1.0, 0.0, run.all_jobs)


@shared
def completions(run: JobsRun) -> Spans:
    """The completions of the jobs that count, from submission to finish."""
    return of_jobs(run, all_completions(run))


@shared
def slowdowns(run: JobsRun) -> Spans:
    """Completions over the job's shortest possible time; at least 1 where it has not finished."""
    spans = all_completions(run)
    shortest = 1.0 / told_of(run).job_weight[: len(spans.begin)]
    least = np.where(np.isfinite(spans.end), 0.0, 1.0)
    return of_jobs(run, spans._replace(unit=shortest, least=least))


@shared
def bounded_slowdowns(run: JobsRun) -> Spans:
    """Slowdowns over at least 10 s, and at least 1."""
    spans = all_completions(run)
    shortest = 1.0 / told_of(run).job_weight[: len(spans.begin)]
    return of_jobs(run, spans._replace(unit=np.maximum(BOUND_S, shortest), least=1.0))


@shared
def _all_task_completions(run: JobsRun) -> Spans:
    """Spans from the submission of a task's job to the finish of the task."""
    told, arrived = told_of(run), _arrived_tasks(run)
    submit = np.repeat(told.submit, np.diff(told.first_task))[:arrived]
    return Spans(submit, told.last_finish[:arrived], 1.0, 0.0, run.all_tasks)


def task_completions(run: JobsRun) -> Spans:
    """The completions of the tasks that count, from their jobs' submission to their finish."""
    return _of_tasks(run, _all_task_completions(run))


def task_slowdowns(run: JobsRun) -> Spans:
    """The completions of the tasks that count over their durations at speed 1."""
    return _of_tasks(run, _over_duration(run, _all_task_completions(run)))


@shared
def _all_task_runs(run: JobsRun) -> Spans:
    """Spans from the first start of an instance of a task to its finish."""
    spans = _all_task_completions(run)
    start = told_of(run).first_start[: len(spans.begin)]
    return spans._replace(begin=np.minimum(start, run.now))


def task_runs(run: JobsRun) -> Spans:
    """The runs of the tasks that count, from their first start to their finish."""
    return _of_tasks(run, _all_task_runs(run))


def task_run_slowdowns(run: JobsRun) -> Spans:
    """The runs of the tasks that count over their durations at speed 1."""
    return _of_tasks(run, _over_duration(run, _all_task_runs(run)))


def _over_duration(run: JobsRun, spans: Spans) -> Spans:
    """Spans of tasks over their durations at speed 1."""
    return spans._replace(unit=told_of(run).duration[: len(spans.begin)])
