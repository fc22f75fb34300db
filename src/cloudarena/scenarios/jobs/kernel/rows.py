"""Instances start, finish and are lost: compiled functions on the rows of a run.

Instances of a task that start together on one machine are one row, and one event.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.calendar import heapify, push, size
from cloudarena.engine.compiled import jit_inline
from cloudarena.engine.segment_tree import set_value, set_vector
from cloudarena.scenarios.jobs.kernel.choice import reindex
from cloudarena.scenarios.jobs.kernel.gpus import give_gpus, take_gpus
from cloudarena.scenarios.jobs.kernel.queue import become_ready, no_longer_ready
from cloudarena.scenarios.jobs.state import RowState, World


@jit_inline
def is_idle(world: World) -> bool:
    """Whether nothing runs and nothing will arrive: only machines may still fail and come back."""
    clock = world.clock[0]
    return clock.arrived == clock.last and clock.more == 0 and size(world.finishes) == 0


@jit_inline
def rows_are_short(world: World) -> bool:
    """Whether the next start may need more rows than there are."""
    clock = world.clock[0]
    needed = len(world.machines.up) + clock.lost_rows + 1
    return clock.rows - clock.spare + needed > len(world.machines.rows)


@jit_inline
def allocate_row(world: World) -> int:
    """The index of a row that is not in use."""
    clock = world.clock[0]
    if clock.spare > 0:
        clock.spare -= 1
        return world.spare_rows[clock.spare]
    clock.rows += 1
    return clock.rows - 1


@jit_inline
def free_row(world: World, index: int) -> None:
    """Lets a row be used again, if nobody wants to see it."""
    if world.recycles:
        world.spare_rows[world.clock[0].spare] = index
        world.clock[0].spare += 1


@jit_inline
def next_lost(world: World, index: int) -> int:
    """The lowest index of the lost instances of a row that have not started again."""
    row = world.machines.rows[index]
    return row.first + row.count - row.lost_left


@jit_inline
def start_rows(world: World, task: int, machine: int, count: int) -> None:
    """Starts instances on a machine: lost ones first, then new ones, in the order of index."""
    clock, progress, rows = world.clock[0], world.progress, world.machines.rows
    while count > 0:
        index = allocate_row(world)
        row = rows[index]
        lost = progress.lost_head[task]
        here = count
        if lost >= 0:
            again = rows[lost]
            here = min(count, again.lost_left)
            row.first = next_lost(world, lost)
            again.lost_left -= here
            if again.lost_left == 0:
                progress.lost_head[task] = again.lost_next
                clock.lost_rows -= 1
                free_row(world, lost)
        else:
            row.first = progress.next_instance[task]
            progress.next_instance[task] += here
        row.action = clock.actions
        row.task = task
        row.machine = machine
        row.count = here
        row.start = clock.now
        row.finish = clock.now + world.demand.duration[task] / world.machines.speed[machine]
        row.state = RowState.RUNNING
        push(world.finishes, row.finish, index)
        take_gpus(world, index, task, machine, here)
        count -= here


@jit_inline
def hold_resources(world: World, task: int, machine: int, count: int) -> None:
    """Takes (count > 0) or gives back (count < 0) what instances hold."""
    tasks, machines = world.tasks, world.machines
    job, user = tasks.job[task], tasks.user[task]
    for r in range(4):
        amount = count * tasks.demand[task, r]
        if amount != 0:
            machines.free[machine, r] -= amount
            machines.free_total[r] -= amount
            tasks.job_held[job, r] += amount
            tasks.user_held[user, r] += amount
            world.held[r] += amount
    tasks.running[task] += count
    before = world.occupants[machine]
    world.occupants[machine] = before + count
    if before == 0:
        world.used_since[machine] = world.clock[0].now
    elif before + count == 0:
        world.used_s[machine] += world.clock[0].now - world.used_since[machine]
    set_vector(machines.room, machine, machines.free[machine], 1)
    reindex(world, world.rooms, world.shapes, machine)
    if count < 0:
        set_value(world.queue.dirty, machine, 0)


@jit_inline
def start(world: World, task: int, machine: int, count: int) -> None:
    """Starts a number of waiting instances of a task on a machine, now."""
    now, progress = world.clock[0].now, world.progress
    start_rows(world, task, machine, count)
    hold_resources(world, task, machine, count)
    progress.first_start[task] = min(progress.first_start[task], now)
    world.tasks.waiting[task] -= count
    if world.tasks.waiting[task] == 0:
        no_longer_ready(world, task)


@jit_inline
def remember(world: World, user: int, seconds: float) -> None:
    """Keeps how long a user's last two tasks ran, and their mean."""
    runs = world.tasks.user_runs
    if world.demand.is_known[user]:
        before = runs[user, 0]
        runs[user, 0], runs[user, 1] = seconds, before
        mean = seconds if before == np.inf else (seconds + before) / 2.0
        world.tasks.user_predicted[user] = mean


