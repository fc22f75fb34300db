"""Containers: their data comes, they wait for memory, they start and finish on a node."""

from __future__ import annotations

from cloudarena.engine.calendar import push
from cloudarena.engine.compiled import jit_inline
from cloudarena.engine.indexed_heap import time_of
from cloudarena.engine.linked_list import NONE, append, take_out
from cloudarena.engine.sharing import (
    join,
    leave,
)
from cloudarena.scenarios.workflow.kernel.leases import bound_latest, renew
from cloudarena.scenarios.workflow.state import (
    World,
)


@jit_inline
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


@jit_inline
def show_node(world: World, node: int) -> None:
    """Brings what policies see of a node's work up to date."""
    nodes, sharing = world.nodes, world.nodes.sharing
    nodes.parallelism[node] = sharing.threads[node]
    capacity = sharing.cores[node] * float(sharing.core_speed)
    nodes.utilisation[node] = sharing.speed[node] / capacity
    record_node(world, node)


@jit_inline
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


@jit_inline
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
    append(sharing.slot_links, containers.waiting[node], slot)


@jit_inline
def start_waiting(world: World, node: int) -> None:
    """Starts containers that waited for memory."""
    nodes, containers, sharing = world.nodes, world.containers, world.nodes.sharing
    slot = containers.waiting[node].first
    while slot != NONE:
        following, memory = sharing.slot_links[slot].next, sharing.slot_allocated[slot]
        if memory <= nodes.free_memory[node]:
            take_out(sharing.slot_links, containers.waiting[node], slot)
            nodes.waiting[node] -= 1
            nodes.waiting_memory[node] -= memory
            start(world, slot)
        elif not world.rules.backfill:
            break
        slot = following


@jit_inline
def submit(world: World, index: int) -> None:
    """Puts a function in line for a decision at this instant."""
    demand = world.demand
    workflow = demand.workflow[index]
    # Ranks are of workflows: functions follow each other within one.
    priority = float(demand.rank[workflow] + index - demand.first_function[workflow])
    push(world.submissions, priority, index)


@jit_inline
def finish(world: World, index: int) -> None:
    """Lets the successors of a function go on, and its workflow end."""
    totals, demand, progress, now = (
        world.totals[0],
        world.demand,
        world.progress,
        world.clock[0].now,
    )
    totals.functions += 1
    for k in range(demand.first_child[index], demand.first_child[index + 1]):
        child = demand.children[k]
        progress.parents_left[child] -= 1
        if progress.parents_left[child] == 0:
            submit(world, child)
    workflow = demand.workflow[index]
    progress.functions_left[workflow] -= 1
    if progress.functions_left[workflow] == 0:
        progress.completion[workflow] = now
        totals.workflows += 1
        totals.active -= 1


@jit_inline
def complete(world: World, node: int, until: float) -> None:
    """Ends the containers of a node that complete now, and starts those that wait."""
    now, nodes, containers = world.clock[0].now, world.nodes, world.containers
    sharing = nodes.sharing
    while time_of(sharing.finishes, node) <= until:
        slot = sharing.finishing[node]
        index = containers.function[slot]
        leave(sharing, node, slot, now)
        nodes.free_memory[node] += sharing.slot_allocated[slot]
        nodes.assigned[node] -= sharing.slot_threads[slot]
        containers.spare[world.clock[0].spare] = slot
        world.clock[0].spare += 1
        if len(world.placements) > 0:
            world.placements[index].completion = now
        finish(world, index)
    show_node(world, node)
    start_waiting(world, node)
    bound_latest(world, node)
    renew(world, nodes.server[node])


@jit_inline
def fill_slot(world: World, slot: int, node: int, memory: int) -> None:
    """Writes the pending function into a slot."""
    sharing, demand, index = world.nodes.sharing, world.demand, world.clock[0].pending
    sharing.slot_threads[slot] = demand.parallelism[index]
    sharing.slot_allocated[slot] = memory
    sharing.slot_required[slot] = demand.memory_req[index]
    sharing.slot_left[slot] = demand.computation[index]
    world.containers.function[slot] = index
    world.containers.node[slot] = node
