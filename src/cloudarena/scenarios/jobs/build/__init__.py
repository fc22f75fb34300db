"""The state of a run before its first event."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints, whole_millionths
from cloudarena.base.errors import SpecError
from cloudarena.contract import RecordLevel
from cloudarena.engine.calendar import make_calendar
from cloudarena.engine.index import make_index, put
from cloudarena.scenarios.jobs.build import graph
from cloudarena.scenarios.jobs.build.outages import make_outages
from cloudarena.scenarios.jobs.sources import Generator
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import (
    CLOCK,
    SERIES_COLUMNS,
    TOTALS,
    Demand,
    Progress,
    Queue,
    Tasks,
    World,
    idle_machines,
)
from cloudarena.workloads.jobs.columns import JobWorkload, jobs_of_tasks

SERIES_ROWS = 16_384
"""Instants the series keeps; twice as many are thinned to half."""
BYTES_PER_MACHINE = 350.0
MOST_RECORDED = 200_000_000
"""Instances in a table: 48 bytes each."""


def build_world(
    scenario: JobsScenario, workload: JobWorkload, seed: int, record: RecordLevel
) -> World:
    """Lays out the arrays; refuses tasks that fit no machine."""
    kinds, tasks, jobs = scenario.machines, len(workload.instances), len(workload.submit)
    scenario.check_fits(workload)
    check_record(workload, record)
    users, user = np.unique(workload.user, return_inverse=True)
    counts = [kind.count for kind in kinds]
    capacity = np.repeat([kind.sizes for kind in kinds], counts, axis=0)
    speed = np.repeat(np.array([kind.speed for kind in kinds]), counts)
    first_child, children = graph.children_of(workload)
    order = graph.children_first(workload)
    shown = known_durations(scenario, workload)
    owner = jobs_of_tasks(workload)
    machines = idle_machines(capacity, speed, rows=max(1024, 4 * len(capacity)))
    for machine, free in enumerate(capacity):
        put(machines.room, machine, free, 1)
    clock, totals = np.zeros(1, CLOCK), np.zeros(1, TOTALS)
    clock["due"], clock["jobs_left"], clock["stride"] = np.inf, jobs, 1

    def whole(value: int) -> Ints:
        return np.full(tasks, value, np.int64)

    return World(
        interval=scenario.scheduling_interval,
        recycles=record == "none",
        demand=Demand(
            workload.submit,
            workload.first_task,
            workload.duration,
            1.0 / shortest_times(scenario, workload),
            first_child,
            children,
        ),
        tasks=Tasks(
            first=-1,
            ready=np.empty(0, np.int64),
            job=owner,
            user=user.astype(np.int64)[owner],
            submit=workload.submit[owner],
            instances=workload.instances,
            waiting=workload.instances.copy(),
            running=whole(0),
            finished=whole(0),
            demand=whole_millionths(workload.demand),
            duration=shown,
            path=known_paths(workload, shown),
            weight=graph.dependence_weights(order, first_child, children, workload.instances),
            gang=workload.gang,
            first_task=workload.first_task,
            job_held=np.zeros((jobs, 4), np.int64),
            user_held=np.zeros((len(users), 4), np.int64),
        ),
        machines=machines,
        queue=Queue(
            task_at=np.arange(tasks),
            place_of=np.arange(tasks),
            waiting=make_index(tasks, 4),
            fresh=make_index(tasks, 1),
            dirty=make_index(len(capacity), 1),
            gangs=whole(0),
            gang_count=np.zeros(1, np.int64),
        ),
        progress=Progress(
            parents_left=np.diff(workload.first_parent),
            ready_time=np.full(tasks, np.inf),
            first_start=np.full(tasks, np.inf),
            last_finish=np.full(tasks, np.inf),
            next_instance=whole(0),
            lost_head=whole(-1),
            tasks_left=np.diff(workload.first_task),
            job_finish=np.full(jobs, np.inf),
        ),
        ready=whole(0),
        spare_rows=np.empty(len(machines.rows), np.int64),
        finishes=make_calendar(len(machines.rows)),
        outages=make_outages(scenario.failures, seed, len(capacity), workload.begin_s),
        clock=clock,
        totals=totals,
        held=np.zeros(4, np.int64),
        held_s=np.zeros(4),
        series=np.zeros((0 if record == "none" else SERIES_ROWS, len(SERIES_COLUMNS))),
    )


def known_paths(workload: JobWorkload, duration: Floats) -> Floats:
    """For each task the longest path of durations to the end of its job, in seconds."""
    first_child, children = graph.children_of(workload)
    order = graph.children_first(workload)
    return graph.longest_paths(order, first_child, children, duration)


def shortest_times(scenario: JobsScenario, workload: JobWorkload) -> Floats:
    """For each job the longest path of true durations, on the fastest machine, in seconds."""
    paths = known_paths(workload, workload.duration)
    longest: Floats = np.maximum.reduceat(paths, workload.first_task[:-1])
    return longest / max(kind.speed for kind in scenario.machines)


def known_durations(scenario: JobsScenario, workload: JobWorkload) -> Floats:
    """What policies are told about the durations of tasks."""
    if "durations" in scenario.known:
        return workload.duration.copy()
    if "estimates" in scenario.known:
        return workload.estimate.copy()
    return np.full(len(workload.instances), np.nan)


def check_record(workload: JobWorkload, record: RecordLevel) -> None:
    """Refuses tables that no memory would hold."""
    instances = int(workload.instances.sum())
    if record != "none" and instances > MOST_RECORDED:
        raise SpecError(
            f"record: {record!r} is not allowed: a table of {instances:,} instances would need "
            f"about {instances * 48 / 1e9:,.0f} GB; at most {MOST_RECORDED:,} are recorded: none"
        )


def memory_needs(scenario: JobsScenario, record: RecordLevel) -> tuple[float, str]:
    """What is drawn, and what is kept of machines."""
    machines = BYTES_PER_MACHINE * scenario.machine_count
    if not isinstance(scenario.workload, Generator):
        return machines, "machines"
    jobs = scenario.workload.jobs
    return machines + scenario.workload.bytes_per_job * jobs, f"workload.jobs: {jobs}"
