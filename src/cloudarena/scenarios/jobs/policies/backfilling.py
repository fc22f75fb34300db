"""EASY backfilling: later tasks start early where they do not hold up the first (Lifka 1995).

Tasks are served in order of index. What runs is expected to end when its known duration (exact or
estimated, as the spec says) is over; what runs longer, at the next moment. A reservation is for one
instance, or for all instances of a gang at once. Machines that are down are not counted on. The
GPUs of a machine are counted together in a reservation: where tasks ask for shares of a GPU it may
be too early.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar, heapify
from cloudarena.engine.compiled import jit, jit_uncounted
from cloudarena.engine.segment_tree import largest_vector
from cloudarena.policies import Parameters
from cloudarena.scenarios.jobs.kernel.next import copies_in, time_of_room, units_needed
from cloudarena.scenarios.jobs.kernel.queue import can_start, copies_that_fit, first_machine
from cloudarena.scenarios.jobs.policies.known import ESTIMATES
from cloudarena.scenarios.jobs.policies.placement import POLICIES, as_many
from cloudarena.scenarios.jobs.state import NOTHING, Machines, Start, Tasks


@jit_uncounted
def expected_end(tasks: Tasks, machines: Machines, row: int) -> float:
    """When a running row is expected to end: after now, and after its known duration."""
    task, machine = machines.rows[row]["task"], machines.rows[row]["machine"]
    end = machines.rows[row]["start"] + tasks.duration[task] / machines.speed[machine]
    return max(end, np.nextafter(machines.now, np.inf))


@jit_uncounted
def is_within(tasks: Tasks, task: int, limit: NDArray[np.int64]) -> bool:
    """Whether an instance of a task asks for no more than a limit."""
    within = True
    for r in range(4):
        within &= tasks.demand[task, r] <= limit[r]
    return within


@jit
def head_start(tasks: Tasks, machines: Machines, head: int, free: NDArray[np.int64]) -> float:
    """When the head is expected to start; ``free`` becomes what is free of each machine then."""
    count = len(machines.active)
    ends = Calendar(
        np.empty(count), np.zeros(count, np.int64), machines.active.copy(), np.full(2, count)
    )
    for k in range(count):
        ends.times[k] = expected_end(tasks, machines, machines.active[k])
    heapify(ends)
    return time_of_room(tasks, machines, head, free, ends)


@jit
def spare_rooms(
    tasks: Tasks, machines: Machines, head: int, free: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What may be held of each machine from now past the start of the head, that finds ``free``.

    A row for each machine, and in the last row the largest of them.
    """
    copies, needed = 0, units_needed(tasks, head)
    for m in range(len(machines.up)):
        copies += min(needed, copies_in(free, tasks, machines, head, m))
    spare = np.full((len(machines.up) + 1, 4), -1)
    for m in range(len(machines.up)):
        elsewhere = copies - min(needed, copies_in(free, tasks, machines, head, m))
        here = max(0, needed - elsewhere)
        for r in range(4):
            left = free[m, r] - here * tasks.demand[head, r]
            spare[m, r] = min(machines.free[m, r], max(0, left))
            spare[-1, r] = max(spare[-1, r], spare[m, r])
    return spare


@jit
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
        copies += min(needed, copies_in(then, tasks, machines, head, m))
    return copies >= needed


@jit
def harmless_start(
    tasks: Tasks, machines: Machines, task: int, shadow: float, spare: NDArray[np.int64]
) -> Start:
    """The start of a task on the first machine where the head can still start in time."""
    for m in range(len(machines.up)):
        ends_before = machines.now + tasks.duration[task] / machines.speed[m] <= shadow
        room = machines.free if ends_before else spare
        copies = min(tasks.waiting[task], copies_in(room, tasks, machines, task, m))
        if copies > 0:  # by sums: shares of a GPU may leave no device with room
            copies = min(copies, copies_that_fit(tasks, machines, task, m))
        if copies > 0:
            return task, m, copies
    return NOTHING


@POLICIES.register("easy-backfilling", needs=ESTIMATES)
def easy_backfilling(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """Tasks in order, but later ones go ahead if the first still starts as early as it could."""
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
