"""Invocations that execute on nodes: how long they take, and how they slow each other down.

An invocation claims shares of its node's CPU, GPU, disk and network, as they were measured for its
image on its device alone. The memory bus is claimed too: by the share of the CPU claim that waits
for memory (``memory_bound``), over the share of the device's cores that saturate the bus.

While the claims on a resource sum to more than all of it, by a factor f, everything that claims it
progresses f times slower; what claims several is held up by the worst of them. The bus holds up
only the share of an invocation that waits for memory: ``1 + memory_bound (f - 1)``. This is exact:
at each begin and end on a node the work that is left is carried over to the new speeds. A node
that is not overbooked costs nothing.

A replica that pulls its image, starts or is set up claims CPU as well. It slows down what executes
and draws power, but takes its time whatever else goes on.

Most events begin and end executions on one node at most. When one is over, the node is settled: its
power and the speed of what executes there are found once.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.hashing import uniform
from cloudarena.engine.laws import draw
from cloudarena.scenarios.faas.kernel.energy import invocation_energy_j, meter, set_power
from cloudarena.scenarios.faas.state import (
    NONE,
    POWERED,
    SLOWING,
    WHOLE,
    Record,
    RequestState,
    Resource,
    World,
)


@inner
def meter_function(function: Record, now: float) -> None:
    """Adds up what a function's scaler looks at, until now."""
    seconds = now - function.metered_s
    if seconds > 0.0:
        function.metered_s = now
        function.integrals[1] += (function.waiting + function.queued) * seconds
        function.integrals[2] += function.cpu_used * seconds
        function.integrals[3] += function.cpu_asked * seconds


@inner
def execution_s(world: World, slot: Record, replica: Record, fit: Record) -> float:
    """How long an invocation takes alone on its node.

    Decided by the request and the device alone, and longer or shorter on all devices alike.
    """
    law = fit.law
    if replica.served == 1 and world.variants[replica.variant].cold_law != NONE:
        law = world.variants[replica.variant].cold_law
    key = world.functions[slot.function].key
    return draw(world.laws, law, uniform(world.rules[0].execution_key, key, slot.number))


@inner
def begin_execution(world: World, number: int) -> None:
    """An invocation claims its share of the node and executes, from when the node is settled."""
    clock, slot = world.clock[0], world.slots[number]
    replica, function = world.replicas[slot.replica], world.functions[slot.function]
    node = world.nodes[replica.node]
    fit = world.fits[replica.variant, node.device_type]
    meter_function(function, clock.now)
    meter(node, clock)
    node.running += 1
    for resource in range(len(fit.claim)):
        node.load[resource] += fit.claim[resource]
    function.cpu_used += fit.claim[Resource.CPU] * node.cores
    for resource in range(POWERED):
        slot.unit_j[resource] = node.unit_j[resource]
    slot.next, slot.before = node.first_slot, NONE
    if slot.next != NONE:
        world.slots[slot.next].before = number
    node.first_slot = number
    slot.state = RequestState.EXECUTING
    slot.executed = slot.since = clock.now
    slot.left, slot.stretch = execution_s(world, slot, replica, fit), np.inf
    clock.unsettled = replica.node


@inner
def end_execution(world: World, number: int) -> None:
    """An invocation gives back what it claimed; its energy goes to its function."""
    clock, slot = world.clock[0], world.slots[number]
    replica, function = world.replicas[slot.replica], world.functions[slot.function]
    node = world.nodes[replica.node]
    fit = world.fits[replica.variant, node.device_type]
    set_alarm(world.due.finishes, number, np.inf)
    meter_function(function, clock.now)
    meter(node, clock)
    node.running -= 1
    for resource in range(len(fit.claim)):
        node.load[resource] -= fit.claim[resource]
    function.cpu_used -= fit.claim[Resource.CPU] * node.cores
    if slot.before == NONE:
        node.first_slot = slot.next
    else:
        world.slots[slot.before].next = slot.next
    if slot.next != NONE:
        world.slots[slot.next].before = slot.before
    slot.energy_j = invocation_energy_j(node, slot, fit)
    function.dynamic_j += slot.energy_j
    slot.executed = clock.now - slot.executed
    clock.unsettled = replica.node


@inner
def set_stretches(node: Record) -> bool:
    """Finds by how much each resource of a node is overbooked; whether that has changed."""
    changed = False
    for resource in range(len(node.load)):
        if resource != Resource.MEMORY:
            stretch = node.load[resource] / WHOLE if node.load[resource] > WHOLE else 1.0
            changed |= stretch != node.stretch[resource]
            node.stretch[resource] = stretch
    return changed


@inner
def stretch_of(node: Record, fit: Record, memory_bound: float) -> float:
    """How many times longer than alone an invocation takes on a node as it is."""
    stretch = 1.0 + memory_bound * (node.stretch[Resource.BUS] - 1.0)
    for resource in range(SLOWING):
        if fit.claim[resource] > 0:
            stretch = max(stretch, node.stretch[resource])
    return stretch


@inner
def settle(world: World) -> None:
    """Finds the power of a node whose load has changed, and the speeds of what executes there.

    The work that is left of each is carried over to the speed it has from now on. Invocations that
    have just begun stand first in the list.
    """
    clock, slots, replicas = world.clock[0], world.slots, world.replicas
    node = world.nodes[clock.unsettled]
    clock.unsettled = NONE
    set_power(node)
    changed = world.rules[0].contention and set_stretches(node)
    number = node.first_slot
    while number != NONE and (changed or slots[number].stretch == np.inf):
        slot, variant = slots[number], replicas[slots[number].replica].variant
        fit = world.fits[variant, node.device_type]
        stretch = stretch_of(node, fit, world.variants[variant].memory_bound)
        if stretch != slot.stretch:
            done = (clock.now - slot.since) / slot.stretch
            slot.left = max(0.0, slot.left - done)
            slot.since = clock.now
            slot.stretch = stretch
            set_alarm(world.due.finishes, number, clock.now + slot.left * stretch)
        number = slot.next


@separate
def settle_apart(world: World) -> None:
    """As ``settle``, for what happens less often."""
    settle(world)


@separate
def claim_start(world: World, replica: Record, amount: int) -> None:
    """The cold start of a replica claims so many millionths of its node's CPU from now on."""
    if amount == replica.claim:
        return
    clock, node = world.clock[0], world.nodes[replica.node]
    if clock.unsettled not in (NONE, replica.node):
        settle_apart(world)
    meter(node, clock)
    used = replica.claim * (node.unit_j[Resource.CPU] - replica.claim_j)
    world.functions[replica.function].start_j += used
    node.load[Resource.CPU] += amount - replica.claim
    node.starting += (amount > 0) - (replica.claim > 0)
    replica.claim, replica.claim_j = amount, node.unit_j[Resource.CPU]
    clock.unsettled = replica.node
