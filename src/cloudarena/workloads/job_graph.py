"""The order among tasks as a graph: who waits for whom, in how many levels, in which circle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled


def parent_lists(
    tasks: int, edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges as lists: the parents of task ``t`` are ``parents[first[t] : first[t + 1]]``.

    Args:
        tasks: how many tasks there are.
        edges: rows of (task, parent); a row may stand more than once.

    Returns:
        ``first`` (tasks + 1) and ``parents``, each task's once and in rising order.
    """
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    task, parent = edges[order, 0], edges[order, 1]
    fresh = np.ones(len(task), bool)
    fresh[1:] = (task[1:] != task[:-1]) | (parent[1:] != parent[:-1])
    first = np.zeros(tasks + 1, np.int64)
    np.cumsum(np.bincount(task[fresh], minlength=tasks), out=first[1:])
    return first, parent[fresh].astype(np.int64)


def task_levels(first_parent: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The longest way from a task without parents to each task, in edges.

    Tasks that wait for themselves, through whatever others, have the level -1.
    """
    if len(parents) == 0:
        return np.zeros(len(first_parent) - 1, np.int64)
    levels: NDArray[np.int64] = _levels(first_parent, parents)
    return levels


def circle(
    first_parent: NDArray[np.int64], parents: NDArray[np.int64], levels: NDArray[np.int64]
) -> list[int]:
    """Tasks that wait for each other in a circle, each for the next and the last for the first.

    Empty when no level is -1.
    """
    stuck = np.flatnonzero(levels < 0)
    if len(stuck) == 0:
        return []
    task, path, place = int(stuck[0]), [], {}
    while task not in place:
        place[task] = len(path)
        path.append(task)
        before = parents[first_parent[task] : first_parent[task + 1]]
        task = int(before[levels[before] < 0][0])
    return path[place[task] :]


@compiled
def _levels(first_parent: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kahn's algorithm: a task's level is known when those of all its parents are."""
    tasks = len(first_parent) - 1
    first_child = np.zeros(tasks + 1, np.int64)
    for parent in parents:
        first_child[parent + 1] += 1
    for task in range(tasks):
        first_child[task + 1] += first_child[task]
    children = np.empty(len(parents), np.int64)
    filled = first_child[:-1].copy()
    for task in range(tasks):
        for k in range(first_parent[task], first_parent[task + 1]):
            children[filled[parents[k]]] = task
            filled[parents[k]] += 1
    missing = first_parent[1:] - first_parent[:-1]
    levels = np.where(missing == 0, 0, -1)
    reached = np.zeros(tasks, np.int64)
    ready = np.empty(tasks, np.int64)
    end = 0
    for task in range(tasks):
        if missing[task] == 0:
            ready[end] = task
            end += 1
    begin = 0
    while begin < end:
        task = ready[begin]
        begin += 1
        for k in range(first_child[task], first_child[task + 1]):
            child = children[k]
            reached[child] = max(reached[child], levels[task] + 1)
            missing[child] -= 1
            if missing[child] == 0:
                levels[child] = reached[child]
                ready[end] = child
                end += 1
    return levels
