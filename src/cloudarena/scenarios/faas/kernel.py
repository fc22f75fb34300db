"""How time moves among functions on nodes: compiled functions on arrays.

The order of events at one instant:

1. Replicas that should be there are placed, function by function, as soon as a node can take one.
2. Nodes have booted or are switched off, by their number.
3. Flows have got there: images, data, requests, responses.
4. Replicas end their phase, or have been idle for too long, by their slot.
5. Invocations finish, by their slot; a worker that is free takes up the next request at once.
6. Requests time out, by their slot.
7. Scalers are due, by function.
8. Requests arrive, in the order of the workload.

Placements that an event makes possible are decided before the next event. At the end of the run
nothing more happens: what is in the system is unfinished.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cloudarena.engine.alarms import first_ring, first_ringing
from cloudarena.engine.compiled import lean, separate
from cloudarena.engine.flows import finishing, next_finish
from cloudarena.scenarios.faas.energy import meter
from cloudarena.scenarios.faas.lifecycle import (
    alarm_of_node,
    alarm_of_replica,
    fetched,
    place,
    pulled,
)
from cloudarena.scenarios.faas.replicas import meter_function
from cloudarena.scenarios.faas.requests import (
    alarm_of_request,
    arrive,
    count_requests,
    moved,
    time_out,
)
from cloudarena.scenarios.faas.scaling import scaling_of, set_replicas, tick
from cloudarena.scenarios.faas.scheduling import find_valid, replica_of, score
from cloudarena.scenarios.faas.state import (
    CPU,
    NONE,
    OFF,
    PULL,
    SETUP,
    WHOLE,
    Nodes,
    World,
)

ENDED, DECIDE, FULL, NOT_VALID, NO_SUCH_NODE, BAD_COUNT = range(6)
"""Where a run stands; from NOT_VALID on, why an action is not allowed."""
NOTHING, PLACE, SCALE = range(3)
"""The kinds of decision."""
FLOW_MARGIN = 64


@separate
def is_full(world: World) -> bool:
    """Whether the next event may need more room than there is."""
    clock, records, paths = world.clock[0], world.records, world.paths
    most = world.rules.most_workers + clock.replicas + FLOW_MARGIN
    return (
        clock.spare_slots == 0
        or clock.spare_replicas == 0
        or clock.completed + most >= len(world.responses)
        or (world.rules.network and paths.flows.counters[0] < most)
        or (len(records.replicas) > 0 and clock.placed >= len(records.replicas))
        or (len(records.changes) > 0 and clock.changes + 2 >= len(records.changes))
        or (records.all_rows and clock.invocations + most >= len(records.invocations))
        or (records.all_rows and clock.moved + most >= len(records.moved))
        or (len(records.samples) > 0 and clock.samples >= len(records.samples))
    )


@separate
def find_placement(world: World) -> bool:
    """Finds a function that lacks a replica and a node for it; whether there is one."""
    clock, functions = world.clock[0], world.functions
    for function in range(len(functions)):
        if functions[function].placed < functions[function].wanted:
            if functions[function].blocked:
                continue
            if find_valid(world, function):
                score(world, function)
                clock.pending, clock.function = PLACE, function
                return True
            functions[function].blocked = True
    clock.looks = False
    return False


@separate
def sample(world: World) -> None:
    """Keeps the power of the nodes, and what goes on."""
    clock, nodes, records = world.clock[0], world.nodes, world.records
    clock.next_sample += world.rules.sample_s
    row = records.samples[clock.samples]
    row.time, row.replicas, row.waiting = clock.now, clock.replicas, 0
    row.power = row.idle = 0.0
    row.nodes_on = row.running = 0
    for node in range(len(nodes)):
        row.power += nodes[node].power_w
        row.nodes_on += nodes[node].state != OFF
        row.running += nodes[node].running
        row.idle += world.meters[node].share_w * max(nodes[node].replicas, 1)
        if len(records.nodes) > 0:
            records.nodes[clock.samples, node, 0] = nodes[node].power_w
            records.nodes[clock.samples, node, 1] = min(world.load[node, CPU], WHOLE) / WHOLE
    for function in range(len(world.functions)):
        row.waiting += world.functions[function].waiting + world.functions[function].queued
    clock.samples += 1


@separate
def end(world: World) -> None:
    """Adds everything up until the end of the run."""
    count_requests(world, 0)
    for node in range(len(world.nodes)):
        meter(world, node)
    for function in range(len(world.functions)):
        meter_function(world, function)


@separate
def flow_done(world: World) -> None:
    """The flow that finishes first has got there."""
    flow = finishing(world.paths.flows)
    purpose = world.paths.purposes[flow].purpose
    if purpose == PULL:
        pulled(world, flow)
    elif purpose == SETUP:
        fetched(world, flow)
    else:
        moved(world, world.paths.purposes[flow].owner)


@lean
def advance(world: World) -> int:
    """Lets things happen until something is to be decided, is full, or the run has ended."""
    clock = world.clock[0]
    arrivals, arriving = world.arrivals, world.arriving
    while True:
        if is_full(world):
            return FULL
        if clock.looks and find_placement(world):
            return DECIDE
        node, replica = first_ring(world.due.nodes), first_ring(world.due.replicas)
        finish, timeout = first_ring(world.due.finishes), first_ring(world.due.timeouts)
        scaler = first_ring(world.due.scalers)
        flow = next_finish(world.paths.flows) if world.rules.network else np.inf
        arrival = arrivals[clock.arrived] if clock.arrived < len(arrivals) else np.inf
        event = min(node, flow, replica, finish, timeout, scaler, arrival)
        if len(world.records.samples) > 0 and clock.next_sample < min(event, world.rules.end_s):
            clock.now = clock.next_sample
            sample(world)
            continue
        if event >= world.rules.end_s:
            clock.now = world.rules.end_s
            end(world)
            return ENDED
        clock.now = event
        if node == event:
            alarm_of_node(world, first_ringing(world.due.nodes))
        elif flow == event:
            flow_done(world)
        elif replica == event:
            alarm_of_replica(world, first_ringing(world.due.replicas))
        elif finish == event:
            alarm_of_request(world, first_ringing(world.due.finishes))
        elif timeout == event:
            time_out(world, first_ringing(world.due.timeouts))
        elif scaler == event:
            clock.function = first_ringing(world.due.scalers)
            tick(world, clock.function)
            clock.pending = SCALE
            return DECIDE
        else:
            function = arriving[clock.arrived]
            clock.arrived += 1
            arrive(world, function)


@lean
def act(world: World, action: int) -> int:
    """Takes a decision and moves to the next; changes nothing if the action is not allowed."""
    clock, functions = world.clock[0], world.functions
    function = clock.function
    clock.action = action
    if clock.pending == PLACE:
        if action < NONE or action >= len(world.nodes):
            return NO_SUCH_NODE
        if action == NONE:
            functions[function].blocked = True
        elif not world.nodes[action].valid:
            return NOT_VALID
        else:
            place(world, function, action)
    elif clock.pending == SCALE:
        if action < functions[function].minimum or action > functions[function].maximum:
            return BAD_COUNT
        set_replicas(world, function, action)
    clock.pending = NOTHING
    return advance(world)


@lean
def show(world: World, seen: Nodes) -> None:
    """Copies what placers see out of the nodes' records."""
    for node in range(len(world.nodes)):
        here = world.nodes[node]
        seen.valid[node] = here.valid
        seen.variant[node] = here.variant
        seen.device_type[node] = here.device_type
        seen.tier[node] = here.tier
        seen.accelerator[node] = here.accelerator
        seen.cores[node] = here.cores
        seen.free_cpu[node] = here.free_cpu
        seen.memory[node] = here.memory
        seen.free_memory[node] = here.free_memory
        seen.accelerator_memory[node] = here.accelerator_memory
        seen.free_accelerator_memory[node] = here.free_accelerator_memory
        seen.state[node] = here.state
        seen.replicas[node] = here.replicas
        seen.running[node] = here.running
        seen.power_w[node] = here.power_w
        seen.idle_w[node] = here.idle_w
        seen.execution_s[node] = here.execution_s
        seen.invocation_j[node] = here.invocation_j
        seen.added_w[node] = here.added_w
        seen.pull_s[node] = here.pull_s
        seen.data_s[node] = here.data_s


def play(world: World, seen: Nodes, placer: Any, scaler: Any, rng: np.random.Generator) -> int:
    """Lets compiled policies decide until the run ends, something is full, or an action is bad."""
    status = DECIDE if world.clock[0].pending != NOTHING else advance(world)
    while status == DECIDE:
        if world.clock[0].pending == PLACE:
            show(world, seen)
            action = placer(seen, replica_of(world), rng)
        else:
            action = scaler(scaling_of(world), rng)
        status = act(world, action)
    return status
