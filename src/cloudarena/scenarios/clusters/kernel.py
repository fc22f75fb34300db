"""How time moves: each class works off its batches, first in first out, at its VMs' rate.

Service is fluid: theta VMs do theta seconds of work a second, so a batch of n tasks of p seconds
takes ``n p / theta`` seconds alone. Within a stage classes do not touch each other, so each is
followed from one end of a batch to the next, exactly; nothing is stepped.

A batch that arrives at the very end of a stage belongs to the next stage. A class without work
keeps its VMs, with the memory of its last batch (of its first one, before that).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import lean


class World(NamedTuple):
    """A run: what arrives, and how far it is done. Arrays of (batches, classes), or of classes."""

    times: NDArray[np.float64]  # (batches,)
    tasks: NDArray[np.float64]
    seconds: NDArray[np.float64]  # of a task on one VM
    memory_mb: NDArray[np.float64]  # of a VM that works on the batch
    start: NDArray[np.float64]  # NaN until it is known
    finish: NDArray[np.float64]
    head: NDArray[np.int64]  # the batch that each class is at
    left: NDArray[np.float64]  # VM-seconds of it that are left
    done: NDArray[np.float64]  # tasks of each class
    totals: NDArray[np.float64]  # see below


MEMORY, BACKLOG, BUSY = 0, 1, 2
"""Totals: MB-seconds, task-seconds of waiting and service, VM-seconds of service."""


def make_world(
    times: NDArray[np.float64],
    tasks: NDArray[np.float64],
    seconds: NDArray[np.float64],
    memory_mb: NDArray[np.float64],
) -> World:
    """A run before anything has happened."""
    classes = tasks.shape[1]
    return World(
        times,
        tasks,
        seconds,
        memory_mb,
        np.full(tasks.shape, np.nan),
        np.full(tasks.shape, np.nan),
        np.zeros(classes, np.int64),
        tasks[0] * seconds[0],
        np.zeros(classes),
        np.zeros(3),
    )


@lean
def finish_time(world: World, shares: NDArray[np.int64], now: float) -> float:
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
def advance(
    world: World, shares: NDArray[np.int64], weights: NDArray[np.int64], begin: float, end: float
) -> None:
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
                world.totals[MEMORY] += weights[c] * held * (until - time)
                time = until
                if time == end:
                    break
            tasks = world.tasks[batch, c]
            if np.isnan(world.start[batch, c]):
                world.start[batch, c] = time
                world.totals[BACKLOG] += tasks * (time - arrival)
            work = world.left[c]
            finish = time + work / vms
            ends = finish <= end
            spent = work if ends else min(work, (end - time) * vms)
            until = finish if ends else end
            before = work / world.seconds[batch, c]
            after = (work - spent) / world.seconds[batch, c]
            held = world.memory_mb[batch, c]
            world.totals[MEMORY] += weights[c] * held * (until - time)
            world.totals[BACKLOG] += 0.5 * (before + after) * (until - time)
            world.totals[BUSY] += spent
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
