"""Which ready tasks could start now: compiled functions on the queue and the machines.

Two indices keep the cost of a start from growing with what waits and with what is idle: ready
tasks by the least they ask for, machines by the most they have free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import inner, lean
from cloudarena.engine.index import (
    LOWEST,
    clear,
    first_at_least,
    first_number,
    largest,
    put,
    put_number,
)
from cloudarena.scenarios.jobs.state import Machines, Tasks, World

UNBOUNDED = 1 << 62
"""How often an instance fits that asks for nothing."""


@lean
def copies_that_fit(tasks: Tasks, machines: Machines, task: int, machine: int) -> int:
    """How many instances of a task a machine has room for now."""
    if not machines.up[machine]:
        return 0
    copies = UNBOUNDED
    for r in range(4):
        if tasks.demand[task, r] > 0:
            copies = min(copies, machines.free[machine, r] // tasks.demand[task, r])
    return copies


@lean
def fits(tasks: Tasks, machines: Machines, task: int, machine: int) -> bool:
    """Whether a machine has room for an instance of a task now."""
    room = machines.up[machine]
    for r in range(4):
        room &= machines.free[machine, r] >= tasks.demand[task, r]
    return room


@lean
def gang_fits(tasks: Tasks, machines: Machines, task: int) -> bool:
    """Whether all machines together have room for all waiting instances of a task."""
    missing = tasks.waiting[task]
    for r in range(4):
        demand = tasks.demand[task, r]
        if demand > 0 and machines.free_total[r] // demand < missing:
            return False
    for m in range(len(machines.up)):
        missing -= copies_that_fit(tasks, machines, task, m)
        if missing <= 0:
            return True
    return False


@lean
def first_machine(tasks: Tasks, machines: Machines, task: int) -> int:
    """The lowest-numbered machine with room for an instance of a task; -1 if there is none."""
    return first_at_least(machines.room, tasks.demand[task], 1, 0)


@lean
def can_start(tasks: Tasks, machines: Machines, task: int) -> bool:
    """Whether a ready task could start now: one instance, or all of a gang."""
    if tasks.gang[task]:
        return gang_fits(tasks, machines, task)
    return first_machine(tasks, machines, task) >= 0


@inner
def find(numbers: NDArray[np.int64], length: int, number: int) -> int:
    """Where a number stands, or would stand, in the rising beginning of an array."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def insert(numbers: NDArray[np.int64], length: int, number: int) -> None:
    """Puts a number into the rising beginning of an array."""
    place = find(numbers, length, number)
    for k in range(length, place, -1):
        numbers[k] = numbers[k - 1]
    numbers[place] = number


@inner
def remove(numbers: NDArray[np.int64], length: int, number: int) -> None:
    """Takes a number out of the rising beginning of an array."""
    for k in range(find(numbers, length, number), length - 1):
        numbers[k] = numbers[k + 1]


@inner
def is_ready(world: World, task: int) -> bool:
    """Whether a task is ready and has waiting instances."""
    return world.progress.ready_time[task] < np.inf and world.tasks.waiting[task] > 0


@inner
def become_ready(world: World, task: int) -> None:
    """Puts a task among the ready ones."""
    clock, queue = world.clock[0], world.queue
    insert(world.ready, clock.ready, task)
    clock.ready += 1
    place = queue.place_of[task]
    if world.tasks.gang[task]:
        insert(queue.gangs, queue.gang_count[0], place)
        queue.gang_count[0] += 1
    else:
        put(queue.waiting, place, world.tasks.demand[task], -1)
        put_number(queue.fresh, place, 1)


@inner
def no_longer_ready(world: World, task: int) -> None:
    """Takes a task without waiting instances from the ready ones."""
    clock, queue = world.clock[0], world.queue
    remove(world.ready, clock.ready, task)
    clock.ready -= 1
    place = queue.place_of[task]
    if world.tasks.gang[task]:
        remove(queue.gangs, queue.gang_count[0], place)
        queue.gang_count[0] -= 1
    else:
        clear(queue.waiting, place)
        clear(queue.fresh, place)


@inner
def next_in_queue(world: World) -> int:
    """The first place of the queue whose task could start now; -1 if there is none."""
    tasks, machines, queue = world.tasks, world.machines, world.queue
    nowhere = len(tasks.job)
    first = nowhere
    place = first_number(queue.fresh, 1)
    while place >= 0:
        if first_machine(tasks, machines, queue.task_at[place]) >= 0:
            first = place
            break
        clear(queue.fresh, place)
        place = first_number(queue.fresh, 1)
    # A machine's place is the first that may fit it: no place before it does.
    while largest(queue.dirty) > LOWEST and -largest(queue.dirty) < first:
        known = -largest(queue.dirty)
        machine = first_number(queue.dirty, -known)
        place = first_at_least(queue.waiting, machines.free[machine], -1, known)
        if place < 0:
            clear(queue.dirty, machine)
        elif place == known:
            first = place
        else:
            put_number(queue.dirty, machine, -place)
    for k in range(queue.gang_count[0]):
        if queue.gangs[k] >= first:
            break
        if gang_fits(tasks, machines, queue.task_at[queue.gangs[k]]):
            first = queue.gangs[k]
    return first if first < nowhere else -1


@lean
def first_in_queue(world: World) -> int:
    """As ``next_in_queue``, for a caller in Python."""
    return next_in_queue(world)
