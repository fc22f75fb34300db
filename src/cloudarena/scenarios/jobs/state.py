"""What a run of jobs holds: arrays that the kernel changes and policies look at.

Sizes (demand, capacity, what is free or held) are whole numbers of a millionth in four columns:
cpu, memory, disk, gpu. Tasks are numbered by the arrival of their jobs, then as the workload has
them; machines as the spec has them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar
from cloudarena.engine.ordered_rooms import OrderedRooms
from cloudarena.engine.segment_tree import SegmentTree, segment_tree_of
from cloudarena.engine.shape_counts import ShapeCounts
from cloudarena.engine.status import FIRST_REASON

NOTHING = (-1, -1, 0)
"""The action that starts nothing more at this instant."""

NEXT = -2
"""The machine of a task that is next. It starts as soon as it fits, on machines in order."""

Start = tuple[int, int, int]
"""A task, a machine, and how many of the task's waiting instances begin there.

With NEXT as the machine, the last is 1 if others may be backfilled until the task starts, or 0.
"""


class Resource(IntEnum):
    """The columns of sizes."""

    CPU = 0
    MEMORY = 1
    DISK = 2
    GPU = 3


class RowState(IntEnum):
    """What has become of a start."""

    RUNNING = 0
    DONE = 1
    LOST = 2


class Turn(IntEnum):
    """The one whose turn it is at an instant."""

    NOBODY = 0
    POLICY = 1
    NEXT = 2
    """The task that is next, and what may be backfilled: the kernel starts them."""


LEAST_CPU, MOST_CPU, ANY = "least-cpu", "most-cpu", "any"
"""What a policy says by ``ranks_by`` that takes the first task of its queue, as many instances of
it as fit to the machine with room and the least CPU free, or one to that with the most; or any
task and any machine with the same chance, by a draw each. Ties go to the lower number."""


class Ranking(IntEnum):
    """What stands where in ``World.ranking``."""

    SIGN = 0
    """1: the least CPU free comes first; -1: the most."""
    ONE = 1
    """Whether one instance is started at a time, not as many as fit."""


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NO_SUCH_TASK = FIRST_REASON
    NO_SUCH_MACHINE = FIRST_REASON + 1
    NOT_READY = FIRST_REASON + 2
    NO_ROOM = FIRST_REASON + 3
    MUST_START = FIRST_REASON + 4
    NO_SUCH_RULE = FIRST_REASON + 5


class Tasks(NamedTuple):
    """What a policy sees of the tasks. Arrays over all tasks, where nothing else is said."""

    first: int
    """The first task, in the order of the policy's queue, that could start now.

    -1 for a policy that is asked early, since there may be none.
    """
    ready: NDArray[np.int64]
    """The ready tasks with waiting instances, in rising order."""
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    """The index of the job's user among the users of the workload, in rising order."""
    submit: NDArray[np.float64]
    """When the task's job was submitted, in seconds."""
    instances: NDArray[np.int64]
    waiting: NDArray[np.int64]
    """Instances that have not started, or were lost and must start again."""
    running: NDArray[np.int64]
    finished: NDArray[np.int64]
    demand: NDArray[np.int64]  # (tasks, 4)
    """What one instance holds while it runs, in millionths."""
    duration: NDArray[np.float64]
    """Seconds at speed 1 as far as the spec lets them be known: exact, estimated, or NaN."""
    path: NDArray[np.float64]
    """The longest path of such durations from the task to the end of its job."""
    weight: NDArray[np.float64]
    """How much of the job depends on the task (MaxWeight)."""
    gang: NDArray[np.bool_]
    """Whether all instances must start at once."""
    first_task: NDArray[np.int64]  # (jobs + 1,)
    """Where the tasks of each job begin."""
    job_held: NDArray[np.int64]  # (jobs, 4)
    """What the running instances of each job hold, in millionths."""
    user_held: NDArray[np.int64]  # (users, 4)
    processors: NDArray[np.float64]
    """The cpu of all instances together."""
    user_runs: NDArray[np.float64]  # (users, 2)
    """How long the user's last two finished tasks ran, the latest first; infinity for none."""
    user_predicted: NDArray[np.float64]  # (users,)
    """The mean of those that there are; infinity before the first, and for unknown users."""
    begin_s: float
    """The time of the workload's own clock at which the run begins: ``submit`` counts from it."""
    children: NDArray[np.int64]
    """How many tasks wait for it directly."""
    depth: NDArray[np.int64]
    """The longest way behind it to the end of its job, in tasks."""
    gpu_models: NDArray[np.int64]
    """The models of GPUs that it may run on, a bit each; -1: any."""


