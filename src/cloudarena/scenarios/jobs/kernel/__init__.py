"""How time moves in a cluster of batch jobs: compiled functions on arrays.

The order of events at one instant:

1. Instances that finish, in the order in which they were started, leave their machines; a task
   whose last instance has finished lets its children become ready.
2. Machines fail or come back, in the order in which that was known. What runs on a machine that
   fails is lost and waits again.
3. Jobs arrive, in the order of the workload; their tasks without parents are ready.
4. Ready instances are started, one action after the other, until the policy starts nothing more
   or nothing more fits. With a scheduling interval this happens only at its multiples.

Instances of a task that start together on one machine are one row, and one event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import heapify, next_time, pop, push, size
from cloudarena.engine.compiled import inlined, inner, lean
from cloudarena.engine.index import put, put_number
from cloudarena.scenarios.jobs.queue import (
    become_ready,
    copies_that_fit,
    gang_fits,
    is_ready,
    next_in_queue,
    no_longer_ready,
)
from cloudarena.scenarios.jobs.state import (
    DONE,
    LOST,
    RUNNING,
    Machines,
    Outages,
    Shown,
    Tasks,
    World,
)

(
    ENDED,
    DECIDE,
    ROWS_FULL,
    NO_SUCH_TASK,
    NO_SUCH_MACHINE,
    NOT_READY,
    NO_ROOM,
    MUST_START,
) = range(8)
"""Where a run stands; from NO_SUCH_TASK on, why an action is not allowed."""

PATIENCE, PATIENCE_PER_MACHINE = 10_000, 100
"""How often in a row nothing may be started in an idle cluster with machines that are down."""
FINEST = 2.0**52
"""Multiples of an interval beyond this one are nearer to each other than floats are."""


@inner
def take_row(world: World) -> int:
    """The number of a row that is not in use."""
    clock = world.clock[0]
    if clock.spare > 0:
        clock.spare -= 1
        return world.spare_rows[clock.spare]
    clock.rows += 1
    return clock.rows - 1


@inner
def give_row(world: World, number: int) -> None:
    """Lets a row be used again, if nobody wants to see it."""
    if world.recycles:
        world.spare_rows[world.clock[0].spare] = number
        world.clock[0].spare += 1


@inner
def next_lost(world: World, number: int) -> int:
    """The lowest number of the lost instances of a row that have not started again."""
    row = world.machines.rows[number]
    return row.first + row.count - row.lost_left


@inner
def start_rows(world: World, task: int, machine: int, count: int) -> None:
    """Starts instances on a machine: lost ones first, then new ones, in the order of number."""
    clock, progress, rows = world.clock[0], world.progress, world.machines.rows
    while count > 0:
        number = take_row(world)
        row = rows[number]
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
                give_row(world, lost)
        else:
            row.first = progress.next_instance[task]
            progress.next_instance[task] += here
        row.action = clock.actions
        row.task = task
        row.machine = machine
        row.count = here
        row.start = clock.now
        row.finish = clock.now + world.demand.duration[task] / world.machines.speed[machine]
        row.state = RUNNING
        push(world.finishes, row.finish, number)
        count -= here


@inner
def hold(world: World, task: int, machine: int, count: int) -> None:
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
    put(machines.room, machine, machines.free[machine], 1)
    if count < 0:
        put_number(world.queue.dirty, machine, 0)


@inner
def start(world: World, task: int, machine: int, count: int) -> None:
    """Starts a number of waiting instances of a task on a machine, now."""
    now, progress = world.clock[0].now, world.progress
    start_rows(world, task, machine, count)
    hold(world, task, machine, count)
    progress.first_start[task] = min(progress.first_start[task], now)
    world.tasks.waiting[task] -= count
    if world.tasks.waiting[task] == 0:
        no_longer_ready(world, task)


@inner
def finish_task(world: World, task: int) -> None:
    """Lets the children of a finished task go on, and its job end."""
    clock, totals, progress, demand = world.clock[0], world.totals[0], world.progress, world.demand
    progress.last_finish[task] = clock.now
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


@inner
def finish_row(world: World, number: int) -> None:
    """Takes finished instances off their machine."""
    row, totals, tasks = world.machines.rows[number], world.totals[0], world.tasks
    task = row.task
    row.state = DONE
    hold(world, task, row.machine, -row.count)
    tasks.finished[task] += row.count
    totals.completed += row.count
    totals.wait_s += row.count * (row.start - world.progress.ready_time[task])
    if tasks.finished[task] == tasks.instances[task]:
        finish_task(world, task)
    give_row(world, number)


@inner
def lose_row(world: World, number: int) -> None:
    """Puts the instances of a row on a failed machine back among the waiting ones."""
    rows, totals, tasks, clock = world.machines.rows, world.totals[0], world.tasks, world.clock[0]
    row = rows[number]
    task = row.task
    row.state = LOST
    row.finish = clock.now
    row.lost_left = row.count
    hold(world, task, row.machine, -row.count)
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
        world.progress.lost_head[task] = number
    else:
        rows[before].lost_next = number


@inner
def lose_all(world: World, machine: int) -> None:
    """Loses what runs on a machine."""
    finishes, rows = world.finishes, world.machines.rows
    kept = 0
    for k in range(size(finishes)):
        number = finishes.payloads[k]
        if rows[number].machine == machine:
            lose_row(world, number)
        else:
            finishes.times[kept] = finishes.times[k]
            finishes.sequence[kept] = finishes.sequence[k]
            finishes.payloads[kept] = number
            kept += 1
    finishes.counters[0] = kept
    heapify(finishes)


@inner
def draw_share(outages: Outages, machine: int) -> float:
    """The next number between 0 and 1 of a machine's own SplitMix64 generator."""
    state = outages.seeds[machine] + np.uint64(0x9E3779B97F4A7C15)
    outages.seeds[machine] = state
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return (np.float64(bits >> np.uint64(11)) + 0.5) / 9007199254740992.0


