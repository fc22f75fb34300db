"""How time moves in a cluster of batch jobs: compiled functions on arrays.

The order of events at one instant:

1. Instances that finish, in the order in which they were started, leave their machines; a task
   whose last instance has finished lets its children become ready.
2. Machines fail or come back, in the order in which that was known. What runs on a machine that
   fails is lost and waits again.
3. Jobs arrive, in the order of the workload; their tasks without parents are ready.
4. Ready instances are started, one action after the other, until the policy starts nothing more
   or nothing more fits. With a scheduling interval this happens only at its multiples. A policy
   may say which task is next before it fits: then the kernel starts that task, as soon as there is
   room, and what may go ahead of it (``next``).

With ``simultaneous: one-by-one`` step 4 follows each single event, and arrivals come first, then
finishes, then outages.

Instances of a task that start together on one machine are one row, and one event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.calendar import size
from cloudarena.engine.compiled import (
    jit_inline,
    jit_inline_entry,
    jit_inline_uncached,
    jit_uncounted,
)
from cloudarena.engine.ordered_rooms import OrderedRooms
from cloudarena.engine.prefetch import FEW
from cloudarena.engine.segment_tree import SegmentTree
from cloudarena.engine.shape_counts import ShapeCounts, how_many, nth_fitting
from cloudarena.engine.status import DECIDE, FULL
from cloudarena.engine.ties import random_index
from cloudarena.scenarios.jobs.kernel.ahead import ask_for_machine
from cloudarena.scenarios.jobs.kernel.choice import (
    find_slot,
    first_ranked,
    how_many_could_start,
    nth_that_could_start,
)
from cloudarena.scenarios.jobs.kernel.clock import advance, record_series
from cloudarena.scenarios.jobs.kernel.queue import copies_that_fit, gang_fits, is_ready
from cloudarena.scenarios.jobs.kernel.rows import is_idle, rows_are_short, start
from cloudarena.scenarios.jobs.state import (
    NEXT,
    Machines,
    NotAllowed,
    Shown,
    Start,
    Tasks,
    Turn,
    World,
)

PATIENCE, PATIENCE_PER_MACHINE = 10_000, 100
"""How often in a row nothing may be started in an idle cluster with machines that are down."""


@jit_inline_entry
def must_start(world: World) -> bool:
    """Whether an idle cluster has nothing to wait for: no machine is down, or it waited for ever.

    Machines that fail by a distribution do so without end, and so could wait who waits for them.
    """
    clock = world.clock[0]
    patience = PATIENCE + PATIENCE_PER_MACHINE * len(world.machines.up)
    return is_idle(world) and (clock.down == 0 or clock.idle_waits >= patience)


@jit_inline
def begin(world: World, task: int, machine: int, count: int) -> int:
    """Starts what an action says (DECIDE), or says why it may not.

    A gang starts whole: its instances fill the machines in order, from the given one on, in a
    circle.
    """
    tasks, machines = world.tasks, world.machines
    if task < 0 or task >= len(tasks.job):
        return NotAllowed.NO_SUCH_TASK
    if machine < 0 or machine >= len(machines.up):
        return NotAllowed.NO_SUCH_MACHINE
    if not is_ready(world, task):
        return NotAllowed.NOT_READY
    left = count
    if tasks.gang[task]:
        left = tasks.waiting[task]
        if not gang_fits(tasks, machines, task):
            return NotAllowed.NO_ROOM
    elif count < 1 or count > min(
        tasks.waiting[task], copies_that_fit(tasks, machines, task, machine)
    ):
        return NotAllowed.NO_ROOM
    if len(machines.up) > FEW:
        ask_for_machine(world, world.rooms, world.shapes, machine)
    while left > 0:
        here = min(left, copies_that_fit(tasks, machines, task, machine))
        if here > 0:
            start(world, task, machine, here)
            left -= here
        machine = (machine + 1) % len(machines.up)
    world.clock[0].actions += 1
    world.clock[0].idle_waits = 0
    return DECIDE


@jit_inline
def choose_next(world: World, task: int, backfills: int) -> int:
    """Makes a task the next (DECIDE), or says why it may not be."""
    clock = world.clock[0]
    if task < 0 or task >= len(world.tasks.job):
        return NotAllowed.NO_SUCH_TASK
    if backfills < 0 or backfills > 1:
        return NotAllowed.NO_SUCH_RULE
    if not is_ready(world, task):
        return NotAllowed.NOT_READY
    clock.next, clock.backfills, clock.expected = task, backfills, np.nan
    clock.deciding = Turn.NEXT
    return DECIDE


@jit_uncounted
def act(world: World, task: int, machine: int, count: int) -> int:
    """Takes an action, if a decision is pending, and moves on; or says why it may not be taken.

    Task and machine -1 start nothing more at this instant. With NEXT as the machine the task is
    next; others are backfilled until it starts if the count is 1.
    """
    clock = world.clock[0]
    if clock.deciding == Turn.POLICY:
        if rows_are_short(world):
            return FULL
        clock.task, clock.machine, clock.count = task, machine, count
        if task == -1 and machine == -1:
            if must_start(world):
                return NotAllowed.MUST_START
            if is_idle(world):
                clock.idle_waits += 1
            clock.deciding = Turn.NOBODY
            record_series(world)
        elif machine == NEXT:
            status = choose_next(world, task, count)
            if status != DECIDE:
                return status
        else:
            status = begin(world, task, machine, count)
            if status != DECIDE:
                return status
    return advance(world)


@jit_inline
def shown_tasks(world: World, shown: Shown) -> Tasks:
    """The tasks with the part of ``ready`` that counts now."""
    t, clock = shown.tasks, world.clock[0]
    first = world.queue.task_at[clock.first] if clock.first >= 0 else -1
    return Tasks(
        first, shown.ready[: clock.ready],
        t.job, t.user, t.submit, t.instances, t.waiting, t.running, t.finished, t.demand,
        t.duration, t.path, t.weight, t.gang, t.first_task, t.job_held, t.user_held,
        t.processors, t.user_runs, t.user_predicted, t.begin_s, t.children, t.depth, t.gpu_models,
    )  # fmt: skip


@jit_inline
def shown_machines(world: World, shown: Shown) -> Machines:
    """The machines with the time and the rows that count now."""
    m = shown.machines
    return Machines(
        world.clock[0].now,
        m.capacity, m.free, m.speed, m.up, m.total, m.free_total, SegmentTree(m.room.nodes),
        shown.active[: size(world.finishes)], m.rows, not must_start(world),
        m.gpu_free, m.gpu_model,
    )  # fmt: skip


@jit_inline
def choose(
    world: World,
    index: OrderedRooms | None,
    shown: Shown,
    parameters: Floats,
    policy: Any,
    rng: np.random.Generator,
) -> Start:
    """The action of a policy: what the index has found, or what the policy says."""
    if index is not None:
        return first_ranked(world, index)
    return policy(shown_tasks(world, shown), shown_machines(world, shown), parameters, rng)


@jit_inline_uncached
def play_by_draws(
    world: World,
    shapes: ShapeCounts | None,
    shown: Shown,
    stop: Ints,
    parameters: Floats,
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Plays as ``random`` does where machines are counted, else as the policy does.

    What draws counts references, so that it is a loop of its own.
    """
    if shapes is not None:
        task, machine, status = -1, -1, DECIDE
        while status == DECIDE and stop[0] == 0:
            if world.clock[0].deciding == Turn.POLICY:
                if rows_are_short(world):  # before anything is drawn
                    return FULL
                task = nth_that_could_start(world, random_index(how_many_could_start(world), rng))
                slot = find_slot(world, shapes, task)
                machine = nth_fitting(shapes, slot, random_index(how_many(shapes, slot), rng))
            status = act(world, task, machine, 1)
        return status
    return play_on(world, shown, stop, parameters, policy, rng)


@jit_inline
def play_on(
    world: World,
    shown: Shown,
    stop: Ints,
    parameters: Floats,
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Lets a compiled policy decide until the run ends, rows are short, or an action is bad.

    It sees ``shown``, read-only. Where ``stop`` is set, it comes back.
    """
    task, machine, count = -1, -1, 0
    status = DECIDE
    while status == DECIDE and stop[0] == 0:
        if world.clock[0].deciding == Turn.POLICY:
            if rows_are_short(world):  # before the policy draws anything
                return FULL
            task, machine, count = choose(world, world.rooms, shown, parameters, policy, rng)
        status = act(world, task, machine, count)
    return status


def play(
    world: World,
    shown: Shown,
    stop: Ints,
    parameters: Floats,
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Plays as ``play_on`` does, and counts references, since Python gives it a Generator."""
    return play_by_draws(world, world.shapes, shown, stop, parameters, policy, rng)
