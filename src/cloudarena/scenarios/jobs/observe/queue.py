"""The queue as learners see it: which of the waiting jobs is next."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import MICRO
from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jitable, jitable_counted
from cloudarena.scenarios.jobs.kernel.queue import can_start
from cloudarena.scenarios.jobs.policies.placement import CPU
from cloudarena.scenarios.jobs.policies.ranking import SHORT_S, predicted_time
from cloudarena.scenarios.jobs.state import NEXT, Machines, Tasks

LOGARITHMS = 20.0
"""Logarithms are shown over this: 15 years in seconds, or 485 million processors, are 1."""
CROWD = 10.0
"""The logarithm of a number of waiting jobs is shown over this."""
UNKNOWN_S = 3600.0
"""How long a job is taken to run of which nothing is known at all."""
EARLIEST = 4
"""If not all waiting jobs can be shown, one row in so many is for the earliest."""

FEATURES = (
    Feature("predicted", "log(t) / 20 of the predicted run time, 1 s at least"),
    Feature("request", "the same of the requested time; of the predicted where none was said"),
    Feature("processors", "log(n) / 20 of its n processors"),
    Feature("share", "its processors over all of the cluster; at most 1"),
    Feature("wait", "log(1 + t) / 20 of the time since its submission"),
    Feature("slowdown", "log(1 + wait / predicted time) / 20, with 10 s at least"),
    Feature("fits", "1 if it could start now"),
    Feature(
        "delay",
        "log(1 + t) / 20 of the time until there are enough processors, by predicted run times; "
        "where others are backfilled, by requested times",
    ),
    Feature(
        "consumed",
        "log(a) / 40 of the processor-seconds that it takes: its predicted run time x "
        "processors, and the delay x the processors that are free now",
    ),
    Feature("brief", "10 s / (10 s + t) of the predicted run time"),
    Feature("known", "1 if jobs of its user have finished"),
    Feature("crowd_processors", "processors x the waiting jobs as the context shows them"),
)
CONTEXT = (
    Feature("backfills", "1 if others are backfilled until the next job starts"),
    Feature("ready", "log(1 + n) / 10 of the n waiting jobs; at most 1"),
    Feature("free", "the share of all processors that is free"),
    Feature("size", "log(n) / 20 of the n processors of the cluster"),
)


@jitable
def logarithm(value: float) -> float:
    """The logarithm of 1 + a number from 0 on, as a share."""
    return min(1.0, math.log(1.0 + value) / LOGARITHMS) if value > 0.0 else 0.0


@jitable
def expected_time(tasks: Tasks, task: int) -> float:
    """How long a task will run by all that is known; never infinity."""
    predicted = predicted_time(tasks, task)
    return predicted if predicted < np.inf else UNKNOWN_S


@jitable
def time_left(tasks: Tasks, task: int, elapsed: float) -> float:
    """How long a running task will go on: one that outlived its prediction as long again.

    At most as long as was said.
    """
    predicted, request = expected_time(tasks, task), tasks.duration[task]
    left = predicted - elapsed if predicted > elapsed else elapsed
    return left if math.isnan(request) else max(0.0, min(left, request - elapsed))


@jitable_counted
def releases(
    tasks: Tasks, machines: Machines, by_request: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When processors come free, seconds from now in rising order, and how many are free then."""
    running = len(machines.active)
    after, released = np.empty(running), np.empty(running)
    for k in range(running):
        row = machines.rows[machines.active[k]]
        task, elapsed = row["task"], machines.now - row["start"]
        left = tasks.duration[task] - elapsed
        if not by_request or math.isnan(left):
            left = time_left(tasks, task, elapsed)
        after[k] = max(0.0, left)
        released[k] = row["count"] * tasks.demand[task, CPU] / MICRO
    order = np.argsort(after)
    free = machines.free_total[CPU] / MICRO
    return after[order], free + np.cumsum(released[order])


@jitable
def delay_until(after: NDArray[np.float64], free: NDArray[np.float64], processors: float) -> float:
    """How long it takes until so many processors are free; the longest there is if never."""
    low, high = 0, len(free)
    while low < high:
        middle = (low + high) // 2
        if free[middle] < processors:
            low = middle + 1
        else:
            high = middle
    if len(after) == 0:
        return 0.0
    return after[min(low, len(after) - 1)]


