"""Which replica takes a request."""

from __future__ import annotations

from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.kernel.transfers import client_of
from cloudarena.scenarios.faas.state import NONE, Record, Router, World


@inner
def work_of(replica: Record) -> int:
    """How many requests a replica has or is about to have."""
    return replica.busy + replica.queued + replica.coming


@inner
def least_loaded(world: World, function: int) -> int:
    """The ready replica with the fewest requests; of several the oldest."""
    best, least = NONE, 0
    for k in range(world.functions[function].ready):
        replica = world.members[function, k]
        work = work_of(world.replicas[replica])
        if best == NONE or work < least:
            best, least = replica, work
            if work == 0:
                break
    return best


@separate
def nearest(world: World, function: int, number: int) -> int:
    """The ready replica nearest to where a request comes from; of several the least loaded."""
    key = world.functions[function].key
    client = client_of(world.paths, world.rules[0].origin_key, key, number)
    best, least, shortest = NONE, 0, 0.0
    for k in range(world.functions[function].ready):
        replica = world.members[function, k]
        work = work_of(world.replicas[replica])
        distance = world.paths.clients[client, world.replicas[replica].node].latency_s
        if best == NONE or distance < shortest or (distance == shortest and work < least):
            best, least, shortest = replica, work, distance
    return best


@inner
def newest_free(world: World, function: int) -> int:
    """The ready replica that came last of those with a free worker; NONE if there is none."""
    workers = world.functions[function].workers
    best, newest = NONE, NONE
    for k in range(world.functions[function].ready):
        replica = world.replicas[world.members[function, k]]
        if replica.number > newest and work_of(replica) < workers:
            best, newest = world.members[function, k], replica.number
    return best


@inner
def route(world: World, function: int, number: int) -> int:
    """The ready replica that takes a request. There is at least one."""
    router, ready = world.rules[0].router, world.functions[function].ready
    if router == Router.LOCALITY:
        return nearest(world, function, number)
    if router == Router.RANDOM:
        key = world.functions[function].key
        place = int(uniform(world.rules[0].router_key, key, number) * ready)
        return world.members[function, place]
    free = newest_free(world, function) if router == Router.NEWEST else NONE
    if free != NONE:
        return free
    if router in (Router.LEAST_LOADED, Router.NEWEST):
        return least_loaded(world, function)
    place = world.functions[function].turn % ready
    world.functions[function].turn = place + 1
    return world.members[function, place]
