"""The state of a run whose jobs come into memory as they arrive, and what is told of all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.contract import RecordLevel
from cloudarena.scenarios.jobs.build import build_world
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import World
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.stream import JobStream, joined, kept_jobs


class Told(NamedTuple):
    """What metrics need of each job and task, also of those that are no longer in memory."""

    submit: Floats  # (jobs,)
    first_task: Ints  # (jobs + 1,)
    job_finish: Floats  # (jobs,)
    job_weight: Floats  # (jobs,)
    instances: Ints  # (tasks,)
    duration: Floats  # (tasks,)
    first_start: Floats  # (tasks,)
    last_finish: Floats  # (tasks,)


OF_JOBS = ("submit", "job_finish", "job_weight")
OF_TASKS = ("instances", "duration", "first_start", "last_finish")


def told_of(world: World, workload: JobWorkload) -> Told:
    """What is told of the jobs in memory."""
    return Told(
        workload.submit,
        workload.first_task,
        world.progress.job_finish,
        world.demand.job_weight,
        workload.instances,
        workload.duration,
        world.progress.first_start,
        world.progress.last_finish,
    )


class Ledger:
    """What is told of all jobs of a stream so far: 32 bytes for each job and for each task."""

    def __init__(self, stream: JobStream) -> None:
        jobs, tasks = stream.jobs, stream.tasks
        self.jobs, self.tasks = jobs, tasks
        self._columns = {name: np.full(jobs, np.inf) for name in OF_JOBS}
        self._columns |= {name: np.full(tasks, np.inf) for name in OF_TASKS[1:]}
        self._columns["instances"] = np.zeros(tasks, np.int64)
        self._first_task = np.zeros(jobs + 1, np.int64)
        self._numbers = np.empty(0, np.int64)
        self._read = 0

    def add(self, kept: Ints, part: JobWorkload) -> None:
        """Takes note that of the jobs in memory these are kept, and which come behind them."""
        count = len(part.submit)
        fresh = np.arange(self._read, self._read + count)
        self._first_task[fresh + 1] = self._first_task[self._read] + part.first_task[1:]
        self._numbers = np.concatenate((self._numbers[kept], fresh))
        self._read += count

    def note(self, told: Told) -> None:
        """Takes note of where the jobs in memory stand."""
        for name in OF_JOBS:
            self._columns[name][self._numbers] = getattr(told, name)
        moved = self._first_task[self._numbers] - told.first_task[:-1]
        tasks = np.arange(len(told.instances)) + np.repeat(moved, np.diff(told.first_task))
        for name in OF_TASKS:
            self._columns[name][tasks] = getattr(told, name)

    @property
    def told(self) -> Told:
        """What was noted, of the jobs that have been read."""
        tasks = int(self._first_task[self._read])
        ends = {**dict.fromkeys(OF_JOBS, self._read), **dict.fromkeys(OF_TASKS, tasks)}
        columns: dict[str, Any] = {name: self._columns[name][:end] for name, end in ends.items()}
        return Told(first_task=self._first_task[: self._read + 1], **columns)


def with_more(
    world: World,
    workload: JobWorkload,
    part: JobWorkload,
    scenario: JobsScenario,
    seed: int,
    record: RecordLevel,
    stream: JobStream,
) -> tuple[World, JobWorkload, Ints]:
    """The state with the next jobs behind those that are not finished; which of the jobs those are.

    To be called when all jobs in memory have arrived. The queue is to be made anew.
    """
    kept = np.flatnonzero(world.progress.tasks_left > 0)
    is_kept = np.repeat(world.progress.tasks_left > 0, np.diff(workload.first_task))
    tasks = np.flatnonzero(is_kept)
    number = np.cumsum(is_kept) - 1  # of each task that is kept
    merged = joined([kept_jobs(workload, kept), part]) if len(kept) else part
    fresh, clock = build_world(scenario, merged, seed, record, stream), world.clock[0]
    for column in ("waiting", "running", "finished"):
        getattr(fresh.tasks, column)[: len(tasks)] = getattr(world.tasks, column)[tasks]
    fresh.tasks.job_held[: len(kept)] = world.tasks.job_held[kept]
    for column in ("parents_left", "ready_time", "first_start", "last_finish", "next_instance"):
        getattr(fresh.progress, column)[: len(tasks)] = getattr(world.progress, column)[tasks]
    fresh.progress.lost_head[: len(tasks)] = world.progress.lost_head[tasks]
    fresh.progress.tasks_left[: len(kept)] = world.progress.tasks_left[kept]
    fresh.ready[: clock["ready"]] = number[world.ready[: clock["ready"]]]
    rows = world.machines.rows[: clock["rows"]]
    rows["task"] = np.where(is_kept[rows["task"]], number[rows["task"]], 0)
    clock["arrived"], clock["last"], clock["first"] = len(kept), len(merged.submit), -1
    if clock["next"] >= 0:
        clock["next"] = number[clock["next"]]
    tasks_now = fresh.tasks._replace(
        user_held=world.tasks.user_held,
        user_runs=world.tasks.user_runs,
        user_predicted=world.tasks.user_predicted,
    )
    moved = world._replace(
        demand=fresh.demand,
        tasks=tasks_now,
        queue=fresh.queue,
        progress=fresh.progress,
        ready=fresh.ready,
    )
    return moved, merged, kept
