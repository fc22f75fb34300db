"""The built-in policies: which ready task starts on which machine.

Each is one function of arrays that gives one start, ``(task, machine, instances)``, or NOTHING. It
is asked again at the same instant until it gives NOTHING or nothing more fits. List policies take
the first task of their queue that could start; their queues differ in the order. Ties go to the
lower number or, with ``ties=random``, to any of the equals.

Those that say so by ``ranks_by`` find their choice in an index on many machines, and the function,
which says what they are, decides where there are few.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import Floats, Ints, locked
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.ties import TIES, break_tie, random_index
from cloudarena.policies import Parameters, PolicyBook
from cloudarena.scenarios.jobs.decision import JobsDecision
from cloudarena.scenarios.jobs.kernel.queue import (
    can_start,
    copies_that_fit,
    first_machine,
    fits,
    gang_fits,
)
from cloudarena.scenarios.jobs.policies.known import DURATIONS, ESTIMATES
from cloudarena.scenarios.jobs.replay import Replay
from cloudarena.scenarios.jobs.state import (
    ANY,
    LEAST_CPU,
    MOST_CPU,
    NOTHING,
    Machines,
    Resource,
    Start,
    Tasks,
    idle_machines,
)

CPU = int(Resource.CPU)


def shown() -> tuple[Tasks, Machines]:
    """An example of what a policy is shown."""
    whole, real = np.zeros(1, np.int64), np.zeros(1)
    flag, sizes = np.zeros(1, np.bool_), np.zeros((1, 4), np.int64)
    tasks = Tasks(
        0, whole, whole, whole, real, whole, whole, whole, whole, sizes, real, real, real, flag,
        whole, sizes, sizes, real, np.zeros((1, 2)), real, 0.0, whole, whole, whole,
    )  # fmt: skip
    return locked(tasks), locked(idle_machines(sizes, real, 1, sizes[:, :0], whole))


POLICIES = PolicyBook(
    "jobs",
    shown,
    returns=3,
    has_queue=True,
    knowable=(DURATIONS, ESTIMATES),
    drawable=(LEAST_CPU, MOST_CPU, ANY),
)
POLICIES.replay(Replay)


def by_duration(tasks: Tasks) -> Floats:
    """Keys for the shortest task first."""
    return tasks.duration


def by_duration_falling(tasks: Tasks) -> Floats:
    """Keys for the longest task first."""
    return -tasks.duration


def by_path(tasks: Tasks) -> Floats:
    """Longest path to the end of the job first."""
    return -tasks.path


def by_weight(tasks: Tasks) -> Floats:
    """Most dependent work first."""
    return -tasks.weight


@jit_uncounted
def as_many(tasks: Tasks, machines: Machines, task: int, machine: int) -> Start:
    """The start of as many waiting instances as the machine has room for."""
    return task, machine, min(tasks.waiting[task], copies_that_fit(tasks, machines, task, machine))


@jit_uncounted
def first_of_queue(tasks: Tasks, machines: Machines) -> Start:
    """The first task of the queue that could start, on the first machine with room."""
    return as_many(tasks, machines, tasks.first, first_machine(tasks, machines, tasks.first))


@POLICIES.register("first-fit")
def first_fit(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The earliest task that fits anywhere, on the first machine with room."""
    return first_of_queue(tasks, machines)


