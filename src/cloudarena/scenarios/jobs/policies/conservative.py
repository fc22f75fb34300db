"""Conservative backfilling: each waiting instance has a reservation, as early as can be.

A later task goes ahead if no reservation of a task before it has to move (Mu'alem and Feitelson
2001). What is expected to be free of a machine is a list of steps: from its time on, a step's
vector is free, until the next step. As long as all goes as expected, a reservation made once is
the one that would be made again, so the plan is kept, and only what is new is added to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.kernel_run import compiled_step
from cloudarena.engine.calendar import Calendar, make_calendar, next_time, pop, push
from cloudarena.engine.compiled import jit, jit_call, jit_inline
from cloudarena.scenarios.jobs.decision import JobsDecision
from cloudarena.scenarios.jobs.kernel.gpus import allows_model
from cloudarena.scenarios.jobs.kernel.queue import UNBOUNDED, can_start, copies_that_fit
from cloudarena.scenarios.jobs.policies.backfilling import expected_end
from cloudarena.scenarios.jobs.policies.known import ESTIMATES
from cloudarena.scenarios.jobs.policies.placement import POLICIES
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import NOTHING, Machines, Start, Tasks

DEPTH = 256
"""How many ready tasks are planned; those behind them wait their turn."""
RESERVATIONS = 4096
"""How many starts are planned at most; what there is no reservation for waits as well."""

LOOK_AFTER = 8
"""The reservations after which it is asked whether more are of use."""

RESERVATION = np.dtype(
    [("task", np.int64), ("machine", np.int64), ("count", np.int64), ("begin", np.float64)]
)
PLANNED = np.dtype(
    [
        ("task", np.int64),
        ("waiting", np.int64),  # instances that have not started, as far as the plan goes
        ("left", np.int64),  # those of them that wait for a reservation
    ]
)
COUNTS = np.dtype(
    [
        ("is_kept", np.int64),
        ("tasks", np.int64),  # how many tasks are planned
        ("steps", np.int64),  # how many spare steps there are
        ("reservations", np.int64),  # how many spare reservations there are
        ("due", np.int64),  # how many reservations are for now
        ("started", np.int64),  # how many of these were started
    ]
)


class Plan(NamedTuple):
    """What is expected to happen."""

    times: NDArray[np.float64]
    free: NDArray[np.int64]  # (steps, 4)
    following: NDArray[np.int64]
    """The step after a step on the same machine; -1 at the end."""
    first: NDArray[np.int64]  # (machines,)
    """The step of each machine that counts now."""
    tried: NDArray[np.int64]  # (tasks, machines)
    """The step up to which a machine has no room for each planned task; -1 if for ever."""
    spare_steps: NDArray[np.int64]
    up: NDArray[np.bool_]  # (machines,)
    """Which machines were up when the plan was made."""
    reservations: NDArray[np.void]  # of RESERVATION
    spare_reservations: NDArray[np.int64]
    later: Calendar
    """The reservations for later, by when they begin, then in the order they were made."""
    due: NDArray[np.int64]
    """The reservations for now, in the same order."""
    pending: NDArray[np.int64]  # (machines, 4)
    """What the reservations for now, that were not started yet, will hold."""
    tasks: NDArray[np.void]  # of PLANNED, in order
    counts: NDArray[np.void]  # (1,) of COUNTS


def make_plan(machines: int, rows: int) -> Plan:
    """An empty plan, for so many machines and running rows."""
    steps = machines + rows + 2 * RESERVATIONS + 1
    return Plan(
        np.empty(steps), np.empty((steps, 4), np.int64), np.empty(steps, np.int64),
        np.empty(machines, np.int64), np.empty((DEPTH, machines), np.int64),
        np.empty(steps, np.int64), np.empty(machines, np.bool_),
        np.zeros(RESERVATIONS, RESERVATION), np.empty(RESERVATIONS, np.int64),
        make_calendar(RESERVATIONS), np.empty(RESERVATIONS, np.int64),
        np.empty((machines, 4), np.int64), np.zeros(DEPTH, PLANNED), np.zeros(1, COUNTS),
    )  # fmt: skip


@jit_call
def add_step(plan: Plan, time: float, free: NDArray[np.int64], following: int) -> int:
    """Makes a step before another; returns its index."""
    plan.counts[0].steps -= 1
    step = plan.spare_steps[plan.counts[0].steps]
    plan.times[step] = time
    for r in range(4):
        plan.free[step, r] = free[r]
    plan.following[step] = following
    return step


@jit
def restart_plan(plan: Plan, tasks: Tasks, machines: Machines) -> None:
    """Plans nothing; the steps are the expected ends of what runs."""
    counts, rows = plan.counts[0], machines.active
    counts.tasks, counts.due, counts.started = 0, 0, 0
    counts.steps, counts.reservations = len(plan.times), len(plan.reservations)
    plan.spare_steps[:] = np.arange(len(plan.times))
    plan.spare_reservations[:] = np.arange(len(plan.reservations))
    plan.later.counters[:] = 0
    plan.pending[:] = 0
    plan.up[:] = machines.up
    ends = np.empty(len(rows))
    for k in range(len(rows)):
        ends[k] = expected_end(tasks, machines, rows[k])
    free = machines.capacity.copy()
    plan.first[:] = -1
    for k in np.argsort(ends)[::-1]:  # from the last
        row = machines.rows[rows[k]]
        m = row.machine
        if plan.first[m] < 0 or plan.times[plan.first[m]] != ends[k]:
            plan.first[m] = add_step(plan, ends[k], free[m], plan.first[m])
        for r in range(4):
            free[m, r] -= row.count * tasks.demand[row.task, r]
    for m in range(len(machines.up)):
        plan.first[m] = add_step(plan, machines.now, free[m], plan.first[m])


@jit_call
def move_on(plan: Plan, tasks: Tasks, now: float) -> None:
    """Leaves the steps behind that have passed, and finds the reservations that are due."""
    counts = plan.counts[0]
    for m in range(len(plan.first)):
        step = plan.first[m]
        while plan.following[step] >= 0 and plan.times[plan.following[step]] <= now:
            plan.spare_steps[counts.steps] = step
            counts.steps += 1
            step = plan.following[step]
        plan.first[m] = step
    if counts.started == counts.due:
        counts.started, counts.due = 0, 0
    while next_time(plan.later) == now:
        put_due(plan, tasks, pop(plan.later))


@jit_call
def put_due(plan: Plan, tasks: Tasks, index: int) -> None:
    """Puts a reservation for now behind the others."""
    reservation = plan.reservations[index]
    plan.due[plan.counts[0].due] = index
    plan.counts[0].due += 1
    for r in range(4):
        plan.pending[reservation.machine, r] += (
            reservation.count * tasks.demand[reservation.task, r]
        )


@jit_call
def holds_still(plan: Plan, tasks: Tasks, machines: Machines) -> bool:
    """Whether the tasks wait, and the machines are free, as the plan expects it now."""
    counts = plan.counts[0]
    kept = 0
    for k in range(counts.tasks):
        planned = plan.tasks[k]
        if planned.waiting > 0:
            if kept == len(tasks.ready) or tasks.ready[kept] != planned.task:
                return False
            if tasks.waiting[planned.task] != planned.waiting:
                return False
            plan.tasks[kept] = plan.tasks[k]
            kept += 1
    counts.tasks = kept
    for m in range(len(plan.first)):
        if machines.up[m] != plan.up[m]:
            return False
        for r in range(4):
            expected = plan.free[plan.first[m], r] + plan.pending[m, r]
            if machines.up[m] and machines.free[m, r] != expected:
                return False
    return True


@jit_inline
def may_run(tasks: Tasks, machines: Machines, task: int, machine: int) -> bool:
    """Whether a machine is up, and has GPUs of a model that a task allows."""
    return machines.up[machine] and allows_model(tasks, machines, task, machine)


@jit_inline
def has_room(plan: Plan, tasks: Tasks, task: int, step: int) -> bool:
    """Whether an instance of a task fits into a step."""
    fits = True
    for r in range(4):
        fits &= plan.free[step, r] >= tasks.demand[task, r]
    return fits


@jit_inline
def step_without_room(plan: Plan, tasks: Tasks, task: int, step: int, end: float) -> int:
    """The first step, from one on and until some time, without room for an instance; or -1."""
    while has_room(plan, tasks, task, step):
        step = plan.following[step]
        if step < 0 or plan.times[step] >= end:
            return -1
    return step


@jit_inline
def copies_until(plan: Plan, tasks: Tasks, task: int, step: int, end: float) -> int:
    """How many instances have room from a step on until some time."""
    free = plan.free
    # What is free in all the steps is divided once, not what is free in each: that takes long.
    cpu, memory, disk, gpu = free[step, 0], free[step, 1], free[step, 2], free[step, 3]
    step = plan.following[step]
    while step >= 0 and plan.times[step] < end:
        cpu, memory = min(cpu, free[step, 0]), min(memory, free[step, 1])
        disk, gpu = min(disk, free[step, 2]), min(gpu, free[step, 3])
        step = plan.following[step]
    copies = UNBOUNDED
    for r, least in enumerate((cpu, memory, disk, gpu)):
        if least < 0:
            return 0
        if tasks.demand[task, r] > 0:
            copies = min(copies, least // tasks.demand[task, r])
    return copies


@jit_call
def first_room(
    plan: Plan, tasks: Tasks, machines: Machines, task: int, machine: int, step: int, latest: float
) -> tuple[int, int]:
    """The first step, from one on, with room for an instance until its end; for how many.

    Step -1 if there is none. If it begins later than the latest it is not looked for: then it is
    the returned step or one behind it, for 0 instances.
    """
    if not may_run(tasks, machines, task, machine):
        return -1, 0
    length = tasks.duration[task] / machines.speed[machine]
    while step >= 0:
        begin = max(machines.now, plan.times[step])
        if begin > latest:
            return step, 0
        none = step_without_room(plan, tasks, task, step, begin + length)
        if none < 0:
            return step, copies_until(plan, tasks, task, step, begin + length)
        step = plan.following[none]
    return -1, 0


@jit_call
def room_at(
    plan: Plan, tasks: Tasks, machines: Machines, task: int, machine: int, moment: float
) -> int:
    """How many instances a machine has room for from a moment on to their end."""
    if not may_run(tasks, machines, task, machine):
        return 0
    step = plan.first[machine]
    while plan.following[step] >= 0 and plan.times[plan.following[step]] <= moment:
        step = plan.following[step]
    end = moment + tasks.duration[task] / machines.speed[machine]
    return copies_until(plan, tasks, task, step, end)


@jit_call
def step_at(plan: Plan, step: int, moment: float, now: float) -> int:
    """The step, from one on, that begins at a moment; makes it if need be."""
    while plan.following[step] >= 0 and plan.times[plan.following[step]] <= moment:
        step = plan.following[step]
    if moment == now or plan.times[step] == moment:
        return step
    plan.following[step] = add_step(plan, moment, plan.free[step], plan.following[step])
    return plan.following[step]


@jit_call
def reserve(
    plan: Plan, tasks: Tasks, machines: Machines,
    task: int, machine: int, step: int, begin: float, count: int,
) -> None:  # fmt: skip
    """Plans a start, in a step or after it."""
    counts, now = plan.counts[0], machines.now
    step = step_at(plan, step, begin, now)
    last = step_at(plan, step, begin + tasks.duration[task] / machines.speed[machine], now)
    while step != last:
        for r in range(4):
            plan.free[step, r] -= count * tasks.demand[task, r]
        step = plan.following[step]
    counts.reservations -= 1
    index = plan.spare_reservations[counts.reservations]
    reservation = plan.reservations[index]
    reservation.task = task
    reservation.machine = machine
    reservation.count = count
    reservation.begin = begin
    if begin == now:
        put_due(plan, tasks, index)
    else:
        push(plan.later, begin, index)


@jit_call
def may_start(plan: Plan, tasks: Tasks, machines: Machines, task: int) -> bool:
    """Whether a task that is not planned has room now; once it has none, no more is planned for it.

    Reservations only take room away, so what has none in a plan has none when more is planned.
    """
    if tasks.gang[task]:
        return can_start(tasks, machines, task)
    now = machines.now
    for m in range(len(machines.up)):
        if may_run(tasks, machines, task, m) and has_room(plan, tasks, task, plan.first[m]):
            end = now + tasks.duration[task] / machines.speed[m]
            if step_without_room(plan, tasks, task, plan.first[m], end) < 0:
                return True
    return False


@jit_call
def skip_tried(plan: Plan, tasks: Tasks, position: int, first: int) -> None:
    """Finds the steps up to which there is no room for a planned task, from those before it.

    Where a task has no room, one that asks for as much or more, for as long or longer, and allows
    no other models of GPUs, has none.

    Args:
        plan: what is expected.
        tasks: all tasks.
        position: of the task among the planned ones.
        first: the first of these whose tried steps are known.
    """
    task, tried = plan.tasks[position].task, plan.tried
    for m in range(len(plan.first)):
        tried[position, m] = plan.first[m]
    for k in range(first, position):
        other = plan.tasks[k].task
        is_more = not tasks.gang[other] and tasks.duration[task] >= tasks.duration[other]
        is_more &= tasks.gpu_models[task] & ~tasks.gpu_models[other] == 0
        for r in range(4):
            is_more &= tasks.demand[task, r] >= tasks.demand[other, r]
        if is_more:
            for m in range(len(plan.first)):
                step, known = tried[position, m], tried[k, m]
                if step >= 0 and (known < 0 or plan.times[known] > plan.times[step]):
                    tried[position, m] = known


@jit
def reserve_instances(
    plan: Plan, tasks: Tasks, machines: Machines, position: int, other: int
) -> int:
    """Plans instances, each as early as can be; returns how many there was no reservation for.

    It may end as soon as another task, if there is one (not -1), has no room now any more.

    Args:
        plan: what is expected.
        tasks: all tasks.
        machines: all machines.
        position: of the task among the planned ones; where it has no room is in ``plan.tried``.
        other: the other task.
    """
    task, left = plan.tasks[position].task, plan.tasks[position].left
    # Of each machine the step from which on there may be room, and for how many; 0: not known.
    steps, copies = plan.tried[position], np.zeros(len(plan.first), np.int64)
    earliest, made = np.inf, 0
    for m in range(len(steps)):
        steps[m], copies[m] = first_room(plan, tasks, machines, task, m, steps[m], earliest)
        if copies[m] > 0:
            earliest = max(machines.now, plan.times[steps[m]])
    while left > 0 and plan.counts[0].reservations > 0:
        best, begin = -1, np.inf
        for m in range(len(steps)):
            if steps[m] >= 0 and max(machines.now, plan.times[steps[m]]) < begin:
                best, begin = m, max(machines.now, plan.times[steps[m]])
        if best < 0:  # no machine that is up will ever have room
            return 0
        if copies[best] == 0:
            steps[best], copies[best] = first_room(
                plan, tasks, machines, task, best, steps[best], np.inf
            )
            continue
        count = min(left, copies[best])
        reserve(plan, tasks, machines, task, best, steps[best], begin, count)
        left -= count
        copies[best] = 0
        made += 1
        if other >= 0 and made % LOOK_AFTER == 0 and not may_start(plan, tasks, machines, other):
            return left
    return left


@jit_call
def gang_start(plan: Plan, tasks: Tasks, machines: Machines, task: int) -> int:
    """The first machine from which a gang may start now without touching a plan; -1 if none."""
    if not can_start(tasks, machines, task):
        return -1
    for machine in range(len(machines.up)):
        left, is_good = tasks.waiting[task], True
        for k in range(len(machines.up)):
            m = (machine + k) % len(machines.up)
            here = min(left, copies_that_fit(tasks, machines, task, m))
            left -= here
            if here > 0:
                is_good &= room_at(plan, tasks, machines, task, m, machines.now) >= here
        if is_good:
            return machine
    return -1


@jit_call
def reserve_gang(plan: Plan, tasks: Tasks, machines: Machines, task: int) -> None:
    """Plans all waiting instances of a task at once, as early as can be, machines in order."""
    moment = machines.now
    while True:
        # Room for more can come only where a step begins.
        following = np.inf
        for m in range(len(machines.up)):
            step = plan.first[m]
            while step >= 0 and plan.times[step] <= moment:
                step = plan.following[step]
            if step >= 0:
                following = min(following, plan.times[step])
        moment, missing = following, tasks.waiting[task]
        if moment == np.inf:
            return
        for m in range(len(machines.up)):
            missing -= min(missing, room_at(plan, tasks, machines, task, m, moment))
        if missing == 0:
            break
    left = tasks.waiting[task]
    for m in range(len(machines.up)):
        here = min(left, room_at(plan, tasks, machines, task, m, moment))
        if here > 0:
            reserve(plan, tasks, machines, task, m, plan.first[m], moment, here)
            left -= here


@jit_call
def start_due(plan: Plan, tasks: Tasks) -> Start:
    """The next of the reservations for now, as a start."""
    counts = plan.counts[0]
    index = plan.due[counts.started]
    reservation = plan.reservations[index]
    task, machine, count = reservation.task, reservation.machine, reservation.count
    counts.started += 1
    plan.spare_reservations[counts.reservations] = index
    counts.reservations += 1
    for r in range(4):
        plan.pending[machine, r] -= count * tasks.demand[task, r]
    for k in range(counts.tasks):
        if plan.tasks[k].task == task:
            plan.tasks[k].waiting -= count
    return task, machine, count


@jit_call
def is_as_expected(plan: Plan, tasks: Tasks, machines: Machines) -> bool:
    """Whether the plan holds still; brings it up to now."""
    counts, now = plan.counts[0], machines.now
    if counts.is_kept == 0 or next_time(plan.later) < now:
        return False
    if counts.started < counts.due and plan.reservations[plan.due[counts.started]].begin < now:
        return False
    move_on(plan, tasks, now)
    return holds_still(plan, tasks, machines)


@jit
def next_start(plan: Plan, tasks: Tasks, machines: Machines, is_exact: bool) -> Start:
    """What is to start now, by a plan of the first ready tasks."""
    counts = plan.counts[0]
    if not is_as_expected(plan, tasks, machines):
        restart_plan(plan, tasks, machines)
    counts.is_kept = 1
    depth = min(DEPTH, len(tasks.ready))
    # What was tried for those planned earlier may be about steps that have passed.
    first_tried, last_tried = counts.tasks, -1
    while counts.started == counts.due:
        last = counts.tasks - 1
        if last < 0 or plan.tasks[last].left == 0:
            last += 1
        other = -1
        # An end that nobody expected makes the plan void: only for those that may start now.
        while not is_exact and depth > last:
            other = tasks.ready[depth - 1]
            if may_start(plan, tasks, machines, other):
                break
            depth -= 1
        if last >= depth:
            return NOTHING
        if last == counts.tasks:
            counts.tasks += 1
            task = tasks.ready[last]
            plan.tasks[last].task = task
            plan.tasks[last].waiting = tasks.waiting[task]
            plan.tasks[last].left = tasks.waiting[task]
        planned = plan.tasks[last]
        if not tasks.gang[planned.task]:
            if counts.reservations == 0:
                return NOTHING
            if last != last_tried:
                skip_tried(plan, tasks, last, first_tried)
                last_tried = last
            planned.left = reserve_instances(plan, tasks, machines, last, other)
            continue
        # A gang starts as there is room when it starts, which may not be as it was planned.
        counts.is_kept = 0
        machine = gang_start(plan, tasks, machines, planned.task)
        if machine >= 0:
            return planned.task, machine, 1
        if counts.reservations < len(machines.up):
            return NOTHING
        reserve_gang(plan, tasks, machines, planned.task)
        planned.left = 0
    return start_due(plan, tasks)


@POLICIES.stepped("conservative-backfilling")
class ConservativeBackfilling:
    """Tasks in order, but later ones go ahead if no task before them starts later for it.

    Plans the first 256 ready tasks with at most 4096 reservations; what is behind waits.
    """

    name = "conservative-backfilling"
    order = None
    early = False
    needs = ESTIMATES

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._is_exact = False
        self._next_start: Any = None

    def start(self, scenario: JobsScenario, seed: int) -> None:
        """Forgets the plan of the last run."""
        self._plan = None
        self._is_exact = "durations" in scenario.known

    def __call__(self, decision: JobsDecision) -> Start | None:
        """The next start of the plan that is for now."""
        tasks, machines = decision.arguments(self)
        rows = len(machines.active)
        steps = len(machines.up) + rows + 2 * RESERVATIONS + 1
        if self._plan is None or len(self._plan.times) < steps:
            self._plan = make_plan(len(machines.up), 2 * rows)
        if self._next_start is None:
            types = [numba.typeof(part) for part in (self._plan, tasks, machines, True)]
            self._next_start = compiled_step(next_start, *types)
        start: Start = self._next_start(self._plan, tasks, machines, self._is_exact)
        if start == NOTHING:
            return None
        task, machine, count = start
        if machines.gpu_free.shape[1] > 0 and not tasks.gang[task]:
            # A plan counts the GPUs of a machine together: a share may find no device.
            fitting = min(count, int(copies_that_fit(tasks, machines, task, machine)))
            if fitting < count:
                self._plan = None
            if fitting == 0:
                return None
            count = fitting
        return task, machine, count
