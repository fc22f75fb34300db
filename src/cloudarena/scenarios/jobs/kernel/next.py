"""The task that is next: it starts as soon as it fits, and what may go ahead of it.

A policy may choose the task that is next before there is room for it. Until that starts nothing
else does, but what is backfilled: ready tasks in order of number, each if by its known duration it
ends before the task that is next was expected to start. That moment is expected once, when the task
could not start at once: what runs ends by its known duration then. (Where instances of a task that
is no gang have started and others have not, it is expected anew.)

If nothing runs, nothing will arrive and no machine will come back, a task that cannot start must
not keep the others from it: then whatever fits goes ahead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar, heapify, next_time, pop, size
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.status import DECIDE, FULL
from cloudarena.scenarios.jobs.kernel.gpus import allows_model
from cloudarena.scenarios.jobs.kernel.queue import (
    UNBOUNDED,
    can_start,
    copies_that_fit,
    first_machine,
)
from cloudarena.scenarios.jobs.kernel.rows import is_idle, rows_are_short, start
from cloudarena.scenarios.jobs.state import Machines, Tasks, World


@jit_uncounted
def copies_in(
    free: NDArray[np.int64], tasks: Tasks, machines: Machines, task: int, machine: int
) -> int:
    """How many instances of a task fit into what is, or will be, free of a machine."""
    copies = UNBOUNDED if allows_model(tasks, machines, task, machine) else 0
    for r in range(4):
        if free[machine, r] < 0:
            return 0
        if tasks.demand[task, r] > 0:
            copies = min(copies, free[machine, r] // tasks.demand[task, r])
    return copies


@jit_uncounted
def units_needed(tasks: Tasks, task: int) -> int:
    """How many instances must start together."""
    return tasks.waiting[task] if tasks.gang[task] else 1


@jit_uncounted
def time_of_room(
    tasks: Tasks, machines: Machines, task: int, free: NDArray[np.int64], ends: Calendar
) -> float:
    """When there is room for a task, if rows end as ``ends`` says and nothing else starts.

    ``free`` becomes what is free of each machine then. Infinity if there never is.
    """
    needed, copies = units_needed(tasks, task), 0
    for m in range(len(machines.up)):
        copies += min(needed, copies_in(free, tasks, machines, task, m))
    while size(ends) > 0:
        time = next_time(ends)
        while next_time(ends) == time:
            row = machines.rows[pop(ends)]
            copies -= min(needed, copies_in(free, tasks, machines, task, row.machine))
            for r in range(4):
                free[row.machine, r] += row.count * tasks.demand[row.task, r]
            copies += min(needed, copies_in(free, tasks, machines, task, row.machine))
        if copies >= needed:
            return time
    return np.inf


@jit_inline
def expected_start(world: World, task: int) -> float:
    """When a task that does not fit now is expected to start, by what is known of durations."""
    tasks, machines, ends, running = world.tasks, world.machines, world.ends, world.finishes
    count = size(running)
    for k in range(count):
        row = machines.rows[running.payloads[k]]
        ends.payloads[k] = running.payloads[k]
        ends.sequence[k] = running.sequence[k]
        ends.times[k] = row.start + tasks.duration[row.task] / machines.speed[row.machine]
    ends.counters[0] = count
    heapify(ends)
    for m in range(len(machines.up)):
        for r in range(4):
            world.then[m, r] = machines.free[m, r]
    return time_of_room(tasks, machines, task, world.then, ends)


@jit_inline
def next_start(world: World) -> int:
    """The task that is next, if it fits; else the first that may go ahead of it; -1 if none may."""
    clock, tasks, machines = world.clock[0], world.tasks, world.machines
    if can_start(tasks, machines, clock.next):
        return clock.next
    anything = is_idle(world) and next_time(world.outages.calendar) == np.inf
    if not anything and clock.backfills == 0:
        return -1
    if np.isnan(clock.expected):
        clock.expected = expected_start(world, clock.next)
    for k in range(clock.ready):
        task = world.ready[k]
        ends_before = clock.now + tasks.duration[task] / world.slowest < clock.expected
        if (ends_before or anything) and can_start(tasks, machines, task):
            return task
    return -1


@jit_inline
def serve_next(world: World) -> int:
    """Starts the task that is next, or what may go ahead of it (DECIDE); FULL if rows are short."""
    clock, tasks, machines = world.clock[0], world.tasks, world.machines
    while clock.next >= 0:
        if rows_are_short(world):
            return FULL
        task = next_start(world)
        if task < 0:
            break
        while tasks.waiting[task] > 0:
            machine = first_machine(tasks, machines, task)
            if machine < 0:
                break
            copies = copies_that_fit(tasks, machines, task, machine)
            start(world, task, machine, min(tasks.waiting[task], copies))
            if not tasks.gang[task]:
                break  # the rows of one action are on one machine
        clock.actions += 1
        clock.idle_waits = 0
        if task == clock.next:
            clock.expected = np.nan
            if tasks.waiting[task] == 0:
                clock.next = -1
    return DECIDE
