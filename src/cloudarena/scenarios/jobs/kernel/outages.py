"""Machines fail and come back: compiled functions on the calendar of outages."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.calendar import push
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.hashing import STEP, as_uniform, scramble
from cloudarena.engine.segment_tree import set_value, set_vector
from cloudarena.scenarios.jobs.kernel.choice import reindex
from cloudarena.scenarios.jobs.kernel.rows import lose_all
from cloudarena.scenarios.jobs.state import Outages, World


@jit_inline
def draw_share(outages: Outages, machine: int) -> float:
    """The next number between 0 and 1 of a machine's own SplitMix64 generator."""
    state = outages.seeds[machine] + STEP
    outages.seeds[machine] = state
    return as_uniform(scramble(state))


@jit_uncounted
def draw_failure(outages: Outages, machine: int) -> float:
    """The time a machine stays up: Weibull, by inversion."""
    return outages.up_scale * (-np.log(draw_share(outages, machine))) ** (1.0 / outages.up_shape)


@jit_inline
def change_machine(world: World, event: int) -> None:
    """Lets a machine fail or come back."""
    machines, outages, now = world.machines, world.outages, world.clock[0].now
    count = len(machines.up)
    machine = event % count
    comes_back = event >= count
    if not comes_back:
        lose_all(world, machine)
    machines.up[machine] = comes_back
    world.clock[0].down += -1 if comes_back else 1
    for r in range(4):
        capacity = machines.capacity[machine, r]
        machines.free[machine, r] = capacity if comes_back else -1
        machines.free_total[r] += capacity if comes_back else -capacity
    set_vector(machines.room, machine, machines.free[machine], 1)
    reindex(world, world.rooms, world.shapes, machine)
    set_value(world.queue.dirty, machine, 0)
    if outages.up_scale > 0:
        if comes_back:
            push(outages.calendar, now + draw_failure(outages, machine), machine)
        else:
            repair = -outages.down_mean * np.log(draw_share(outages, machine))
            push(outages.calendar, now + repair, count + machine)
