"""Replicas on nodes: the resources they hold, and the lists they stand in."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import separate
from cloudarena.scenarios.faas.energy import meter, set_power
from cloudarena.scenarios.faas.state import (
    BOOTING,
    DRAINING,
    FREE,
    NONE,
    OFF,
    ON,
    RUNNING,
    SCHEDULED,
    STOPPED,
    World,
)


@separate
def meter_function(world: World, function: int) -> None:
    """Adds up what a function's scaler looks at, until now."""
    functions, now = world.functions, world.clock[0].now
    seconds = now - functions[function].metered_s
    if seconds > 0.0:
        functions[function].metered_s = now
        sums = functions[function].integrals
        sums[1] += (functions[function].waiting + functions[function].queued) * seconds
        sums[2] += functions[function].cpu_used * seconds
        sums[3] += functions[function].cpu_asked * seconds


@separate
def enter_phase(world: World, replica: int, phase: int) -> None:
    """A replica is in another phase from now on."""
    replicas = world.replicas
    replicas[replica].state = phase
    if len(world.records.replicas) == 0:
        return
    row, now = world.records.replicas[replicas[replica].number], world.clock[0].now
    if phase == SCHEDULED:
        row.scheduled = now
    elif phase == SCHEDULED + 1:
        row.pulling = now
    elif phase == SCHEDULED + 2:
        row.starting = now
    elif phase == SCHEDULED + 3:
        row.setting_up = now
    elif phase == RUNNING:
        row.running = now
    elif phase == DRAINING:
        row.draining = now
    elif phase == STOPPED:
        row.stopped = now


@separate
def hold_resources(world: World, node: int, variant: int, sign: int) -> None:
    """A replica takes, or gives back, what it asks for."""
    nodes, variants = world.nodes, world.variants
    nodes[node].free_cpu -= sign * variants[variant].cpu
    nodes[node].free_memory -= sign * variants[variant].memory
    nodes[node].free_accelerator_memory -= sign * variants[variant].accelerator_memory


@separate
def put_on_node(world: World, function: int, node: int) -> int:
    """A new replica of a function, scheduled onto a node; returns its slot."""
    clock, nodes, meters = world.clock[0], world.nodes, world.meters
    functions, replicas, variant = world.functions, world.replicas, world.nodes[node].variant
    clock.spare_replicas -= 1
    replica = world.spare_replicas[clock.spare_replicas]
    meter(world, node)
    meter_function(world, function)
    hold_resources(world, node, variant, 1)
    functions[function].placed += 1
    functions[function].cpu_asked += world.variants[variant].cpu
    replicas[replica].number = clock.placed
    clock.placed += 1
    clock.replicas += 1
    replicas[replica].function, replicas[replica].variant = function, variant
    replicas[replica].node = node
    replicas[replica].busy = replicas[replica].queued = 0
    replicas[replica].coming = replicas[replica].served = 0
    replicas[replica].first = replicas[replica].last = NONE
    replicas[replica].since = clock.now
    replicas[replica].share_j = meters[node].share_j
    first = meters[node].first_replica
    replicas[replica].next, replicas[replica].before = first, NONE
    if first != NONE:
        replicas[first].before = replica
    meters[node].first_replica = replica
    if nodes[node].replicas == 0 and nodes[node].state == ON:
        set_alarm(world.due.nodes, node, np.inf)
    nodes[node].replicas += 1
    meters[node].hosted += 1
    if nodes[node].state == OFF:
        nodes[node].state = BOOTING
        meters[node].boots += 1
        set_alarm(world.due.nodes, node, clock.now + meters[node].boot_s)
    set_power(world, node)
    if len(world.records.replicas) > 0:
        row = world.records.replicas[replicas[replica].number]
        row.function, row.variant, row.node = function, variant, node
    enter_phase(world, replica, SCHEDULED)
    return replica


@separate
def take_out(world: World, replica: int) -> None:
    """A ready replica takes no more requests."""
    functions, function = world.functions, world.replicas[replica].function
    members = world.members[function]
    place = 0
    while members[place] != replica:
        place += 1
    functions[function].ready -= 1
    for k in range(place, functions[function].ready):
        members[k] = members[k + 1]
    if functions[function].turn > place:
        functions[function].turn -= 1


@separate
def stop(world: World, replica: int) -> None:
    """A replica ends, and gives back what it held. It has no requests."""
    clock, nodes, meters = world.clock[0], world.nodes, world.meters
    functions, replicas = world.functions, world.replicas
    function, node = replicas[replica].function, replicas[replica].node
    variant, state = replicas[replica].variant, replicas[replica].state
    if state == RUNNING:
        take_out(world, replica)
    if state != DRAINING:
        functions[function].placed -= 1
    meter(world, node)
    meter_function(world, function)
    hold_resources(world, node, variant, -1)
    functions[function].cpu_asked -= world.variants[variant].cpu
    before, following = replicas[replica].before, replicas[replica].next
    if before == NONE:
        meters[node].first_replica = following
    else:
        replicas[before].next = following
    if following != NONE:
        replicas[following].before = before
    seconds = clock.now - replicas[replica].since
    functions[function].replica_s += seconds
    functions[function].memory_s += world.variants[variant].memory * seconds
    idle = meters[node].share_j - replicas[replica].share_j
    functions[function].idle_j += idle
    nodes[node].replicas -= 1
    clock.replicas -= 1
    if nodes[node].replicas == 0 and nodes[node].state == ON:
        set_alarm(world.due.nodes, node, clock.now + world.rules.off_after_s)
    set_power(world, node)
    set_alarm(world.due.replicas, replica, np.inf)
    enter_phase(world, replica, STOPPED)
    if len(world.records.replicas) > 0:
        row = world.records.replicas[replicas[replica].number]
        row.served, row.idle = replicas[replica].served, idle
    replicas[replica].state = FREE
    world.spare_replicas[clock.spare_replicas] = replica
    clock.spare_replicas += 1
    for other in range(len(functions)):
        functions[other].blocked = False
    clock.looks = True


@separate
def is_empty(world: World, replica: int) -> bool:
    """Whether a replica has no requests, and none are on their way to it."""
    replicas = world.replicas
    return replicas[replica].busy + replicas[replica].queued + replicas[replica].coming == 0


@separate
def drain(world: World, replica: int) -> None:
    """A replica finishes what it holds and ends; one that is not ready ends at once."""
    replicas = world.replicas
    if replicas[replica].state != RUNNING or is_empty(world, replica):
        stop(world, replica)
        return
    take_out(world, replica)
    world.functions[replicas[replica].function].placed -= 1
    set_alarm(world.due.replicas, replica, np.inf)
    enter_phase(world, replica, DRAINING)


@separate
def least_needed(world: World, function: int) -> int:
    """The replica to drain: the newest that is not ready, else the newest."""
    replicas = world.replicas
    newest, best = NONE, -1
    for replica in range(len(replicas)):
        state = replicas[replica].state
        if state in (FREE, DRAINING) or replicas[replica].function != function:
            continue
        rank = replicas[replica].number
        if state != RUNNING:
            rank += 1 << 60
        if rank > best:
            newest, best = replica, rank
    return newest
