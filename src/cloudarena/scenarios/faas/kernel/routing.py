"""Which replica takes a request."""

from __future__ import annotations

from cloudarena.engine.bit_sets import add, discard, lowest
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.kernel.own import own_route
from cloudarena.scenarios.faas.kernel.transfers import client_of
from cloudarena.scenarios.faas.state import NONE, Record, Router, World


@jit_inline
def work_of(replica: Record) -> int:
    """How many requests a replica has or is about to have."""
    return replica.busy + replica.queued + replica.coming


@jit_inline
def note_idle(world: World, replica: Record) -> None:
    """A replica may be without requests now: ``first_idle`` is to look."""
    add(world.idle, replica.function, replica.position)


@jit_inline
def first_idle(world: World, function: int) -> int:
    """The oldest ready replica without requests; NONE.

    All of these are in the set. Those in it that have some are taken out as they are found.
    """
    while True:
        position = lowest(world.idle, function, world.functions[function].ready)
        if position == NONE:
            return NONE
        replica = world.members[function, position]
        if work_of(world.replicas[replica]) == 0:
            return replica
        discard(world.idle, function, position)


@jit_inline
def least_loaded(world: World, function: int) -> int:
    """The ready replica with the fewest requests; of several the oldest."""
    best, least = first_idle(world, function), 0
    if best != NONE:
        return best
    for k in range(world.functions[function].ready):
        replica = world.members[function, k]
        work = work_of(world.replicas[replica])
        if best == NONE or work < least:
            best, least = replica, work
    return best


@jit_call
def nearest(world: World, function: int, index: int) -> int:
    """The ready replica nearest to where a request comes from; of several the least loaded."""
    key = world.functions[function].key
    client = client_of(world.paths, world.rules[0].origin_key, key, index)
    best, least, shortest = NONE, 0, 0.0
    for k in range(world.functions[function].ready):
        replica = world.members[function, k]
        work = work_of(world.replicas[replica])
        distance = world.paths.clients[client, world.replicas[replica].node].latency_s
        if best == NONE or distance < shortest or (distance == shortest and work < least):
            best, least, shortest = replica, work, distance
    return best


@jit_inline
def newest_free(world: World, function: int) -> int:
    """The ready replica that came last of those with a free worker; NONE if there is none."""
    workers = world.functions[function].workers
    best, newest = NONE, NONE
    for k in range(world.functions[function].ready):
        replica = world.replicas[world.members[function, k]]
        if replica.number > newest and work_of(replica) < workers:
            best, newest = world.members[function, k], replica.number
    return best


@jit_inline
def route(world: World, function: int, index: int) -> int:
    """The ready replica that takes a request. There is at least one."""
    router, ready = world.rules[0].router, world.functions[function].ready
    if router == Router.LOCALITY:
        return nearest(world, function, index)
    if router == Router.RANDOM:
        key = world.functions[function].key
        position = int(uniform(world.rules[0].router_key, key, index) * ready)
        return world.members[function, position]
    if router == Router.OWN:
        return own_route(world, world.extras, function, index)
    free = newest_free(world, function) if router == Router.NEWEST else NONE
    if free != NONE:
        return free
    if router in (Router.LEAST_LOADED, Router.NEWEST):
        return least_loaded(world, function)
    position = world.functions[function].turn % ready
    world.functions[function].turn = position + 1
    return world.members[function, position]
