"""Tabu search over mappings, after Braun et al. 2001."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit
from cloudarena.mapping.loads import Machines, Times, finish_times

HOPS = 1200
"""Successful hops, short and long, after which the search ends."""
TRIES = 100
"""Random mappings that are tried for a long hop before the search ends."""


@jit
def _improve_pair(
    etc: Times, assignment: Machines, finish: Times, latest: float, i: int, j: int
) -> bool:
    """Moves tasks i and j to the first machines that give a smaller makespan, if there are any.

    Machines are tried in the order of i's, then j's number; if i is j, one task moves. All loads
    but those of the machines of i and j must be below ``latest``, the makespan.
    """
    machines = len(finish)
    machine_i, machine_j = assignment[i], assignment[j]
    before_i, before_j = finish[machine_i], finish[machine_j]
    finish[machine_i] -= etc[i, machine_i]
    if i != j:
        finish[machine_j] -= etc[j, machine_j]
    possible = finish[machine_i] < latest and finish[machine_j] < latest
    if possible:
        # If j fits nowhere even with i out of the way, no pair of machines will do.
        possible = False
        for target_j in range(machines):
            if finish[target_j] + etc[j, target_j] < latest:
                possible = True
                break
    if possible:
        for target_i in range(machines):
            load = finish[target_i] + etc[i, target_i]
            if load >= latest:
                continue
            if i == j:
                assignment[i] = target_i
                return True
            for target_j in range(machines):
                base = load if target_j == target_i else finish[target_j]
                if base + etc[j, target_j] < latest:
                    assignment[i], assignment[j] = target_i, target_j
                    return True
    finish[machine_j] = before_j
    finish[machine_i] = before_i
    return False


@jit
def _short_hops(etc: Times, ready: Times, assignment: Machines, hops: int) -> int:
    """Takes at most ``hops`` short hops, in place, and returns how many it took.

    Pairs of tasks (i, j) with i <= j are tried in order; after a hop the scan goes on with the
    next pair, and begins again at the end. It ends when all pairs have been tried in vain. Only
    a pair that empties every machine with the latest end can help; the others are passed over.
    """
    tasks = len(etc)
    done = 0
    in_vain = 0
    i = 0
    finish = finish_times(etc, assignment, ready)
    latest = finish.max()
    critical = np.count_nonzero(finish == latest)
    while done < hops and in_vain < tasks:
        in_vain += 1
        j = i
        while j < tasks and done < hops and critical <= 2:
            covered = finish[assignment[i]] == latest
            if assignment[j] != assignment[i] and finish[assignment[j]] == latest:
                covered += 1
            if covered == critical and _improve_pair(etc, assignment, finish, latest, i, j):
                done += 1
                in_vain = 0
                finish = finish_times(etc, assignment, ready)
                latest = finish.max()
                critical = np.count_nonzero(finish == latest)
            j += 1
        i = (i + 1) % tasks
    return done


@jit
def _is_far(mapping: Machines, searched: np.ndarray, count: int) -> bool:
    """Whether a mapping differs from each of the first ``count`` ones in half of the tasks."""
    for entry in range(count):
        different = 0
        for task in range(len(mapping)):
            different += mapping[task] != searched[entry, task]
        if 2 * different < len(mapping):
            return False
    return True


@jit
def tabu_search(
    etc: Times, ready: Times, rng: np.random.Generator, hops: int = HOPS, tries: int = TRIES
) -> Machines:
    """Tabu search: descents from random mappings far away from those already searched.

    A short hop gives one task, or two, new machines such that the makespan falls; the first that
    does is taken. When there is none, the mapping goes to the tabu list, and a long hop goes to
    a random mapping that differs in at least half of the tasks from each on the list. It ends
    after 1200 hops, or when 100 random mappings in a row are too near. The result is the best
    mapping of the list.
    """
    tasks, machines = etc.shape
    searched = np.empty((hops + 1, tasks), np.int32)
    count = 0
    assignment = np.empty(tasks, np.int64)
    best = np.empty(tasks, np.int64)
    best_makespan = np.inf
    done = 0
    while True:
        is_far = False
        for _ in range(tries):
            for task in range(tasks):
                assignment[task] = int(rng.random() * machines)
            is_far = _is_far(assignment, searched, count)
            if is_far:
                break
        if not is_far:
            return best
        done += count > 0
        done += _short_hops(etc, ready, assignment, hops - done)
        searched[count] = assignment
        count += 1
        latest = finish_times(etc, assignment, ready).max()
        if latest < best_makespan:
            best[:], best_makespan = assignment, latest
        if done >= hops:
            return best