@lean
def draw_failure(outages: Outages, machine: int) -> float:
    """The time a machine stays up: Weibull, by inversion."""
    return outages.up_scale * (-np.log(draw_share(outages, machine))) ** (1.0 / outages.up_shape)


@inner
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
    put(machines.room, machine, machines.free[machine], 1)
    put_number(world.queue.dirty, machine, 0)
    if outages.up_scale > 0:
        if comes_back:
            push(outages.calendar, now + draw_failure(outages, machine), machine)
        else:
            repair = -outages.down_mean * np.log(draw_share(outages, machine))
            push(outages.calendar, now + repair, count + machine)


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
        row[3 + r] = world.held[r] / 1_000_000
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


@inner
def is_idle(world: World) -> bool:
    """Whether nothing runs and nothing will arrive: only machines may still fail and come back."""
    return world.clock[0].arrived == len(world.demand.submit) and size(world.finishes) == 0


@inlined
def must_start(world: World) -> bool:
    """Whether an idle cluster has nothing to wait for: no machine is down, or it waited for ever.

    Machines that fail by a law do so without end, and so could wait who waits for them.
    """
    clock = world.clock[0]
    patience = PATIENCE + PATIENCE_PER_MACHINE * len(world.machines.up)
    return is_idle(world) and (clock.down == 0 or clock.idle_waits >= patience)


@inner
def rows_are_short(world: World) -> bool:
    """Whether the next start may need more rows than there are."""
    clock = world.clock[0]
    needed = len(world.machines.up) + clock.lost_rows + 1
    return clock.rows - clock.spare + needed > len(world.machines.rows)


@inner
def begin(world: World, task: int, machine: int, count: int) -> int:
    """Starts what an action says (DECIDE), or says why it may not.

    A gang starts whole: its instances fill the machines in order, from the given one on, in a
    circle.
    """
    tasks, machines = world.tasks, world.machines
    if task < 0 or task >= len(tasks.job):
        return NO_SUCH_TASK
    if machine < 0 or machine >= len(machines.up):
        return NO_SUCH_MACHINE
    if not is_ready(world, task):
        return NOT_READY
    left = count
    if tasks.gang[task]:
        left = tasks.waiting[task]
        if not gang_fits(tasks, machines, task):
            return NO_ROOM
    elif count < 1 or count > min(
        tasks.waiting[task], copies_that_fit(tasks, machines, task, machine)
    ):
        return NO_ROOM
    while left > 0:
        here = min(left, copies_that_fit(tasks, machines, task, machine))
        if here > 0:
            start(world, task, machine, here)
            left -= here
        machine = (machine + 1) % len(machines.up)
    world.clock[0].actions += 1
    world.clock[0].idle_waits = 0
    return DECIDE


@lean
def act(world: World, task: int, machine: int, count: int) -> int:
    """Takes an action, if a decision is pending, and moves on; or says why it may not be taken.

    Task and machine -1 start nothing more at this instant.
    """
    clock = world.clock[0]
    if clock.deciding == 1:
        if rows_are_short(world):
            return ROWS_FULL
        clock.task, clock.machine, clock.count = task, machine, count
        if task == -1 and machine == -1:
            if must_start(world):
                return MUST_START
            if is_idle(world):
                clock.idle_waits += 1
            clock.deciding = 0
            record_series(world)
        else:
            status = begin(world, task, machine, count)
            if status != DECIDE:
                return status
    return advance(world)


@inner
def shown_tasks(world: World, shown: Shown) -> Tasks:
    """The tasks with the part of ``ready`` that counts now."""
    t, clock = shown.tasks, world.clock[0]
    return Tasks(
        world.queue.task_at[clock.first], shown.ready[: clock.ready],
        t.job, t.user, t.submit, t.instances, t.waiting, t.running, t.finished, t.demand,
        t.duration, t.path, t.weight, t.gang, t.first_task, t.job_held, t.user_held,
    )  # fmt: skip


@inner
def shown_machines(world: World, shown: Shown) -> Machines:
    """The machines with the time and the rows that count now."""
    m = shown.machines
    return Machines(
        world.clock[0].now,
        m.capacity, m.free, m.speed, m.up, m.total, m.free_total, m.room,
        shown.active[: size(world.finishes)], m.rows,
    )  # fmt: skip


@inner
def play_on(
    world: World, shown: Shown, stop: NDArray[np.int64], policy: Any, rng: np.random.Generator
) -> int:
    """Lets a compiled policy decide until the run ends, rows are short, or an action is bad.

    It sees ``shown``, read-only. Where ``stop`` is set, it comes back.
    """
    task, machine, count = -1, -1, 0
    status = DECIDE
    while status == DECIDE and stop[0] == 0:
        if world.clock[0].deciding == 1:
            if rows_are_short(world):  # before the policy draws anything
                return ROWS_FULL
            task, machine, count = policy(
                shown_tasks(world, shown), shown_machines(world, shown), rng
            )
        status = act(world, task, machine, count)
    return status


def play(
    world: World, shown: Shown, stop: NDArray[np.int64], policy: Any, rng: np.random.Generator
) -> int:
    """As ``play_on``, for Python; it counts references, since Python gives it a Generator."""
    return play_on(world, shown, stop, policy, rng)
