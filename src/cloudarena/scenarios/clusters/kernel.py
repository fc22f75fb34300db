"""How time moves: each class works off its batches, first in first out, at its VMs' rate.

Service is fluid: theta VMs do theta seconds of work a second, so a batch of n tasks of p seconds
takes ``n p / theta`` seconds alone. Within a stage classes do not touch each other, so each is
followed from one end of a batch to the next, exactly; nothing is stepped.

A batch that arrives at the very end of a stage belongs to the next stage. A class without work
keeps its VMs, with the memory of its last batch (of its first one, before that).
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.engine.compiled import lean
from cloudarena.scenarios.clusters.state import Total, World


@lean
def finish_time(world: World, shares: Ints, now: float) -> float:
    """When all work is done, if these shares stay in force from now on."""
    last = now
    for c in range(len(shares)):
        time = now
        for batch in range(world.head[c], len(world.times)):
            if world.times[batch] > time:
                time = world.times[batch]
            work = world.left[c]
            if batch > world.head[c]:
                work = world.tasks[batch, c] * world.seconds[batch, c]
            time = time + work / shares[c]
        if time > last:
            last = time
    return last


@lean
def advance(world: World, shares: Ints, weights: Ints, begin: float, end: float) -> None:
    """Works from ``begin`` to ``end`` with ``shares[c]`` VMs for class c.

    The memory of a VM counts ``weights[c]`` times: as often as there are VMs, unless somebody
    wants to count otherwise.
    """
    batches = len(world.times)
    for c in range(len(shares)):
        vms = float(shares[c])
        time = begin
        while time < end:
            batch = world.head[c]
            arrival = world.times[batch] if batch < batches else np.inf
            if arrival > time:
                until = min(arrival, end)
                held = world.memory_mb[max(batch - 1, 0), c]
                world.totals[Total.MEMORY] += weights[c] * held * (until - time)
                time = until
                if time == end:
                    break
            tasks = world.tasks[batch, c]
            if np.isnan(world.start[batch, c]):
                world.start[batch, c] = time
                world.totals[Total.BACKLOG] += tasks * (time - arrival)
            work = world.left[c]
            finish = time + work / vms
            ends = finish <= end
            spent = work if ends else min(work, (end - time) * vms)
            until = finish if ends else end
            before = work / world.seconds[batch, c]
            after = (work - spent) / world.seconds[batch, c]
            held = world.memory_mb[batch, c]
            world.totals[Total.MEMORY] += weights[c] * held * (until - time)
            world.totals[Total.BACKLOG] += 0.5 * (before + after) * (until - time)
            world.totals[Total.BUSY] += spent
            world.left[c] = work - spent
            time = until
            if ends:
                world.finish[batch, c] = finish
                world.head[c] = batch + 1
                if batch + 1 < batches:
                    world.left[c] = world.tasks[batch + 1, c] * world.seconds[batch + 1, c]
                world.done[c] += before
            else:
                world.done[c] += before - after
