"""The life of a replica: scheduled, pulling, starting, setting up, running.

Scheduled until the scheduler's delay has passed and its node has booted; pulling until its image is
on the node (once for a node: replicas that want the same image wait for the same pull); starting
for the function's ``start_s``; setting up until the data that it needs first, such as a model, has
come and ``setup_s`` has passed; then it takes requests.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import alarm_time, set_alarm
from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.flows import leave
from cloudarena.scenarios.faas.energy import meter, set_base_power
from cloudarena.scenarios.faas.names import (
    ABSENT,
    BOOTING,
    NONE,
    OFF,
    ON,
    ON_ITS_WAY,
    PULLING,
    RUNNING,
    SCHEDULED,
    SETTING_UP,
    SETUP,
    STARTING,
    THERE,
)
from cloudarena.scenarios.faas.replicas import drain, put_on_node, record_phase, stop
from cloudarena.scenarios.faas.requests import look_for_work
from cloudarena.scenarios.faas.state import Record, World
from cloudarena.scenarios.faas.transfers import ask_pull, transfer_s


@separate
def place(world: World, function: int, node: int) -> None:
    """A replica of a function is placed on a node."""
    now = world.clock[0].now
    replica = put_on_node(world, function, node)
    ready = now + world.rules[0].scheduling_s
    if world.nodes[node].state == BOOTING:
        ready = max(ready, alarm_time(world.due.nodes, node))
    if ready > now:
        set_alarm(world.due.replicas, replica, ready)
    else:
        end_phase(world, replica)


@separate
def end_phase(world: World, number: int) -> None:
    """The phase of a replica is over; it goes on to the first one that takes time, or is ready."""
    replica, now = world.replicas[number], world.clock[0].now
    function = world.functions[replica.function]
    until = now
    if replica.state == SCHEDULED:
        replica.state = PULLING
        record_phase(world, replica)
        until = pull(world, replica)
    if replica.state == PULLING and until <= now:
        world.images[replica.node, world.variants[replica.variant].image].state = THERE
        replica.state = STARTING
        record_phase(world, replica)
        until = now + function.start_s
    if replica.state == STARTING and until <= now:
        replica.state = SETTING_UP
        record_phase(world, replica)
        amount = world.variants[replica.variant].setup_bytes
        until = now + (
            transfer_s(world, SETUP, number, function.bucket, replica.node, amount)
            + function.setup_s
        )
    if replica.state == SETTING_UP and until <= now:
        replica.state = RUNNING
        record_phase(world, replica)
        replica.ready_s = now
        world.members[replica.function, function.ready] = number
        function.ready += 1
        look_for_work(world, number)
    else:
        set_alarm(world.due.replicas, number, until)


@inner
def pull(world: World, replica: Record) -> float:
    """A replica pulls its image, or waits for a pull that has begun; returns until when.

    Infinity with a network: then all that wait for the image go on when its flow has got there.
    """
    image = world.images[replica.node, world.variants[replica.variant].image]
    if image.state == ABSENT:
        ask_pull(world, replica.node, replica.variant)
    if image.state == ON_ITS_WAY:
        return image.time
    return world.clock[0].now


@separate
def pulled(world: World, node: int, variant: int) -> None:
    """An image has got to a node: all that waited for it there start, the oldest first."""
    image = world.variants[variant].image
    world.images[node, image].state = THERE
    while True:
        oldest, number = NONE, world.nodes[node].first_replica
        while number != NONE:
            replica = world.replicas[number]
            if replica.state == PULLING and world.variants[replica.variant].image == image:
                oldest = number  # the newest stand first in the list
            number = replica.next
        if oldest == NONE:
            return
        end_phase(world, oldest)


@separate
def fetched(world: World, number: int) -> None:
    """The data that a replica needs first has come."""
    replica = world.replicas[number]
    replica.flow = NONE
    seconds = world.functions[replica.function].setup_s
    if seconds > 0.0:
        set_alarm(world.due.replicas, number, world.clock[0].now + seconds)
    else:
        end_phase(world, number)


@separate
def alarm_of_replica(world: World, number: int) -> None:
    """The phase of a replica is over, or it has been idle for too long."""
    replica = world.replicas[number]
    set_alarm(world.due.replicas, number, np.inf)
    if replica.state == RUNNING:
        stop(world, number)
        function = world.functions[replica.function]
        function.wanted = function.placed
    else:
        end_phase(world, number)


@separate
def remove_replica(world: World, number: int) -> None:
    """Drains a replica; what it was still fetching is given up."""
    replica = world.replicas[number]
    if replica.flow != NONE:
        leave(world.paths.flows, replica.flow, world.clock[0].now)
        replica.flow = NONE
    drain(world, number)


@separate
def alarm_of_node(world: World, number: int) -> None:
    """A node has booted, or is switched off."""
    node, clock = world.nodes[number], world.clock[0]
    set_alarm(world.due.nodes, number, np.inf)
    meter(node, clock)
    if node.state == BOOTING:
        node.state = ON
        if node.replicas == 0:
            set_alarm(world.due.nodes, number, clock.now + world.rules[0].off_after_s)
    else:
        node.state = OFF
    set_base_power(node)
