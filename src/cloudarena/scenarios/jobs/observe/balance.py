"""How the resources that a start takes go with what is free and with the work that is left.

A cluster that runs out of memory while half of its cpu is idle wastes the one or the other. What
counts is the proportion of resources, each as a share of what there is of it: that of a task, of
what is free on a machine, of what is held there, and of all waiting work.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.engine.compiled import jitable_shared
from cloudarena.scenarios.jobs.kernel.queue import UNBOUNDED
from cloudarena.scenarios.jobs.state import Machines, Tasks

Proportion = tuple[float, float, float, float]
"""Sizes in the four resources, in whatever unit."""
LOGARITHMS = 20.0
"""Logarithms are shown over this: 15 years in seconds are 1."""
PORTIONS = 8
"""A start takes at most one part in so many of a machine, so that others find room beside it."""


@jitable_shared
def shares(sizes: NDArray[np.int64], of: NDArray[np.int64]) -> Proportion:
    """Sizes as shares of what there is of each resource; 0 where there is none."""
    return (
        sizes[0] / of[0] if of[0] > 0 else 0.0,
        sizes[1] / of[1] if of[1] > 0 else 0.0,
        sizes[2] / of[2] if of[2] > 0 else 0.0,
        sizes[3] / of[3] if of[3] > 0 else 0.0,
    )


class Row(IntEnum):
    """Columns of a row that describes sizes: of what is free on a machine, of what a task takes."""

    SHARE = 0  # of each resource
    NORMAL = 4  # that over their sum, as far as waiting work asks for the resource
    SUM = 8  # of those that it asks for
    FREE = 9  # of all, for a machine
    UNLIKE = 9  # how far it is from all waiting work, for a task
    WHOSE = 10  # the number of the machine or task
    WHERE = 11  # the machine of whose capacity a task takes these shares


SHARE, NORMAL, SUM = int(Row.SHARE), int(Row.NORMAL), int(Row.SUM)
FREE, UNLIKE, WHOSE, WHERE = int(Row.FREE), int(Row.UNLIKE), int(Row.WHOSE), int(Row.WHERE)


@jitable_shared
def normalise(work: Proportion, row: Floats) -> None:
    """Brings the shares of a row to a sum of 1. A resource that no work asks for does not count."""
    total = 0.0
    for r in range(4):
        if work[r] > 0.0:
            total += row[SHARE + r]
    row[SUM] = total
    if total > 0.0:
        for r in range(4):
            row[NORMAL + r] = row[SHARE + r] / total


@jitable_shared
def unlike(these: Floats, others: Floats, work: Proportion) -> float:
    """How far two proportions are apart: 0 if they are the same, or if one is of nothing.

    Half the sum of the differences of all shares: 1 if the two have no resource in common. A
    resource that no waiting work asks for does not count.
    """
    if these[SUM] <= 0.0 or others[SUM] <= 0.0:
        return 0.0
    apart = 0.0
    for r in range(4):
        if work[r] > 0.0:
            apart += abs(these[NORMAL + r] - others[NORMAL + r])
    return min(1.0, 0.5 * apart)


@jitable_shared
def describe_shares(
    sizes: NDArray[np.int64], of: NDArray[np.int64], work: Proportion, row: Floats
) -> None:
    """Writes sizes as shares of what there is to a row, and their proportion."""
    for r in range(4):
        row[SHARE + r] = sizes[r] / of[r] if of[r] > 0 else 0.0
    normalise(work, row)


@jitable_shared
def forget(table: NDArray[np.float64], machines: int) -> None:
    """Makes a table one of no machines."""
    for k in range(min(machines, len(table))):
        table[k, WHOSE] = -1.0


@jitable_shared
def look_at_machine(
    machines: Machines, machine: int, work: Proportion, table: NDArray[np.float64]
) -> int:
    """The row of a table that describes what is free on a machine, made if it is not there."""
    slot = machine % len(table)
    if table[slot, WHOSE] != machine:
        row = table[slot]
        describe_shares(machines.free[machine], machines.capacity[machine], work, row)
        row[FREE] = row[0] + row[1] + row[2] + row[3]
        row[WHOSE] = machine
    return slot


@jitable_shared
def has_capacity_of(machines: Machines, this: int, other: int) -> bool:
    """Whether two machines have the same capacity."""
    capacity = machines.capacity
    return this == other or bool(
        (capacity[this, 0] == capacity[other, 0])
        & (capacity[this, 1] == capacity[other, 1])
        & (capacity[this, 2] == capacity[other, 2])
        & (capacity[this, 3] == capacity[other, 3])
    )


@jitable_shared
def look_at_task(
    tasks: Tasks,
    machines: Machines,
    task: int,
    machine: int,
    work: Proportion,
    whole: Floats,
    row: Floats,
) -> bool:
    """Describes in a row what a task takes of a machine; whether the row was another before."""
    if row[WHOSE] == task and has_capacity_of(machines, int(row[WHERE]), machine):
        return False
    describe_shares(tasks.demand[task], machines.capacity[machine], work, row)
    row[UNLIKE] = unlike(row, whole, work)
    row[WHOSE], row[WHERE] = task, machine
    return True


@jitable_shared
def seconds_of(tasks: Tasks, task: int) -> float:
    """The duration of a task as far as known; 1 s where nothing is."""
    duration = tasks.duration[task]
    return 1.0 if math.isnan(duration) else duration


@jitable_shared
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


@jitable_shared
def portion_of(tasks: Tasks, machines: Machines, task: int, machine: int) -> int:
    """How many instances of a task are a portion of an empty machine; at least 1."""
    copies = UNBOUNDED
    for r in range(4):
        if tasks.demand[task, r] > 0:
            copies = min(copies, machines.capacity[machine, r] // tasks.demand[task, r])
    return max(1, copies // PORTIONS)


@jitable_shared
def describe_balance(
    machines: Machines,
    machine: int,
    count: int,
    work: Proportion,
    whole: Floats,
    demand: Floats,
    free: Floats,
    used: Floats,
    row: NDArray[np.float32],
) -> None:
    """Writes three features of a start of so many instances on a machine.

    ``whole``, ``demand`` and ``free`` describe all waiting work, the task and the machine; ``used``
    is room for one row more.
    """
    for r in range(4):
        has_some = machines.capacity[machine, r] > 0
        used[SHARE + r] = 1.0 - free[SHARE + r] + count * demand[SHARE + r] if has_some else 0.0
    normalise(work, used)
    row[0] = unlike(demand, free, work)
    row[1] = demand[UNLIKE]
    row[2] = unlike(used, whole, work)


@jitable_shared
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
