"""When machines and tasks end under an assignment of tasks to machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit

Times = NDArray[np.float64]
Machines = NDArray[np.int64]


@jit
def finish_times(etc: Times, assignment: Machines, ready: Times) -> Times:
    """When each machine ends: ``ready[j]`` plus the times of its tasks, added in task order."""
    finish = ready.copy()
    for task in range(len(assignment)):
        machine = assignment[task]
        finish[machine] += etc[task, machine]
    return finish


@jit
def makespan(etc: Times, assignment: Any, ready: Times, finish: Times) -> float:
    """The latest end of a machine, to the same bit as ``finish_times``; ``finish`` is scratch."""
    finish[:] = ready
    for task in range(len(assignment)):
        machine = assignment[task]
        finish[machine] += etc[task, machine]
    latest = finish[0]
    for machine in range(1, len(finish)):
        latest = max(latest, finish[machine])
    return latest


@jit
def earliest(etc: Times, task: int, finish: Times) -> tuple[int, float]:
    """The machine on which a task ends first, the lowest index among equals, and when."""
    best = 0
    best_time = finish[0] + etc[task, 0]
    for machine in range(1, len(finish)):
        time = finish[machine] + etc[task, machine]
        if time < best_time:
            best, best_time = machine, time
    return best, best_time


def completion_times(etc: Times, assignment: Machines, ready: Times) -> Times:
    """When each task ends if every machine runs its tasks shortest first.

    That order gives the smallest mean for an assignment. Of equally long tasks the one with the
    lowest index runs first.
    """
    times = etc[np.arange(len(assignment)), assignment]
    completion = np.empty(len(assignment))
    order = np.lexsort((times, assignment))
    bounds = np.searchsorted(assignment[order], np.arange(len(ready) + 1))
    for machine, start in enumerate(ready):
        tasks = order[bounds[machine] : bounds[machine + 1]]
        completion[tasks] = start + np.cumsum(times[tasks])
    return completion
