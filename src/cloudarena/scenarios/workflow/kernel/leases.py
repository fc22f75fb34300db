"""Leases of servers: how long a server is surely needed, and what an hour more costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline, jit_inline_entry, jit_uncounted
from cloudarena.engine.leases import HOUR_S, clock_error, periods_needed
from cloudarena.engine.linked_list import NONE
from cloudarena.engine.sharing import (
    container_speed,
    forecast,
    thread_speed,
)
from cloudarena.scenarios.workflow.state import (
    Nodes,
    World,
)


@jit_inline
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
        slot = sharing.slot_links[slot].next
    per_thread, lost = thread_speed(sharing, node, threads), 2.0 * threads
    latest = now
    slot = sharing.head[node]
    while slot != NONE:
        speed = max(1.0, container_speed(sharing, slot, per_thread))
        latest = max(latest, now + (sharing.slot_left[slot] + lost) / speed)
        slot = sharing.slot_links[slot].next
    slot = nodes.coming_head[node]
    while slot != NONE:
        speed = max(1.0, container_speed(sharing, slot, per_thread))
        latest = max(latest, nodes.begin[slot] + (sharing.slot_left[slot] + lost) / speed)
        slot = sharing.slot_links[slot].next
    world.servers.latest[node] = latest


@jit_inline_entry
def last_completion(nodes: Nodes, node: int) -> float:
    """When all containers that run on a node or are on their way to it are done, as it stands."""
    if nodes.sharing.head[node] == NONE and nodes.coming_head[node] == NONE:
        return -np.inf
    return forecast(nodes.sharing, node, nodes.coming_head[node], nodes.begin)


@jit_uncounted
def last_completions(nodes: Nodes, times: NDArray[np.float64]) -> None:
    """Writes the last completion of each node, minus infinity where nothing runs or comes."""
    for node in range(len(times)):
        times[node] = last_completion(nodes, node)


@jit_inline
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


@jit_inline
def is_cold(now: float, expiry: float) -> bool:
    """Whether a lease is over now; it is at its end, also where rounding says a little before."""
    return now >= expiry - clock_error(now)


@jit_inline
def show_boots(world: World) -> None:
    """Finds how long each server would still boot if a function were sent to it now."""
    now, servers, nodes = world.clock[0].now, world.servers, world.nodes
    for server in range(len(servers.expiry)):
        boot = servers.latency[server]
        if not is_cold(now, servers.expiry[server]):
            boot = max(0.0, servers.boot_end[server] - now)
        for node in range(servers.first_node[server], servers.first_node[server + 1]):
            nodes.boot[node] = boot
