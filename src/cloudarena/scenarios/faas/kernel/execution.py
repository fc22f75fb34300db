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

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.hashing import uniform
from cloudarena.engine.indexed_heap import set_time
from cloudarena.engine.linked_list import put_first, without
from cloudarena.engine.variates import draw, share_of
from cloudarena.scenarios.faas.kernel.energy import invocation_energy_j, meter, set_power
from cloudarena.scenarios.faas.kernel.own import lasts_s, own_stretch, slows_itself
from cloudarena.scenarios.faas.state import (
    NONE,
    POWERED,
    SLOWING,
    WHOLE,
    Hook,
    Phase,
    Record,
    RequestState,
    Resource,
    World,
)


@jit_inline
def meter_function(function: Record, now: float) -> None:
    """Adds up what a function's scaler looks at, until now."""
    seconds = now - function.metered_s
    if seconds > 0.0:
        function.metered_s = now
        function.integrals[1] += (function.waiting + function.queued) * seconds
        function.integrals[2] += function.cpu_used * seconds
        function.integrals[3] += function.cpu_asked * seconds


@jit_inline
def execution_s(world: World, slot: Record, replica: Record, fit: Record) -> float:
    """How long an invocation takes alone on its node.

    Decided by the request and the device alone, and longer or shorter on all devices alike.
    Where times were recorded, each request has the one of its number.
    """
    distribution = fit.distribution
    if replica.served == 1 and world.variants[replica.variant].cold_distribution != NONE:
        distribution = world.variants[replica.variant].cold_distribution
    key = world.functions[slot.function].key
    share = uniform(world.rules[0].execution_key, key, slot.number)
    share = share_of(world.distributions, distribution, slot.number, share)
    seconds = draw(world.distributions, distribution, share)
    return lasts_s(world, world.extras, Hook.EXECUTION, replica, seconds)


@jit_call
def count_use(world: World, index: int) -> None:
    """Adds up what each function has used of a node until now, before the loads there change.

    It is called only where that is recorded. Of a resource that is overbooked each has its part by
    claim, so functions sum to what is used of the node.
    """
    node, used, now = world.nodes[index], world.records.used, world.clock[0].now
    seconds = now - world.records.used_since[index]
    world.records.used_since[index] = now
    if seconds <= 0.0:
        return
    following = node.first_slot
    while following != NONE:
        slot = world.slots[following]
        fit = world.fits[world.replicas[slot.replica].variant, node.device_type]
        for resource in range(POWERED):
            share = fit.claim[resource] / max(node.load[resource], WHOLE)
            used[slot.function, resource] += share * seconds
        following = slot.next
    following = node.first_replica
    while following != NONE:
        replica = world.replicas[following]
        share = replica.claim / max(node.load[Resource.CPU], WHOLE)
        used[replica.function, Resource.CPU] += share * seconds
        following = replica.next


@jit_inline
def begin_execution(world: World, index: int) -> None:
    """An invocation claims its share of the node and executes, from when the node is settled."""
    clock, slot = world.clock[0], world.slots[index]
    replica, function = world.replicas[slot.replica], world.functions[slot.function]
    node = world.nodes[replica.node]
    fit = world.fits[replica.variant, node.device_type]
    meter_function(function, clock.now)
    meter(node, clock)
    if len(world.records.used) > 0:
        count_use(world, replica.node)
    node.running += 1
    for resource in range(len(fit.claim)):
        node.load[resource] += fit.claim[resource]
    function.cpu_used += fit.claim[Resource.CPU] * node.cores
    for resource in range(POWERED):
        slot.unit_j[resource] = node.unit_j[resource]
    node.first_slot = put_first(world.slots, node.first_slot, index)
    slot.state = RequestState.EXECUTING
    slot.executed = slot.since = clock.now
    slot.left, slot.stretch = execution_s(world, slot, replica, fit), np.inf
    clock.changed_node = replica.node


@jit_inline
def end_execution(world: World, index: int) -> None:
    """An invocation gives back what it claimed; its energy goes to its function."""
    clock, slot = world.clock[0], world.slots[index]
    replica, function = world.replicas[slot.replica], world.functions[slot.function]
    node = world.nodes[replica.node]
    fit = world.fits[replica.variant, node.device_type]
    set_time(world.due.finishes, index, np.inf)
    meter_function(function, clock.now)
    meter(node, clock)
    if len(world.records.used) > 0:
        count_use(world, replica.node)
    node.running -= 1
    for resource in range(len(fit.claim)):
        node.load[resource] -= fit.claim[resource]
    function.cpu_used -= fit.claim[Resource.CPU] * node.cores
    node.first_slot = without(world.slots, node.first_slot, index)
    used = invocation_energy_j(node, slot, fit)
    slot.energy_j += used
    function.dynamic_j += used
    node.dynamic_j += used
    node.completed += 1
    slot.executed = clock.now - slot.executed
    clock.changed_node = replica.node


