"""Which machine a policy takes that ranks machines, found in an index: see ``vm.kernel.choice``."""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.ordered_rooms import OrderedRooms, first_with_room, put_entry
from cloudarena.engine.shape_counts import (
    ShapeCounts,
    count_above,
    give_slot,
    note,
    put_fitting,
    slot_of,
)
from cloudarena.scenarios.jobs.kernel.queue import can_start, copies_that_fit
from cloudarena.scenarios.jobs.state import Ranking, Resource, Start, World


@jit_inline
def reindex(
    world: World, index: OrderedRooms | None, shapes: ShapeCounts | None, machine: int
) -> None:
    """Brings what there is of an index up to date after something became free or was taken."""
    if index is not None:
        put_machine(world, index, machine)
    if shapes is not None:
        put_fitting(shapes, machine, fitting_shapes(world, shapes, machine))


@jit_call
def put_machine(world: World, index: OrderedRooms, machine: int) -> None:
    """Tells the index a machine's rank and room."""
    free = world.machines.free
    key = float(world.ranking[Ranking.SIGN] * free[machine, Resource.CPU])
    put_entry(
        index,
        machine,
        key,
        0.0,
        free[machine, 0],
        free[machine, 1],
        free[machine, 2],
        free[machine, 3],
    )


@jit_call
def fitting_shapes(world: World, shapes: ShapeCounts, machine: int) -> int:
    """Which of the demands that are counted a machine has room for, a bit each."""
    free, fitting = world.machines.free, 0
    for slot in range(shapes.state[0]):
        has_room = True
        for r in range(4):
            has_room &= free[machine, r] >= shapes.shapes[slot, r]
        fitting |= has_room << slot
    return fitting


@jit_call
def find_slot(world: World, shapes: ShapeCounts, task: int) -> int:
    """The slot of a task's demand, whose counts are made if need be."""
    demand, free = world.tasks.demand, world.machines.free
    a, b, c, d = demand[task, 0], demand[task, 1], demand[task, 2], demand[task, 3]
    slot = slot_of(shapes, a, b, c, d)
    if slot < 0:
        slot = give_slot(shapes, a, b, c, d)
        for m in range(len(free)):
            has_room = True
            for r in range(4):
                has_room &= free[m, r] >= demand[task, r]
            note(shapes, slot, m, has_room)
        count_above(shapes, slot)
    return slot


@jit_call
def first_ranked(world: World, index: OrderedRooms) -> Start:
    """The first task of the queue, on the machine that comes first of those with room."""
    tasks, machines = world.tasks, world.machines
    task = world.queue.task_at[world.clock[0].first]
    machine = max(0, first_with_room(index, tasks.demand[task]))
    if world.ranking[Ranking.ONE] == 1:
        return task, machine, 1
    copies = copies_that_fit(tasks, machines, task, machine)
    return task, machine, min(tasks.waiting[task], copies)


@jit_call
def how_many_could_start(world: World) -> int:
    """How many ready tasks could start now."""
    count = 0
    for k in range(world.clock[0].ready):
        count += can_start(world.tasks, world.machines, world.ready[k])
    return count


@jit_call
def nth_that_could_start(world: World, n: int) -> int:
    """The n-th ready task, from 0, that could start now; there must be more than n."""
    k = -1
    while n >= 0:
        k += 1
        n -= can_start(world.tasks, world.machines, world.ready[k])
    return world.ready[k]
