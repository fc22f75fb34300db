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
from numpy.typing import NDArray

from cloudarena.engine.alarms import first_ring, first_ringing
from cloudarena.engine.compiled import inner, lean, separate
from cloudarena.engine.flows import FREE_SLOTS, finishing, next_finish
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, meter_transfers, pass_time
from cloudarena.scenarios.faas.kernel.execution import meter_function, settle
from cloudarena.scenarios.faas.kernel.lifecycle import (
    alarm_of_node,
    alarm_of_replica,
    fetched,
    place,
    pulled,
)
from cloudarena.scenarios.faas.kernel.replicas import count_replicas
from cloudarena.scenarios.faas.kernel.requests import (
    alarm_of_request,
    arrive,
    complete,
    count_requests,
    moved,
    take_up,
    time_out,
    want_for_waiting,
)
from cloudarena.scenarios.faas.kernel.sampling import sample
from cloudarena.scenarios.faas.kernel.scaling import scaling_of, set_replicas, tick
from cloudarena.scenarios.faas.kernel.scheduling import find_valid, replica_of, score
from cloudarena.scenarios.faas.kernel.transfers import (
    begin_flows,
    change_carbon,
    count_flows,
    end_flow,
)
from cloudarena.scenarios.faas.state import (
    FLOW_MARGIN,
    NONE,
    Nodes,
    NotAllowed,
    Pending,
    RequestState,
    Scaler,
    Transfer,
    World,
)


@inner
def is_full(world: World) -> bool:
    """Whether the next event may need more room, or arrivals, than there are."""
    clock, rules, records = world.clock[0], world.rules[0], world.records
    if clock.free_slot == NONE or clock.free_replica == NONE:
        return True
    if clock.windows > 0 and clock.arrived == len(world.arrivals):
        return True
    if not (rules.network or rules.rows):
        return False
    most = rules.most_workers + clock.replicas + FLOW_MARGIN
    return (
        (rules.network and world.paths.flows.counters[FREE_SLOTS] < most)
        or (rules.rows and clock.placed >= len(records.replicas))
        or (rules.rows and clock.changes + 2 >= len(records.changes))
        or (rules.rows and clock.samples >= len(records.samples))
        or (rules.all_rows and clock.invocations + most >= len(records.invocations))
        or (rules.all_rows and clock.moved + most >= len(records.moved))
    )


@separate
def find_placement(world: World) -> bool:
    """Finds a function that lacks a replica and a node for it; whether there is one."""
    clock = world.clock[0]
    for which in range(len(world.functions)):
        function = world.functions[which]
        if function.scaler == Scaler.PER_REQUEST and not function.blocked:
            want_for_waiting(function)
        if function.placed < function.wanted and not function.blocked:
            if find_valid(world, which):
                score(world, which)
                clock.pending, clock.function = Pending.PLACE, which
                return True
            function.blocked = True
    clock.looks = False
    return False


@separate
def end(world: World) -> None:
    """Adds everything up until the end of the run."""
    clock = world.clock[0]
    count_requests(clock, 0)
    count_replicas(clock, 0)
    if world.rules[0].network:
        count_flows(world)
    for number in range(len(world.nodes)):
        node = world.nodes[number]
        meter(node, clock)
        meter_base(node, clock)
        meter_transfers(node, clock)
    for number in range(len(world.functions)):
        meter_function(world.functions[number], clock.now)


@separate
def look(world: World) -> None:
    """The grid's intensity changes, or it is time for a sample; the first goes first."""
    clock = world.clock[0]
    if clock.next_carbon <= clock.next_sample:
        change_carbon(world)
    else:
        pass_time(clock, world.carbon, clock.next_sample)
        sample(world)
    clock.next_look = min(clock.next_carbon, clock.next_sample)


@separate
def flow_done(world: World) -> None:
    """The flow that finishes first has got there."""
    flow = finishing(world.paths.flows)
    what = world.paths.purposes[flow]
    end_flow(world, flow)
    if what.purpose == Transfer.PULL:
        pulled(world, what.node, what.owner)
    elif what.purpose == Transfer.SETUP:
        fetched(world, what.owner)
    else:
        moved(world, what.owner)


