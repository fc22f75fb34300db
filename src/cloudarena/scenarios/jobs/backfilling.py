"""Backfilling: later tasks start early where they do not hold up those before them.

Tasks are served in order of number. What runs is expected to end when its known duration (exact or
estimated, as the spec says) is over; what runs longer, at the next moment. A reservation is for one
instance, or for all instances of a gang at once. Machines that are down are not counted on.

EASY (Lifka 1995) reserves for the first task alone; conservative backfilling (Mu'alem and
Feitelson 2001) for every task before the one that is to start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar, heapify, next_time, pop, size
from cloudarena.engine.compiled import compiled, lean
from cloudarena.engine.index import largest_vector
from cloudarena.scenarios.jobs.policies import NOTHING, Start, as_many, policy
from cloudarena.scenarios.jobs.queue import (
    UNBOUNDED,
    can_start,
    copies_that_fit,
    first_machine,
)
from cloudarena.scenarios.jobs.state import Machines, Tasks

DEPTH = 256
"""How many ready tasks conservative backfilling plans; those behind them wait their turn."""
HOLDS = 4096
"""How many reservations it makes at most; tasks for which there is none wait as well."""


@lean
def expected_end(tasks: Tasks, machines: Machines, row: int) -> float:
    """When a running row is expected to end: after now, and after its known duration."""
    task, machine = machines.rows[row]["task"], machines.rows[row]["machine"]
    end = machines.rows[row]["start"] + tasks.duration[task] / machines.speed[machine]
    return max(end, np.nextafter(machines.now, np.inf))


@lean
def copies_in(free: NDArray[np.int64], tasks: Tasks, task: int, machine: int) -> int:
    """How many instances of a task fit into what is, or will be, free of a machine."""
    copies = UNBOUNDED
    for r in range(4):
        if free[machine, r] < 0:
            return 0
        if tasks.demand[task, r] > 0:
            copies = min(copies, free[machine, r] // tasks.demand[task, r])
    return copies


@lean
def is_within(tasks: Tasks, task: int, limit: NDArray[np.int64]) -> bool:
    """Whether an instance of a task asks for no more than a limit."""
    within = True
    for r in range(4):
        within &= tasks.demand[task, r] <= limit[r]
    return within


@lean
def units_needed(tasks: Tasks, task: int) -> int:
    """How many instances must start together."""
    return tasks.waiting[task] if tasks.gang[task] else 1


@compiled
def head_start(tasks: Tasks, machines: Machines, head: int, free: NDArray[np.int64]) -> float:
    """When the head is expected to start; ``free`` becomes what is free of each machine then."""
    count = len(machines.active)
    ends = Calendar(
        np.empty(count), np.zeros(count, np.int64), machines.active.copy(), np.full(2, count)
    )
    for k in range(count):
        ends.times[k] = expected_end(tasks, machines, machines.active[k])
    heapify(ends)
    needed, copies = units_needed(tasks, head), 0
    for m in range(len(machines.up)):
        copies += min(needed, copies_in(free, tasks, head, m))
    while size(ends) > 0:
        time = next_time(ends)
        while next_time(ends) == time:
            row = machines.rows[pop(ends)]
            copies -= min(needed, copies_in(free, tasks, head, row.machine))
            for r in range(4):
                free[row.machine, r] += row.count * tasks.demand[row.task, r]
            copies += min(needed, copies_in(free, tasks, head, row.machine))
        if copies >= needed:
            return time
    return np.inf


@compiled
def spare_rooms(
    tasks: Tasks, machines: Machines, head: int, free: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What may be held of each machine from now past the start of the head, that finds ``free``.

    A row for each machine, and in the last row the largest of them.
    """
    copies, needed = 0, units_needed(tasks, head)
    for m in range(len(machines.up)):
        copies += min(needed, copies_in(free, tasks, head, m))
    spare = np.full((len(machines.up) + 1, 4), -1)
    for m in range(len(machines.up)):
        elsewhere = copies - min(needed, copies_in(free, tasks, head, m))
        here = max(0, needed - elsewhere)
        for r in range(4):
            left = free[m, r] - here * tasks.demand[head, r]
            spare[m, r] = min(machines.free[m, r], max(0, left))
            spare[-1, r] = max(spare[-1, r], spare[m, r])
    return spare


