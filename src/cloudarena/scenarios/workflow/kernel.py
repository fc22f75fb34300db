"""How time moves among serverless workflows: compiled functions on arrays.

Times that are nearer than sums of floats are exact (``engine.instants``) are one instant. The order
of events at one instant:

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

from cloudarena.engine.alarms import alarm_time, first_ring, first_ringing
from cloudarena.engine.calendar import next_time, pop, push, size
from cloudarena.engine.compiled import inlined, inner, lean
from cloudarena.engine.instants import rounding
from cloudarena.engine.leases import HOUR_S, clock_error, periods_needed
from cloudarena.engine.sharing import (
    NONE,
    Extra,
    container_speed,
    forecast,
    forecast_with,
    join,
    leave,
    link,
    thread_speed,
    unlink,
)
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.workflow.state import (
    LONGEST_S,
    Demand,
    Function,
    Nodes,
    NotAllowed,
    Rules,
    World,
)


@inlined
def function_of(clock: NDArray[np.void], demand: Demand, rules: Rules) -> Function:
    """The function that is to be decided."""
    number, now = clock[0].pending, clock[0].now
    workflow = demand.workflow[number]
    return Function(
        number,
        demand.place[workflow],
        number - demand.first_function[workflow],
        demand.computation[number],
        demand.memory_req[number],
        demand.parallelism[number],
        now,
        now - demand.arrival[workflow],
        demand.remaining_path[number],
        demand.critical_path[workflow],
        clock[0].last_node,
        rules.time_weight,
        rules.rent_weight,
    )


@inner
def record_node(world: World, node: int) -> None:
    """Keeps the state of a node from now on."""
    moments, clock = world.moments, world.clock[0]
    if len(moments) == 0:
        return
    row = world.last_moment[node]
    if row < 0 or moments[row].time < clock.now:
        row = clock.moments
        clock.moments += 1
        world.last_moment[node] = row
    moment = moments[row]
    moment.node = node
    moment.time = clock.now
    moment.utilisation = world.nodes.utilisation[node]
    moment.free_memory = world.nodes.free_memory[node]
    moment.parallelism = world.nodes.parallelism[node]


@inner
def show_node(world: World, node: int) -> None:
    """Brings what policies see of a node's work up to date."""
    nodes, sharing = world.nodes, world.nodes.sharing
    nodes.parallelism[node] = sharing.threads[node]
    capacity = sharing.cores[node] * float(sharing.core_speed)
    nodes.utilisation[node] = sharing.speed[node] / capacity
    record_node(world, node)


@inner
def start(world: World, slot: int) -> None:
    """Starts a container, now."""
    now, nodes, containers = world.clock[0].now, world.nodes, world.containers
    node = containers.node[slot]
    nodes.free_memory[node] -= nodes.sharing.slot_allocated[slot]
    join(nodes.sharing, node, slot, now)
    world.totals[0].memory_wait_s += now - nodes.begin[slot]
    if len(world.placements) > 0:
        world.placements[containers.function[slot]].start = now
    show_node(world, node)


@inner
def create(world: World, slot: int) -> None:
    """Starts a container whose data is there, or lets it wait for memory."""
    nodes, containers, sharing = world.nodes, world.containers, world.nodes.sharing
    node, memory = containers.node[slot], sharing.slot_allocated[slot]
    nodes.begin[slot] = world.clock[0].now
    if len(world.placements) > 0:
        world.placements[containers.function[slot]].creation = world.clock[0].now
    held_up = world.rules.strict and nodes.waiting[node] > 0
    if memory <= nodes.free_memory[node] and not held_up:
        start(world, slot)
        return
    nodes.waiting[node] += 1
    nodes.waiting_memory[node] += memory
    sharing.slot_next[slot] = NONE
    last = containers.waiting_tail[node]
    sharing.slot_before[slot] = last
    if last == NONE:
        containers.waiting_head[node] = slot
    else:
        sharing.slot_next[last] = slot
    containers.waiting_tail[node] = slot


