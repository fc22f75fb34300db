"""Replicas on nodes: the resources they hold, and the lists they stand in."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.bit_sets import add
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.indexed_heap import set_time
from cloudarena.engine.linked_list import put_first, without
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, set_base_power
from cloudarena.scenarios.faas.kernel.execution import claim_start, meter_function
from cloudarena.scenarios.faas.state import NONE, NodeState, Phase, Record, World


@jit_call
def record_phase(world: World, replica: Record) -> None:
    """Keeps that a replica is in another phase from now on."""
    if not world.rules[0].rows:
        return
    row, now = world.records.replicas[replica.number], world.clock[0].now
    if replica.state == Phase.SCHEDULED:
        row.scheduled = now
    elif replica.state == Phase.PULLING:
        row.pulling = now
    elif replica.state == Phase.STARTING:
        row.starting = now
    elif replica.state == Phase.SETTING_UP:
        row.setting_up = now
    elif replica.state == Phase.RUNNING:
        row.running = now
    elif replica.state == Phase.DRAINING:
        row.draining = now
    elif replica.state == Phase.STOPPED:
        row.stopped = now


@jit_inline
def hold_resources(node: Record, variant: Record, sign: int) -> None:
    """A replica takes, or gives back, what it asks for."""
    node.free_cpu -= sign * variant.cpu
    node.free_memory -= sign * variant.memory
    node.free_accelerator_memory -= sign * variant.accelerator_memory


@jit_inline
def count_replicas(clock: Record, change: int) -> None:
    """Adds up how many replicas there are, and changes their number."""
    clock.replicas_s += clock.replicas * (clock.now - clock.replicas_until_s)
    clock.replicas_until_s = clock.now
    clock.replicas += change


@jit_call
def put_on_node(world: World, which: int, node_index: int) -> int:
    """A new replica of a function, scheduled onto a node; returns its slot."""
    clock, function, node = world.clock[0], world.functions[which], world.nodes[node_index]
    variant, index = world.variants[node.variant], clock.free_replica
    replica = world.replicas[index]
    clock.free_replica = replica.next
    meter(node, clock)
    meter_base(node, clock)
    meter_function(function, clock.now)
    hold_resources(node, variant, 1)
    function.placed += 1
    if world.rules[0].neighbours:  # somebody may have waited for this one
        for other in range(len(world.functions)):
            world.blocked[other] = False
    function.cpu_asked += variant.cpu
    replica.number, replica.order = clock.placed, function.begun
    function.begun += 1
    clock.placed += 1
    count_replicas(clock, 1)
    replica.function, replica.variant, replica.node = which, node.variant, node_index
    replica.busy = replica.queued = replica.coming = replica.served = 0
    replica.first = replica.last = replica.flow = NONE
    replica.fetching = replica.pulls = False
    replica.claim, replica.claim_j = 0, 0.0
    replica.since, replica.share_j = clock.now, node.share_j
    replica.placed_s, replica.idle_s = clock.now, np.nan
    function.ahead = 0
    node.first_replica = put_first(world.replicas, node.first_replica, index)
    if node.replicas == 0 and node.state == NodeState.ON:
        set_time(world.due.nodes, node_index, np.inf)
    node.replicas += 1
    node.hosted += 1
    if node.state == NodeState.OFF:
        node.state = NodeState.BOOTING
        node.boots += 1
        set_time(world.due.nodes, node_index, clock.now + node.boot_s)
    set_base_power(node)
    if world.rules[0].rows:
        row = world.records.replicas[replica.number]
        row.function, row.variant, row.node = which, node.variant, node_index
    replica.state = Phase.SCHEDULED
    record_phase(world, replica)
    return index


@jit_call
def take_out(world: World, index: int) -> None:
    """A ready replica takes no more requests."""
    which = world.replicas[index].function
    function, members = world.functions[which], world.members[which]
    position = 0
    while members[position] != index:
        position += 1
    function.ready -= 1
    for k in range(position, function.ready):
        members[k] = members[k + 1]
        world.replicas[members[k]].position = k
        add(world.idle, which, k)  # or it has requests: that is seen when somebody looks
    if function.turn > position:
        function.turn -= 1


@jit_call
def stop(world: World, index: int) -> None:
    """A replica ends, and gives back what it held. It has no requests."""
    clock, replica = world.clock[0], world.replicas[index]
    function, node = world.functions[replica.function], world.nodes[replica.node]
    variant = world.variants[replica.variant]
    if replica.state == Phase.RUNNING:
        take_out(world, index)
    if replica.state != Phase.DRAINING:
        function.placed -= 1
        world.lacking[replica.function] = True
    claim_start(world, replica, 0)
    meter(node, clock)
    meter_base(node, clock)
    meter_function(function, clock.now)
    hold_resources(node, variant, -1)
    function.cpu_asked -= variant.cpu
    node.first_replica = without(world.replicas, node.first_replica, index)
    seconds, idle = clock.now - replica.since, node.share_j - replica.share_j
    function.replica_s += seconds
    function.memory_s += variant.memory * seconds
    if not np.isnan(replica.idle_s):
        function.wasted_s += variant.memory * (clock.now - replica.idle_s)
    if function.placed == 0:
        function.uses = 0
    function.idle_j += idle
    node.replicas -= 1
    count_replicas(clock, -1)
    if node.replicas == 0 and node.state == NodeState.ON:
        set_time(world.due.nodes, replica.node, clock.now + world.rules[0].off_after_s)
    set_base_power(node)
    set_time(world.due.replicas, index, np.inf)
    replica.state = Phase.STOPPED
    record_phase(world, replica)
    if world.rules[0].rows:
        row = world.records.replicas[replica.number]
        row.served, row.idle = replica.served, idle
    replica.state = Phase.FREE
    replica.next = clock.free_replica
    clock.free_replica = index
    for other in range(len(world.functions)):
        world.blocked[other] = False
    clock.may_place = True


@jit_call
def drain(world: World, index: int) -> None:
    """A replica finishes what it holds and ends; one that is not ready ends at once."""
    replica = world.replicas[index]
    if replica.state != Phase.RUNNING or replica.busy + replica.queued + replica.coming == 0:
        stop(world, index)
        return
    take_out(world, index)
    world.functions[replica.function].placed -= 1
    world.lacking[replica.function] = True
    set_time(world.due.replicas, index, np.inf)
    replica.state = Phase.DRAINING
    record_phase(world, replica)


@jit_call
def least_needed(world: World, function: int) -> int:
    """The replica to drain: the newest that is not ready, else the newest."""
    newest, best = NONE, -1
    for index in range(len(world.replicas)):
        replica = world.replicas[index]
        if replica.state in (Phase.FREE, Phase.DRAINING) or replica.function != function:
            continue
        rank = replica.number
        if replica.state != Phase.RUNNING:
            rank += 1 << 60
        if rank > best:
            newest, best = index, rank
    return newest