@jitable_counted
def choose_jobs(tasks: Tasks, actions: NDArray[np.int64]) -> int:
    """Writes the jobs that are shown to the first column of the actions: how many there are."""
    waiting, room = len(tasks.ready), len(actions)
    if waiting <= room:
        for k in range(waiting):
            actions[k, 0] = tasks.ready[k]
        return waiting
    early = room // EARLIEST
    areas = np.empty(waiting - early)
    for k in range(early, waiting):
        task = tasks.ready[k]
        areas[k - early] = expected_time(tasks, task) * tasks.processors[task]
    wanted = room - early
    limit = np.partition(areas, wanted - 1)[wanted - 1]
    equals = wanted
    for area in areas:
        if area < limit:
            equals -= 1
    for k in range(early):
        actions[k, 0] = tasks.ready[k]
    count = early
    for k in range(early, waiting):
        area = areas[k - early]
        if area < limit or (area == limit and equals > 0):
            if area == limit:
                equals -= 1
            actions[count, 0] = tasks.ready[k]
            count += 1
    return count


@jitable
def describe(
    tasks: Tasks,
    machines: Machines,
    task: int,
    fits: bool,
    delay: float,
    crowd: float,
    row: NDArray[np.float32],
) -> None:
    """Writes the features of a waiting job; the delay is 0 if it could start now."""
    total = machines.total[CPU] / MICRO
    n, user = tasks.processors[task], tasks.user[task]
    predicted_s, request_s = expected_time(tasks, task), tasks.duration[task]
    if math.isnan(request_s):
        request_s = predicted_s
    wait_s = machines.now - tasks.submit[task]
    predicted = logarithm(predicted_s - 1.0)
    processors = logarithm(n - 1.0)
    slowdown = logarithm(wait_s / max(predicted_s, SHORT_S))
    row[0] = predicted
    row[1] = logarithm(request_s - 1.0)
    row[2] = processors
    row[3] = min(1.0, n / total) if total > 0.0 else 1.0
    row[4] = logarithm(wait_s)
    row[5] = slowdown
    row[6] = 1.0 if fits else 0.0
    row[7] = logarithm(delay)
    idle = delay * machines.free_total[CPU] / MICRO
    row[8] = min(1.0, math.log(max(1.0, predicted_s * n + idle)) / (2.0 * LOGARITHMS))
    row[9] = SHORT_S / (SHORT_S + predicted_s)
    row[10] = 1.0 if tasks.user_predicted[user] < np.inf else 0.0
    row[11] = crowd * processors


@jitable_counted
def fill(
    tasks: Tasks,
    machines: Machines,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """The waiting jobs in order of arrival; the one that is taken is next, and starts when it fits.

    If there are more than rows, the earliest, a quarter of the rows, and those with the smallest
    predicted area. Whether others are backfilled meanwhile is in the context beforehand.
    """
    backfills = context[0] > 0.0
    count = choose_jobs(tasks, actions)
    crowd = min(1.0, math.log(1.0 + len(tasks.ready)) / CROWD)
    after, free = releases(tasks, machines, backfills)
    for k in range(count):
        task = actions[k, 0]
        actions[k, 1] = NEXT
        actions[k, 2] = 1 if backfills else 0
        fits = can_start(tasks, machines, task)
        delay = 0.0 if fits else delay_until(after, free, tasks.processors[task])
        describe(tasks, machines, task, fits, delay, crowd, features[k])
    features[count:] = 0.0
    total = machines.total[CPU] / MICRO
    context[1] = crowd
    context[2] = min(1.0, max(0.0, machines.free_total[CPU] / MICRO / total)) if total > 0 else 0.0
    context[3] = logarithm(total - 1.0)
    return count


RANKINGS = {
    "jobs-queue": Candidates(
        "jobs-queue", FEATURES, CONTEXT, 1, 64, fill, numbers=3,
        options=(("backfill", ("none", "strict")),), makes_arrays=True, early=True,
    )
}  # fmt: skip