@inner
def start_waiting(world: World, node: int) -> None:
    """Starts containers that waited for memory."""
    nodes, containers, sharing = world.nodes, world.containers, world.nodes.sharing
    slot = containers.waiting_head[node]
    while slot != NONE:
        following, memory = sharing.slot_next[slot], sharing.slot_allocated[slot]
        if memory <= nodes.free_memory[node]:
            unlink(sharing, containers.waiting_head, node, slot)
            if following == NONE:
                containers.waiting_tail[node] = sharing.slot_before[slot]
            nodes.waiting[node] -= 1
            nodes.waiting_memory[node] -= memory
            start(world, slot)
        elif not world.rules.backfill:
            break
        slot = following


@inner
def bound_latest(world: World, node: int) -> None:
    """Finds a time by which all containers that run or are on their way are surely done.

    Each at the speed it has when all of them run at once, and with an operation more for each start
    and completion, which is the most that rounding down may lose.
    """
    now, nodes, sharing = world.clock[0].now, world.nodes, world.nodes.sharing
    threads = sharing.threads[node]
    slot = nodes.coming_head[node]
    while slot != NONE:
        threads += sharing.slot_threads[slot]
        slot = sharing.slot_next[slot]
    per_thread, lost = thread_speed(sharing, node, threads), 2.0 * threads
    latest = now
    slot = sharing.head[node]
    while slot != NONE:
        speed = max(1.0, container_speed(sharing, slot, per_thread))
        latest = max(latest, now + (sharing.slot_left[slot] + lost) / speed)
        slot = sharing.slot_next[slot]
    slot = nodes.coming_head[node]
    while slot != NONE:
        speed = max(1.0, container_speed(sharing, slot, per_thread))
        latest = max(latest, nodes.begin[slot] + (sharing.slot_left[slot] + lost) / speed)
        slot = sharing.slot_next[slot]
    world.servers.latest[node] = latest


@inlined
def last_completion(nodes: Nodes, node: int) -> float:
    """When all containers that run on a node or are on their way to it are done, as it stands."""
    if nodes.sharing.head[node] == NONE and nodes.coming_head[node] == NONE:
        return -np.inf
    return forecast(nodes.sharing, node, nodes.coming_head[node], nodes.begin)


@lean
def last_completions(nodes: Nodes, times: NDArray[np.float64]) -> None:
    """Writes the last completion of each node, minus infinity where nothing runs or comes."""
    for node in range(len(times)):
        times[node] = last_completion(nodes, node)


@inner
def renew(world: World, server: int) -> None:
    """Rents a server for so many more hours that its lease covers all that is known to run."""
    now, servers, nodes = world.clock[0].now, world.servers, world.nodes
    first, end = servers.first_node[server], servers.first_node[server + 1]
    latest = -np.inf
    for node in range(first, end):
        latest = max(latest, servers.latest[node])
    expiry = servers.expiry[server]
    if latest <= expiry:
        return
    latest = -np.inf
    for node in range(first, end):
        if servers.latest[node] > expiry:
            servers.latest[node] = last_completion(nodes, node)
        latest = max(latest, servers.latest[node])
    if latest <= expiry + clock_error(latest):
        return
    begin = max(now, expiry)
    hours = periods_needed(begin, latest, HOUR_S)
    expiry = begin + hours * HOUR_S
    servers.expiry[server] = expiry
    for node in range(first, end):
        nodes.expiry[node] = expiry
    world.totals[0].rent += hours * nodes.hourly_rate[first]
    if len(world.leases) > 0:
        lease = world.leases[world.clock[0].leases]
        lease.server = server
        lease.time = now
        lease.start = begin
        lease.expiry = expiry
        lease.hours = hours
        world.clock[0].leases += 1


@inner
def submit(world: World, number: int) -> None:
    """Puts a function in line for a decision at this instant."""
    demand = world.demand
    workflow = demand.workflow[number]
    # Ranks are of workflows: functions follow each other within one.
    place = float(demand.rank[workflow] + number - demand.first_function[workflow])
    push(world.submissions, place, number)


