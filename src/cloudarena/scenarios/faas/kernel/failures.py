"""Nodes and links that fail at given times, and work again.

The replicas on a node that fails end at once, and what it pulled is lost; images that it has stay.
The requests there fail, those whose response is under way too, in the order in which they came: one
that may be tried again waits for a replica as if it had just come, and the others end. While it has
failed the node draws nothing and takes no replica; data that it holds for others is taken to be
held elsewhere too. Over a link that fails nothing moves: what is under way waits.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.indexed_heap import set_time
from cloudarena.engine.max_min import set_capacity
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, set_base_power
from cloudarena.scenarios.faas.kernel.execution import update_node_call
from cloudarena.scenarios.faas.kernel.lifecycle import remove_replica
from cloudarena.scenarios.faas.kernel.requests import (
    fail_or_retry,
    holds_worker,
    serve_all_waiting,
    withdraw,
)
from cloudarena.scenarios.faas.kernel.supplies import (
    change_sun,
    is_back,
    is_empty,
    surplus_w,
)
from cloudarena.scenarios.faas.state import (
    NONE,
    Extras,
    NodeState,
    Record,
    RequestState,
    World,
)


@jit_inline
def next_outage(extras: Extras | None) -> float:
    """When something fails, or works again, next; infinity."""
    if extras is not None:
        row = extras.progress[0].outage
        if row < len(extras.outages):
            return extras.outages[row].time
    return np.inf


@jit_inline
def more_at_once(extras: Extras | None, clock: Record) -> int:
    """How many more requests than else one event may move or end."""
    if extras is not None:
        return clock.in_system
    return 0


@jit_inline
def responses_are_full(world: World, extras: Extras | None) -> bool:
    """Whether there is no room for a response time, or a function of the user's is at fault.

    With calls there are more of them than requests of the trace.
    """
    if extras is not None:
        is_full = world.clock[0].completed >= len(world.responses)
        return is_full or extras.progress[0].fault > 0
    return False


@jit_call
def outage_due(world: World, extras: Extras | None) -> None:
    """A node or a link fails, or works again."""
    if extras is not None:
        outage = extras.outages[extras.progress[0].outage]
        extras.progress[0].outage += 1
        if outage.is_link:
            set_capacity(world.paths.flows, outage.index, outage.bytes_s, world.clock[0].now)
        elif outage.is_over:
            repair_node(world, outage.index)
        else:
            fail_node(world, outage.index)


@jit_call
def supply_due(world: World, extras: Extras | None) -> None:
    """A battery has run empty or holds enough, or the sun has changed."""
    if extras is not None:
        change_sun(world, extras)
        for index in range(len(extras.supplies)):
            supply = extras.supplies[index]
            if is_empty(supply, surplus_w(world, extras, supply)):
                supply.failed = True
                fail_node(world, supply.node)
            elif is_back(supply):
                supply.failed = False
                repair_node(world, supply.node)
        for which in range(len(world.functions)):
            world.blocked[which] = False
        world.clock[0].may_place = True


@jit_call
def fail_node(world: World, index: int) -> None:
    """A node fails, with all that is on it."""
    node, clock = world.nodes[index], world.clock[0]
    while True:
        first = first_request(world, index)
        if first == NONE:
            break
        fail_request(world, first)
    while node.first_replica != NONE:
        remove_replica(world, node.first_replica)
    if clock.changed_node != NONE:
        update_node_call(world)
    set_time(world.due.nodes, index, np.inf)
    set_state(world, index, NodeState.FAILED)
    for which in range(len(world.functions)):
        serve_all_waiting(world, which)


@jit_call
def first_request(world: World, node: int) -> int:
    """The request on a node that came first; NONE."""
    first = NONE
    for index in range(len(world.slots)):
        slot = world.slots[index]
        if slot.state in (RequestState.UNUSED, RequestState.WAITING) or slot.node != node:
            continue
        if first == NONE or came_before(slot, world.slots[first]):
            first = index
    return first


@jit_inline
def came_before(one: Record, other: Record) -> bool:
    """Whether a request came before another; of two at once that of the earlier function."""
    if one.arrival != other.arrival:
        return one.arrival < other.arrival
    if one.function != other.function:
        return one.function < other.function
    return one.number < other.number


@jit_call
def fail_request(world: World, index: int) -> None:
    """A request loses its replica: it is tried again if it may be, and ends else."""
    slot, now = world.slots[index], world.clock[0].now
    function, replica = world.functions[slot.function], world.replicas[slot.replica]
    if holds_worker(withdraw(world, index)):
        replica.busy -= 1
        function.held -= 1
        if replica.busy == 0:
            replica.idle_s = now
    fail_or_retry(world, index)


@jit_call
def repair_node(world: World, index: int) -> None:
    """A node that had failed is on again, without replicas."""
    set_state(world, index, NodeState.ON)
    set_time(world.due.nodes, index, world.clock[0].now + world.rules[0].off_after_s)
    for which in range(len(world.functions)):
        world.blocked[which] = False
    world.clock[0].may_place = True


@jit_call
def set_state(world: World, index: int, state: int) -> None:
    """A node without replicas is in another state from now on."""
    node, clock = world.nodes[index], world.clock[0]
    meter(node, clock)
    meter_base(node, clock)
    node.state = state
    set_base_power(node)