@POLICIES.register("fcfs")
def fcfs(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """Strictly in order: while the earliest task does not fit, nothing else starts."""
    task = tasks.ready[0]
    if not can_start(tasks, machines, task):
        return NOTHING
    return as_many(tasks, machines, task, max(0, first_machine(tasks, machines, task)))


@POLICIES.register("random", ranks_by=ANY)
def random(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """Any ready task that fits, on any machine with room, one instance at a time."""
    count = 0
    for task in tasks.ready:
        count += can_start(tasks, machines, task)
    skip = random_index(count, rng)
    chosen = -1
    for task in tasks.ready:
        if can_start(tasks, machines, task):
            if skip == 0:
                chosen = task
                break
            skip -= 1
    count = 0
    for m in range(len(machines.up)):
        count += fits(tasks, machines, chosen, m)
    skip = random_index(count, rng)
    for m in range(len(machines.up)):
        if fits(tasks, machines, chosen, m):
            if skip == 0:
                return chosen, m, 1
            skip -= 1
    return NOTHING


@POLICIES.register("best-fit", parameters=TIES, ranks_by=LEAST_CPU)
def best_fit(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The earliest task that fits anywhere, on the machine with room and the least CPU free."""
    best, least, equals = 0, np.inf, 0
    for m in range(len(machines.up)):
        free = float(machines.free[m, CPU])
        if free < least and fits(tasks, machines, tasks.first, m):
            best, least, equals = m, free, 1
        elif p.ties and free == least and fits(tasks, machines, tasks.first, m):
            equals += 1
            best = break_tie(best, m, equals, rng)
    return as_many(tasks, machines, tasks.first, best)


@POLICIES.register("worst-fit", parameters=TIES, ranks_by=MOST_CPU)
def worst_fit(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The earliest task that fits anywhere, one instance to the machine with the most CPU free."""
    best, most, equals = 0, -np.inf, 0
    for m in range(len(machines.up)):
        free = float(machines.free[m, CPU])
        if free > most and fits(tasks, machines, tasks.first, m):
            best, most, equals = m, free, 1
        elif p.ties and free == most and fits(tasks, machines, tasks.first, m):
            equals += 1
            best = break_tie(best, m, equals, rng)
    return tasks.first, best, 1


@POLICIES.register("sjf", order=by_duration, needs=ESTIMATES)
def sjf(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The task with the shortest duration that fits anywhere, first machine with room."""
    return first_of_queue(tasks, machines)


@POLICIES.register("ljf", order=by_duration_falling, needs=ESTIMATES)
def ljf(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The task with the longest duration that fits anywhere, first machine with room."""
    return first_of_queue(tasks, machines)


@POLICIES.register("oracle-sjf", order=by_duration, needs=DURATIONS)
def oracle_sjf(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """Shortest job first by true durations, which nobody knows: what perfect estimates gain."""
    return first_of_queue(tasks, machines)


@POLICIES.register("critical-path", order=by_path, needs=ESTIMATES)
def critical_path(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The task with the longest path to the end of its job that fits, first machine with room."""
    return first_of_queue(tasks, machines)


@POLICIES.register("max-weight", order=by_weight)
def max_weight(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The task on which most of its job depends that fits, first machine with room."""
    return first_of_queue(tasks, machines)


@POLICIES.register("gang")
def gang(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The earliest task all of whose waiting instances fit now, spread over the machines.

    Every task is treated as a gang. One with more instances than the empty cluster has room for
    begins when nothing else runs, and goes on as it can.
    """
    for task in tasks.ready:
        goes_on = tasks.running[task] + tasks.finished[task] > 0 or len(machines.active) == 0
        whole = gang_fits(tasks, machines, task)
        if whole or (goes_on and can_start(tasks, machines, task)):
            return as_many(tasks, machines, task, first_machine(tasks, machines, task))
    return NOTHING


@jit_uncounted
def alignment(tasks: Tasks, machines: Machines, task: int, machine: int) -> float:
    """The dot product of demand and free capacity, both as shares of the machine."""
    score = 0.0
    for r in range(4):
        capacity = machines.capacity[machine, r]
        if capacity > 0:
            share = tasks.demand[task, r] / capacity
            score += share * (machines.free[machine, r] / capacity)
    return score


@jit_uncounted
def work_left(tasks: Tasks, machines: Machines, job: int) -> float:
    """What is left of a job: unfinished instances times duration times share of the cluster."""
    work = 0.0
    for task in range(tasks.first_task[job], tasks.first_task[job + 1]):
        share = 0.0
        for r in range(4):
            if machines.total[r] > 0:
                share += tasks.demand[task, r] / machines.total[r]
        work += (tasks.instances[task] - tasks.finished[task]) * tasks.duration[task] * share
    return work


@POLICIES.register("tetris", needs=ESTIMATES, parameters={"weight": 1.0, **TIES})
def tetris(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The best aligned pair of task and machine, less the work that is left of the task's job.

    score = a - weight (mean a / mean p) p over the pairs that fit, with the alignment a of demand
    and free capacity, both as shares of the machine, and the work p left of the job: instances
    times duration times the sum of their shares of the cluster (Grandl et al., "Multi-resource
    packing for cluster schedulers", SIGCOMM 2014, section 3.3, with their m as the weight).
    """
    left = np.zeros(len(tasks.ready))
    sum_a, sum_p = 0.0, 0.0
    for k in range(len(tasks.ready)):
        task = tasks.ready[k]
        if k > 0 and tasks.job[task] == tasks.job[tasks.ready[k - 1]]:
            left[k] = left[k - 1]
        else:
            left[k] = work_left(tasks, machines, tasks.job[task])
        if can_start(tasks, machines, task):
            for m in range(len(machines.up)):
                if fits(tasks, machines, task, m):
                    sum_a += alignment(tasks, machines, task, m)
                    sum_p += left[k]
    weight = p.weight * (sum_a / sum_p) if sum_p > 0 else 0.0
    best, best_task, best_machine, equals = -np.inf, -1, -1, 0
    for k in range(len(tasks.ready)):
        task = tasks.ready[k]
        if can_start(tasks, machines, task):
            for m in range(len(machines.up)):
                if fits(tasks, machines, task, m):
                    score = alignment(tasks, machines, task, m) - weight * left[k]
                    if score > best:
                        best, best_task, best_machine, equals = score, task, m, 1
                    elif p.ties and score == best:
                        equals += 1
                        if break_tie(0, 1, equals, rng):
                            best_task, best_machine = task, m
    return best_task, best_machine, 1


@jit_uncounted
def dominant_share(held: Ints, total: Ints, owner: int) -> float:
    """The largest share of any resource of the cluster that an owner holds."""
    share = 0.0
    for r in range(4):
        if total[r] > 0:
            share = max(share, held[owner, r] / total[r])
    return share


@jit_uncounted
def least_served(tasks: Tasks, machines: Machines, owner: Ints, held: Ints, draw: float) -> Start:
    """One instance of the earliest fitting task of the owner with the least dominant share.

    A draw from 0 to 1 takes one of all fitting tasks whose owners have as little; -1 the earliest.
    """
    best, least, equals = -1, np.inf, 0
    for task in tasks.ready:
        share = dominant_share(held, machines.total, owner[task])
        if share < least and can_start(tasks, machines, task):
            best, least, equals = task, share, 1
        elif draw >= 0 and share == least and can_start(tasks, machines, task):
            equals += 1
    skip = int(draw * equals)
    if skip > 0:
        for task in tasks.ready:
            is_equal = dominant_share(held, machines.total, owner[task]) == least
            if is_equal and can_start(tasks, machines, task):
                if skip == 0:
                    best = task
                    break
                skip -= 1
    return best, first_machine(tasks, machines, best), 1


@POLICIES.register("drf", parameters=TIES)
def drf(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The job with the least dominant share goes next (dominant-resource fairness).

    One instance of its earliest task that fits, to the first machine with room. A job
    of which nothing fits is passed over (Ghodsi et al., "Dominant resource fairness", NSDI 2011).
    """
    draw = rng.random() if p.ties else -1.0
    return least_served(tasks, machines, tasks.job, tasks.job_held, draw)


@POLICIES.register("drf-users", parameters=TIES)
def drf_users(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
    """The user with the least dominant share goes next (dominant-resource fairness)."""
    draw = rng.random() if p.ties else -1.0
    return least_served(tasks, machines, tasks.user, tasks.user_held, draw)


def idle(decision: JobsDecision) -> tuple[int, int] | None:
    """Starts as little as it may, and as late: what no comparison may crown."""
    if decision.may_wait:
        return None
    row, machine = np.argwhere(decision.fits)[0]
    return int(decision.ready[row]), int(machine)
