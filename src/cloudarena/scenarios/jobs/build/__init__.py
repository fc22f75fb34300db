"""The state of a run before its first event."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import MICRO, Floats, Ints, whole_millionths
from cloudarena.base.errors import SpecError
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import HOURS, Window, end_of_window, whole_windows
from cloudarena.engine.calendar import make_calendar
from cloudarena.engine.dag import child_lists, children_first
from cloudarena.engine.dag_paths import longest_paths
from cloudarena.engine.gpu_models import models_in
from cloudarena.engine.segment_tree import make_segment_tree
from cloudarena.scenarios.jobs.build.outages import make_outages
from cloudarena.scenarios.jobs.build.weights import dependence_weights
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.spec.checks import allowed_models
from cloudarena.scenarios.jobs.state import (
    CLOCK,
    SERIES_COLUMNS,
    TOTALS,
    Demand,
    Progress,
    Queue,
    Ranking,
    Resource,
    Tasks,
    World,
    idle_machines,
)
from cloudarena.workloads.jobs.columns import JobWorkload, jobs_of_tasks, slice_jobs
from cloudarena.workloads.jobs.source import Generator
from cloudarena.workloads.jobs.stream import JobStream

SERIES_ROWS = 16_384
"""Instants the series keeps; twice as many are thinned to half."""
BYTES_PER_MACHINE = 350.0
MOST_DEVICES = 1024
"""GPUs of a machine that are kept one by one."""
MOST_RECORDED = 200_000_000
"""Instances in a table: 48 bytes each."""


WINDOWS = ("jobs", HOURS)
"""What the length of a window may be given in."""


def places(scenario: JobsScenario, workload: JobWorkload, window: Window) -> Ints:
    """The jobs with which windows may begin."""
    return np.arange(max(1, whole_windows(workload.submit, window.unit, window.length)))


def cut(scenario: JobsScenario, workload: JobWorkload, window: Window, place: int) -> JobsScenario:
    """The scenario of a window, which begins with a job."""
    end = end_of_window(workload.submit, place, window.unit, window.length)
    return scenario.with_workload(slice_jobs(workload, place, end - place), warmup_s=0.0)


def arrivals_s(scenario: JobsScenario, workload: JobWorkload) -> Floats:
    """When each job is submitted, in seconds."""
    return workload.submit


def build_world(
    scenario: JobsScenario,
    workload: JobWorkload,
    seed: int,
    record: RecordLevel,
    stream: JobStream | None = None,
) -> World:
    """Lays out the arrays; refuses tasks that fit no machine.

    Of a stream, ``workload`` is what is in memory of it.
    """
    kinds, tasks, jobs = scenario.machines, len(workload.instances), len(workload.submit)
    scenario.check_fits(workload)
    if stream is None:
        check_record(workload, record)
    users = np.unique(workload.user) if stream is None else stream.users
    user = np.searchsorted(users, workload.user)
    counts = [kind.count for kind in kinds]
    capacity = np.repeat([kind.sizes for kind in kinds], counts, axis=0)
    speed = np.repeat(np.array([kind.speed for kind in kinds]), counts)
    first_child, children = child_lists(workload.first_parent, workload.parents)
    order = children_first(workload.first_parent, workload.parents)
    shown = known_durations(scenario, workload)
    owner = jobs_of_tasks(workload)
    rows = max(1024, 4 * len(capacity))
    devices = gpu_devices(scenario, workload, capacity, stream is not None)
    models = models_in(kind.gpu_model for kind in kinds)
    model = np.repeat(np.array([models.index(kind.gpu_model) for kind in kinds], np.int64), counts)
    machines = idle_machines(capacity, speed, rows, devices, model)
    clock, totals = np.zeros(1, CLOCK), np.zeros(1, TOTALS)
    clock["due"], clock["stride"] = np.inf, 1
    clock["jobs_left"], clock["more"] = stream.jobs if stream else jobs, stream is not None
    clock["last"], clock["next"], clock["expected"] = jobs, -1, np.nan

    def whole(value: int) -> Ints:
        return np.full(tasks, value, np.int64)

    return World(
        interval=scenario.scheduling_interval,
        one_by_one=scenario.simultaneous == "one-by-one",
        slowest=float(speed.min()),
        recycles=(record == "none" and scenario.warmup_s == 0) or stream is not None,
        demand=Demand(
            workload.submit,
            workload.first_task,
            workload.duration,
            1.0 / shortest_times(scenario, workload),
            users >= 0,
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
            weight=dependence_weights(order, first_child, children, workload.instances),
            gang=workload.gang,
            first_task=workload.first_task,
            job_held=np.zeros((jobs, 4), np.int64),
            user_held=np.zeros((len(users), 4), np.int64),
            processors=workload.instances * workload.demand[:, Resource.CPU],
            user_runs=np.full((len(users), 2), np.inf),
            user_predicted=np.full(len(users), np.inf),
            begin_s=workload.begin_s,
            children=np.diff(first_child),
            depth=known_paths(workload, np.ones(len(order))).astype(np.int64) - 1,
            gpu_models=allowed_models(workload, models),
        ),
        machines=machines,
        queue=Queue(
            task_at=np.arange(tasks),
            position_of=np.arange(tasks),
            waiting=make_segment_tree(tasks, 4),
            fresh=make_segment_tree(tasks, 1),
            dirty=make_segment_tree(len(capacity), 1),
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
        row_gpus=np.zeros((rows, devices.shape[1]), np.int64),
        finishes=make_calendar(len(machines.rows)),
        ends=make_calendar(len(machines.rows)),
        then=np.empty_like(capacity),
        outages=make_outages(scenario.failures, seed, len(capacity), workload.begin_s),
        clock=clock,
        totals=totals,
        held=np.zeros(4, np.int64),
        held_s=np.zeros(4),
        occupants=np.zeros(len(capacity), np.int64),
        used_since=np.zeros(len(capacity)),
        used_s=np.zeros(len(capacity)),
        series=np.zeros((0 if record == "none" else SERIES_ROWS, len(SERIES_COLUMNS))),
        ranking=np.zeros(len(Ranking), np.int64),
        rooms=None,
        shapes=None,
    )


def gpu_devices(
    scenario: JobsScenario, workload: JobWorkload, capacity: Ints, is_streamed: bool
) -> Ints:
    """The GPUs of each machine as devices, all free; no columns where sums tell the same.

    They do if nobody asks for a share of one or for a model. 2.5 GPUs are two devices and one of
    half the size.
    """
    gpus = capacity[:, Resource.GPU]
    demand = whole_millionths(workload.demand[:, Resource.GPU])
    if not is_streamed and workload.gpu_models is None and not (demand % MICRO).any():
        return np.zeros((len(gpus), 0), np.int64)
    most = -(-int(gpus.max()) // MICRO)
    if most > MOST_DEVICES:
        kind = max(range(len(scenario.machines)), key=lambda k: scenario.machines[k].gpu)
        raise SpecError(
            f"machines[{kind}].gpu: {scenario.machines[kind].gpu:g} is not allowed: at most "
            f"{MOST_DEVICES} where tasks ask for shares of a GPU or for a model"
        )
    return np.clip(gpus[:, None] - MICRO * np.arange(most), 0, MICRO)


def known_paths(workload: JobWorkload, duration: Floats) -> Floats:
    """The longest path of durations from each task to the end of its job, in seconds."""
    paths: Floats = longest_paths(workload.first_parent, workload.parents, duration, np.zeros(0))
    return paths


def shortest_times(scenario: JobsScenario, workload: JobWorkload) -> Floats:
    """The longest path of true durations of each job, on the fastest machine, in seconds."""
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
