"""What moves over the network: images, data, requests and responses, as flows.

Without a topology each transfer moves by itself at the spec's bandwidth. The flows that an event
asks for join the others when it is over. What moves draws at the interfaces of the nodes at both
ends, and the function that it moves for pays for it.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline, jit_inline_entry
from cloudarena.engine.hashing import scramble, uniform
from cloudarena.engine.max_min import join, leave, left_of
from cloudarena.scenarios.faas.kernel.energy import meter_transfers, pass_time
from cloudarena.scenarios.faas.state import (
    NONE,
    ImageState,
    Paths,
    Record,
    RequestState,
    Transfer,
    World,
)
from cloudarena.workloads.faas.topology import draw_latency


@jit_inline
def ask_flow(
    world: World,
    purpose: int,
    owner: int,
    function: int,
    node: int,
    other: int,
    route: int,
    amount: float,
) -> None:
    """Asks for a flow between a node and another point."""
    clock = world.clock[0]
    row = world.paths.asked[clock.asked]
    clock.asked += 1
    row.purpose, row.owner, row.function = purpose, owner, function
    row.begin, row.node, row.other = clock.now, node, other
    row.route, row.bytes, row.metered = route, amount, 0.0


@jit_call
def begin_flows(world: World) -> None:
    """The flows that an event has asked for begin."""
    clock, paths = world.clock[0], world.paths
    for k in range(clock.asked):
        asked = paths.asked[k]
        flow = join(paths.flows, asked.route, asked.bytes, clock.now)
        paths.purposes[flow] = asked
        if asked.purpose == Transfer.SETUP:
            world.replicas[asked.owner].flow = flow
        elif asked.purpose == Transfer.PULL:
            world.images[asked.node, world.variants[asked.owner].image].flow = flow
        else:
            world.slots[asked.owner].flow = flow
    clock.asked = 0


@jit_inline
def count_bytes(world: World, what: Record, moved: float) -> None:
    """Adds the energy of the bytes that a flow has moved since they were counted last."""
    amount, row = moved - what.metered, world.carbon[world.clock[0].carbon_row]
    what.metered = moved
    if what.node == what.other:
        return  # nothing crosses an interface
    for k in range(2):
        end = what.node if k == 0 else what.other
        if end < len(world.nodes):
            node = world.nodes[end]
            energy = amount * node.byte_j
            node.energy_j += energy
            node.network_j += energy
            node.carbon_g += energy * row.g_per_j[node.grid]
            world.functions[what.function].network_j += energy


@jit_call
def count_flows(world: World) -> None:
    """Adds the energy of what all flows have moved until now."""
    paths, now = world.paths, world.clock[0].now
    for flow in range(len(paths.purposes)):
        if paths.flows.slots[flow].route != NONE:
            what = paths.purposes[flow]
            count_bytes(world, what, what.bytes - left_of(paths.flows, flow, now))


@jit_call
def change_carbon(world: World) -> None:
    """The grid's intensity changes: what flows have moved until now counts with the one before."""
    clock, carbon = world.clock[0], world.carbon
    clock.now = clock.next_carbon
    count_flows(world)
    pass_time(clock, carbon, clock.next_carbon)
    row = clock.carbon_row + 1
    clock.next_carbon = carbon[row].begin if row < len(carbon) else np.inf


@jit_call
def begin_transfer(world: World, index: int) -> None:
    """Begins a transfer to or from a node, without a topology."""
    node = world.nodes[index]
    meter_transfers(node, world.clock[0])
    node.transfers += 1


@jit_call
def end_transfer(world: World, index: int, function: int, since: float) -> None:
    """Ends a transfer for a function, or gives it up, without a topology."""
    node, clock = world.nodes[index], world.clock[0]
    meter_transfers(node, clock)
    node.transfers -= 1
    world.functions[function].network_j += (clock.now - since) * node.transfer_w