@compiled
def gang_is_harmless(
    tasks: Tasks,
    machines: Machines,
    task: int,
    machine: int,
    head: int,
    shadow: float,
    free: NDArray[np.int64],
) -> bool:
    """Whether a gang may start from a machine on and let the head start in time."""
    if shadow == np.inf:  # nothing that runs can help the head
        return True
    left, then = tasks.waiting[task], free.copy()
    for k in range(len(machines.up)):
        m = (machine + k) % len(machines.up)
        here = min(left, copies_that_fit(tasks, machines, task, m))
        left -= here
        if machines.now + tasks.duration[task] / machines.speed[m] > shadow:
            for r in range(4):
                then[m, r] -= here * tasks.demand[task, r]
    copies, needed = 0, units_needed(tasks, head)
    for m in range(len(machines.up)):
        copies += min(needed, copies_in(then, tasks, head, m))
    return copies >= needed


@compiled
def harmless_start(
    tasks: Tasks, machines: Machines, task: int, shadow: float, spare: NDArray[np.int64]
) -> Start:
    """The start of a task on the first machine where the head can still start in time."""
    for m in range(len(machines.up)):
        ends_before = machines.now + tasks.duration[task] / machines.speed[m] <= shadow
        room = machines.free if ends_before else spare
        copies = min(tasks.waiting[task], copies_in(room, tasks, task, m))
        if copies > 0:
            return task, m, copies
    return NOTHING


@policy("easy-backfilling", needs="durations")
def easy_backfilling(tasks: Tasks, machines: Machines, rng: np.random.Generator) -> Start:
    """In order, but later tasks go ahead if the first one still starts as early as it could."""
    head = tasks.ready[0]
    if tasks.first == head:
        return as_many(tasks, machines, head, first_machine(tasks, machines, head))
    free = machines.free.copy()
    shadow = head_start(tasks, machines, head, free)
    spare = spare_rooms(tasks, machines, head, free)
    fastest, largest_free = machines.speed.max(), largest_vector(machines.room)
    for task in tasks.ready[np.searchsorted(tasks.ready, tasks.first) :]:
        if tasks.gang[task]:
            if can_start(tasks, machines, task):
                for m in range(len(machines.up)):
                    if gang_is_harmless(tasks, machines, task, m, head, shadow, free):
                        return task, m, 1
            continue
        ends_before = machines.now + tasks.duration[task] / fastest <= shadow
        if is_within(tasks, task, largest_free if ends_before else spare[-1]):
            chosen = harmless_start(tasks, machines, task, shadow, spare)
            if chosen != NOTHING:
                return chosen
    return NOTHING