ROW = np.dtype(
    [
        ("action", np.int64),  # the number of the action that made it
        ("task", np.int64),
        ("machine", np.int64),
        ("first", np.int64),  # the number of the first instance; the others follow it
        ("count", np.int64),
        ("start", np.float64),
        ("finish", np.float64),
        ("state", np.int64),  # a RowState
        ("lost_left", np.int64),  # instances that were lost and have not started again
        ("lost_next", np.int64),  # the task's next row with such instances; -1 at the end
    ]
)
"""A start: instances of one task that began together on one machine."""


class Machines(NamedTuple):
    """What a policy sees of the machines. Arrays over all machines, where nothing else is said."""

    now: float
    """The time in seconds."""
    capacity: NDArray[np.int64]  # (machines, 4)
    free: NDArray[np.int64]  # (machines, 4)
    """The free sizes in millionths; -1 everywhere on a machine that is down."""
    speed: NDArray[np.float64]
    up: NDArray[np.bool_]
    total: NDArray[np.int64]  # (4,)
    """The capacity of all machines, in millionths."""
    free_total: NDArray[np.int64]  # (4,)
    """What is free on all machines that are up."""
    room: SegmentTree
    """Machines by what they have free."""
    active: NDArray[np.int64]
    """The rows that run now, in no order."""
    rows: NDArray[np.void]
    """All rows, of ``ROW``: ``rows[k]["start"]``."""
    may_wait: bool
    """Whether nothing may be started: not when nothing else can happen any more."""
    gpu_free: NDArray[np.int64]  # (machines, devices)
    """What is free of each GPU, in millionths; no columns where no task asks for a share of one or
    for a model."""
    gpu_model: NDArray[np.int64]
    """The number of the model of its GPUs among the models of all machines, in rising order."""


class Shown(NamedTuple):
    """What a run shows to policies: read-only views of its state."""

    tasks: Tasks
    machines: Machines
    ready: NDArray[np.int64]  # (tasks,): its beginning is ``tasks.ready``
    active: NDArray[np.int64]  # (rows,): its beginning is ``machines.active``


class Queue(NamedTuple):
    """The ready tasks in the order of the policy, and which of them may fit somewhere.

    A position is a task's index in the order of all tasks. What is known not to fit is not looked
    at again: only a task that became ready since (``fresh``), or a machine on which something
    became free since (``dirty``), can make a new pair. Gangs are looked at each time.
    """

    task_at: NDArray[np.int64]
    position_of: NDArray[np.int64]
    waiting: SegmentTree
    """Places of ready tasks that were found to fit no machine, by minus what they demand.

    Those that are fresh are left out, lest each machine with room is looked at for each of them.
    """
    fresh: SegmentTree
    """Places whose task has not been found to fit no machine: 1."""
    dirty: SegmentTree
    """Minus the first position that may fit each machine; empty if none does."""
    gangs: NDArray[np.int64]
    """Places of ready gangs, in rising order."""
    gang_count: NDArray[np.int64]  # (1,)


class Demand(NamedTuple):
    """The jobs as the trace has them; policies do not see this."""

    submit: NDArray[np.float64]
    first_task: NDArray[np.int64]
    duration: NDArray[np.float64]
    job_weight: NDArray[np.float64]
    """1 / the job's shortest possible time."""
    is_known: NDArray[np.bool_]  # (users,)
    """Whether a user is somebody: numbers below 0 stand for those who are not known."""
    first_child: NDArray[np.int64]
    children: NDArray[np.int64]


class Outages(NamedTuple):
    """When machines fail and come back: events that are given, or drawn as the run goes on."""

    calendar: Calendar
    """Payload: the machine that fails, or machines + the machine that comes back."""
    up_scale: float
    up_shape: float
    """The Weibull time from coming up to the next failure; no scale: events are given."""
    down_mean: float
    """The mean of the exponential time to repair."""
    seeds: NDArray[np.uint64]
    """A SplitMix64 state for each machine, so that its outages do not depend on the policy."""


class Progress(NamedTuple):
    """How far each task and job is."""

    parents_left: NDArray[np.int64]
    ready_time: NDArray[np.float64]
    first_start: NDArray[np.float64]
    last_finish: NDArray[np.float64]
    next_instance: NDArray[np.int64]
    lost_head: NDArray[np.int64]
    """The row with the task's lost instances of lowest index; -1 if there is none."""
    tasks_left: NDArray[np.int64]  # (jobs,)
    job_finish: NDArray[np.float64]  # (jobs,)


CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("due", np.float64),  # when to schedule next; infinity if nothing has changed
        ("deciding", np.int64),  # a Turn
        ("early", np.int64),  # whether the policy is asked as soon as a task is ready
        ("next", np.int64),  # the task that is next; -1 if none was chosen
        ("backfills", np.int64),  # whether others may go ahead of it
        ("expected", np.float64),  # when it was expected to start; NaN if that was not asked yet
        ("arrived", np.int64),
        ("last", np.int64),  # up to which job all will arrive that are in memory
        ("more", np.int64),  # whether jobs will arrive that are not
        ("ready", np.int64),  # how many tasks `ready` holds
        ("first", np.int64),  # the first position of the queue whose task could start
        ("jobs_left", np.int64),
        ("down", np.int64),  # machines that are down
        ("actions", np.int64),  # how many have started something
        ("idle_waits", np.int64),  # how often in a row nothing was started in an idle cluster
        ("lost_rows", np.int64),  # lost rows whose instances have not all started again
        ("rows", np.int64),  # rows that were ever used
        ("spare", np.int64),  # how many rows `spare_rows` holds
        ("instants", np.int64),
        ("stride", np.int64),  # each how many-th instant the series keeps
        ("series", np.int64),  # how many rows the series has
        ("task", np.int64),  # the last action, for the message when it is not allowed
        ("machine", np.int64),
        ("count", np.int64),
    ]
)

TOTALS = np.dtype(
    [
        ("completed", np.int64),
        ("lost", np.int64),
        ("lost_s", np.float64),
        ("wait_s", np.float64),
        ("makespan", np.float64),
        # What is integrated over time, and its integral.
        ("jobs", np.int64),  # jobs that have arrived and not finished
        ("tasks", np.int64),  # their tasks that have not finished
        ("job_weight", np.float64),  # the jobs, each weighted by 1 / its shortest possible time
        ("task_weight", np.float64),  # the tasks, each weighted by 1 / its duration
        ("job_s", np.float64),
        ("task_s", np.float64),
        ("job_weight_s", np.float64),
        ("task_weight_s", np.float64),
    ]
)

SERIES_COLUMNS = ("time_s", "jobs", "ready_tasks", "cpu", "memory", "disk", "gpu", "machines_up")


class World(NamedTuple):
    """Everything a run holds."""

    interval: float
    """Seconds between instants of scheduling; 0 schedules whenever something happens."""
    one_by_one: bool
    """Whether each event of an instant is followed by scheduling, arrivals first."""
    slowest: float
    """The speed of the slowest machine."""
    recycles: bool
    """Whether finished rows are used again, since nobody wants to see them."""
    demand: Demand
    tasks: Tasks
    machines: Machines
    queue: Queue
    progress: Progress
    ready: NDArray[np.int64]  # (tasks,): its beginning is what policies see
    spare_rows: NDArray[np.int64]
    row_gpus: NDArray[np.int64]  # (rows, devices)
    """What each row holds of each GPU of its machine, in millionths."""
    finishes: Calendar
    ends: Calendar
    """Room to sort running rows by when they are expected to end."""
    then: NDArray[np.int64]  # (machines, 4)
    """Room for what will be free of each machine."""
    outages: Outages
    clock: NDArray[np.void]  # (1,) of CLOCK
    totals: NDArray[np.void]  # (1,) of TOTALS
    held: NDArray[np.int64]  # (4,): of the whole cluster, in millionths
    held_s: NDArray[np.float64]  # (4,): its integral
    occupants: NDArray[np.int64]  # (machines,): instances that run there
    used_since: NDArray[np.float64]  # (machines,): since when there are some
    used_s: NDArray[np.float64]  # (machines,): how long there were, before that
    series: NDArray[np.float64]  # (rows, SERIES_COLUMNS); no rows: not recorded
    ranking: NDArray[np.int64]  # (len(Ranking),)
    rooms: OrderedRooms | None
    """Machines by the CPU that they have free, for a policy that ranks them so."""
    shapes: ShapeCounts | None
    """How many machines have room for which demand, for a policy that takes any."""


def idle_machines(
    capacity: NDArray[np.int64],
    speed: NDArray[np.float64],
    rows: int,
    gpu_free: NDArray[np.int64],
    gpu_model: NDArray[np.int64],
) -> Machines:
    """Machines that are all up and empty, with room for so many starts."""
    count = len(capacity)
    return Machines(
        now=0.0,
        capacity=capacity,
        free=capacity.copy(),
        speed=speed,
        up=np.ones(count, np.bool_),
        total=capacity.sum(axis=0),
        free_total=capacity.sum(axis=0),
        room=segment_tree_of(capacity),
        active=np.empty(0, np.int64),
        rows=np.zeros(rows, ROW),
        may_wait=True,
        gpu_free=gpu_free,
        gpu_model=gpu_model,
    )
