"""How time moves from one instant to the next: compiled functions on the state of a run."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import MICRO
from cloudarena.engine.calendar import next_time, pop
from cloudarena.engine.compiled import jit_inline
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.jobs.kernel.ahead import ask_for_finishes
from cloudarena.scenarios.jobs.kernel.next import serve_next
from cloudarena.scenarios.jobs.kernel.outages import change_machine
from cloudarena.scenarios.jobs.kernel.queue import become_ready, next_in_queue
from cloudarena.scenarios.jobs.kernel.rows import finish_row
from cloudarena.scenarios.jobs.state import Turn, World

FINEST = 2.0**52
"""Multiples of an interval beyond this one are nearer to each other than floats are."""


@jit_inline
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


@jit_inline
def next_event(world: World) -> float:
    """The time of the next finish, outage, arrival or scheduling; infinity if there is none."""
    clock = world.clock[0]
    time = min(next_time(world.finishes), clock.due)
    if clock.arrived < clock.last:
        time = min(time, world.demand.submit[clock.arrived])
    # Machines alone do not make a run go on: something must wait for them.
    if clock.jobs_left > 0:
        time = min(time, next_time(world.outages.calendar))
    return time


@jit_inline
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


@jit_inline
def process_events(world: World) -> bool:
    """Lets all that is due now happen; returns whether anything did.

    One by one, it lets one thing happen: the next arrival, finish or outage, in this order.
    """
    clock, submit, once = world.clock[0], world.demand.submit, world.one_by_one
    arrives = once and clock.arrived < clock.last and submit[clock.arrived] == clock.now
    changed = False
    while not arrives and next_time(world.finishes) == clock.now and not (once and changed):
        ask_for_finishes(world, world.rooms, world.shapes)
        finish_row(world, pop(world.finishes))
        changed = True
    while not arrives and next_time(world.outages.calendar) == clock.now and not (once and changed):
        change_machine(world, pop(world.outages.calendar))
        changed = True
    while (
        clock.arrived < clock.last and submit[clock.arrived] == clock.now and not (once and changed)
    ):
        clock.arrived += 1
        arrive(world, clock.arrived - 1)
        changed = True
    return changed


@jit_inline
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


@jit_inline
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


@jit_inline
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE) or to the end (ENDED).

    FULL if rows are short, or if the next jobs must be read before anyone can tell.
    """
    clock = world.clock[0]
    while True:
        if clock.deciding != Turn.NOBODY:
            if clock.next >= 0:
                # So that an action is not taken twice when rows are short.
                clock.deciding = Turn.NEXT
                if serve_next(world) == FULL:
                    return FULL
            if clock.next < 0:
                clock.deciding = Turn.POLICY
                is_asked = clock.early == 1 and clock.ready > 0
                clock.first = next_in_queue(world) if clock.ready > 0 and not is_asked else -1
                if is_asked or clock.first >= 0:
                    return DECIDE
            clock.deciding = Turn.NOBODY
            record_series(world)
        if clock.more == 1 and clock.arrived == clock.last:
            return FULL
        time = next_event(world)
        if time == np.inf:
            return ENDED
        move_to(world, time)
        if process_events(world):
            clock.due = next_due(clock.now, world.interval)
        if clock.jobs_left == 0:  # nothing is left to schedule, on no grid
            clock.due = np.inf
            record_series(world)
        if clock.due == clock.now:
            clock.due = np.inf
            clock.deciding = Turn.POLICY
