"""The state of a run before its first event."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrays import whole_millionths
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.contract import RecordLevel
from cloudarena.engine.calendar import make_calendar, push
from cloudarena.engine.index import make_index, put
from cloudarena.engine.streams import stream
from cloudarena.scenarios.jobs import graph
from cloudarena.scenarios.jobs.checks import check_fits, check_record, kind_sizes, weibull_scale
from cloudarena.scenarios.jobs.kernel import draw_failure
from cloudarena.scenarios.jobs.spec import Failures, JobsScenario
from cloudarena.scenarios.jobs.state import (
    CLOCK,
    ROW,
    SERIES_COLUMNS,
    TOTALS,
    Demand,
    Machines,
    Outages,
    Progress,
    Queue,
    Tasks,
    World,
)
from cloudarena.workloads.columns import check_filled, place, read_columns
from cloudarena.workloads.jobs import LONGEST_TIME, JobWorkload, jobs_of_tasks

SERIES_ROWS = 16_384
"""Instants the series keeps; twice as many are thinned to half."""


def build_world(
    scenario: JobsScenario, workload: JobWorkload, seed: int, record: RecordLevel
) -> World:
    """Lays out the arrays; refuses tasks that fit no machine."""
    kinds, tasks, jobs = scenario.machines, len(workload.instances), len(workload.submit)
    check_fits(scenario, workload)
    check_record(workload, record)
    users, user = np.unique(workload.user, return_inverse=True)
    counts = [kind.count for kind in kinds]
    capacity = np.repeat(kind_sizes(scenario), counts, axis=0)
    speed = np.repeat(np.array([kind.speed for kind in kinds]), counts)
    first_child, children = graph.children_of(workload)
    order = graph.children_first(workload)
    shown = known_durations(scenario, workload)
    owner = jobs_of_tasks(workload)
    machines = _machines(capacity, speed)
    clock, totals = np.zeros(1, CLOCK), np.zeros(1, TOTALS)
    clock["due"], clock["jobs_left"], clock["stride"] = np.inf, jobs, 1

    def whole(value: int) -> NDArray[np.int64]:
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
        outages=_outages(scenario.failures, seed, len(capacity), workload.begin_s),
        clock=clock,
        totals=totals,
        held=np.zeros(4, np.int64),
        held_s=np.zeros(4),
        series=np.zeros((0 if record == "none" else SERIES_ROWS, len(SERIES_COLUMNS))),
    )


def known_paths(workload: JobWorkload, duration: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each task the longest path of durations to the end of its job, in seconds."""
    first_child, children = graph.children_of(workload)
    order = graph.children_first(workload)
    return graph.longest_paths(order, first_child, children, duration)


def shortest_times(scenario: JobsScenario, workload: JobWorkload) -> NDArray[np.float64]:
    """For each job the longest path of true durations, on the fastest machine, in seconds."""
    paths = known_paths(workload, workload.duration)
    longest: NDArray[np.float64] = np.maximum.reduceat(paths, workload.first_task[:-1])
    return longest / max(kind.speed for kind in scenario.machines)


def make_rows(capacity: int) -> NDArray[np.void]:
    """Room for starts."""
    return np.zeros(capacity, ROW)


def known_durations(scenario: JobsScenario, workload: JobWorkload) -> NDArray[np.float64]:
    """What policies are told about the durations of tasks."""
    if "durations" in scenario.known:
        return workload.duration.copy()
    if "estimates" in scenario.known:
        return workload.estimate.copy()
    return np.full(len(workload.instances), np.nan)


def _machines(capacity: NDArray[np.int64], speed: NDArray[np.float64]) -> Machines:
    """All machines up and empty."""
    room = make_index(len(capacity), 4)
    for machine, free in enumerate(capacity):
        put(room, machine, free, 1)
    return Machines(
        now=0.0,
        capacity=capacity,
        free=capacity.copy(),
        speed=speed,
        up=np.ones(len(capacity), np.bool_),
        total=capacity.sum(axis=0),
        free_total=capacity.sum(axis=0),
        room=room,
        active=np.empty(0, np.int64),
        rows=make_rows(max(1024, 4 * len(capacity))),
    )


def _outages(failures: Failures | None, seed: int, machines: int, begin: float) -> Outages:
    """The first failure of each machine by the law, or all outages of the list.

    The list is on the clock of the workload, on which the run begins at ``begin``, in seconds.
    What was over by then has no part in it, and who is down then is so from the beginning.
    """
    seeds = stream(seed, "failures").integers(0, 2**63, machines).astype(np.uint64)
    if failures is None:
        return Outages(make_calendar(1), 0.0, 1.0, 0.0, seeds)
    if failures.mtbf_s is not None and failures.mttr_s is not None:
        scale = weibull_scale(failures)
        calendar = make_calendar(machines)
        outages = Outages(calendar, scale, failures.shape, failures.mttr_s, seeds)
        for machine in range(machines):
            push(calendar, draw_failure(outages, machine), machine)
        return outages
    given = _given_outages(failures, machines)
    calendar = make_calendar(2 * len(given))
    for machine, down, up in given:
        if up <= begin:
            continue
        push(calendar, max(0.0, down - begin), machine)
        if up < np.inf:
            push(calendar, up - begin, machines + machine)
    return Outages(calendar, 0.0, 1.0, 0.0, seeds)


def _given_outages(failures: Failures, machines: int) -> list[tuple[int, float, float]]:
    """The outages of the list or the file, checked, in order of time."""
    if failures.path is None:
        rows = [(o.machine, o.down_s, o.up_s) for o in failures.outages]
        where = [f"failures.outages[{k}]" for k in range(len(rows))]
    else:
        rows = _read_outages(failures.path)
        where = [place(failures.path, row) for row in range(len(rows))]
    error = SpecError if failures.path is None else TraceError
    back = dict.fromkeys(range(machines), 0.0)
    given = []
    for row in sorted(range(len(rows)), key=lambda row: rows[row][1]):
        machine, down, up = rows[row]
        up = np.inf if up is None else up
        if not 0 <= machine < machines:
            raise error(f"{where[row]}: machine: {machine} is not allowed: 0 to {machines - 1}")
        if back[machine] == np.inf:
            raise error(
                f"{where[row]}: down_s: {down:g} is not allowed: machine {machine} is already down "
                "for good"
            )
        if not back[machine] <= down <= LONGEST_TIME:
            raise error(
                f"{where[row]}: down_s: {down:g} is not allowed: at least {back[machine]:g}, when "
                f"machine {machine} is up"
            )
        if not up > down:
            raise error(f"{where[row]}: up_s: {up:g} is not allowed: more than down_s, {down:g}")
        back[machine] = up
        given.append((machine, down, up))
    return given


def _read_outages(path: Path) -> list[tuple[int, float, float | None]]:
    """The rows of a file of outages; only when a machine is up again may be missing."""
    types = {"machine": pa.int64(), "down_s": pa.float64()}
    table = read_columns(path, types, {"up_s": pa.float64()})
    check_filled(path, table, types)
    columns = table.to_pydict()
    ups = columns.get("up_s", [None] * len(columns["machine"]))
    ups = [None if up is None or up != up else up for up in ups]
    return list(zip(columns["machine"], columns["down_s"], ups, strict=True))
