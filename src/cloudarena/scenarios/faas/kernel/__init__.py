"""How time moves among functions on nodes: compiled functions on arrays.

The order of events at one instant:

0. Batteries run empty or hold enough, and the sun changes. Then nodes and links fail, or work
   again, as the spec lists them; what works again first.
1. Replicas that should be there are placed, function by function, as soon as a node can take one;
   idle ones make room for those that requests wait for, if the spec says so.
2. Nodes have booted or are switched off, by their number.
3. Flows have got there: images, data, requests, responses.
4. Replicas end their phase, or have been idle for too long, by their slot.
5. Invocations finish, by their slot; a worker that is free takes up the next request at once.
6. Requests time out, by their slot.
7. Scalers are due, or replicas are started ahead of requests, by function.
8. Requests arrive, in the order of the workload.

The end of the warm-up comes before all of them. The kernel says that it is full then, and the run
sets the meters to zero. It says so too when a function of the user's is to measure something.

Placements that an event makes possible are decided before the next event. At the end of the run
nothing more happens: what is in the system is unfinished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline, jit_uncounted
from cloudarena.engine.flows import FREE_SLOTS
from cloudarena.engine.indexed_heap import earliest_entry, earliest_time
from cloudarena.engine.max_min import finishing, next_finish
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, meter_transfers, pass_time
from cloudarena.scenarios.faas.kernel.execution import meter_function, update_node
from cloudarena.scenarios.faas.kernel.failures import (
    more_at_once,
    next_outage,
    outage_due,
    responses_are_full,
    supply_due,
)
from cloudarena.scenarios.faas.kernel.lifecycle import (
    image_pulled,
    node_due,
    place,
    replica_due,
    setup_fetched,
)
from cloudarena.scenarios.faas.kernel.replicas import count_replicas
from cloudarena.scenarios.faas.kernel.requests import (
    arrive,
    begin_service,
    complete,
    count_requests,
    flow_arrived,
    request_due,
    time_out,
    want_for_waiting,
)
from cloudarena.scenarios.faas.kernel.sampling import sample
from cloudarena.scenarios.faas.kernel.scaling import scaling_of, set_replicas, tick
from cloudarena.scenarios.faas.kernel.scheduling import find_valid, replica_of, score
from cloudarena.scenarios.faas.kernel.supplies import next_supply, settle
from cloudarena.scenarios.faas.kernel.transfers import (
    begin_flows,
    change_carbon,
    count_flows,
    end_flow,
)
from cloudarena.scenarios.faas.kernel.warm import make_room, start_ahead
from cloudarena.scenarios.faas.state import (
    FLOW_MARGIN,
    NONE,
    Evict,
    Nodes,
    NotAllowed,
    Pending,
    RequestState,
    Scaler,
    Transfer,
    World,
)


@jit_inline
def is_full(world: World) -> bool:
    """Whether the next event may need more room, or arrivals, than there are, or other meters."""
    clock, rules, records = world.clock[0], world.rules[0], world.records
    if clock.free_slot == NONE or clock.free_replica == NONE:
        return True
    if responses_are_full(world, world.extras):
        return True
    if clock.warm or clock.looks or (clock.windows > 0 and clock.arrived == len(world.arrivals)):
        return True
    if not (rules.network or rules.rows):
        return False
    most = rules.most_workers + clock.replicas + FLOW_MARGIN
    most += more_at_once(world.extras, clock)
    return (
        (rules.network and world.paths.flows.counters[FREE_SLOTS] < most)
        or (rules.rows and clock.placed >= len(records.replicas))
        or (rules.rows and clock.changes + 2 >= len(records.changes))
        or (rules.rows and clock.samples >= len(records.samples))
        or (rules.all_rows and clock.invocations + most >= len(records.invocations))
        or (rules.all_rows and clock.moved + most >= len(records.moved))
    )


@jit_call
def look_again(world: World) -> None:
    """The load of a node has changed: it may keep its budget of power again."""
    for which in range(len(world.functions)):
        world.blocked[which] = False
    world.clock[0].may_place = True


@jit_call
def find_placement(world: World) -> bool:
    """Finds a function that lacks a replica and a node for it; whether there is one."""
    clock, evictions = world.clock[0], world.clock[0].evictions
    for which in range(len(world.functions)):
        if world.blocked[which] or not world.lacking[which]:
            continue
        function = world.functions[which]
        if function.scaler == Scaler.PER_REQUEST:
            want_for_waiting(function)
        world.lacking[which] = function.placed < function.wanted
        if world.lacking[which]:
            found = find_valid(world, which)
            if not found and function.waiting > 0 and world.rules[0].evict != Evict.NONE:
                found = make_room(world, which)
                clock.stuck |= not found
            if found and score(world, which):
                clock.pending, clock.function = Pending.PLACE, which
                return True
            world.blocked[which] = True
    clock.may_place = clock.evictions > evictions  # others may fit where one was evicted
    return False


@jit_call
def end(world: World) -> None:
    """Adds everything up until the end of the run."""
    clock = world.clock[0]
    count_requests(clock, 0)
    count_replicas(clock, 0)
    if world.rules[0].network:
        count_flows(world)
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        meter(node, clock)
        meter_base(node, clock)
        meter_transfers(node, clock)
    for index in range(len(world.functions)):
        meter_function(world.functions[index], clock.now)


@jit_call
def change_grid_or_sample(world: World) -> None:
    """The grid changes, the warm-up ends, or it is time for a sample; the first goes first."""
    clock = world.clock[0]
    if clock.next_count <= clock.next_look:
        pass_time(clock, world.carbon, clock.next_count)
        settle(world, world.extras)
        clock.next_count, clock.warm = np.inf, True
    elif clock.next_carbon <= clock.next_sample:
        change_carbon(world)
    else:
        pass_time(clock, world.carbon, clock.next_sample)
        sample(world)
        clock.looks = world.rules[0].measures
    clock.next_look = min(clock.next_carbon, clock.next_sample, clock.next_count)


@jit_call
def flow_done(world: World) -> None:
    """The flow that finishes first has got there."""
    flow = finishing(world.paths.flows)
    what = world.paths.purposes[flow]
    end_flow(world, flow)
    if what.purpose == Transfer.PULL:
        image_pulled(world, what.node, what.owner)
    elif what.purpose == Transfer.SETUP:
        setup_fetched(world, what.owner)
    else:
        flow_arrived(world, what.owner)


@jit_call
def advance(world: World) -> int:
    """Lets things happen until something is to be decided, is full, or the run has ended."""
    clock, rules, due = world.clock[0], world.rules[0], world.due
    while True:
        if clock.changed_node != NONE:
            update_node(world)
            if rules.limited:
                look_again(world)
        if clock.asked > 0:
            begin_flows(world)
        if is_full(world):
            return FULL
        if clock.may_place and find_placement(world):
            return DECIDE
        node, replica = earliest_time(due.nodes), earliest_time(due.replicas)
        finish, timeout = earliest_time(due.finishes), earliest_time(due.timeouts)
        scaler = earliest_time(due.scalers)
        flow = next_finish(world.paths.flows) if rules.network else np.inf
        arrival = world.arrivals[clock.arrived] if clock.arrived < len(world.arrivals) else np.inf
        outage, supply = next_outage(world.extras), next_supply(world, world.extras)
        event = min(node, flow, replica, finish, timeout, scaler, arrival, outage, supply)
        if clock.next_look <= min(event, rules.end_s):
            change_grid_or_sample(world)
            continue
        if event >= rules.end_s:
            pass_time(clock, world.carbon, rules.end_s)
            end(world)
            settle(world, world.extras)
            if rules.rows:
                sample(world)
            return ENDED
        pass_time(clock, world.carbon, event)
        settle(world, world.extras)
        following = NONE
        if supply == event:
            supply_due(world, world.extras)
        elif outage == event:
            outage_due(world, world.extras)
        elif node == event:
            node_due(world, earliest_entry(due.nodes))
        elif flow == event:
            flow_done(world)
        elif replica == event:
            replica_due(world, earliest_entry(due.replicas))
        elif finish == event:
            slot = earliest_entry(due.finishes)
            if world.slots[slot].state == RequestState.EXECUTING:
                following = complete(world, slot)
            else:
                request_due(world, slot)
        elif timeout == event:
            time_out(world, earliest_entry(due.timeouts))
        elif scaler == event:
            which = earliest_entry(due.scalers)
            if world.functions[which].ahead_s == event:
                start_ahead(world, which)
            else:
                clock.pending, clock.function = Pending.SCALE, which
                tick(world, which)
                return DECIDE
        else:
            following = arrive(world, world.arriving[clock.arrived])
            clock.arrived += 1
        if following != NONE:
            begin_service(world, following)


@jit_call
def take(world: World, action: int) -> int:
    """Takes a decision, or says why it is not allowed and changes nothing."""
    clock, function = world.clock[0], world.functions[world.clock[0].function]
    clock.action = action
    if clock.pending == Pending.PLACE:
        if action < NONE or action >= len(world.nodes):
            return NotAllowed.NO_SUCH_NODE
        if action == NONE:
            world.blocked[clock.function] = True
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


@jit_uncounted
def act(world: World, action: int) -> int:
    """Takes a decision, if one is pending, and moves to the next."""
    status = take(world, action)
    return advance(world) if status == DECIDE else status


@jit_inline
def show(world: World, seen: Nodes) -> None:
    """Copies what placers see out of the nodes' records."""
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        for resource in range(len(node.load)):
            seen.load[index, resource] = node.load[resource]
        seen.valid[index] = node.valid
        seen.variant[index] = node.variant
        seen.device_type[index] = node.device_type
        seen.tier[index] = node.tier
        seen.accelerator[index] = node.accelerator
        seen.cores[index] = node.cores
        seen.free_cpu[index] = node.free_cpu
        seen.memory[index] = node.memory
        seen.free_memory[index] = node.free_memory
        seen.accelerator_memory[index] = node.accelerator_memory
        seen.free_accelerator_memory[index] = node.free_accelerator_memory
        seen.state[index] = node.state
        seen.replicas[index] = node.replicas
        seen.running[index] = node.running
        seen.power_w[index] = node.power_w
        seen.idle_w[index] = node.idle_w
        seen.execution_s[index] = node.execution_s
        seen.invocation_j[index] = node.invocation_j
        seen.added_w[index] = node.added_w
        seen.pull_s[index] = node.pull_s
        seen.data_s[index] = node.data_s
        seen.g_per_kwh[index] = node.g_per_kwh


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
