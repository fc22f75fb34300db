"""Which machines may take a VM, and which of them a policy takes that ranks machines by a key.

A run has an index, or None: Numba then leaves out what stands behind ``index is not None``, so that
runs without one compile no code of it. So it is with the counts of what fits each shape.
"""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.ordered_rooms import PLAIN, OrderedRooms, enough, first_leaf, put_entry
from cloudarena.engine.segment_tree import LOWEST
from cloudarena.engine.shape_counts import (
    ShapeCounts,
    count_above,
    give_slot,
    how_many,
    note,
    put_fitting,
    slot_of,
)
from cloudarena.scenarios.vm.kernel.gpus import mark_gpus
from cloudarena.scenarios.vm.kernel.nodes import mark_nodes
from cloudarena.scenarios.vm.state import (
    DELAY_INSENSITIVE,
    Column,
    Ranking,
    Ranks,
    Sharing,
    World,
)

ALWAYS_CHECKED = 16
"""The first choices of an index that are compared with those of a policy of a user's."""


@jit_inline
def mark_valid(world: World, vm: int) -> int:
    """Finds the machines that may take a VM, and returns how many there are.

    Interactive and unknown VMs need an empty machine or one of their own kind, within its
    physical capacity. Delay-insensitive VMs need an empty machine or one of their own kind,
    within its oversubscribed capacity, and with room for their cores, fully busy, above what
    is in use now.
    """
    fleet, machines = world.fleet, world.machines
    cores, memory = world.demand.cores[vm], world.demand.memory[vm]
    count = 0
    if world.demand.category[vm] == DELAY_INSENSITIVE:
        use = 100.0 * cores
        for m in range(len(fleet.cores)):
            valid = (
                (machines.sharing[m] != Sharing.SEPARATE)
                & (world.allocated_cores[m] + cores <= fleet.cores_limit[m])
                & (world.allocated_memory[m] + memory <= fleet.memory_limit[m])
                & (world.used[m] + use <= fleet.use_limit[m])
            )
            machines.valid[m] = valid
            count += valid
    else:
        for m in range(len(fleet.cores)):
            valid = (
                (machines.sharing[m] != Sharing.SHARED)
                & (world.allocated_cores[m] + cores <= fleet.cores[m])
                & (world.allocated_memory[m] + memory <= fleet.memory[m])
            )
            machines.valid[m] = valid
            count += valid
    return count


@jit_inline
def has_room(world: World, vm: int, machine: int) -> bool:
    """Whether a machine may take a VM, whatever the marks say that policies are shown."""
    demand = world.demand
    shares = demand.category[vm] == DELAY_INSENSITIVE
    return fits(world, machine, demand.cores[vm], demand.memory[vm], shares)


@jit_inline
def fits(world: World, machine: int, cores: int, memory: int, shares: bool) -> bool:
    """Whether a machine may take a VM of this shape."""
    fleet, sharing = world.fleet, world.machines.sharing[machine]
    held_cores = world.allocated_cores[machine] + cores
    held_memory = world.allocated_memory[machine] + memory
    if shares:
        return (
            sharing != Sharing.SEPARATE
            and held_cores <= fleet.cores_limit[machine]
            and held_memory <= fleet.memory_limit[machine]
            and has_idle_cores(world, cores, machine)
        )
    return (
        sharing != Sharing.SHARED
        and held_cores <= fleet.cores[machine]
        and held_memory <= fleet.memory[machine]
    )


@jit_inline
def has_idle_cores(world: World, cores: int, machine: int) -> bool:
    """Whether a machine has room for cores, fully busy, above what is in use now."""
    return world.used[machine] + 100.0 * cores <= world.fleet.use_limit[machine]


@jit_inline
def key_of(world: World, machine: int, which: int) -> float:
    """The first or second number by which the policy of a run ranks a machine."""
    machines = world.machines
    column = world.ranking[Ranks.FIRST_COLUMN + 2 * which]
    sign = world.ranking[Ranks.FIRST_SIGN + 2 * which]
    if column == Column.FREE_CORES:
        return sign * machines.free_cores[machine]
    if column == Column.FREE_MEMORY_GB:
        return sign * machines.free_memory_gb[machine]
    if column == Column.POWER_W:
        return sign * machines.power_w[machine]
    if column == Column.UTILISATION:
        return sign * machines.utilisation[machine]
    if column == Column.VMS:
        return sign * float(machines.vms[machine])
    return 0.0


@jit_inline
def reindex(
    world: World, index: OrderedRooms | None, shapes: ShapeCounts | None, machine: int
) -> None:
    """Brings what there is of an index up to date after a machine has changed."""
    if index is not None:
        put_machine(world, index, machine)
    if shapes is not None:
        fitting = 0
        for slot in range(shapes.state[0]):
            shape = shapes.shapes[slot]
            fitting |= fits(world, machine, shape[0], shape[1], shape[2] == 1) << slot
        put_fitting(shapes, machine, fitting)


