"""How time moves from one instant to the next: compiled functions on the state of a run."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import MICRO
from cloudarena.engine.calendar import next_time, pop
from cloudarena.engine.compiled import inner
from cloudarena.engine.status import DECIDE, ENDED
from cloudarena.scenarios.jobs.kernel.outages import change_machine
from cloudarena.scenarios.jobs.kernel.queue import become_ready, next_in_queue
from cloudarena.scenarios.jobs.kernel.rows import finish_row
from cloudarena.scenarios.jobs.state import World

FINEST = 2.0**52
"""Multiples of an interval beyond this one are nearer to each other than floats are."""


@inner
def arrive(world: World, job: int) -> None:
    """Makes the tasks of a job that have no parents ready."""
    totals, progress, demand = world.totals[0], world.progress, world.demand
    totals.jobs += 1
    totals.job_weight += demand.job_weight[job]
    for task in range(demand.first_task[job], demand.first_task[job + 1]):
        totals.tasks += 1
        totals.task_weight += 1.0 / demand.duration[task]
        if progress.parents_left[task] == 0:
            progress.ready_time[task] = world.clock[0].now
            become_ready(world, task)


@inner
def next_event(world: World) -> float:
    """The time of the next finish, outage, arrival or scheduling; infinity if there is none."""
    clock = world.clock[0]
    time = min(next_time(world.finishes), clock.due)
    if clock.arrived < len(world.demand.submit):
        time = min(time, world.demand.submit[clock.arrived])
    # Machines alone do not make a run go on: something must wait for them.
    if clock.jobs_left > 0:
        time = min(time, next_time(world.outages.calendar))
    return time


@inner
def move_to(world: World, time: float) -> None:
    """Lets time pass, and what was unfinished and held in it."""
    clock, totals = world.clock[0], world.totals[0]
    passed = time - clock.now
    totals.job_s += passed * totals.jobs
    totals.task_s += passed * totals.tasks
    totals.job_weight_s += passed * totals.job_weight
    totals.task_weight_s += passed * totals.task_weight
    for r in range(4):
        world.held_s[r] += passed * world.held[r]
    clock.now = time


@inner
def happen(world: World) -> bool:
    """Lets all that is due now happen; returns whether anything did."""
    clock, submit = world.clock[0], world.demand.submit
    changed = False
    while next_time(world.finishes) == clock.now:
        finish_row(world, pop(world.finishes))
        changed = True
    while next_time(world.outages.calendar) == clock.now:
        change_machine(world, pop(world.outages.calendar))
        changed = True
    while clock.arrived < len(submit) and submit[clock.arrived] == clock.now:
        clock.arrived += 1
        arrive(world, clock.arrived - 1)
        changed = True
    return changed


@inner
def next_due(now: float, interval: float) -> float:
    """When to schedule what happened now: the first multiple of the interval from now on."""
    if interval == 0 or now >= FINEST * interval:
        return now
    multiple = np.ceil(now / interval)
    # The quotient is rounded; the multiples themselves decide.
    while multiple * interval < now:
        multiple += 1
    while (multiple - 1) * interval >= now:
        multiple -= 1
    return multiple * interval


@inner
def record_series(world: World) -> None:
    """Keeps the state after an instant's events and starts; each 2nd, 4th, ... when it is long."""
    series, clock = world.series, world.clock[0]
    if len(series) == 0:
        return
    clock.instants += 1
    if (clock.instants - 1) % clock.stride != 0:
        return
    if clock.series == len(series):
        clock.series //= 2
        clock.stride *= 2
        for k in range(clock.series):
            for c in range(series.shape[1]):
                series[k, c] = series[2 * k, c]
        if (clock.instants - 1) % clock.stride != 0:
            return
    row = series[clock.series]
    row[0] = clock.now
    row[1] = world.totals[0].jobs
    row[2] = clock.ready
    for r in range(4):
        row[3 + r] = world.held[r] / MICRO
    row[7] = len(world.machines.up) - clock.down
    clock.series += 1


@inner
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE) or to the end (ENDED)."""
    clock = world.clock[0]
    while True:
        if clock.deciding == 1:
            clock.first = next_in_queue(world) if clock.ready > 0 else -1
            if clock.first >= 0:
                return DECIDE
            clock.deciding = 0
            record_series(world)
        time = next_event(world)
        if time == np.inf:
            return ENDED
        move_to(world, time)
        if happen(world):
            clock.due = next_due(clock.now, world.interval)
        if clock.jobs_left == 0:  # nothing is left to schedule, on no grid
            clock.due = np.inf
            record_series(world)
        if clock.due == clock.now:
            clock.due = np.inf
            clock.deciding = 1