@jit_inline
def set_stretches(node: Record) -> bool:
    """Finds by how much each resource of a node is overbooked; whether that has changed."""
    changed = False
    for resource in range(len(node.load)):
        if resource != Resource.MEMORY:
            stretch = node.load[resource] / WHOLE if node.load[resource] > WHOLE else 1.0
            changed |= stretch != node.stretch[resource]
            node.stretch[resource] = stretch
    return changed


@jit_inline
def stretch_of(node: Record, fit: Record, memory_bound: float) -> float:
    """How many times longer than alone an invocation takes on a node as it is."""
    stretch = 1.0 + memory_bound * (node.stretch[Resource.BUS] - 1.0)
    for resource in range(SLOWING):
        if fit.claim[resource] > 0:
            stretch = max(stretch, node.stretch[resource])
    return stretch


@jit_inline
def update_node(world: World) -> None:
    """Finds the power of a node whose load has changed, and the speeds of what executes there.

    The work that is left of each is carried over to the speed it has from now on. Invocations that
    have just begun stand first in the list.
    """
    clock, slots, replicas = world.clock[0], world.slots, world.replicas
    node = world.nodes[clock.changed_node]
    clock.changed_node = NONE
    set_power(node)
    changed = world.rules[0].contention and set_stretches(node)
    changed |= node.throttle != node.slowed or slows_itself(world.extras)
    node.slowed = node.throttle
    index = node.first_slot
    while index != NONE and (changed or slots[index].stretch == np.inf):
        slot, variant = slots[index], replicas[slots[index].replica].variant
        fit = world.fits[variant, node.device_type]
        bound = world.variants[variant].memory_bound
        if slows_itself(world.extras):
            stretch = own_stretch(world.extras, node, fit, bound) * node.throttle
        else:
            stretch = stretch_of(node, fit, bound) * node.throttle
        if stretch != slot.stretch:
            done = (clock.now - slot.since) / slot.stretch
            slot.left = max(0.0, slot.left - done)
            slot.since = clock.now
            slot.stretch = stretch
            set_time(world.due.finishes, index, clock.now + slot.left * stretch)
        index = slot.next


@jit_call
def update_node_call(world: World) -> None:
    """Calls ``update_node``, for what happens less often."""
    update_node(world)


@jit_inline
def count_phase(function: Record, node: Record, replica: Record, now: float) -> None:
    """Counts what the last phase of a cold start has used; the next begins. No meter is moved.

    While it claims something, its node's meter of a millionth goes on; else this counts nothing.
    """
    unit_j = node.unit_j[Resource.CPU] + node.unit_w[Resource.CPU] * (now - node.since)
    function.phase_j[replica.claim_phase] += replica.claim * (unit_j - replica.phase_unit_j)
    replica.phase_unit_j = unit_j
    if replica.state == Phase.PULLING:
        replica.claim_phase = 0
    else:
        replica.claim_phase = 1 if replica.state == Phase.STARTING else 2


@jit_call
def claim_start(world: World, replica: Record, amount: int) -> None:
    """The cold start of a replica claims so many millionths of its node's CPU from now on."""
    clock, node = world.clock[0], world.nodes[replica.node]
    count_phase(world.functions[replica.function], node, replica, clock.now)
    if amount == replica.claim:
        return
    if clock.changed_node not in (NONE, replica.node):
        update_node_call(world)
    meter(node, clock)
    if len(world.records.used) > 0:
        count_use(world, replica.node)
    used = replica.claim * (node.unit_j[Resource.CPU] - replica.claim_j)
    function = world.functions[replica.function]
    function.start_j += used
    node.start_j += used
    node.load[Resource.CPU] += amount - replica.claim
    node.starting += (amount > 0) - (replica.claim > 0)
    replica.claim, replica.claim_j = amount, node.unit_j[Resource.CPU]
    replica.phase_unit_j = replica.claim_j
    clock.changed_node = replica.node
