"""Invocations that execute on nodes: how long they take, and how they slow each other down.

An invocation claims shares of its node's CPU, GPU, disk and network, as they were measured for its
image on its device alone. The memory bus is claimed too: by the share of the CPU claim that waits
for memory (``memory_bound``), over the share of the device's cores that saturate the bus.

While the claims on a resource sum to more than all of it, by a factor f, everything that claims it
progresses f times slower; what claims several is held up by the worst of them. The bus holds up
only the share of an invocation that waits for memory: ``1 + memory_bound (f - 1)``. This is exact:
at each begin and end on a node the work that is left is carried over to the new speeds. A node
that is not overbooked costs nothing.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import separate
from cloudarena.engine.hashing import uniform
from cloudarena.engine.laws import draw
from cloudarena.scenarios.faas.energy import invocation_energy_j, meter, set_power
from cloudarena.scenarios.faas.state import (
    BUS,
    CPU,
    MEMORY,
    NONE,
    POWERED,
    WHOLE,
    World,
)


@separate
def execution_s(world: World, slot: int) -> float:
    """How long an invocation takes alone on its node.

    Decided by the request and the device alone, and longer or shorter on all devices alike.
    """
    slots, replicas, variants = world.slots, world.replicas, world.variants
    replica, function = slots[slot].replica, slots[slot].function
    variant, device = replicas[replica].variant, world.nodes[replicas[replica].node].device_type
    law = world.fits.law[variant, device]
    if replicas[replica].served == 1 and variants[variant].cold_law != NONE:
        law = variants[variant].cold_law
    share = uniform(world.rules.execution_key, function, slots[slot].number)
    return draw(world.fits.laws, law, share)


@separate
def stretch_of(world: World, node: int, variant: int) -> float:
    """How many times longer than alone an invocation takes on a node as it is."""
    over, variants = world.meters[node].stretch, world.variants
    device = world.nodes[node].device_type
    stretch = 1.0
    for resource in range(MEMORY):
        if world.fits.claim[variant, device, resource] > 0:
            stretch = max(stretch, over[resource])
    return max(stretch, 1.0 + variants[variant].memory_bound * (over[BUS] - 1.0))


@separate
def set_speed(world: World, slot: int) -> None:
    """Carries the work that is left of an invocation over to the speed it has from now on."""
    slots, now = world.slots, world.clock[0].now
    replica = slots[slot].replica
    stretch = stretch_of(world, world.replicas[replica].node, world.replicas[replica].variant)
    if stretch == slots[slot].stretch:
        return
    done = (now - slots[slot].since) / slots[slot].stretch
    slots[slot].left = max(0.0, slots[slot].left - done)
    slots[slot].since = now
    slots[slot].stretch = stretch
    set_alarm(world.due.finishes, slot, now + slots[slot].left * stretch)


@separate
def change_load(world: World, node: int, variant: int, sign: int) -> None:
    """Adds or takes away the claims of an invocation; the others change their speed."""
    nodes, meters, slots = world.nodes, world.meters, world.slots
    claim = world.fits.claim[variant, nodes[node].device_type]
    meter(world, node)
    nodes[node].running += sign
    changed = False
    for resource in range(len(claim)):
        world.load[node, resource] += sign * claim[resource]
        if world.rules.contention and resource != MEMORY:
            stretch = max(1.0, world.load[node, resource] / WHOLE)
            changed |= stretch != meters[node].stretch[resource]
            meters[node].stretch[resource] = stretch
    set_power(world, node)
    if changed:
        slot = meters[node].first_slot
        while slot != NONE:
            set_speed(world, slot)
            slot = slots[slot].next


@separate
def begin_execution(world: World, slot: int) -> None:
    """An invocation claims its share of the node and executes."""
    slots, meters, now = world.slots, world.meters, world.clock[0].now
    replica = slots[slot].replica
    node, variant = world.replicas[replica].node, world.replicas[replica].variant
    function, device = slots[slot].function, world.nodes[node].device_type
    change_load(world, node, variant, 1)
    cpu = world.fits.claim[variant, device, CPU] / WHOLE
    world.functions[function].cpu_used += cpu * world.nodes[node].cores * 1000.0
    for resource in range(POWERED):
        slots[slot].unit_j[resource] = meters[node].unit_j[resource]
    first = meters[node].first_slot
    slots[slot].next, slots[slot].before = first, NONE
    if first != NONE:
        slots[first].before = slot
    meters[node].first_slot = slot
    slots[slot].executed = slots[slot].since = now
    slots[slot].left = execution_s(world, slot)
    slots[slot].stretch = stretch_of(world, node, variant)
    set_alarm(world.due.finishes, slot, now + slots[slot].left * slots[slot].stretch)


@separate
def end_execution(world: World, slot: int) -> None:
    """An invocation gives back what it claimed; its energy goes to its function."""
    slots, meters, functions = world.slots, world.meters, world.functions
    replica, function = slots[slot].replica, slots[slot].function
    node, variant = world.replicas[replica].node, world.replicas[replica].variant
    before, following = slots[slot].before, slots[slot].next
    if before == NONE:
        meters[node].first_slot = following
    else:
        slots[before].next = following
    if following != NONE:
        slots[following].before = before
    set_alarm(world.due.finishes, slot, np.inf)
    change_load(world, node, variant, -1)
    cpu = world.fits.claim[variant, world.nodes[node].device_type, CPU] / WHOLE
    functions[function].cpu_used -= cpu * world.nodes[node].cores * 1000.0
    slots[slot].energy_j = invocation_energy_j(world, node, slot, variant)
    functions[function].dynamic_j += slots[slot].energy_j
    slots[slot].executed = world.clock[0].now - slots[slot].executed
