"""The work of each class as a decision shows it, and the shares that the built-in rules choose."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.engine.compiled import jitable
from cloudarena.scenarios.clusters.state import Works, World

LEAST_PART = 1e-6
"""The least work of a class, as a part of the largest of its virtual cluster: none has none."""
LEAST_WORK = 1e-12
MOST_GREEDY = 2000
"""VMs beyond one for each class up to which the greedy share is looked for, one VM at a time."""


@jitable
def count_until(times: Floats, time: float) -> int:
    """How many batches arrive until a time, that time included."""
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


@jitable
def count_before(times: Floats, time: float) -> int:
    """How many batches arrive before a time."""
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@jitable
def arriving(world: World, c: int, begin: float, end: float, window_s: float) -> float:
    """Tasks of a class that are known, or expected, to arrive between two times from now on."""
    now = world.clock[0]["now"]
    if world.rules.oracle:
        first = max(count_until(world.times, now), count_before(world.times, begin))
        last = max(first, count_before(world.times, end))
        return float(world.arrived[last, c] - world.arrived[first, c])
    window = min(window_s, now)
    if world.times[-1] <= now or window <= 0.0:
        return 0.0
    first, last = count_until(world.times, now - window), count_until(world.times, now)
    return float((world.arrived[last, c] - world.arrived[first, c]) * ((end - begin) / window))


@jitable
def begins_at(world: World) -> float:
    """The time at which the stage begins that is decided now."""
    clock = world.clock[0]
    if world.rules.pipelined and clock["plans"] > 0:
        length_s = world.plans[clock["plans"] - 1]["length_s"]
        if length_s < np.inf:
            return float(clock["now"] + length_s)
    return float(clock["now"])


@jitable
def all_arrived(world: World) -> bool:
    """Whether no batch is still to come, now or, where batches are known, when the stage begins."""
    time = begins_at(world) if world.rules.oracle else world.clock[0]["now"]
    return bool(world.times[-1] <= time)


@jitable
def left_at(world: World, c: int, backlog: float, begins: float) -> float:
    """Tasks of a class that are left when the stage begins, if tasks take their mean times."""
    clock = world.clock[0]
    now, plans = clock["now"], clock["plans"]
    if begins <= now:
        return backlog
    rate = world.plan_shares[plans - 1, c] / world.mean_seconds[c]
    if not world.rules.oracle:
        coming = arriving(world, c, now, begins, world.rules.stage_s)
        return max(backlog + coming - rate * (begins - now), 0.0)
    left, time = backlog, now
    for batch in range(len(world.times)):
        moment = world.times[batch]
        if now < moment < begins:
            left = max(left - rate * (moment - time), 0.0) + world.tasks[batch, c]
            time = moment
    return max(left - rate * (begins - time), 0.0)


@jitable
def look_at_work(world: World) -> None:
    """Writes the work of each class, in VM-seconds at mean task times, to ``world.works``."""
    works, stage_s, now = world.works, world.rules.stage_s, world.clock[0]["now"]
    begins = begins_at(world)
    known = count_until(world.times, now)
    for c in range(works.shape[1]):
        arrived = world.arrived[known, c]
        mean, backlog = world.mean_seconds[c], max(arrived - world.done[c], 0.0)
        coming = arriving(world, c, begins, begins + stage_s, stage_s)
        long_rate = arrived * mean / max(now, stage_s)
        if world.times[-1] <= now:
            long_rate = 0.0
        works[Works.BACKLOG, c] = backlog * mean
        works[Works.EXPECTED, c] = (left_at(world, c, backlog, begins) + coming) * mean
        works[Works.LONG_RUN, c] = backlog * mean + long_rate * stage_s
        works[Works.RECENT_RATE, c] = coming * mean / stage_s
        works[Works.LONG_RATE, c] = long_rate
    largest = world.largest_work
    largest[:] = 0.0
    for c in range(works.shape[1]):
        k = world.cluster_of[c]
        largest[k] = max(largest[k], works[Works.EXPECTED, c])
    for c in range(works.shape[1]):
        least = max(LEAST_PART * largest[world.cluster_of[c]], LEAST_WORK)
        for row in (Works.BACKLOG, Works.EXPECTED, Works.LONG_RUN):
            works[row, c] = max(works[row, c], least)


@jitable
def span_of(work: Floats, shares: NDArray[np.int64]) -> float:
    """The time until all work is done."""
    span = 0.0
    for c in range(len(work)):
        span = max(span, work[c] / shares[c])
    return span


@jitable
def needed(work: float, span: float) -> int:
    """The fewest VMs that do some work within a time, exactly as numbers are rounded."""
    vms = max(math.ceil(work / span), 1)
    if vms > 1 and work / (vms - 1) <= span:
        vms -= 1
    if work / vms > span:
        vms += 1
    return int(vms)


@jitable
def by_weight(world: World, work: Floats, shares: NDArray[np.int64]) -> None:
    """Writes a VM for each class and of the others of its virtual cluster a part by its work.

    Whole numbers by largest remainders; ties go to the first class.
    """
    for k in range(len(world.cluster_vms)):
        classes, total, given = 0, 0.0, 0
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                classes += 1
                total += work[c]
        spare = world.cluster_vms[k] - classes
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                shares[c] = 1 + math.floor(spare * work[c] / total)
                given += shares[c]
        for _ in range(world.cluster_vms[k] - given):
            best, most = -1, -1.0
            for c in range(len(work)):
                exact = spare * work[c] / total
                rest = exact - math.floor(exact)
                is_own = world.cluster_of[c] == k
                if is_own and shares[c] == 1 + math.floor(exact) and rest > most:
                    best, most = c, rest
            shares[best] += 1


@jitable
def equal(world: World, shares: NDArray[np.int64]) -> None:
    """Writes as many VMs for each class of a virtual cluster; the first ones get what is over."""
    for k in range(len(world.cluster_vms)):
        classes, before = 0, 0
        for c in range(len(shares)):
            classes += 1 if world.cluster_of[c] == k else 0
        each, over = world.cluster_vms[k] // classes, world.cluster_vms[k] % classes
        for c in range(len(shares)):
            if world.cluster_of[c] == k:
                shares[c] = each + (1 if before < over else 0)
                before += 1


@jitable
def fit_to(world: World, k: int, work: Floats, span: float, shares: NDArray[np.int64]) -> int:
    """Writes the fewest VMs that do the work of a virtual cluster in a time; how many are left."""
    left = world.cluster_vms[k]
    for c in range(len(work)):
        if world.cluster_of[c] == k:
            shares[c] = needed(work[c], span)
            left -= shares[c]
    return int(left)


@jitable
def mean_optimum(world: World, work: Floats, shares: NDArray[np.int64]) -> None:
    """Writes the shares of the shortest makespan of each virtual cluster, with the least memory.

    It begins with what a longer makespan needs, that of shares in proportion, and gives VM after
    VM to the class that takes longest.
    """
    memory = world.mean_memory_mb
    for k in range(len(world.cluster_vms)):
        classes, total, span, lightest = 0, 0.0, 0.0, -1
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                classes += 1
                total += work[c]
                if lightest < 0 or memory[c] < memory[lightest]:
                    lightest = c
        spare = world.cluster_vms[k] - classes
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                span = max(span, work[c] / (1 + math.floor(spare * work[c] / total)))
        for _ in range(fit_to(world, k, work, span, shares)):
            longest, most = 0, -1.0
            for c in range(len(work)):
                if world.cluster_of[c] == k and work[c] / shares[c] > most:
                    longest, most = c, work[c] / shares[c]
            shares[longest] += 1
        span = 0.0
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                span = max(span, work[c] / shares[c])
        left = fit_to(world, k, work, span, shares)
        if not world.rules.allow_idle:
            shares[lightest] += left


@jitable
def greedy(world: World, work: Floats, shares: NDArray[np.int64]) -> None:
    """Writes VM after VM to the class whose time it shortens most, in each virtual cluster."""
    for k in range(len(world.cluster_vms)):
        left = world.cluster_vms[k]
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                shares[c] = 1
                left -= 1
        gains = world.works[Works.GAINS]
        for c in range(len(work)):
            if world.cluster_of[c] == k:
                gains[c] = work[c] / (shares[c] * (shares[c] + 1.0))
        for _ in range(left):
            best, most = 0, -1.0
            for c in range(len(work)):
                if world.cluster_of[c] == k and gains[c] > most:
                    best, most = c, gains[c]
            shares[best] += 1
            gains[best] = work[best] / (shares[best] * (shares[best] + 1.0))
