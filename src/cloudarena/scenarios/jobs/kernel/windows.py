"""Whole runs of windows of one workload, one after the other, on one state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.compiled import jit_inline
from cloudarena.engine.status import ENDED
from cloudarena.scenarios.jobs.kernel import play_on
from cloudarena.scenarios.jobs.state import Shown, World


class Fresh(NamedTuple):
    """What tasks and jobs begin with, and where the sweep stands."""

    parents: Ints  # (tasks,)
    tasks: Ints  # (jobs,)
    place: Ints  # (2,): the number of the run, and whether it has begun


@jit_inline
def clear_window(world: World, fresh: Fresh, first: int, count: int) -> None:
    """Lets a run begin with the arrival of a job; all of the run before has finished."""
    clock, tasks, progress = world.clock[0], world.tasks, world.progress
    clock.now, clock.due, clock.deciding = world.demand.submit[first], np.inf, 0
    clock.next, clock.expected = -1, np.nan
    clock.arrived, clock.last, clock.jobs_left = first, first + count, count
    clock.actions = clock.rows = clock.spare = 0
    for job in range(first, first + count):
        progress.tasks_left[job] = fresh.tasks[job]
        progress.job_finish[job] = np.inf
        for task in range(tasks.first_task[job], tasks.first_task[job + 1]):
            tasks.waiting[task] = tasks.instances[task]
            tasks.finished[task] = 0
            progress.parents_left[task] = fresh.parents[task]
            progress.ready_time[task] = progress.first_start[task] = np.inf
            progress.next_instance[task] = 0
    for user in range(len(tasks.user_predicted)):
        tasks.user_runs[user, 0] = tasks.user_runs[user, 1] = np.inf
        tasks.user_predicted[user] = np.inf


@jit_inline
def write_means(world: World, first: int, count: int, bound_s: float, means: Floats) -> None:
    """The mean wait, completion and bounded slowdown of the jobs of a window, and its makespan."""
    waits = completions = slowdowns = makespan = 0.0
    for job in range(first, first + count):
        submit = world.demand.submit[job]
        start = np.inf
        for task in range(world.tasks.first_task[job], world.tasks.first_task[job + 1]):
            start = min(start, world.progress.first_start[task])
        completion = world.progress.job_finish[job] - submit
        waits += start - submit
        completions += completion
        slowdowns += max(1.0, completion / max(bound_s, 1.0 / world.demand.job_weight[job]))
        makespan = max(makespan, world.progress.job_finish[job] - world.demand.submit[first])
    means[0], means[1], means[2] = waits / count, completions / count, slowdowns / count
    means[3] = makespan


def sweep(
    world: World,
    shown: Shown,
    fresh: Fresh,
    bound_s: float,
    firsts: Ints,
    count: int,
    means: Floats,
    stop: Ints,
    parameters: Floats,
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Runs each window under each row of parameters: ENDED when all are done.

    It comes back earlier, in the midst of a run, as ``play_on`` does; called again, it goes on.
    """
    place = fresh.place
    while place[0] < len(parameters) * len(firsts):
        row, window = place[0] // len(firsts), place[0] % len(firsts)
        if place[1] == 0:
            clear_window(world, fresh, firsts[window], count)
            place[1] = 1
        status = play_on(world, shown, stop, parameters[row], policy, rng)
        if status != ENDED:
            return status
        write_means(world, firsts[window], count, bound_s, means[row, window])
        place[0] += 1
        place[1] = 0
    return ENDED
