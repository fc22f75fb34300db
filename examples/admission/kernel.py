"""How time moves in the queue: compiled functions on arrays.

Customers are served one after the other, in the order in which they were accepted. When one comes
at the very moment at which another leaves, the other has left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from admission.state import Arrival, NotAllowed, Outcome, World
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.recorder import append, is_full
from cloudarena.engine.status import DECIDE, ENDED, FULL


@jit_inline
def move_to(world: World, time: float) -> None:
    """Lets customers leave up to a time, and counts how long all have stayed."""
    clock = world.clock[0]
    while clock.served < clock.accepted and world.departure_s[clock.served] <= time:
        leaves = world.departure_s[clock.served]
        clock.customer_s += (clock.accepted - clock.served) * (leaves - clock.now)
        clock.now = leaves
        clock.served += 1
    clock.customer_s += (clock.accepted - clock.served) * (time - clock.now)
    clock.now = time


@jit_inline
def advance(world: World) -> int:
    """Moves on to the next customer (DECIDE), or until all have left (ENDED)."""
    clock = world.clock[0]
    if clock.arrived == len(world.arrival_s):
        if clock.accepted > 0:
            move_to(world, max(clock.now, world.departure_s[clock.accepted - 1]))
        return ENDED
    move_to(world, world.arrival_s[clock.arrived])
    world.found[clock.arrived] = clock.accepted - clock.served
    clock.arrived += 1
    clock.pending = 1
    return DECIDE


@jit_uncounted
def arrival_of(world: World) -> Arrival:
    """The customer who is to be decided on."""
    clock = world.clock[0]
    return Arrival(clock.arrived - 1, clock.now, clock.accepted - clock.served)


@jit_uncounted
def act(world: World, action: int) -> int:
    """Accepts (1) or rejects (0) the customer who has come, if one has, and moves on."""
    clock = world.clock[0]
    if clock.pending == 0:
        return advance(world)
    if is_full(world.decisions):
        return FULL
    clock.action = action
    if action != 0 and action != 1:
        return NotAllowed.NEITHER_YES_NOR_NO
    customer = clock.arrived - 1
    append(world.decisions, (customer, action))
    clock.pending = 0
    if action == 1:
        free = clock.now
        if clock.accepted > clock.served:
            free = world.departure_s[clock.accepted - 1]
        world.departure_s[clock.accepted] = free + world.service_s[customer]
        world.outcome[customer] = Outcome.ACCEPTED
        clock.accepted += 1
    else:
        world.outcome[customer] = Outcome.REJECTED
    return advance(world)


def play(
    world: World,
    stop: NDArray[np.int64],
    parameters: NDArray[np.float64],
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Lets a compiled policy decide until the run ends, the log is full, or an action is bad."""
    status = DECIDE if world.clock[0].pending == 1 else advance(world)
    while status == DECIDE and stop[0] == 0:
        if is_full(world.decisions):  # before the policy draws anything
            return FULL
        status = act(world, policy(arrival_of(world), parameters, rng))
    return status