@jit_call
def end_flow(world: World, flow: int) -> None:
    """Ends a flow, and records it if it has got there."""
    clock, what = world.clock[0], world.paths.purposes[flow]
    left = leave(world.paths.flows, flow, clock.now)
    count_bytes(world, what, what.bytes - left)
    if left > 0.5 or clock.moved >= len(world.records.moved):
        return
    row = world.records.moved[clock.moved]
    clock.moved += 1
    row.purpose, row.begin, row.end = what.purpose, what.begin, clock.now
    row.node, row.other, row.bytes = what.node, what.other, what.bytes
    row.outward = what.purpose == Transfer.UPLOAD or what.purpose == Transfer.RESPONSE
    row.function = NONE if what.purpose == Transfer.PULL else what.function


@jit_inline
def ask_pull(world: World, index: int, variant: int, function: int) -> None:
    """Starts to pull an image that is neither on a node nor on its way there."""
    node, rules, now = world.nodes[index], world.rules[0], world.clock[0].now
    image = world.images[index, world.variants[variant].image]
    amount = world.fits[variant, node.device_type].image_bytes
    image.state, image.since, image.function = ImageState.ON_ITS_WAY, now, function
    if rules.network:
        image.time, registry = np.inf, world.paths.registry
        ask_flow(world, Transfer.PULL, variant, function, index, registry, node.pull, amount)
    else:
        image.time = now + amount / rules.bandwidth
        begin_transfer(world, index)


@jit_call
def end_pull(world: World, index: int, which: int, is_there: bool) -> None:
    """An image has got to a node, or nobody waits for it any more and its pull is given up."""
    image = world.images[index, which]
    if image.state == ImageState.ON_ITS_WAY:
        image.state = ImageState.THERE if is_there else ImageState.ABSENT
        if not world.rules[0].network:
            end_transfer(world, index, image.function, image.since)
        elif not is_there:
            end_flow(world, image.flow)


@jit_call
def transfer_s(
    world: World, purpose: int, owner: int, function: int, node: int, amount: float
) -> float:
    """Starts to move data; returns how long it takes, infinity if it is a flow that tells."""
    rules = world.rules[0]
    if amount <= 0.0:
        return 0.0
    if not rules.network:
        begin_transfer(world, node)
        return amount / rules.bandwidth
    holder = world.paths.holders[world.functions[function].bucket, node]
    route = holder.store if purpose == Transfer.UPLOAD else holder.fetch
    if route == NONE:  # the node holds it itself
        return 0.0
    ask_flow(world, purpose, owner, function, node, holder.point, route, amount)
    return np.inf


@jit_inline
def client_of(paths: Paths, key: np.uint64, function: int, index: int) -> int:
    """Where a request comes from; ``function`` is the key of its name."""
    return int(uniform(key, function, index) * len(paths.points))


@jit_inline_entry
def latency_key(key: np.uint64, function: int) -> np.uint64:
    """The key of the latencies of a function's messages; ``function`` is the key of its name."""
    return scramble(key + np.uint64(function))


@jit_call
def latency_s(world: World, index: int) -> float:
    """How long the first byte of a request, or of its response, takes."""
    slot, rules, paths = world.slots[index], world.rules[0], world.paths
    name = world.functions[slot.function].key
    client = client_of(paths, rules.origin_key, name, slot.number)
    both = paths.clients[client, slot.node]
    route, message = both.ask, 2 * slot.number
    if slot.state == RequestState.RESPONDING:
        route, message = both.answer, message + 1
    key = latency_key(rules.latency_key, name)
    return draw_latency(world.distributions, paths.routes, route, key, message)


@jit_call
def ask_message(world: World, index: int) -> None:
    """Starts to send a request, or its response."""
    slot, paths = world.slots[index], world.paths
    node, function = slot.node, world.functions[slot.function]
    client = client_of(paths, world.rules[0].origin_key, function.key, slot.number)
    both = paths.clients[client, node]
    purpose, route, amount = Transfer.REQUEST, both.ask, function.request_bytes
    if slot.state == RequestState.RESPONDING:
        purpose, route, amount = Transfer.RESPONSE, both.answer, function.response_bytes
    point = paths.points[client]
    ask_flow(world, purpose, index, slot.function, node, point, route, amount)
