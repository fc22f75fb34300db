"""How time moves among serverless workflows: compiled functions on arrays.

Times that are nearer than sums of floats are exact (``engine.tolerance``) are one instant. The
order of events at one instant:

1. Containers complete; functions whose predecessors have all completed are submitted.
2. Containers that wait for memory on those nodes start, in the order of their queue.
3. Containers whose data has got there, and which are not held back longer, are created, in the
   order of their decisions: one that fits starts, else it waits for memory.
4. Workflows arrive; their functions without predecessors are submitted.
5. Submissions are decided, by workflow and function. A container without anything to wait for is
   created at once.

The lease of a server is looked at after each decision for it and after each completion on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import next_time, pop, push, size
from cloudarena.engine.compiled import jit_inline, jit_inline_entry
from cloudarena.engine.indexed_heap import earliest_entry, earliest_time
from cloudarena.engine.sharing import (
    Extra,
    container_speed,
    forecast_with,
    link,
    thread_speed,
    unlink,
)
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.engine.tolerance import time_tolerance
from cloudarena.scenarios.workflow.kernel.containers import complete, create, fill_slot, submit
from cloudarena.scenarios.workflow.kernel.leases import bound_latest, is_cold, renew, show_boots
from cloudarena.scenarios.workflow.kernel.transfers import show_transfers
from cloudarena.scenarios.workflow.state import (
    LONGEST_S,
    Demand,
    Function,
    Nodes,
    NotAllowed,
    Rules,
    World,
)


@jit_inline_entry
def function_of(clock: NDArray[np.void], demand: Demand, rules: Rules) -> Function:
    """The function that is to be decided."""
    index, now = clock[0].pending, clock[0].now
    workflow = demand.workflow[index]
    return Function(
        index,
        demand.shown_id[workflow],
        index - demand.first_function[workflow],
        demand.computation[index],
        demand.memory_req[index],
        demand.parallelism[index],
        now,
        now - demand.arrival[workflow],
        demand.remaining_path[index],
        demand.critical_path[workflow],
        clock[0].last_node,
        rules.time_weight,
        rules.rent_weight,
    )


@jit_inline
def move_to(world: World, time: float) -> None:
    """Lets time pass for the workflows that are not finished."""
    world.totals[0].active_s += (time - world.clock[0].now) * world.totals[0].active
    world.clock[0].now = time


@jit_inline
def process_events(world: World) -> None:
    """Lets all that is due now happen, but for decisions."""
    clock, nodes, demand = world.clock[0], world.nodes, world.demand
    until = clock.now + time_tolerance(clock.now)
    while earliest_time(nodes.sharing.finishes) <= until:
        complete(world, earliest_entry(nodes.sharing.finishes), until)
    while next_time(world.creations) <= until:
        slot = pop(world.creations)
        node = world.containers.node[slot]
        unlink(nodes.sharing, nodes.coming_head, node, slot)
        nodes.coming[node] -= 1
        nodes.coming_memory[node] -= nodes.sharing.slot_allocated[slot]
        create(world, slot)
    while clock.arrived < len(demand.arrival) and demand.arrival[clock.arrived] == clock.now:
        workflow = clock.arrived
        clock.arrived += 1
        world.totals[0].active += 1
        for index in range(demand.first_function[workflow], demand.first_function[workflow + 1]):
            if world.progress.parents_left[index] == 0:
                submit(world, index)


@jit_inline
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE) or to the end (ENDED)."""
    clock = world.clock[0]
    while True:
        process_events(world)
        if size(world.submissions) > 0:
            clock.pending = pop(world.submissions)
            show_transfers(world)
            show_boots(world)
            return DECIDE
        time = min(earliest_time(world.nodes.sharing.finishes), next_time(world.creations))
        if clock.arrived < len(world.demand.arrival):
            arrival = world.demand.arrival[clock.arrived]
            if arrival - time <= time_tolerance(arrival):  # the instant is as the user wrote it
                time = arrival
        if time == np.inf:
            return ENDED
        move_to(world, time)


