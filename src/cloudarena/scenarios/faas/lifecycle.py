"""The life of a replica: scheduled, pulling, starting, setting up, running.

Scheduled until the scheduler's delay has passed and its node has booted; pulling until its image is
on the node (once for a node: replicas that want the same image wait for the same pull); starting
for the function's ``start_s``; setting up until the data that it needs first, such as a model, has
come and ``setup_s`` has passed; then it takes requests.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import alarm_time, set_alarm
from cloudarena.engine.compiled import separate
from cloudarena.engine.flows import leave
from cloudarena.scenarios.faas.energy import meter, set_base_power
from cloudarena.scenarios.faas.names import (
    BOOTING,
    NONE,
    OFF,
    ON,
    PULLING,
    RUNNING,
    SCHEDULED,
    SETTING_UP,
    SETUP,
    STARTING,
)
from cloudarena.scenarios.faas.replicas import drain, enter_phase, put_on_node, stop
from cloudarena.scenarios.faas.requests import look_for_work
from cloudarena.scenarios.faas.state import World
from cloudarena.scenarios.faas.transfers import begin_data, begin_pull, end_flow


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
        pull(world, replica)


@separate
def pull(world: World, number: int) -> None:
    """A replica pulls its image, waits for a pull that has begun, or goes on at once."""
    replica = world.replicas[number]
    image = world.images[replica.node, world.variants[replica.variant].image]
    enter_phase(world, replica, PULLING)
    if image.state == 0:
        begin_pull(world, replica.node, replica.variant)
    if image.state == 1 and not world.rules[0].network:
        if image.time > world.clock[0].now:
            set_alarm(world.due.replicas, number, image.time)
            return
        image.state = 2
    if image.state == 2:
        start(world, number)


@separate
def pulled(world: World, flow: int) -> None:
    """An image has got to a node: all that waited for it there start, the oldest first."""
    node, variant = world.paths.purposes[flow].node, world.paths.purposes[flow].owner
    image = world.variants[variant].image
    world.images[node, image].state = 2
    end_flow(world, flow, NONE)
    while True:
        oldest, number = NONE, world.nodes[node].first_replica
        while number != NONE:
            replica = world.replicas[number]
            if replica.state == PULLING and world.variants[replica.variant].image == image:
                oldest = number  # the newest stand first in the list
            number = replica.next
        if oldest == NONE:
            return
        start(world, oldest)


@separate
def start(world: World, number: int) -> None:
    """A replica starts."""
    replica = world.replicas[number]
    seconds = world.functions[replica.function].start_s
    enter_phase(world, replica, STARTING)
    if seconds > 0.0:
        set_alarm(world.due.replicas, number, world.clock[0].now + seconds)
    else:
        set_up(world, number)


@separate
def set_up(world: World, number: int) -> None:
    """A replica fetches the data that it needs first."""
    replica, now = world.replicas[number], world.clock[0].now
    enter_phase(world, replica, SETTING_UP)
    bucket = world.functions[replica.function].bucket
    amount = world.variants[replica.variant].setup_bytes
    replica.flow, seconds = begin_data(
        world.paths, world.rules[0], now, SETUP, number, bucket, replica.node, amount
    )
    if replica.flow == NONE:
        has_data(world, number, seconds)


@separate
def has_data(world: World, number: int, more_s: float) -> None:
    """A replica sets itself up for a time, and then is ready."""
    seconds = more_s + world.functions[world.replicas[number].function].setup_s
    if seconds > 0.0:
        set_alarm(world.due.replicas, number, world.clock[0].now + seconds)
    else:
        make_ready(world, number)


@separate
def make_ready(world: World, number: int) -> None:
    """A replica takes requests from now on, those that waited for one first."""
    replica = world.replicas[number]
    function = world.functions[replica.function]
    enter_phase(world, replica, RUNNING)
    replica.ready_s = world.clock[0].now
    world.members[replica.function, function.ready] = number
    function.ready += 1
    look_for_work(world, number)


@separate
def fetched(world: World, flow: int) -> None:
    """The data that a replica needs first has come."""
    number = world.paths.purposes[flow].owner
    end_flow(world, flow, world.replicas[number].function)
    world.replicas[number].flow = NONE
    has_data(world, number, 0.0)


@separate
def alarm_of_replica(world: World, number: int) -> None:
    """The phase of a replica is over, or it has been idle for too long."""
    replica = world.replicas[number]
    set_alarm(world.due.replicas, number, np.inf)
    if replica.state == SCHEDULED:
        pull(world, number)
    elif replica.state == PULLING:
        world.images[replica.node, world.variants[replica.variant].image].state = 2
        start(world, number)
    elif replica.state == STARTING:
        set_up(world, number)
    elif replica.state == SETTING_UP:
        make_ready(world, number)
    elif replica.state == RUNNING:
        function = world.functions[replica.function]
        stop(world, number)
        function.wanted = function.placed


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
