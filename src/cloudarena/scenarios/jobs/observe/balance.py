"""How the resources that a start takes go with what is free and with the work that is left.

A cluster that runs out of memory while half of its cpu is idle wastes the one or the other. What
counts is the proportion of resources, each as a share of what there is of it: that of a task, of
what is free on a machine, of what is held there, and of all waiting work.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jitable
from cloudarena.scenarios.jobs.kernel.queue import UNBOUNDED
from cloudarena.scenarios.jobs.state import Machines, Tasks

Proportion = tuple[float, float, float, float]
"""Sizes in the four resources, in whatever unit."""
LOGARITHMS = 20.0
"""Logarithms are shown over this: 15 years in seconds are 1."""
PORTIONS = 8
"""A start takes at most one part in so many of a machine, so that others find room beside it."""


@jitable
def shares(sizes: NDArray[np.int64], of: NDArray[np.int64]) -> Proportion:
    """Sizes as shares of what there is of each resource; 0 where there is none."""
    return (
        sizes[0] / of[0] if of[0] > 0 else 0.0,
        sizes[1] / of[1] if of[1] > 0 else 0.0,
        sizes[2] / of[2] if of[2] > 0 else 0.0,
        sizes[3] / of[3] if of[3] > 0 else 0.0,
    )


@jitable
def unlike(these: Proportion, others: Proportion, work: Proportion) -> float:
    """How far two proportions are apart: 0 if they are the same, or if one is of nothing.

    Half the sum of the differences of all shares: 1 if the two have no resource in common. A
    resource that no waiting work asks for does not count.
    """
    sum_of_these, sum_of_others = 0.0, 0.0
    for r in range(4):
        if work[r] > 0.0:
            sum_of_these += these[r]
            sum_of_others += others[r]
    if sum_of_these <= 0.0 or sum_of_others <= 0.0:
        return 0.0
    apart = 0.0
    for r in range(4):
        if work[r] > 0.0:
            apart += abs(these[r] / sum_of_these - others[r] / sum_of_others)
    return min(1.0, 0.5 * apart)


@jitable
def mismatch(tasks: Tasks, machines: Machines, task: int, machine: int, work: Proportion) -> float:
    """How far the proportion of what a task asks for is from that of what is free on a machine."""
    capacity = machines.capacity[machine]
    demand = shares(tasks.demand[task], capacity)
    return unlike(demand, shares(machines.free[machine], capacity), work)


@jitable
def seconds_of(tasks: Tasks, task: int) -> float:
    """The duration of a task as far as known; 1 s where nothing is."""
    duration = tasks.duration[task]
    return 1.0 if math.isnan(duration) else duration


@jitable
def waiting_work(tasks: Tasks, machines: Machines, looked_at: int) -> Proportion:
    """How long the whole cluster would work on what is ready, by each resource alone.

    Of the first ready tasks, so many.
    """
    cpu, memory, disk, gpu = 0.0, 0.0, 0.0, 0.0
    for k in range(min(len(tasks.ready), looked_at)):
        task = tasks.ready[k]
        work = tasks.waiting[task] * seconds_of(tasks, task)
        share = shares(tasks.demand[task], machines.total)
        cpu += work * share[0]
        memory += work * share[1]
        disk += work * share[2]
        gpu += work * share[3]
    return cpu, memory, disk, gpu


@jitable
def portion_of(tasks: Tasks, machines: Machines, task: int, machine: int) -> int:
    """How many instances of a task are a portion of an empty machine; at least 1."""
    copies = UNBOUNDED
    for r in range(4):
        if tasks.demand[task, r] > 0:
            copies = min(copies, machines.capacity[machine, r] // tasks.demand[task, r])
    return max(1, copies // PORTIONS)


@jitable
def describe_balance(
    tasks: Tasks,
    machines: Machines,
    start: NDArray[np.int64],
    count: int,
    work: Proportion,
    row: NDArray[np.float32],
) -> None:
    """Writes three features of a start of so many instances on its machine."""
    task, machine = start[0], start[1]
    capacity = machines.capacity[machine]
    demand, free = shares(tasks.demand[task], capacity), shares(machines.free[machine], capacity)
    used = (
        1.0 - free[0] + count * demand[0] if capacity[0] > 0 else 0.0,
        1.0 - free[1] + count * demand[1] if capacity[1] > 0 else 0.0,
        1.0 - free[2] + count * demand[2] if capacity[2] > 0 else 0.0,
        1.0 - free[3] + count * demand[3] if capacity[3] > 0 else 0.0,
    )
    row[0] = unlike(demand, free, work)
    row[1] = unlike(demand, work, work)
    row[2] = unlike(used, work, work)


@jitable
def describe_work(
    tasks: Tasks, machines: Machines, task: int, horizon: float, row: NDArray[np.float32]
) -> None:
    """Writes five features of a task: how long it takes beside all waiting work."""
    duration = seconds_of(tasks, task)
    row[0] = min(1.0, math.log(1.0 + duration) / LOGARITHMS)
    row[1] = min(1.0, duration / horizon) if horizon > 0.0 else 1.0
    row[2] = min(1.0, max(0.0, 2.0 * duration / horizon - 1.0)) if horizon > 0.0 else 1.0
    most = 0.0
    for r in range(4):
        if machines.total[r] > 0:
            most = max(most, tasks.demand[task, r] / machines.total[r])
    alone = duration * max(1.0, tasks.waiting[task] * most)
    row[3] = min(1.0, math.log(1.0 + alone) / LOGARITHMS)
    # As many must run, from now to the horizon, for all waiting instances to end in that time.
    level = tasks.waiting[task] * duration / horizon if horizon > 0.0 else 1.0
    running = float(tasks.running[task])
    row[4] = running / (running + level) if running > 0.0 else 0.0
