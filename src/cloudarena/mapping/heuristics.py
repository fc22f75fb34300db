"""List heuristics: tasks go to machines one by one, and stay there.

Each takes the matrix (seconds, tasks x machines) and the time at which each machine becomes
free, and returns the machine of each task. The completion time of task i on machine j is
``r[j] + etc[i, j]``, where r[j] is the time at which machine j has done what it was given.
Ties go to the lowest task, then to the lowest machine. OLB, MET and MCT take tasks in the order
of their numbers; the literature leaves that order open.

Source: Braun et al., J. Parallel and Distributed Computing 61(6), 2001; Sufferage: Maheswaran et
al., J. Parallel and Distributed Computing 59(2), 1999.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit
from cloudarena.mapping.loads import Machines, Times, earliest, finish_times


@jit
def olb(etc: Times, ready: Times) -> Machines:
    """Opportunistic load balancing: each task to the machine that is free first."""
    finish = ready.copy()
    assignment = np.empty(len(etc), np.int64)
    for task in range(len(etc)):
        machine = np.argmin(finish)
        assignment[task] = machine
        finish[machine] += etc[task, machine]
    return assignment


@jit
def met(etc: Times, ready: Times) -> Machines:
    """Minimum execution time: each task to the machine that runs it fastest, however busy."""
    assignment = np.empty(len(etc), np.int64)
    for task in range(len(etc)):
        assignment[task] = np.argmin(etc[task])
    return assignment


@jit
def mct(etc: Times, ready: Times) -> Machines:
    """Minimum completion time: each task to the machine on which it ends first."""
    finish = ready.copy()
    assignment = np.empty(len(etc), np.int64)
    for task in range(len(etc)):
        assignment[task], time = earliest(etc, task, finish)
        finish[assignment[task]] = time
    return assignment


@jit
def min_min(etc: Times, ready: Times) -> Machines:
    """Min-min: again and again the task whose earliest completion time is the smallest.

    A machine's load only grows, so an old earliest completion time is a lower bound: a task is
    looked at again only if its bound is below the best one known.
    """
    tasks = len(etc)
    finish = ready.copy()
    assignment = np.full(tasks, -1, np.int64)
    best = np.empty(tasks, np.int64)
    bounds = np.empty(tasks)
    for task in range(tasks):
        best[task], bounds[task] = earliest(etc, task, finish)
    for _ in range(tasks):
        chosen, chosen_time = -1, np.inf
        for task in range(tasks):
            if bounds[task] >= chosen_time:
                continue
            machine = best[task]
            if finish[machine] + etc[task, machine] > bounds[task]:
                best[task], bounds[task] = earliest(etc, task, finish)
            if bounds[task] < chosen_time:
                chosen, chosen_time = task, bounds[task]
        assignment[chosen] = best[chosen]
        finish[best[chosen]] = chosen_time
        bounds[chosen] = np.inf
    return assignment


@jit
def max_min(etc: Times, ready: Times) -> Machines:
    """Max-min: again and again the task whose earliest completion time is the largest.

    The completion time on the machine that once was the earliest is an upper bound: a task is
    looked at again only if its bound is above the best one known.
    """
    tasks = len(etc)
    finish = ready.copy()
    assignment = np.full(tasks, -1, np.int64)
    best = np.empty(tasks, np.int64)
    times = np.empty(tasks)
    for task in range(tasks):
        best[task], times[task] = earliest(etc, task, finish)
    for _ in range(tasks):
        chosen, chosen_time = -1, -np.inf
        for task in range(tasks):
            if assignment[task] >= 0:
                continue
            machine = best[task]
            bound = finish[machine] + etc[task, machine]
            if bound <= chosen_time:
                continue
            if bound > times[task]:
                best[task], times[task] = earliest(etc, task, finish)
            if times[task] > chosen_time:
                chosen, chosen_time = task, times[task]
        assignment[chosen] = best[chosen]
        finish[best[chosen]] = chosen_time
    return assignment


@jit
def duplex(etc: Times, ready: Times) -> Machines:
    """Duplex: the better of Min-min and Max-min; Min-min if they are equal."""
    smallest_first = min_min(etc, ready)
    largest_first = max_min(etc, ready)
    by_min_min = finish_times(etc, smallest_first, ready).max()
    by_max_min = finish_times(etc, largest_first, ready).max()
    return largest_first if by_max_min < by_min_min else smallest_first


@jit
def _two_earliest(etc: Times, task: int, finish: Times) -> tuple[int, int, float]:
    """The two machines on which a task ends first, and a bound for all the others.

    With one machine, the second is the first.
    """
    first, first_time = 0, finish[0] + etc[task, 0]
    second, second_time, third_time = 0, np.inf, np.inf
    for machine in range(1, len(finish)):
        time = finish[machine] + etc[task, machine]
        if time < first_time:
            second, second_time, third_time = first, first_time, second_time
            first, first_time = machine, time
        elif time < second_time:
            second, second_time, third_time = machine, time, second_time
        elif time < third_time:
            third_time = time
    return first, second, third_time


@jit
def sufferage(etc: Times, ready: Times) -> Machines:
    """Sufferage: a machine takes the task that would suffer most if it did not get it.

    In each round every task that is left asks for the machine on which it ends first; its
    sufferage is its second earliest completion time minus its earliest. Every machine that was
    asked for takes, of those that asked, the task with the largest sufferage; the others wait
    for the next round. With one machine the sufferage is 0.

    For each task two machines are kept, and a lower bound for the others: as long as neither of
    the two rises above it, the other machines need not be looked at.
    """
    tasks, machines = etc.shape
    finish = ready.copy()
    assignment = np.full(tasks, -1, np.int64)
    first = np.zeros(tasks, np.int64)
    second = np.zeros(tasks, np.int64)
    others = np.full(tasks, -np.inf)
    taker = np.full(machines, -1, np.int64)
    largest = np.empty(machines)
    left = tasks
    while left > 0:
        for task in range(tasks):
            if assignment[task] >= 0:
                continue
            a, b = first[task], second[task]
            time_a, time_b = finish[a] + etc[task, a], finish[b] + etc[task, b]
            if min(time_a, time_b) >= others[task] or max(time_a, time_b) > others[task]:
                a, b, others[task] = _two_earliest(etc, task, finish)
                time_a, time_b = finish[a] + etc[task, a], finish[b] + etc[task, b]
            elif time_b < time_a or (time_b == time_a and b < a):
                a, b, time_a, time_b = b, a, time_b, time_a
            first[task], second[task] = a, b
            if taker[a] < 0 or time_b - time_a > largest[a]:
                taker[a], largest[a] = task, time_b - time_a
        for machine in range(machines):
            task = taker[machine]
            if task >= 0:
                assignment[task] = machine
                finish[machine] += etc[task, machine]
                taker[machine] = -1
                left -= 1
    return assignment
