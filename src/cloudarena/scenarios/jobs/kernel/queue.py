"""Which ready tasks could start now: compiled functions on the queue and the machines.

Two indices keep the cost of a start from growing with what waits and with what is idle: ready
tasks by the least they ask for, machines by the most they have free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline, jit_inline_entry, jit_uncounted
from cloudarena.engine.segment_tree import (
    LOWEST,
    clear_entry,
    first_at_least,
    first_value_at_least,
    largest,
    set_value,
    set_vector,
)
from cloudarena.scenarios.jobs.kernel.gpus import GPU, allows_model, gpu_copies, has_gpus
from cloudarena.scenarios.jobs.state import Machines, Tasks, World

UNBOUNDED = 1 << 62
"""How often an instance fits that asks for nothing."""


@jit_inline_entry
def copies_that_fit(tasks: Tasks, machines: Machines, task: int, machine: int) -> int:
    """How many instances of a task a machine has room for now."""
    if not machines.up[machine]:
        return 0
    copies = UNBOUNDED
    for r in range(4):
        if tasks.demand[task, r] > 0:
            copies = min(copies, machines.free[machine, r] // tasks.demand[task, r])
    if copies > 0 and machines.gpu_free.shape[1] > 0 and tasks.demand[task, GPU] > 0:
        if not allows_model(tasks, machines, task, machine):
            return 0
        copies = min(copies, gpu_copies(machines.gpu_free, machine, tasks.demand[task, GPU]))
    return copies


@jit_uncounted
def fits(tasks: Tasks, machines: Machines, task: int, machine: int) -> bool:
    """Whether a machine has room for an instance of a task now."""
    room = machines.up[machine]
    for r in range(4):
        room &= machines.free[machine, r] >= tasks.demand[task, r]
    return room and has_gpus(tasks, machines, task, machine)


@jit_uncounted
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


@jit_inline_entry
def machine_from(tasks: Tasks, machines: Machines, task: int, begin: int) -> int:
    """The first machine from one on with room for an instance of a task; -1 if there is none."""
    machine = first_at_least(machines.room, tasks.demand[task], 1, begin)
    while machine >= 0 and not has_gpus(tasks, machines, task, machine):
        machine = first_at_least(machines.room, tasks.demand[task], 1, machine + 1)
    return machine


@jit_inline_entry
def first_machine(tasks: Tasks, machines: Machines, task: int) -> int:
    """The first machine with room for an instance of a task; -1 if there is none."""
    return machine_from(tasks, machines, task, 0)


@jit_inline_entry
def can_start(tasks: Tasks, machines: Machines, task: int) -> bool:
    """Whether a ready task could start now: one instance, or all of a gang."""
    if tasks.gang[task]:
        return gang_fits(tasks, machines, task)
    return first_machine(tasks, machines, task) >= 0


@jit_inline
def find(values: NDArray[np.int64], length: int, value: int) -> int:
    """Where a number stands, or would stand, in the rising beginning of an array."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@jit_inline
def insert(values: NDArray[np.int64], length: int, value: int) -> None:
    """Puts a number into the rising beginning of an array."""
    position = find(values, length, value)
    for k in range(length, position, -1):
        values[k] = values[k - 1]
    values[position] = value


@jit_inline
def remove(values: NDArray[np.int64], length: int, value: int) -> None:
    """Takes a number out of the rising beginning of an array."""
    for k in range(find(values, length, value), length - 1):
        values[k] = values[k + 1]


@jit_inline
def is_ready(world: World, task: int) -> bool:
    """Whether a task is ready and has waiting instances."""
    return world.progress.ready_time[task] < np.inf and world.tasks.waiting[task] > 0


@jit_inline
def become_ready(world: World, task: int) -> None:
    """Puts a task among the ready ones."""
    clock, queue = world.clock[0], world.queue
    insert(world.ready, clock.ready, task)
    clock.ready += 1
    if clock.early == 1:  # nobody asks which is the first that could start
        return
    position = queue.position_of[task]
    if world.tasks.gang[task]:
        insert(queue.gangs, queue.gang_count[0], position)
        queue.gang_count[0] += 1
    else:
        set_value(queue.fresh, position, 1)


@jit_inline
def no_longer_ready(world: World, task: int) -> None:
    """Takes a task without waiting instances from the ready ones."""
    clock, queue = world.clock[0], world.queue
    remove(world.ready, clock.ready, task)
    clock.ready -= 1
    if clock.early == 1:
        return
    position = queue.position_of[task]
    if world.tasks.gang[task]:
        remove(queue.gangs, queue.gang_count[0], position)
        queue.gang_count[0] -= 1
    else:
        clear_entry(queue.waiting, position)
        clear_entry(queue.fresh, position)


@jit_inline
def next_in_queue(world: World) -> int:
    """The first position of the queue whose task could start now; -1 if there is none."""
    tasks, machines, queue = world.tasks, world.machines, world.queue
    nowhere = len(tasks.job)
    first = nowhere
    position = first_value_at_least(queue.fresh, 1)
    while position >= 0:
        task = queue.task_at[position]
        if first_machine(tasks, machines, task) >= 0:
            first = position
            break
        clear_entry(queue.fresh, position)
        set_vector(queue.waiting, position, tasks.demand[task], -1)
        position = first_value_at_least(queue.fresh, 1)
    # A machine's entry is the first position that may fit it: none before it does.
    while largest(queue.dirty) > LOWEST and -largest(queue.dirty) < first:
        known = -largest(queue.dirty)
        machine = first_value_at_least(queue.dirty, -known)
        position = first_at_least(queue.waiting, machines.free[machine], -1, known)
        while position >= 0 and not has_gpus(tasks, machines, queue.task_at[position], machine):
            position = first_at_least(queue.waiting, machines.free[machine], -1, position + 1)
        if position < 0:
            clear_entry(queue.dirty, machine)
        elif position == known:
            first = position
        else:
            set_value(queue.dirty, machine, -position)
    for k in range(queue.gang_count[0]):
        if queue.gangs[k] >= first:
            break
        if gang_fits(tasks, machines, queue.task_at[queue.gangs[k]]):
            first = queue.gangs[k]
    return first if first < nowhere else -1


@jit_uncounted
def first_in_queue(world: World) -> int:
    """Calls ``next_in_queue`` for Python."""
    return next_in_queue(world)