@jit_call
def put_machine(world: World, index: OrderedRooms, machine: int) -> None:
    """Tells the index a machine's rank, and its room for separate and for shared VMs."""
    fleet, sharing = world.fleet, world.machines.sharing[machine]
    cores, memory = world.allocated_cores[machine], world.allocated_memory[machine]
    separate = sharing != Sharing.SHARED
    shared = sharing != Sharing.SEPARATE
    put_entry(
        index,
        machine,
        key_of(world, machine, 0),
        key_of(world, machine, 1),
        fleet.cores[machine] - cores if separate else LOWEST,
        fleet.memory[machine] - memory if separate else LOWEST,
        fleet.cores_limit[machine] - cores if shared else LOWEST,
        fleet.memory_limit[machine] - memory if shared else LOWEST,
    )


@jit_call
def find_machine(world: World, index: OrderedRooms, vm: int) -> int:
    """The valid machine that comes first in the ranking of the run's policy; or -1."""
    shares = world.demand.category[vm] == DELAY_INSENSITIVE
    cores, memory, amounts = world.demand.cores[vm], world.demand.memory[vm], 2 * shares
    start = world.clock[0].last_machine + 1 if world.ranking[Ranks.RANKING] == Ranking.NEXT else 0
    leaf, in_second_round = start - 1, start == 0
    while True:
        leaf = first_leaf(index, amounts, cores, memory, leaf + 1)
        if leaf < 0:
            if in_second_round:
                return -1
            in_second_round = True
        elif index.mode[0] == PLAIN:
            if not shares or has_idle_cores(world, cores, leaf):
                return leaf
        else:
            block = index.order[leaf]
            for k in range(index.sizes[block]):
                machine = index.members[block, k]
                if enough(index, machine, amounts, cores, memory) and (
                    not shares or has_idle_cores(world, cores, machine)
                ):
                    return machine


@jit_call
def find_slot(world: World, shapes: ShapeCounts, vm: int) -> int:
    """The slot of a VM's shape, whose counts are made if need be; -1 if it is not counted.

    Whether a machine takes a VM that shares it depends on its use: where VMs have readings, that is
    another in each tick.
    """
    cores, memory = world.demand.cores[vm], world.demand.memory[vm]
    shares = world.demand.category[vm] == DELAY_INSENSITIVE
    if shares and len(world.ahead) > 0:
        return -1
    slot = slot_of(shapes, cores, memory, 1 if shares else 0, 0)
    if slot < 0:
        slot = give_slot(shapes, cores, memory, 1 if shares else 0, 0)
        for m in range(len(world.used)):
            note(shapes, slot, m, fits(world, m, cores, memory, shares))
        count_above(shapes, slot)
    return slot


@jit_inline
def look_for_room(
    world: World, index: OrderedRooms | None, shapes: ShapeCounts | None, vm: int
) -> bool:
    """Whether some machine may take a VM; marks those that may, or finds the choice of the policy.

    Where decisions are recorded, all valid machines are counted in any case. Of a policy that takes
    any machine the choice is a slot, from which it is drawn.
    """
    clock = world.clock[0]
    if shapes is not None:
        clock.choice = find_slot(world, shapes, vm)
        if clock.choice >= 0:
            clock.valid_count = how_many(shapes, clock.choice)
            if len(world.decisions.rows) == 0:
                return clock.valid_count > 0
    if index is not None:
        clock.choice = find_machine(world, index, vm)
        clock.valid_count = clock.choice >= 0
        if len(world.decisions.rows) == 0:
            return clock.choice >= 0
    clock.valid_count = mark_valid(world, vm)
    mark_nodes(world, world.nodes, vm)
    mark_gpus(world, world.gpus, vm)
    return clock.valid_count > 0


@jit_inline
def find_again(world: World, index: OrderedRooms | None, shapes: ShapeCounts | None) -> None:
    """Finds the choice for a VM that was pending before there was an index."""
    if index is not None:
        world.clock[0].choice = find_machine(world, index, world.clock[0].pending)
    if shapes is not None:
        world.clock[0].choice = find_slot(world, shapes, world.clock[0].pending)


@jit_inline
def is_checked(world: World) -> bool:
    """Whether this choice of the index is to be compared with that of the policy; counts it.

    The first ones are, those whose number is a power of two, and then one in so many that the
    scans cost little beside the run.
    """
    every = world.ranking[Ranks.CHECKED_EVERY]
    if every == 0:
        return False
    world.ranking[Ranks.CHOICES] += 1
    number = world.ranking[Ranks.CHOICES]
    return number <= ALWAYS_CHECKED or number & (number - 1) == 0 or number % every == 0
