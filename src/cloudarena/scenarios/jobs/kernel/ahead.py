"""Asks the memory for what the next events will touch in a large cluster: it changes no result."""

from __future__ import annotations

from cloudarena.engine.calendar import size
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.ordered_rooms import OrderedRooms, ask_for_block, ask_for_entry
from cloudarena.engine.prefetch import FEW, prefetch
from cloudarena.engine.shape_counts import ShapeCounts
from cloudarena.scenarios.jobs.state import World


@jit_call
def ask_for_machine(
    world: World, index: OrderedRooms | None, shapes: ShapeCounts | None, machine: int
) -> None:
    """Asks for all that is read of a machine when something starts or ends there."""
    machines = world.machines
    prefetch(machines.free, machine)
    prefetch(machines.up, machine)
    prefetch(machines.speed, machine)
    prefetch(machines.room.nodes, len(machines.room.nodes) // 2 + machine)
    prefetch(world.queue.dirty.nodes, len(world.queue.dirty.nodes) // 2 + machine)
    prefetch(world.occupants, machine)
    prefetch(world.used_since, machine)
    prefetch(world.used_s, machine)
    if index is not None:
        ask_for_entry(index, machine)
    if shapes is not None:
        prefetch(shapes.fitting, machine)


@jit_call
def ask_for_task(world: World, task: int) -> None:
    """Asks for all that is read of a task when instances of it end."""
    tasks, progress, demand = world.tasks, world.progress, world.demand
    prefetch(tasks.job, task)
    prefetch(tasks.user, task)
    prefetch(tasks.demand, task)
    prefetch(tasks.running, task)
    prefetch(tasks.finished, task)
    prefetch(tasks.instances, task)
    prefetch(progress.ready_time, task)
    prefetch(progress.first_start, task)
    prefetch(progress.last_finish, task)
    prefetch(demand.duration, task)
    prefetch(demand.first_child, task)


@jit_inline
def ask_for_finishes(world: World, index: OrderedRooms | None, shapes: ShapeCounts | None) -> None:
    """Asks for what the rows touch that are to end soon.

    The first one in the calendar ends now, the next two may be the next. Of those below them the
    rows are asked for, which tell machine and task.
    """
    if len(world.machines.up) > FEW:
        rows, payloads, count = world.machines.rows, world.finishes.payloads, size(world.finishes)
        job = world.tasks.job[rows[payloads[0]].task]
        prefetch(world.tasks.job_held, job)
        prefetch(world.progress.tasks_left, job)
        prefetch(world.progress.job_finish, job)
        prefetch(world.demand.job_weight, job)
        if index is not None:
            ask_for_block(index, rows[payloads[0]].machine)
        for k in range(1, min(3, count)):
            ask_for_machine(world, index, shapes, rows[payloads[k]].machine)
            ask_for_task(world, rows[payloads[k]].task)
        for k in range(3, min(7, count)):
            prefetch(rows, payloads[k])