@compiled
def copies_throughout(
    tasks: Tasks,
    machines: Machines,
    holds: NDArray[np.float64],
    first_hold: NDArray[np.int64],
    task: int,
    machine: int,
    begin: float,
) -> int:
    """How many instances of a task a machine has room for from ``begin`` to their expected end.

    ``holds`` has a row (begin, end, task, count, next hold of the machine) per start, made or
    planned.
    """
    if not machines.up[machine]:
        return 0
    end = begin + tasks.duration[task] / machines.speed[machine]
    copies = UNBOUNDED
    moment, k = begin, first_hold[machine]
    while True:
        room = UNBOUNDED
        for r in range(4):
            if tasks.demand[task, r] > 0:
                free = machines.capacity[machine, r]
                other = first_hold[machine]
                while other >= 0:
                    if holds[other, 0] <= moment < holds[other, 1]:
                        free -= int(holds[other, 3]) * tasks.demand[int(holds[other, 2]), r]
                    other = int(holds[other, 4])
                room = min(room, max(0, free) // tasks.demand[task, r])
        copies = min(copies, room)
        # What is free changes for the worse only where another hold begins.
        while k >= 0 and not begin < holds[k, 0] < end:
            k = int(holds[k, 4])
        if k < 0 or copies == 0:
            return copies
        moment = holds[k, 0]
        k = int(holds[k, 4])


@compiled
def reserve(
    tasks: Tasks,
    machines: Machines,
    holds: NDArray[np.float64],
    first_hold: NDArray[np.int64],
    length: int,
    task: int,
    machine: int,
    begin: float,
    count: int,
) -> int:
    """Plans a start; returns how many holds there are then."""
    holds[length, 0] = begin
    holds[length, 1] = begin + tasks.duration[task] / machines.speed[machine]
    holds[length, 2] = task
    holds[length, 3] = count
    holds[length, 4] = first_hold[machine]
    first_hold[machine] = length
    return length + 1


@lean
def next_end(holds: NDArray[np.float64], length: int, moment: float) -> float:
    """When the next of the holds after a moment ends; infinity if none does."""
    end = np.inf
    for k in range(length):
        if moment < holds[k, 1] < end:
            end = holds[k, 1]
    return end


@compiled
def gang_start(
    tasks: Tasks,
    machines: Machines,
    holds: NDArray[np.float64],
    first_hold: NDArray[np.int64],
    task: int,
) -> int:
    """The first machine from which a gang may start now without touching a plan; -1 if none."""
    if not can_start(tasks, machines, task):
        return -1
    for machine in range(len(machines.up)):
        left, good = tasks.waiting[task], True
        for k in range(len(machines.up)):
            m = (machine + k) % len(machines.up)
            here = min(left, copies_that_fit(tasks, machines, task, m))
            left -= here
            if here > 0:
                room = copies_throughout(tasks, machines, holds, first_hold, task, m, machines.now)
                good &= room >= here
        if good:
            return machine
    return -1


@compiled
def plan(
    tasks: Tasks,
    machines: Machines,
    holds: NDArray[np.float64],
    first_hold: NDArray[np.int64],
    length: int,
    task: int,
) -> int:
    """Reserves room for all waiting instances of a task, each as early as can be.

    Returns how many holds there are then, or -1 if there are too many. Something can begin only
    where something else ends.
    """
    left, moment = tasks.waiting[task], machines.now
    while left > 0:
        moment = next_end(holds, length, moment)
        if moment == np.inf:
            break
        if tasks.gang[task]:
            copies = 0
            for m in range(len(machines.up)):
                room = copies_throughout(tasks, machines, holds, first_hold, task, m, moment)
                copies += min(left, room)
            if copies < left:
                continue
        for m in range(len(machines.up)):
            room = copies_throughout(tasks, machines, holds, first_hold, task, m, moment)
            here = min(left, room)
            if here > 0:
                if length == len(holds):
                    return -1
                length = reserve(tasks, machines, holds, first_hold, length, task, m, moment, here)
                left -= here
    return length


@policy("conservative-backfilling", needs="durations")
def conservative_backfilling(tasks: Tasks, machines: Machines, rng: np.random.Generator) -> Start:
    """In order, but later tasks go ahead if no task before them starts later for it.

    Plans the first 256 ready tasks with at most 4096 reservations; what is behind waits.
    """
    holds = np.empty((len(machines.active) + HOLDS, 5))
    first_hold = np.full(len(machines.up), -1)
    length = 0
    for row in machines.active:
        task, machine = machines.rows[row]["task"], machines.rows[row]["machine"]
        length = reserve(
            tasks, machines, holds, first_hold, length,
            task, machine, machines.rows[row]["start"], machines.rows[row]["count"],
        )  # fmt: skip
        holds[length - 1, 1] = expected_end(tasks, machines, row)
    last = min(DEPTH, len(tasks.ready)) - 1
    while last >= 0 and not can_start(tasks, machines, tasks.ready[last]):
        last -= 1
    for task in tasks.ready[: last + 1]:
        if tasks.gang[task]:
            machine = gang_start(tasks, machines, holds, first_hold, task)
            if machine >= 0:
                return task, machine, 1
        else:
            for m in range(len(machines.up)):
                room = copies_throughout(tasks, machines, holds, first_hold, task, m, machines.now)
                if room > 0:
                    return task, m, min(tasks.waiting[task], room)
        length = plan(tasks, machines, holds, first_hold, length, task)
        if length < 0:
            return NOTHING
    return NOTHING
