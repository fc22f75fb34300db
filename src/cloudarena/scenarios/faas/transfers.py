"""What moves over the network: images, data, requests and responses, as flows.

Without a topology each transfer moves by itself at the spec's bandwidth. The flows that an event
asks for join the others when it is over.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.flows import join, leave
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.names import (
    NONE,
    ON_ITS_WAY,
    PULL,
    REQUEST,
    RESPONDING,
    RESPONSE,
    SETUP,
    UPLOAD,
)
from cloudarena.scenarios.faas.state import Paths, World
from cloudarena.workloads.faas_topology import draw_latency


@inner
def ask_flow(
    world: World, purpose: int, owner: int, node: int, other: int, route: int, amount: float
) -> None:
    """Asks for a flow between a node and another point."""
    clock = world.clock[0]
    row = world.paths.asked[clock.asked]
    clock.asked += 1
    row.purpose, row.owner, row.begin = purpose, owner, clock.now
    row.node, row.other = node, other
    row.route, row.bytes = route, amount


@separate
def begin_flows(world: World) -> None:
    """The flows that an event has asked for begin."""
    clock, paths = world.clock[0], world.paths
    for k in range(clock.asked):
        asked = paths.asked[k]
        flow = join(paths.flows, asked.route, asked.bytes, clock.now)
        paths.purposes[flow] = asked
        if asked.purpose == SETUP:
            world.replicas[asked.owner].flow = flow
        elif asked.purpose != PULL:
            world.slots[asked.owner].flow = flow
    clock.asked = 0


@separate
def end_flow(world: World, flow: int) -> None:
    """Ends a flow, and records it if it has got there."""
    clock, what = world.clock[0], world.paths.purposes[flow]
    left = leave(world.paths.flows, flow, clock.now)
    if left > 0.5 or clock.moved >= len(world.records.moved):
        return
    row = world.records.moved[clock.moved]
    clock.moved += 1
    row.purpose, row.begin, row.end = what.purpose, what.begin, clock.now
    row.node, row.other, row.bytes = what.node, what.other, what.bytes
    row.outward = what.purpose == UPLOAD or what.purpose == RESPONSE
    if what.purpose == PULL:
        row.function = NONE
    elif what.purpose == SETUP:
        row.function = world.replicas[what.owner].function
    else:
        row.function = world.slots[what.owner].function


@inner
def ask_pull(world: World, number: int, variant: int) -> None:
    """Starts to pull an image that is neither on a node nor on its way there."""
    node, rules = world.nodes[number], world.rules[0]
    image = world.images[number, world.variants[variant].image]
    amount = world.fits[variant, node.device_type].image_bytes
    image.state = ON_ITS_WAY
    if rules.network:
        image.time = np.inf
        ask_flow(world, PULL, variant, number, world.paths.registry, node.pull, amount)
    else:
        image.time = world.clock[0].now + amount / rules.bandwidth


@separate
def transfer_s(
    world: World, purpose: int, owner: int, bucket: int, node: int, amount: float
) -> float:
    """Starts to move data; returns how long it takes, infinity if it is a flow that tells."""
    rules = world.rules[0]
    if amount <= 0.0:
        return 0.0
    if not rules.network:
        return amount / rules.bandwidth
    holder = world.paths.holders[bucket, node]
    route = holder.store if purpose == UPLOAD else holder.fetch
    if route == NONE:  # the node holds it itself
        return 0.0
    ask_flow(world, purpose, owner, node, holder.point, route, amount)
    return np.inf


@inner
def client_of(paths: Paths, key: np.uint64, function: int, number: int) -> int:
    """Where a request comes from."""
    return int(uniform(key, function, number) * len(paths.points))


@separate
def latency_s(world: World, number: int) -> float:
    """How long the first byte of a request, or of its response, takes."""
    slot, rules, paths = world.slots[number], world.rules[0], world.paths
    client = client_of(paths, rules.origin_key, slot.function, slot.number)
    both = paths.clients[client, slot.node]
    route, message = both.ask, (slot.function << 40) + 2 * slot.number
    if slot.state == RESPONDING:
        route, message = both.answer, message + 1
    return draw_latency(world.laws, paths.routes, route, rules.latency_key, message)


@separate
def ask_message(world: World, number: int) -> None:
    """Starts to send a request, or its response."""
    slot, paths = world.slots[number], world.paths
    client = client_of(paths, world.rules[0].origin_key, slot.function, slot.number)
    node, function = slot.node, world.functions[slot.function]
    both = paths.clients[client, node]
    purpose, route, amount = REQUEST, both.ask, function.request_bytes
    if slot.state == RESPONDING:
        purpose, route, amount = RESPONSE, both.answer, function.response_bytes
    ask_flow(world, purpose, number, node, paths.points[client], route, amount)
