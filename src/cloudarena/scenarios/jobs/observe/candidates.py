"""The start of tasks as learners see it: pairs of a task and a machine, and starting nothing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable_shared
from cloudarena.engine.scratch import scratch_floats, scratch_table
from cloudarena.engine.shortlist import keep, sort_rows, squashed
from cloudarena.scenarios.jobs.kernel import act, shown_machines, shown_tasks
from cloudarena.scenarios.jobs.kernel.queue import can_start, copies_that_fit, machine_from
from cloudarena.scenarios.jobs.observe.balance import (
    FREE,
    SHARE,
    WHOSE,
    Proportion,
    describe_balance,
    describe_work,
    forget,
    has_capacity_of,
    look_at_machine,
    look_at_task,
    normalise,
    portion_of,
    unlike,
    waiting_work,
)
from cloudarena.scenarios.jobs.state import Machines, Shown, Tasks, World

LOOKED_AT = 512
"""Ready tasks that are looked at, the earliest; a longer queue would cost more than a start."""
VISITS = 256
"""Machines that are looked at, for all tasks together."""
SECONDS = 100.0
"""A time t is shown as t / (t + 100 s)."""

FEATURES = (
    Feature("cpu_left", "cpu free on the machine afterwards, over its cpu; 1 where it has none"),
    Feature("memory_left", "the same of memory"),
    Feature("disk_left", "the same of disk"),
    Feature("gpu_left", "the same of gpu"),
    Feature("cpu_takes", "cpu of what starts over that of the machine; at most 1"),
    Feature("memory_takes", "the same of memory"),
    Feature("gpu_takes", "the same of gpu"),
    Feature("tightness", "1 - the mean of what is left of its resources"),
    Feature("alignment", "mean over resources of demand x free, as shares of the machine"),
    Feature("speed", "s / (s + 1) of the machine's speed s"),
    Feature("duration_known", "1 if the spec lets a duration or an estimate be known"),
    Feature("duration", "t / (t + 100 s) of the duration, as far as known, on the machine"),
    Feature("duration_of_longest", "its duration over the longest among the tasks shown"),
    Feature("predicted_known", "1 if tasks of the user have finished"),
    Feature("predicted", "t / (t + 100 s) of the mean of the user's last two run times"),
    Feature("path", "t / (t + 100 s) of the longest path of durations to the end of its job"),
    Feature("path_of_longest", "this path over the longest among the tasks shown"),
    Feature("depth", "n / (n + 4) of the n tasks on the longest way behind it"),
    Feature("children", "n / (n + 4) of the n tasks that wait for it directly"),
    Feature("weight", "w / (w + 100) of how much of the job depends on it (MaxWeight)"),
    Feature("age", "t / (t + 100 s) of the time since its job was submitted"),
    Feature("place", "n / (n + 8) of the n ready tasks before it"),
    Feature("instances", "log2(1 + n) / 20 of its n waiting instances; at most 1"),
    Feature("starts", "the share of its waiting instances that starts"),
    Feature("running", "the share of its instances that runs"),
    Feature("job_share", "the largest share of a resource of the cluster that its job holds"),
    Feature("user_share", "the same of its user"),
    Feature("gang", "1 if all its instances must start at once"),
    Feature(
        "unlike_free",
        "how far the proportion of the resources it asks for is from that of what is free on the "
        "machine: half the sum of differences, 0 to 1",
    ),
    Feature("unlike_work", "the same, from that of all waiting work"),
    Feature("use_unlike_work", "the same of what the machine would hold, from all waiting work"),
    Feature("log_duration", "log(1 + t) / 20 of the duration, as far as known"),
    Feature(
        "of_horizon",
        "its duration over the time that all waiting work needs at least; at most 1",
    ),
    Feature("beyond_half", "twice that less 1; at least 0, at most 1"),
    Feature("log_alone", "log(1 + t) / 20 of the time that its waiting instances need at least"),
    Feature(
        "ahead",
        "n / (n + m) of its n running instances, and the m that would have to run for the waiting "
        "ones to end in that time",
    ),
    Feature("nothing", "1 for the candidate that starts nothing more at this instant"),
)
CONTEXT = (
    Feature("ready", "log2(1 + n) / 20 of the n ready tasks; at most 1"),
    Feature("startable", "n / (n + 8) of the n tasks shown"),
    Feature("running", "n / (n + 16) of the n starts that run"),
    Feature("cpu_used", "the share of all cpu that is not free"),
    Feature("memory_used", "the same of memory"),
    Feature("gpu_used", "the same of gpu; 0 where there is none"),
    Feature("longest", "t / (t + 100 s) of the longest duration among the tasks shown"),
    Feature("may_wait", "1 if nothing may be started"),
    Feature("horizon", "t / (t + 100 s) of the time that all waiting work needs at least"),
)
NOTHING_FLAG = len(FEATURES) - 1
BALANCE = NOTHING_FLAG - 8
"""Where the features of ``balance`` begin, those of the machine."""
WORK = BALANCE + 3
"""Where those of the task alone begin."""


@jitable_shared
def alike(machines: Machines, this: int, other: int) -> bool:
    """Whether two machines are in equal state."""
    free = machines.free
    equal = (
        (machines.speed[this] == machines.speed[other])
        & (free[this, 0] == free[other, 0])
        & (free[this, 1] == free[other, 1])
        & (free[this, 2] == free[other, 2])
        & (free[this, 3] == free[other, 3])
    )
    if not equal or not has_capacity_of(machines, this, other):
        return False
    for d in range(machines.gpu_free.shape[1]):
        if machines.gpu_free[this, d] != machines.gpu_free[other, d]:
            return False
    has_gpus = machines.gpu_free.shape[1] > 0
    return not has_gpus or bool(machines.gpu_model[this] == machines.gpu_model[other])


@jitable_shared
def dominant(sizes: NDArray[np.int64], row: int, total: NDArray[np.int64]) -> float:
    """The largest share of a resource of the cluster."""
    most = 0.0
    for r in range(4):
        if total[r] > 0:
            most = max(most, sizes[row, r] / total[r])
    return min(1.0, most)


@jitable_shared
def choose_tasks(tasks: Tasks, machines: Machines, actions: NDArray[np.int64], room: int) -> int:
    """Writes the tasks that are shown to the first column of the actions: how many there are."""
    shortest, short = -1, np.inf
    longest, long = -1, -np.inf
    deepest, deep = -1, -np.inf
    heaviest, heavy = -1, -np.inf
    largest, large = -1, -np.inf
    smallest, small = -1, np.inf
    held = 0
    top = machines.room.nodes[1]
    for k in range(min(len(tasks.ready), LOOKED_AT)):
        task = tasks.ready[k]
        may_fit = True
        for r in range(4):
            may_fit = may_fit and tasks.demand[task, r] <= top[r]
        if not may_fit:
            continue
        duration, path, weight = tasks.duration[task], tasks.path[task], tasks.weight[task]
        size = dominant(tasks.demand, task, machines.total)
        is_best = duration < short or duration > long or path > deep
        is_best = is_best or weight > heavy or size > large or size < small
        if (held == room and not is_best) or not can_start(tasks, machines, task):
            continue
        if held < room:
            actions[held, 0] = task
            held += 1
        if duration < short:
            shortest, short = task, duration
        if duration > long:
            longest, long = task, duration
        if path > deep:
            deepest, deep = task, path
        if weight > heavy:
            heaviest, heavy = task, weight
        if size > large:
            largest, large = task, size
        if size < small:
            smallest, small = task, size
    if held == room:
        kept = (actions[0, 0], shortest, longest, deepest, heaviest, largest, smallest)
        for task in kept:
            keep(actions, held, task, kept)
    return held


@jitable_shared
def add_machine(
    machines: Machines, actions: NDArray[np.int64], own: int, begin: int, end: int, machine: int
) -> int:
    """Adds a machine for the task of a row behind the others, unless one in equal state is there.

    Its other machines are in the rows from ``begin`` to ``end``. Returns the new end.
    """
    if machine < 0 or alike(machines, machine, actions[own, 1]):
        return end
    for k in range(begin, end):
        if alike(machines, machine, actions[k, 1]):
            return end
    actions[end, 0] = actions[own, 0]
    actions[end, 1] = machine
    return end + 1


@jitable_shared
def choose_machines(
    tasks: Tasks,
    machines: Machines,
    actions: NDArray[np.int64],
    shown: int,
    room: int,
    work: Proportion,
    whole: Floats,
    table: NDArray[np.float64],
) -> int:
    """Writes a machine for each task, and further rows with other machines: how many there are.

    ``whole`` describes all waiting work; the table becomes one of the machines looked at.
    """
    demand = scratch_floats()
    demand[WHOSE] = -1.0
    count, visits = shown, max(8, VISITS // max(1, shown))
    for own in range(shown):
        task = actions[own, 0]
        first = machine_from(tasks, machines, task, 0)
        actions[own, 1] = max(0, first)
        if tasks.gang[task] or first < 0:
            continue
        tightest, least = first, np.inf
        loosest, most = first, -np.inf
        matching, apart = first, np.inf
        fastest = first
        machine, seen, before = first, 0, -1
        while machine >= 0 and seen < visits:
            # One in the state of that before it is no better in anything.
            if before < 0 or not alike(machines, machine, before):
                slot = look_at_machine(machines, machine, work, table)
                look_at_task(tasks, machines, task, machine, work, whole, demand)
                free = table[slot, FREE]
                if free < least:
                    tightest, least = machine, free
                if free > most:
                    loosest, most = machine, free
                distance = unlike(demand, table[slot], work)
                if distance < apart:
                    matching, apart = machine, distance
                if machines.speed[machine] > machines.speed[fastest]:
                    fastest = machine
            before = machine
            machine = machine_from(tasks, machines, task, machine + 1)
            seen += 1
        actions[own, 1] = matching
        begin, most_rows = count, count + (room - count) // (shown - own)
        for other in (tightest, loosest, first, fastest):
            if count < most_rows:
                count = add_machine(machines, actions, own, begin, count, other)
        machine, seen = first, 0
        while machine >= 0 and seen < visits and count < most_rows:
            count = add_machine(machines, actions, own, begin, count, machine)
            machine = machine_from(tasks, machines, task, machine + 1)
            seen += 1
    return count


@jitable_shared
def place_of(ready: NDArray[np.int64], task: int) -> int:
    """How many ready tasks come before one."""
    low, high = 0, len(ready)
    while low < high:
        middle = (low + high) // 2
        if ready[middle] < task:
            low = middle + 1
        else:
            high = middle
    return low


@jitable_shared
def describe_task(
    tasks: Tasks,
    machines: Machines,
    task: int,
    longest: float,
    longest_path: float,
    horizon: float,
    row: NDArray[np.float32],
) -> None:
    """Writes the features of a task that are the same on every machine."""
    duration, path, user = tasks.duration[task], tasks.path[task], tasks.user[task]
    known = not math.isnan(duration)
    row[10] = 1.0 if known else 0.0
    row[12] = min(1.0, duration / longest) if known and longest > 0.0 else 0.0
    predicted = tasks.user_predicted[user]
    row[13] = 1.0 if predicted < np.inf else 0.0
    row[14] = squashed(predicted, SECONDS) if predicted < np.inf else 0.0
    row[15] = squashed(path, SECONDS) if known else 0.0
    row[16] = min(1.0, path / longest_path) if known and longest_path > 0.0 else 0.0
    row[17] = squashed(float(tasks.depth[task]), 4.0)
    row[18] = squashed(float(tasks.children[task]), 4.0)
    row[19] = squashed(tasks.weight[task], 100.0)
    row[20] = squashed(machines.now - tasks.submit[task], SECONDS)
    row[21] = squashed(float(place_of(tasks.ready, task)), 8.0)
    row[22] = min(1.0, math.log2(1.0 + tasks.waiting[task]) / 20.0)
    row[24] = tasks.running[task] / tasks.instances[task]
    row[25] = dominant(tasks.job_held, tasks.job[task], machines.total)
    row[26] = dominant(tasks.user_held, user, machines.total)
    row[27] = 1.0 if tasks.gang[task] else 0.0
    describe_work(tasks, machines, task, horizon, row[WORK:NOTHING_FLAG])
    row[NOTHING_FLAG] = 0.0


@jitable_shared
def describe(
    tasks: Tasks,
    machines: Machines,
    start: NDArray[np.int64],
    demand: Floats,
    own: Floats,
    row: NDArray[np.float32],
) -> int:
    """Writes other features of a start. Of a gang, those of its first on the machine.

    ``demand`` describes the task, ``own`` the machine. Returns how many are looked at.
    """
    task, machine, count = start[0], start[1], start[2]
    if tasks.gang[task]:
        count = min(count, copies_that_fit(tasks, machines, task, machine))
    resources, left_sum, aligned = 0, 0.0, 0.0
    for r in range(4):
        capacity, free = machines.capacity[machine, r], machines.free[machine, r]
        left, takes = 1.0, 0.0
        if capacity > 0:
            left = max(0.0, (free - count * tasks.demand[task, r]) / capacity)
            takes = min(1.0, count * tasks.demand[task, r] / capacity)
            aligned += min(1.0, demand[SHARE + r]) * max(0.0, own[SHARE + r])
            left_sum += left
            resources += 1
        row[r] = left
        if r < 2:
            row[4 + r] = takes
        elif r == 3:
            row[6] = takes
    row[7] = 1.0 - left_sum / max(1, resources)
    row[8] = min(1.0, aligned / max(1, resources))
    speed, duration = machines.speed[machine], tasks.duration[task]
    row[9] = squashed(speed, 1.0)
    row[11] = 0.0 if math.isnan(duration) else squashed(duration / speed, SECONDS)
    row[23] = start[2] / tasks.waiting[task]
    return count


@jitable_shared
def used(machines: Machines, resource: int) -> float:
    """The share of a resource of the cluster that is not free."""
    total = machines.total[resource]
    return min(1.0, max(0.0, 1.0 - machines.free_total[resource] / total)) if total > 0 else 0.0


@jitable_shared
def fill(
    tasks: Tasks,
    machines: Machines,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Starts by task, then by machine; last, to start nothing more.

    As many instances start as fit, but if there are several tasks to choose from at most as many as
    fill an eighth of the machine when it is empty, so that others may start beside them.
    Among the first 512 ready tasks those that could start now, if they fill at most half of the
    rows; else the earliest of them, and the shortest, the longest, those with the longest path, the
    largest weight, the most and the least demand. Each is shown on the machine with room that has
    resources free in the most similar proportion, and as far as there are rows, on the fullest, the
    emptiest, the first, the fastest and others, one of each state. Of many machines the first with
    room are looked at. A gang is shown once.
    """
    room = len(actions) - 1
    shown = choose_tasks(tasks, machines, actions, max(1, room // 2))
    work = waiting_work(tasks, machines, LOOKED_AT)
    whole, demand, held = scratch_floats(), scratch_floats(), scratch_floats()
    for r in range(4):
        whole[SHARE + r] = work[r]
    normalise(work, whole)
    table = scratch_table()
    forget(table, len(machines.up))
    count = choose_machines(tasks, machines, actions, shown, room, work, whole, table)
    longest, longest_path = 0.0, 0.0
    for k in range(shown):
        if tasks.duration[actions[k, 0]] > longest:
            longest = tasks.duration[actions[k, 0]]
        if tasks.path[actions[k, 0]] > longest_path:
            longest_path = tasks.path[actions[k, 0]]
    horizon = max(longest, max(max(work[0], work[1]), max(work[2], work[3])))
    sort_rows(actions, count)
    portion = 0
    demand[WHOSE] = -1.0
    for k in range(count):
        task, machine = actions[k, 0], actions[k, 1]
        own = table[look_at_machine(machines, machine, work, table)]
        is_new = look_at_task(tasks, machines, task, machine, work, whole, demand)
        if is_new and shown > 1:
            portion = portion_of(tasks, machines, task, machine)
        actions[k, 2] = tasks.waiting[task]
        if not tasks.gang[task]:
            copies = copies_that_fit(tasks, machines, task, machine)
            if shown > 1:
                copies = min(copies, portion)
            actions[k, 2] = min(tasks.waiting[task], copies)
        if k > 0 and actions[k - 1, 0] == task:
            for column in range(10, NOTHING_FLAG + 1):
                features[k, column] = features[k - 1, column]
        else:
            describe_task(tasks, machines, task, longest, longest_path, horizon, features[k])
        instances = describe(tasks, machines, actions[k], demand, own, features[k])
        describe_balance(
            machines, machine, instances, work, whole, demand, own, held,
            features[k, BALANCE:WORK],
        )  # fmt: skip
    features[count:] = 0.0
    context[0] = min(1.0, math.log2(1.0 + len(tasks.ready)) / 20.0)
    context[1] = squashed(float(shown), 8.0)
    context[2] = squashed(float(len(machines.active)), 16.0)
    context[3] = used(machines, 0)
    context[4] = used(machines, 1)
    context[5] = used(machines, 3)
    context[6] = squashed(longest, SECONDS)
    context[7] = 1.0 if machines.may_wait else 0.0
    context[8] = squashed(horizon, SECONDS)
    if machines.may_wait or count == 0:
        features[count, NOTHING_FLAG] = 1.0
        actions[count, 0] = -1
        actions[count, 1] = -1
        actions[count, 2] = 0
        count += 1
    return count


def look(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Does what ``fill`` does, of the instant that a run is at."""
    shown = Shown(world.tasks, world.machines, world.ready, world.finishes.payloads)
    return fill(shown_tasks(world, shown), shown_machines(world, shown), features, context, actions)


TAKE = jit_inline(act.py_func)
"""The kernel's ``act`` as a part of who calls it: a call would copy what a state consists of."""


def take(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate."""
    return TAKE(world, numbers[0], numbers[1], numbers[2])


CANDIDATES = {
    "jobs": Candidates("jobs", FEATURES, CONTEXT, 2, 64, fill, numbers=3, look=look, take=take)
}
