"""EASY backfilling: later tasks start early where they do not hold up the first (Lifka 1995).

Tasks are served in order of number. What runs is expected to end when its known duration (exact or
estimated, as the spec says) is over; what runs longer, at the next moment. A reservation is for one
instance, or for all instances of a gang at once. Machines that are down are not counted on.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar, heapify, next_time, pop, size
from cloudarena.engine.compiled import compiled, lean
from cloudarena.engine.index import largest_vector
from cloudarena.policies import Parameters
from cloudarena.scenarios.jobs.kernel.queue import (
    UNBOUNDED,
    can_start,
    copies_that_fit,
    first_machine,
)
from cloudarena.scenarios.jobs.policies.known import ESTIMATES
from cloudarena.scenarios.jobs.policies.placement import POLICIES, as_many
from cloudarena.scenarios.jobs.state import NOTHING, Machines, Start, Tasks


@lean
def expected_end(tasks: Tasks, machines: Machines, row: int) -> float:
    """When a running row is expected to end: after now, and after its known duration."""
    task, machine = machines.rows[row]["task"], machines.rows[row]["machine"]
    end = machines.rows[row]["start"] + tasks.duration[task] / machines.speed[machine]
    return max(end, np.nextafter(machines.now, np.inf))


@lean
def copies_in(free: NDArray[np.int64], tasks: Tasks, task: int, row: int) -> int:
    """How many instances of a task fit into a row of what is, or will be, free."""
    copies = UNBOUNDED
    for r in range(4):
        if free[row, r] < 0:
            return 0
        if tasks.demand[task, r] > 0:
            copies = min(copies, free[row, r] // tasks.demand[task, r])
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


@POLICIES.register("easy-backfilling", needs=ESTIMATES)
def easy_backfilling(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
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