@jit_inline
def finish_task(world: World, task: int) -> None:
    """Lets the children of a finished task go on, and its job end."""
    clock, totals, progress, demand = world.clock[0], world.totals[0], world.progress, world.demand
    progress.last_finish[task] = clock.now
    remember(world, world.tasks.user[task], clock.now - progress.first_start[task])
    totals.tasks -= 1
    totals.task_weight -= 1.0 / demand.duration[task]
    for k in range(demand.first_child[task], demand.first_child[task + 1]):
        child = demand.children[k]
        progress.parents_left[child] -= 1
        if progress.parents_left[child] == 0:
            progress.ready_time[child] = clock.now
            become_ready(world, child)
    job = world.tasks.job[task]
    progress.tasks_left[job] -= 1
    if progress.tasks_left[job] == 0:
        progress.job_finish[job] = clock.now
        totals.makespan = clock.now
        totals.jobs -= 1
        totals.job_weight -= demand.job_weight[job]
        clock.jobs_left -= 1


@jit_inline
def finish_row(world: World, index: int) -> None:
    """Takes finished instances off their machine."""
    row, totals, tasks = world.machines.rows[index], world.totals[0], world.tasks
    task = row.task
    row.state = RowState.DONE
    give_gpus(world, index, row.machine)
    hold_resources(world, task, row.machine, -row.count)
    tasks.finished[task] += row.count
    totals.completed += row.count
    totals.wait_s += row.count * (row.start - world.progress.ready_time[task])
    if tasks.finished[task] == tasks.instances[task]:
        finish_task(world, task)
    free_row(world, index)


@jit_inline
def lose_row(world: World, index: int) -> None:
    """Puts the instances of a row on a failed machine back among the waiting ones."""
    rows, totals, tasks, clock = world.machines.rows, world.totals[0], world.tasks, world.clock[0]
    row = rows[index]
    task = row.task
    row.state = RowState.LOST
    row.finish = clock.now
    row.lost_left = row.count
    give_gpus(world, index, row.machine)
    hold_resources(world, task, row.machine, -row.count)
    if tasks.waiting[task] == 0:
        become_ready(world, task)
    tasks.waiting[task] += row.count
    totals.lost += row.count
    totals.lost_s += row.count * (clock.now - row.start)
    clock.lost_rows += 1
    before, after = -1, world.progress.lost_head[task]
    while after >= 0 and next_lost(world, after) < row.first:
        before, after = after, rows[after].lost_next
    row.lost_next = after
    if before < 0:
        world.progress.lost_head[task] = index
    else:
        rows[before].lost_next = index


@jit_inline
def lose_all(world: World, machine: int) -> None:
    """Loses what runs on a machine."""
    finishes, rows = world.finishes, world.machines.rows
    kept = 0
    for k in range(size(finishes)):
        index = finishes.payloads[k]
        if rows[index].machine == machine:
            lose_row(world, index)
        else:
            finishes.times[kept] = finishes.times[k]
            finishes.sequence[kept] = finishes.sequence[k]
            finishes.payloads[kept] = index
            kept += 1
    finishes.counters[0] = kept
    heapify(finishes)
