"""The order among tasks as a directed acyclic graph: who waits for whom, and in how many levels.

A task waits for its parents; those of task ``t`` are
``parents[first_parent[t] : first_parent[t + 1]]``. No compiler is needed, so that a spec is
validated without one; paths are in ``dag_paths``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def parent_lists(
    tasks: int, edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges as lists of parents.

    Args:
        tasks: how many tasks there are.
        edges: rows of (task, parent); a row may stand more than once.

    Returns:
        ``first_parent`` (tasks + 1) and ``parents``, each task's once and in rising order.
    """
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    task, parent = edges[order, 0], edges[order, 1]
    fresh = np.ones(len(task), bool)
    fresh[1:] = (task[1:] != task[:-1]) | (parent[1:] != parent[:-1])
    first = np.zeros(tasks + 1, np.int64)
    np.cumsum(np.bincount(task[fresh], minlength=tasks), out=first[1:])
    return first, parent[fresh].astype(np.int64)


def child_lists(
    first_parent: NDArray[np.int64], parents: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The children of each task: where they begin (tasks + 1), and the children, rising."""
    tasks = len(first_parent) - 1
    child = np.repeat(np.arange(tasks), np.diff(first_parent))
    first = np.zeros(tasks + 1, np.int64)
    np.cumsum(np.bincount(parents, minlength=tasks), out=first[1:])
    return first, child[np.argsort(parents, kind="stable")]


def children_first(
    first_parent: NDArray[np.int64], parents: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The tasks in an order in which children come before their parents."""
    return np.argsort(-task_levels(first_parent, parents), kind="stable")


def task_levels(first_parent: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The longest way from a task without parents to each task, in edges.

    Tasks that wait for themselves, through whatever others, have the level -1.
    """
    first_child, children = child_lists(first_parent, parents)
    count = np.diff(first_child)
    # Kahn's algorithm, a level at a time: a task is ready when all its parents are done.
    missing = np.diff(first_parent)
    levels = np.where(missing == 0, 0, -1)
    ready, level = np.flatnonzero(missing == 0), 0
    while len(ready):
        level += 1
        begin, length = first_child[ready], count[ready]
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        reached, times = np.unique(children[np.repeat(begin, length) + within], return_counts=True)
        missing[reached] -= times
        ready = reached[missing[reached] == 0]
        levels[ready] = level
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
    path: list[int] = []
    position: dict[int, int] = {}
    task = int(stuck[0])
    while task not in position:
        position[task] = len(path)
        path.append(task)
        before = parents[first_parent[task] : first_parent[task + 1]]
        task = int(before[levels[before] < 0][0])
    return path[position[task] :]
