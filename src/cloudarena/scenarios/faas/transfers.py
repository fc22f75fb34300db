"""What moves over the network: images, data, requests and responses, as flows.

Without a topology each transfer moves by itself at the spec's bandwidth.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.flows import join, leave
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.names import NONE, PULL, REQUEST, RESPONSE, UPLOAD
from cloudarena.scenarios.faas.state import Paths, Record, World
from cloudarena.workloads.faas_topology import draw_latency


@separate
def begin_flow(
    paths: Paths,
    now: float,
    purpose: int,
    owner: int,
    node: int,
    other: int,
    route: int,
    amount: float,
) -> int:
    """Starts a flow between a node and another point; returns its slot."""
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
    row.purpose, row.begin, row.end = what.purpose, what.begin, clock.now
    row.node, row.other = what.node, what.other
    row.outward = what.purpose == UPLOAD or what.purpose == RESPONSE
    row.bytes, row.function = amount, function


@separate
def begin_pull(world: World, which: int, variant: int) -> None:
    """Starts to pull an image that is neither on a node nor on its way there."""
    node, now = world.nodes[which], world.clock[0].now
    image = world.images[which, world.variants[variant].image]
    amount = world.fits[variant, node.device_type].image_bytes
    image.state = 1
    if world.rules[0].network:
        registry = world.paths.registry
        begin_flow(world.paths, now, PULL, variant, which, registry, node.pull, amount)
    else:
        image.time = now + amount / world.rules[0].bandwidth


@separate
def begin_data(
    paths: Paths,
    rules: Record,
    now: float,
    purpose: int,
    owner: int,
    bucket: int,
    node: int,
    amount: float,
) -> tuple[int, float]:
    """Starts to move data; returns its flow, or NONE, and the time it takes without a flow."""
    if amount <= 0.0:
        return NONE, 0.0
    if not rules.network:
        return NONE, amount / rules.bandwidth
    holder = paths.holders[bucket, node]
    route = holder.store if purpose == UPLOAD else holder.fetch
    if route == NONE:  # the node holds it itself
        return NONE, 0.0
    return begin_flow(paths, now, purpose, owner, node, holder.point, route, amount), np.inf


@inner
def client_of(paths: Paths, key: np.uint64, function: int, number: int) -> int:
    """Where a request comes from."""
    return int(uniform(key, function, number) * len(paths.points))


@inner
def message_route(paths: Paths, client: int, node: int, purpose: int) -> int:
    """The route of a request or a response."""
    both = paths.clients[client, node]
    return both.ask if purpose == REQUEST else both.answer


@separate
def latency_s(world: World, number: int, purpose: int) -> float:
    """How long the first byte of a request or a response takes."""
    slot, rules, paths = world.slots[number], world.rules[0], world.paths
    client = client_of(paths, rules.origin_key, slot.function, slot.number)
    route = message_route(paths, client, world.replicas[slot.replica].node, purpose)
    message = (slot.function << 40) + 2 * slot.number + (purpose - REQUEST)
    return draw_latency(world.laws, paths.routes, route, rules.latency_key, message)


@separate
def begin_message(world: World, purpose: int, number: int, amount: float) -> int:
    """Starts to send a request or a response; returns its flow."""
    slot, paths = world.slots[number], world.paths
    client = client_of(paths, world.rules[0].origin_key, slot.function, slot.number)
    node, point = world.replicas[slot.replica].node, paths.points[client]
    route = message_route(paths, client, node, purpose)
    return begin_flow(paths, world.clock[0].now, purpose, number, node, point, route, amount)