@jit_inline
def place(world: World, slot: int, node: int, not_before: float) -> None:
    """Sends the pending function, in its slot, to a node; it is created at a time or later."""
    clock, nodes, servers, totals = world.clock[0], world.nodes, world.servers, world.totals[0]
    index, now, server = clock.pending, clock.now, world.nodes.server[node]
    cold_start = 0.0
    if is_cold(now, servers.expiry[server]):
        cold_start = servers.latency[server]
        servers.boot_end[server] = now + cold_start
        totals.cold_starts += 1
    transfer = nodes.transfer[node]
    creation = max(max(now, servers.boot_end[server]) + transfer, not_before)
    totals.transfer_s += transfer
    world.progress.node[index] = node
    nodes.begin[slot] = creation
    nodes.assigned[node] += world.demand.parallelism[index]
    if len(world.placements) > 0:
        placement = world.placements[index]
        placement.memory = nodes.sharing.slot_allocated[slot]
        placement.submission = now
        placement.not_before = not_before
        placement.cold_start = cold_start
        placement.transfer = transfer
    if creation > now:
        link(nodes.sharing, nodes.coming_head, node, slot)
        nodes.coming[node] += 1
        nodes.coming_memory[node] += nodes.sharing.slot_allocated[slot]
        push(world.creations, creation, slot)
    else:
        create(world, slot)
    bound_latest(world, node)
    renew(world, server)
    clock.last_node = node
    clock.pending = -1


@jit_inline
def is_full(world: World) -> bool:
    """Whether the next step may need more room: for a container, for leases, for moments.

    Between two decisions each container may start and complete, and each completion may rent.
    """
    clock = world.clock[0]
    containers = len(world.containers.function) - clock.spare
    short = clock.spare < 1
    if len(world.leases) > 0:
        short |= clock.leases + containers + 3 > len(world.leases)
    if len(world.moments) > 0:
        short |= clock.moments + 2 * containers + 4 > len(world.moments)
    return short


@jit_inline_entry
def act(world: World, node: int, memory: int, not_before: float) -> int:
    """Takes an action on the pending function, if there is one, and moves on.

    Returns where the run stands then, or why the action may not be taken. Any time before now,
    minus infinity too, holds nothing back.
    """
    clock, nodes = world.clock[0], world.nodes
    index = clock.pending
    if index < 0:
        return advance(world)
    if is_full(world):
        return FULL
    clock.node, clock.memory, clock.not_before = node, memory, not_before
    if node < 0 or node >= len(nodes.server):
        return NotAllowed.NO_SUCH_NODE
    if memory < 1 or memory > nodes.memory[node]:
        return NotAllowed.BAD_MEMORY
    if not not_before <= clock.now + LONGEST_S:  # NaN is not allowed either
        return NotAllowed.BAD_START
    slot = world.containers.spare[clock.spare - 1]
    fill_slot(world, slot, node, memory)
    # Never more threads than these run beside it, before others are let in on the same terms.
    threads = nodes.assigned[node] + world.demand.parallelism[index]
    per_thread = thread_speed(nodes.sharing, node, threads)
    speed = container_speed(nodes.sharing, slot, per_thread)
    if speed * LONGEST_S < world.demand.computation[index]:
        return NotAllowed.TOO_SLOW
    clock.spare -= 1
    place(world, slot, node, not_before)
    return advance(world)


@jit_inline_entry
def finish_forecast(nodes: Nodes, function: Function, node: int, memory: int) -> float:
    """When the function would complete on a node, if nothing else came after it.

    Memory is not looked at: a container that would have to wait for it completes later.
    """
    begin = function.now + nodes.boot[node] + nodes.transfer[node]
    extra = Extra(
        function.parallelism, memory, function.memory_req, float(function.computation), begin
    )
    return forecast_with(nodes.sharing, node, nodes.coming_head[node], nodes.begin, extra)


def play(
    world: World,
    shown: Nodes,
    stop: NDArray[np.int64],
    parameters: NDArray[np.float64],
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Lets a compiled policy decide until the run ends, something is full, or an action is bad.

    It sees ``shown``, a read-only view of the nodes. Where ``stop`` is set, it comes back.
    """
    status = DECIDE if world.clock[0].pending >= 0 else advance(world)
    while status == DECIDE and stop[0] == 0:
        if is_full(world):  # before the policy draws anything
            return FULL
        function = function_of(world.clock, world.demand, world.rules)
        node, memory = policy(shown, function, parameters, rng)
        status = act(world, node, memory, -np.inf)
    return status
