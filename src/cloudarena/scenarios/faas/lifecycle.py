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
from cloudarena.scenarios.faas.energy import meter, set_power
from cloudarena.scenarios.faas.replicas import drain, enter_phase, put_on_node, stop
from cloudarena.scenarios.faas.requests import look_if_idle, serve_waiting
from cloudarena.scenarios.faas.state import (
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
    World,
)
from cloudarena.scenarios.faas.transfers import begin_data, begin_pull, end_flow


@separate
def place(world: World, function: int, node: int) -> None:
    """A replica of a function is placed on a node."""
    now = world.clock[0].now
    replica = put_on_node(world, function, node)
    world.replicas[replica].flow = NONE
    ready = now + world.rules.scheduling_s
    if world.nodes[node].state == BOOTING:
        booted = alarm_time(world.due.nodes, node)
        ready = max(ready, booted)
    if ready > now:
        set_alarm(world.due.replicas, replica, ready)
    else:
        pull(world, replica)


@separate
def pull(world: World, replica: int) -> None:
    """A replica pulls its image, waits for a pull that has begun, or goes on at once."""
    replicas, now = world.replicas, world.clock[0].now
    node, variant = replicas[replica].node, replicas[replica].variant
    image = world.variants[variant].image
    enter_phase(world, replica, PULLING)
    if world.images.state[node, image] == 0:
        begin_pull(world, node, variant)
    if world.images.state[node, image] == 1 and not world.rules.network:
        if world.images.time[node, image] > now:
            set_alarm(world.due.replicas, replica, world.images.time[node, image])
            return
        world.images.state[node, image] = 2
    if world.images.state[node, image] == 2:
        start(world, replica)


@separate
def pulled(world: World, flow: int) -> None:
    """An image has got to a node: all that waited for it there start, the oldest first."""
    paths, replicas, meters = world.paths, world.replicas, world.meters
    node, variant = paths.purposes[flow].node, paths.purposes[flow].owner
    image = world.variants[variant].image
    world.images.state[node, image] = 2
    end_flow(world, flow, NONE)
    while True:
        oldest, replica = NONE, meters[node].first_replica
        while replica != NONE:
            waits = replicas[replica].state == PULLING
            if waits and world.variants[replicas[replica].variant].image == image:
                oldest = replica  # the newest stand first in the list
            replica = replicas[replica].next
        if oldest == NONE:
            return
        start(world, oldest)


@separate
def start(world: World, replica: int) -> None:
    """A replica starts."""
    seconds = world.functions[world.replicas[replica].function].start_s
    enter_phase(world, replica, STARTING)
    if seconds > 0.0:
        set_alarm(world.due.replicas, replica, world.clock[0].now + seconds)
    else:
        set_up(world, replica)


@separate
def set_up(world: World, replica: int) -> None:
    """A replica fetches the data that it needs first."""
    replicas, variant = world.replicas, world.replicas[replica].variant
    enter_phase(world, replica, SETTING_UP)
    bucket = world.functions[replicas[replica].function].bucket
    node, amount = replicas[replica].node, world.variants[variant].setup_bytes
    replicas[replica].flow, seconds = begin_data(world, SETUP, replica, bucket, node, amount)
    if replicas[replica].flow == NONE:
        has_data(world, replica, seconds)


@separate
def has_data(world: World, replica: int, more_s: float) -> None:
    """A replica sets itself up for a time, and then is ready."""
    seconds = more_s + world.functions[world.replicas[replica].function].setup_s
    if seconds > 0.0:
        set_alarm(world.due.replicas, replica, world.clock[0].now + seconds)
    else:
        make_ready(world, replica)


@separate
def make_ready(world: World, replica: int) -> None:
    """A replica takes requests from now on, those that waited for one first."""
    functions, replicas = world.functions, world.replicas
    function = replicas[replica].function
    enter_phase(world, replica, RUNNING)
    replicas[replica].ready_s = world.clock[0].now
    world.members[function, functions[function].ready] = replica
    functions[function].ready += 1
    serve_waiting(world, replica)
    look_if_idle(world, replica)


@separate
def fetched(world: World, flow: int) -> None:
    """The data that a replica needs first has come."""
    replica = world.paths.purposes[flow].owner
    end_flow(world, flow, world.replicas[replica].function)
    world.replicas[replica].flow = NONE
    has_data(world, replica, 0.0)


@separate
def alarm_of_replica(world: World, replica: int) -> None:
    """The phase of a replica is over, or it has been idle for too long."""
    replicas, state = world.replicas, world.replicas[replica].state
    set_alarm(world.due.replicas, replica, np.inf)
    if state == SCHEDULED:
        pull(world, replica)
    elif state == PULLING:
        image = world.variants[replicas[replica].variant].image
        world.images.state[replicas[replica].node, image] = 2
        start(world, replica)
    elif state == STARTING:
        set_up(world, replica)
    elif state == SETTING_UP:
        make_ready(world, replica)
    elif state == RUNNING:
        function = replicas[replica].function
        stop(world, replica)
        world.functions[function].wanted = world.functions[function].placed


@separate
def remove_replica(world: World, replica: int) -> None:
    """Drains a replica; what it was still fetching is given up."""
    flow = world.replicas[replica].flow
    if flow != NONE:
        leave(world.paths.flows, flow, world.clock[0].now)
        world.replicas[replica].flow = NONE
    drain(world, replica)


@separate
def alarm_of_node(world: World, node: int) -> None:
    """A node has booted, or is switched off."""
    nodes = world.nodes
    set_alarm(world.due.nodes, node, np.inf)
    meter(world, node)
    if nodes[node].state == BOOTING:
        nodes[node].state = ON
        if nodes[node].replicas == 0:
            off = world.clock[0].now + world.rules.off_after_s
            set_alarm(world.due.nodes, node, off)
    else:
        nodes[node].state = OFF
    set_power(world, node)