@separate
def advance(world: World) -> int:
    """Lets things happen until something is to be decided, is full, or the run has ended."""
    clock, rules, due = world.clock[0], world.rules[0], world.due
    while True:
        if clock.unsettled != NONE:
            settle(world)
        if clock.asked > 0:
            begin_flows(world)
        if is_full(world):
            return FULL
        if clock.looks and find_placement(world):
            return DECIDE
        node, replica = first_ring(due.nodes), first_ring(due.replicas)
        finish, timeout = first_ring(due.finishes), first_ring(due.timeouts)
        scaler = first_ring(due.scalers)
        flow = next_finish(world.paths.flows) if rules.network else np.inf
        arrival = world.arrivals[clock.arrived] if clock.arrived < len(world.arrivals) else np.inf
        event = min(node, flow, replica, finish, timeout, scaler, arrival)
        if clock.next_look <= min(event, rules.end_s):
            look(world)
            continue
        if event >= rules.end_s:
            pass_time(clock, world.carbon, rules.end_s)
            end(world)
            if rules.rows:
                sample(world)
            return ENDED
        pass_time(clock, world.carbon, event)
        following = NONE
        if node == event:
            alarm_of_node(world, first_ringing(due.nodes))
        elif flow == event:
            flow_done(world)
        elif replica == event:
            alarm_of_replica(world, first_ringing(due.replicas))
        elif finish == event:
            slot = first_ringing(due.finishes)
            if world.slots[slot].state == RequestState.EXECUTING:
                following = complete(world, slot)
            else:
                alarm_of_request(world, slot)
        elif timeout == event:
            time_out(world, first_ringing(due.timeouts))
        elif scaler == event:
            clock.pending, clock.function = Pending.SCALE, first_ringing(due.scalers)
            tick(world, clock.function)
            return DECIDE
        else:
            following = arrive(world, world.arriving[clock.arrived])
            clock.arrived += 1
        if following != NONE:
            take_up(world, following)


@separate
def take(world: World, action: int) -> int:
    """Takes a decision, or says why it is not allowed and changes nothing."""
    clock, function = world.clock[0], world.functions[world.clock[0].function]
    clock.action = action
    if clock.pending == Pending.PLACE:
        if action < NONE or action >= len(world.nodes):
            return NotAllowed.NO_SUCH_NODE
        if action == NONE:
            function.blocked = True
        elif not world.nodes[action].valid:
            return NotAllowed.NOT_VALID
        else:
            place(world, clock.function, action)
    elif clock.pending == Pending.SCALE:
        if action < function.minimum or action > function.maximum:
            return NotAllowed.BAD_COUNT
        set_replicas(world, clock.function, action)
    clock.pending = Pending.NOTHING
    return DECIDE


@lean
def act(world: World, action: int) -> int:
    """Takes a decision, if one is pending, and moves to the next."""
    status = take(world, action)
    return advance(world) if status == DECIDE else status


@inner
def show(world: World, seen: Nodes) -> None:
    """Copies what placers see out of the nodes' records."""
    for number in range(len(world.nodes)):
        node = world.nodes[number]
        for resource in range(len(node.load)):
            seen.load[number, resource] = node.load[resource]
        seen.valid[number] = node.valid
        seen.variant[number] = node.variant
        seen.device_type[number] = node.device_type
        seen.tier[number] = node.tier
        seen.accelerator[number] = node.accelerator
        seen.cores[number] = node.cores
        seen.free_cpu[number] = node.free_cpu
        seen.memory[number] = node.memory
        seen.free_memory[number] = node.free_memory
        seen.accelerator_memory[number] = node.accelerator_memory
        seen.free_accelerator_memory[number] = node.free_accelerator_memory
        seen.state[number] = node.state
        seen.replicas[number] = node.replicas
        seen.running[number] = node.running
        seen.power_w[number] = node.power_w
        seen.idle_w[number] = node.idle_w
        seen.execution_s[number] = node.execution_s
        seen.invocation_j[number] = node.invocation_j
        seen.added_w[number] = node.added_w
        seen.pull_s[number] = node.pull_s
        seen.data_s[number] = node.data_s


def play(
    world: World,
    seen: Nodes,
    shown: Nodes,
    weights: NDArray[np.float64],
    stop: NDArray[np.int64],
    place_parameters: NDArray[np.float64],
    scale_parameters: NDArray[np.float64],
    placer: Any,
    scaler: Any,
    rng: np.random.Generator,
) -> int:
    """Lets compiled policies decide until the run ends, something is full, or an action is bad.

    They see ``shown``, a read-only view of ``seen``. Where ``stop`` is set, it comes back.
    """
    status = DECIDE if world.clock[0].pending != Pending.NOTHING else advance(world)
    while status == DECIDE and stop[0] == 0:
        if world.clock[0].pending == Pending.PLACE:
            show(world, seen)
            action = placer(shown, replica_of(world, weights), place_parameters, rng)
        else:
            action = scaler(scaling_of(world), scale_parameters, rng)
        status = take(world, action)
        if status == DECIDE:
            status = advance(world)
    return status