@inner
def finish(world: World, number: int) -> None:
    """Lets the successors of a function go on, and its workflow end."""
    totals, demand, progress, now = (
        world.totals[0],
        world.demand,
        world.progress,
        world.clock[0].now,
    )
    totals.functions += 1
    for k in range(demand.first_child[number], demand.first_child[number + 1]):
        child = demand.children[k]
        progress.parents_left[child] -= 1
        if progress.parents_left[child] == 0:
            submit(world, child)
    workflow = demand.workflow[number]
    progress.functions_left[workflow] -= 1
    if progress.functions_left[workflow] == 0:
        progress.completion[workflow] = now
        totals.workflows += 1
        totals.active -= 1


@inner
def complete(world: World, node: int, until: float) -> None:
    """Ends the containers of a node that complete now, and starts those that wait."""
    now, nodes, containers = world.clock[0].now, world.nodes, world.containers
    sharing = nodes.sharing
    while alarm_time(sharing.finishes, node) <= until:
        slot = sharing.finishing[node]
        number = containers.function[slot]
        leave(sharing, node, slot, now)
        nodes.free_memory[node] += sharing.slot_allocated[slot]
        nodes.assigned[node] -= sharing.slot_threads[slot]
        containers.spare[world.clock[0].spare] = slot
        world.clock[0].spare += 1
        if len(world.placements) > 0:
            world.placements[number].completion = now
        finish(world, number)
    show_node(world, node)
    start_waiting(world, node)
    bound_latest(world, node)
    renew(world, nodes.server[node])


@inner
def show_transfers(world: World) -> None:
    """Finds how long the data of the pending function would take to each node, in seconds."""
    rules, nodes, demand, number = world.rules, world.nodes, world.demand, world.clock[0].pending
    if rules.parallel_transfer:
        for node in range(len(nodes.server)):
            nodes.transfer[node] = slowest_transfer(world, number, node)
        return
    # The bytes on each node and server are added up, so that parents and nodes are not multiplied.
    on_node, on_server, total = world.bytes_on_node, world.bytes_on_server, 0
    for k in range(demand.first_parent[number], demand.first_parent[number + 1]):
        node = world.progress.node[demand.parents[k]]
        on_node[node] += demand.parent_bytes[k]
        on_server[nodes.server[node]] += demand.parent_bytes[k]
        total += demand.parent_bytes[k]
    for server in range(len(world.servers.expiry)):
        near = on_server[server]
        by_network = (total - near) / rules.network_bandwidth
        for node in range(world.servers.first_node[server], world.servers.first_node[server + 1]):
            nodes.transfer[node] = by_network
            if near > 0:
                here = on_node[node]
                nodes.transfer[node] += (near - here) / rules.numa_bandwidth
                nodes.transfer[node] += here / rules.memory_bandwidth
    for k in range(demand.first_parent[number], demand.first_parent[number + 1]):
        node = world.progress.node[demand.parents[k]]
        on_node[node] = 0
        on_server[nodes.server[node]] = 0


@inner
def slowest_transfer(world: World, number: int, node: int) -> float:
    """How long the slowest of a function's transfers to a node takes, all at once."""
    rules, nodes, demand = world.rules, world.nodes, world.demand
    slowest = 0.0
    for k in range(demand.first_parent[number], demand.first_parent[number + 1]):
        source = world.progress.node[demand.parents[k]]
        bandwidth = rules.network_bandwidth
        if source == node:
            bandwidth = rules.memory_bandwidth
        elif nodes.server[source] == nodes.server[node]:
            bandwidth = rules.numa_bandwidth
        slowest = max(slowest, demand.parent_bytes[k] / bandwidth)
    return slowest


@inner
def is_cold(now: float, expiry: float) -> bool:
    """Whether a lease is over now; it is at its end, also where rounding says a little before."""
    return now >= expiry - clock_error(now)


