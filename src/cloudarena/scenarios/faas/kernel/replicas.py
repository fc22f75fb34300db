"""Replicas on nodes: the resources they hold, and the lists they stand in."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import inner, separate
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, set_base_power
from cloudarena.scenarios.faas.kernel.execution import claim_start, meter_function
from cloudarena.scenarios.faas.state import NONE, NodeState, Phase, Record, World


@separate
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


@inner
def hold_resources(node: Record, variant: Record, sign: int) -> None:
    """A replica takes, or gives back, what it asks for."""
    node.free_cpu -= sign * variant.cpu
    node.free_memory -= sign * variant.memory
    node.free_accelerator_memory -= sign * variant.accelerator_memory


@inner
def count_replicas(clock: Record, change: int) -> None:
    """Adds up how many replicas there are, and changes their number."""
    clock.replicas_s += clock.replicas * (clock.now - clock.replicas_until_s)
    clock.replicas_until_s = clock.now
    clock.replicas += change


@separate
def put_on_node(world: World, which: int, place: int) -> int:
    """A new replica of a function, scheduled onto a node; returns its slot."""
    clock, function, node = world.clock[0], world.functions[which], world.nodes[place]
    variant, number = world.variants[node.variant], clock.free_replica
    replica = world.replicas[number]
    clock.free_replica = replica.next
    meter(node, clock)
    meter_base(node, clock)
    meter_function(function, clock.now)
    hold_resources(node, variant, 1)
    function.placed += 1
    function.cpu_asked += variant.cpu
    replica.number, replica.order = clock.placed, function.begun
    function.begun += 1
    clock.placed += 1
    count_replicas(clock, 1)
    replica.function, replica.variant, replica.node = which, node.variant, place
    replica.busy = replica.queued = replica.coming = replica.served = 0
    replica.first = replica.last = replica.flow = NONE
    replica.fetching = replica.pulls = False
    replica.claim, replica.claim_j = 0, 0.0
    replica.since, replica.share_j = clock.now, node.share_j
    replica.next, replica.before = node.first_replica, NONE
    if replica.next != NONE:
        world.replicas[replica.next].before = number
    node.first_replica = number
    if node.replicas == 0 and node.state == NodeState.ON:
        set_alarm(world.due.nodes, place, np.inf)
    node.replicas += 1
    node.hosted += 1
    if node.state == NodeState.OFF:
        node.state = NodeState.BOOTING
        node.boots += 1
        set_alarm(world.due.nodes, place, clock.now + node.boot_s)
    set_base_power(node)
    if world.rules[0].rows:
        row = world.records.replicas[replica.number]
        row.function, row.variant, row.node = which, node.variant, place
    replica.state = Phase.SCHEDULED
    record_phase(world, replica)
    return number


@separate
def take_out(world: World, number: int) -> None:
    """A ready replica takes no more requests."""
    which = world.replicas[number].function
    function, members = world.functions[which], world.members[which]
    place = 0
    while members[place] != number:
        place += 1
    function.ready -= 1
    for k in range(place, function.ready):
        members[k] = members[k + 1]
    if function.turn > place:
        function.turn -= 1


@separate
def stop(world: World, number: int) -> None:
    """A replica ends, and gives back what it held. It has no requests."""
    clock, replica = world.clock[0], world.replicas[number]
    function, node = world.functions[replica.function], world.nodes[replica.node]
    variant = world.variants[replica.variant]
    if replica.state == Phase.RUNNING:
        take_out(world, number)
    if replica.state != Phase.DRAINING:
        function.placed -= 1
    claim_start(world, replica, 0)
    meter(node, clock)
    meter_base(node, clock)
    meter_function(function, clock.now)
    hold_resources(node, variant, -1)
    function.cpu_asked -= variant.cpu
    if replica.before == NONE:
        node.first_replica = replica.next
    else:
        world.replicas[replica.before].next = replica.next
    if replica.next != NONE:
        world.replicas[replica.next].before = replica.before
    seconds, idle = clock.now - replica.since, node.share_j - replica.share_j
    function.replica_s += seconds
    function.memory_s += variant.memory * seconds
    function.idle_j += idle
    node.replicas -= 1
    count_replicas(clock, -1)
    if node.replicas == 0 and node.state == NodeState.ON:
        set_alarm(world.due.nodes, replica.node, clock.now + world.rules[0].off_after_s)
    set_base_power(node)
    set_alarm(world.due.replicas, number, np.inf)
    replica.state = Phase.STOPPED
    record_phase(world, replica)
    if world.rules[0].rows:
        row = world.records.replicas[replica.number]
        row.served, row.idle = replica.served, idle
    replica.state = Phase.FREE
    replica.next = clock.free_replica
    clock.free_replica = number
    for other in range(len(world.functions)):
        world.functions[other].blocked = False
    clock.looks = True


@separate
def drain(world: World, number: int) -> None:
    """A replica finishes what it holds and ends; one that is not ready ends at once."""
    replica = world.replicas[number]
    if replica.state != Phase.RUNNING or replica.busy + replica.queued + replica.coming == 0:
        stop(world, number)
        return
    take_out(world, number)
    world.functions[replica.function].placed -= 1
    set_alarm(world.due.replicas, number, np.inf)
    replica.state = Phase.DRAINING
    record_phase(world, replica)


@separate
def least_needed(world: World, function: int) -> int:
    """The replica to drain: the newest that is not ready, else the newest."""
    newest, best = NONE, -1
    for number in range(len(world.replicas)):
        replica = world.replicas[number]
        if replica.state in (Phase.FREE, Phase.DRAINING) or replica.function != function:
            continue
        rank = replica.number
        if replica.state != Phase.RUNNING:
            rank += 1 << 60
        if rank > best:
            newest, best = number, rank
    return newest
