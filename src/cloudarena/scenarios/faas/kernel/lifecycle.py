"""The life of a replica: scheduled, pulling, starting, setting up, running.

Scheduled until the scheduler's delay has passed and its node has booted; pulling until its image is
on the node (once for a node: replicas that want the same image wait for the same pull); starting
for the function's ``start_s``, or a time by the distribution of the device; setting up until the
data that it needs first, such as a model, has come and ``setup_s`` has passed; then it takes
requests. While it starts and is set up it claims CPU, and so does a pull, for the first of those
that wait for it.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.hashing import uniform
from cloudarena.engine.indexed_heap import set_time, time_of
from cloudarena.engine.variates import draw
from cloudarena.scenarios.faas.kernel.energy import meter, meter_base, set_base_power
from cloudarena.scenarios.faas.kernel.execution import claim_start
from cloudarena.scenarios.faas.kernel.own import lasts_s
from cloudarena.scenarios.faas.kernel.replicas import drain, put_on_node, record_phase, stop
from cloudarena.scenarios.faas.kernel.requests import find_work
from cloudarena.scenarios.faas.kernel.routing import note_idle
from cloudarena.scenarios.faas.kernel.transfers import (
    ask_pull,
    end_flow,
    end_pull,
    end_transfer,
    transfer_s,
)
from cloudarena.scenarios.faas.state import (
    NONE,
    Hook,
    ImageState,
    NodeState,
    Phase,
    Record,
    Transfer,
    World,
)


@jit_call
def place(world: World, function: int, node: int) -> None:
    """A replica of a function is placed on a node."""
    now = world.clock[0].now
    replica = put_on_node(world, function, node)
    ready = now + world.rules[0].scheduling_s
    if world.nodes[node].state == NodeState.BOOTING:
        ready = max(ready, time_of(world.due.nodes, node))
    if ready > now:
        set_time(world.due.replicas, replica, ready)
    else:
        end_phase(world, replica)


@jit_call
def end_phase(world: World, index: int) -> None:
    """The phase of a replica is over; it goes on to the first one that takes time, or is ready."""
    replica, now = world.replicas[index], world.clock[0].now
    function = world.functions[replica.function]
    until = now
    if replica.state == Phase.SCHEDULED:
        replica.state = Phase.PULLING
        record_phase(world, replica)
        until = pull(world, replica)
    if replica.state == Phase.PULLING and until <= now:
        end_pull(world, replica.node, world.variants[replica.variant].image, True)
        replica.state, replica.pulls = Phase.STARTING, False
        record_phase(world, replica)
        until = now + start_s(world, replica)
    if replica.state == Phase.STARTING and until <= now:
        replica.state = Phase.SETTING_UP
        record_phase(world, replica)
        until = set_up(world, index)
    if replica.state == Phase.SETTING_UP and until <= now:
        replica.state = Phase.RUNNING
        record_phase(world, replica)
        claim_start(world, replica, 0)
        replica.ready_s = replica.idle_s = now
        world.members[replica.function, function.ready] = index
        replica.position = function.ready
        function.ready += 1
        note_idle(world, replica)
        find_work(world, index)
    else:
        claim_start(world, replica, cold_claim(world, replica))
        set_time(world.due.replicas, index, until)


@jit_inline
def cold_claim(world: World, replica: Record) -> int:
    """The CPU that a replica claims in its phase, in millionths."""
    claims = world.fits[replica.variant, world.nodes[replica.node].device_type].cold_claim
    if replica.state == Phase.PULLING:
        return claims[0] if replica.pulls else 0
    return claims[1] if replica.state == Phase.STARTING else claims[2]


@jit_inline
def start_s(world: World, replica: Record) -> float:
    """How long the container of a replica takes to start.

    By the order of replicas of its function and the device alone, so policies draw the same.
    """
    function = world.functions[replica.function]
    seconds = function.start_s
    if np.isnan(seconds):
        device = world.nodes[replica.node].device_type
        distribution = world.fits[replica.variant, device].start_distribution
        share = uniform(world.rules[0].start_key, function.key, replica.order)
        seconds = draw(world.distributions, distribution, share)
    return lasts_s(world, world.extras, Hook.START, replica, seconds)


@jit_call
def setup_s(world: World, replica: Record) -> float:
    """How long a replica that has its data takes to be ready, drawn as its start is."""
    function = world.functions[replica.function]
    fit = world.fits[replica.variant, world.nodes[replica.node].device_type]
    seconds = function.setup_s
    if fit.setup_distribution != NONE:
        share = uniform(world.rules[0].setup_key, function.key, replica.order)
        seconds = draw(world.distributions, fit.setup_distribution, share)
    return lasts_s(world, world.extras, Hook.SETUP, replica, seconds)


@jit_inline
def set_up(world: World, index: int) -> float:
    """A replica begins to fetch what it needs first, or is set up at once; returns until when.

    Infinity with a network: then it goes on when its flow has got there.
    """
    replica, now = world.replicas[index], world.clock[0].now
    amount = world.variants[replica.variant].setup_bytes
    seconds = transfer_s(world, Transfer.SETUP, index, replica.function, replica.node, amount)
    if seconds == 0.0:
        return now + setup_s(world, replica)
    replica.fetching, replica.fetching_s = seconds < np.inf, now
    return now + seconds


@jit_inline
def pull(world: World, replica: Record) -> float:
    """A replica pulls its image, or waits for a pull that has begun; returns until when.

    Infinity with a network: then all that wait for the image go on when its flow has got there.
    """
    image = world.images[replica.node, world.variants[replica.variant].image]
    if image.state == ImageState.ABSENT:
        ask_pull(world, replica.node, replica.variant, replica.function)
        replica.pulls = True
    if image.state == ImageState.ON_ITS_WAY:
        return image.time
    return world.clock[0].now


@jit_call
def image_pulled(world: World, node: int, variant: int) -> None:
    """An image has got to a node: all that waited for it there start, the oldest first."""
    image = world.variants[variant].image
    end_pull(world, node, image, True)
    while True:
        oldest = first_waiting(world, node, image, NONE)
        if oldest == NONE:
            return
        end_phase(world, oldest)


@jit_call
def first_waiting(world: World, node: int, image: int, but: int) -> int:
    """The oldest replica on a node, but for one, that waits for an image; NONE."""
    oldest, index = NONE, world.nodes[node].first_replica
    while index != NONE:
        replica = world.replicas[index]
        waits = replica.state == Phase.PULLING and world.variants[replica.variant].image == image
        if waits and index != but:
            oldest = index  # the newest stand first in the list
        index = replica.next
    return oldest


@jit_call
def setup_fetched(world: World, index: int) -> None:
    """The data that a replica needs first has come."""
    replica = world.replicas[index]
    replica.flow, replica.fetching = NONE, False
    seconds = setup_s(world, replica)
    if seconds > 0.0:
        set_time(world.due.replicas, index, world.clock[0].now + seconds)
    else:
        end_phase(world, index)


@jit_call
def replica_due(world: World, index: int) -> None:
    """The phase of a replica is over, or it has been idle for too long."""
    replica = world.replicas[index]
    set_time(world.due.replicas, index, np.inf)
    if replica.state == Phase.RUNNING:
        expire(world, index)
    elif replica.fetching:
        end_transfer(world, replica.node, replica.function, replica.fetching_s)
        setup_fetched(world, index)
    else:
        end_phase(world, index)


@jit_inline
def expire(world: World, index: int) -> None:
    """A replica that has been idle for too long ends, unless its function has the fewest."""
    function = world.functions[world.replicas[index].function]
    if function.placed > function.floor:
        stop(world, index)
        function.wanted = function.placed


@jit_call
def remove_replica(world: World, index: int) -> None:
    """Drains a replica; what it was still fetching is given up."""
    replica = world.replicas[index]
    if replica.flow != NONE:
        end_flow(world, replica.flow)
        replica.flow = NONE
    if replica.fetching:
        end_transfer(world, replica.node, replica.function, replica.fetching_s)
        replica.fetching = False
    if replica.pulls:
        hand_over_pull(world, index)
    drain(world, index)


@jit_call
def hand_over_pull(world: World, index: int) -> None:
    """The pull of a replica that ends goes on for the oldest that waits for it, or is given up."""
    replica = world.replicas[index]
    image = world.variants[replica.variant].image
    replica.pulls = False
    heir = first_waiting(world, replica.node, image, index)
    if heir == NONE:
        end_pull(world, replica.node, image, False)
    else:
        claim_start(world, replica, 0)
        world.replicas[heir].pulls = True
        claim_start(world, world.replicas[heir], cold_claim(world, world.replicas[heir]))


@jit_call
def node_due(world: World, index: int) -> None:
    """A node has booted, or is switched off."""
    node, clock = world.nodes[index], world.clock[0]
    set_time(world.due.nodes, index, np.inf)
    meter(node, clock)
    meter_base(node, clock)
    if node.state == NodeState.BOOTING:
        node.state = NodeState.ON
        if node.replicas == 0:
            set_time(world.due.nodes, index, clock.now + world.rules[0].off_after_s)
    else:
        node.state = NodeState.OFF
    set_base_power(node)
