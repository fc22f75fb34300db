"""What moves over the network: images, data, requests and responses, as flows.

Without a topology each transfer moves by itself at the spec's bandwidth.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import separate
from cloudarena.engine.flows import join, leave
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.state import (
    NONE,
    PULL,
    REQUEST,
    RESPONSE,
    UPLOAD,
    World,
)
from cloudarena.workloads.faas_topology import draw_latency


@separate
def begin_flow(
    world: World, purpose: int, owner: int, node: int, other: int, route: int, amount: float
) -> int:
    """Starts a flow between a node and another point; returns its slot."""
    paths, now = world.paths, world.clock[0].now
    flow = join(paths.flows, route, amount, now)
    row = paths.purposes[flow]
    row.purpose, row.owner, row.begin = purpose, owner, now
    row.node, row.other = node, other
    return flow


@separate
def end_flow(world: World, flow: int, function: int) -> None:
    """Ends a flow, and records it if it has got there."""
    paths, records, clock = world.paths, world.records, world.clock[0]
    amount = paths.flows.slots[flow].bytes
    left = leave(paths.flows, flow, clock.now)
    if left > 0.5 or clock.moved >= len(records.moved):
        return
    row = records.moved[clock.moved]
    clock.moved += 1
    what = paths.purposes[flow]
    outward = what.purpose == UPLOAD or what.purpose == RESPONSE
    row.purpose, row.begin, row.end = what.purpose, what.begin, clock.now
    row.node, row.other, row.outward = what.node, what.other, outward
    row.bytes, row.function = amount, function


@separate
def begin_pull(world: World, node: int, variant: int) -> None:
    """Starts to pull an image that is neither on a node nor on its way there."""
    image = world.variants[variant].image
    amount = world.fits.image_bytes[variant, world.nodes[node].device_type]
    world.images.state[node, image] = 1
    if not world.rules.network:
        world.images.time[node, image] = world.clock[0].now + amount / world.rules.bandwidth
        return
    route = world.meters[node].pull
    begin_flow(world, PULL, variant, node, world.paths.registry, route, amount)


@separate
def data_route(world: World, purpose: int, bucket: int, node: int) -> int:
    """The route between a node and the nearest holder of a bucket; NONE if the node is one."""
    if purpose == UPLOAD:
        return world.paths.holders[bucket, node].store
    return world.paths.holders[bucket, node].fetch


@separate
def begin_data(
    world: World, purpose: int, owner: int, bucket: int, node: int, amount: float
) -> tuple[int, float]:
    """Starts to move data; returns its flow, or NONE, and the time it takes without a flow."""
    if amount <= 0.0:
        return NONE, 0.0
    if not world.rules.network:
        return NONE, amount / world.rules.bandwidth
    route = data_route(world, purpose, bucket, node)
    if route == NONE:
        return NONE, 0.0
    holder = world.paths.holders[bucket, node].point
    return begin_flow(world, purpose, owner, node, holder, route, amount), np.inf


@separate
def client_of(world: World, function: int, number: int) -> int:
    """Where a request comes from."""
    clients = len(world.paths.points)
    return int(uniform(world.rules.origin_key, function, number) * clients)


@separate
def message_route(world: World, slot: int, purpose: int) -> int:
    """The route of a request or a response."""
    slots, paths = world.slots, world.paths
    client = client_of(world, slots[slot].function, slots[slot].number)
    node = world.replicas[slots[slot].replica].node
    both = paths.clients[client, node]
    return both.ask if purpose == REQUEST else both.answer


@separate
def latency_s(world: World, slot: int, purpose: int) -> float:
    """How long the first byte of a request or a response takes."""
    slots = world.slots
    message = (slots[slot].function << 40) + 2 * slots[slot].number + (purpose - REQUEST)
    route = message_route(world, slot, purpose)
    return draw_latency(
        world.fits.laws, world.paths.routes, route, world.rules.latency_key, message
    )


@separate
def begin_message(world: World, purpose: int, slot: int, amount: float) -> int:
    """Starts to send a request or a response; returns its flow."""
    slots = world.slots
    client = client_of(world, slots[slot].function, slots[slot].number)
    node = world.replicas[slots[slot].replica].node
    route, point = message_route(world, slot, purpose), world.paths.points[client]
    return begin_flow(world, purpose, slot, node, point, route, amount)