@inner
def show_boots(world: World) -> None:
    """Finds how long each server would still boot if a function were sent to it now."""
    now, servers, nodes = world.clock[0].now, world.servers, world.nodes
    for server in range(len(servers.expiry)):
        boot = servers.latency[server]
        if not is_cold(now, servers.expiry[server]):
            boot = max(0.0, servers.boot_end[server] - now)
        for node in range(servers.first_node[server], servers.first_node[server + 1]):
            nodes.boot[node] = boot


@inner
def move_to(world: World, time: float) -> None:
    """Lets time pass for the workflows that are not finished."""
    world.totals[0].active_s += (time - world.clock[0].now) * world.totals[0].active
    world.clock[0].now = time


@inner
def happen(world: World) -> None:
    """Lets all that is due now happen, but for decisions."""
    clock, nodes, demand = world.clock[0], world.nodes, world.demand
    until = clock.now + rounding(clock.now)
    while first_ring(nodes.sharing.finishes) <= until:
        complete(world, first_ringing(nodes.sharing.finishes), until)
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
        for number in range(demand.first_function[workflow], demand.first_function[workflow + 1]):
            if world.progress.parents_left[number] == 0:
                submit(world, number)


@inner
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE) or to the end (ENDED)."""
    clock = world.clock[0]
    while True:
        happen(world)
        if size(world.submissions) > 0:
            clock.pending = pop(world.submissions)
            show_transfers(world)
            show_boots(world)
            return DECIDE
        time = min(first_ring(world.nodes.sharing.finishes), next_time(world.creations))
        if clock.arrived < len(world.demand.arrival):
            arrival = world.demand.arrival[clock.arrived]
            if arrival - time <= rounding(arrival):  # the instant is as the user wrote it
                time = arrival
        if time == np.inf:
            return ENDED
        move_to(world, time)


@inner
def fill_slot(world: World, slot: int, node: int, memory: int) -> None:
    """Writes the pending function into a slot."""
    sharing, demand, number = world.nodes.sharing, world.demand, world.clock[0].pending
    sharing.slot_threads[slot] = demand.parallelism[number]
    sharing.slot_allocated[slot] = memory
    sharing.slot_required[slot] = demand.memory_req[number]
    sharing.slot_left[slot] = demand.computation[number]
    world.containers.function[slot] = number
    world.containers.node[slot] = node


@inner
def place(world: World, slot: int, node: int, not_before: float) -> None:
    """Sends the pending function, in its slot, to a node; it is created at a time or later."""
    clock, nodes, servers, totals = world.clock[0], world.nodes, world.servers, world.totals[0]
    number, now, server = clock.pending, clock.now, world.nodes.server[node]
    cold_start = 0.0
    if is_cold(now, servers.expiry[server]):
        cold_start = servers.latency[server]
        servers.boot_end[server] = now + cold_start
        totals.cold_starts += 1
    transfer = nodes.transfer[node]
    creation = max(max(now, servers.boot_end[server]) + transfer, not_before)
    totals.transfer_s += transfer
    world.progress.node[number] = node
    nodes.begin[slot] = creation
    nodes.assigned[node] += world.demand.parallelism[number]
    if len(world.placements) > 0:
        placement = world.placements[number]
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


@inner
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


@inlined
def act(world: World, node: int, memory: int, not_before: float) -> int:
    """Takes an action on the pending function, if there is one, and moves on.

    Returns where the run stands then, or why the action may not be taken. Any time before now,
    minus infinity too, holds nothing back.
    """
    clock, nodes = world.clock[0], world.nodes
    number = clock.pending
    if number < 0:
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
    threads = nodes.assigned[node] + world.demand.parallelism[number]
    per_thread = thread_speed(nodes.sharing, node, threads)
    speed = container_speed(nodes.sharing, slot, per_thread)
    if speed * LONGEST_S < world.demand.computation[number]:
        return NotAllowed.TOO_SLOW
    clock.spare -= 1
    place(world, slot, node, not_before)
    return advance(world)


@inlined
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
