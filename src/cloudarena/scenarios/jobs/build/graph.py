"""What the order among the tasks of jobs says: children, longest paths, weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.graph import task_levels


def children_of(workload: JobWorkload) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The children of each task: where they begin (tasks + 1), and the children."""
    tasks = len(workload.instances)
    child = np.repeat(np.arange(tasks), np.diff(workload.first_parent))
    order = np.argsort(workload.parents, kind="stable")
    counts = np.bincount(workload.parents, minlength=tasks)
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return first, child[order].astype(np.int64)


def children_first(workload: JobWorkload) -> NDArray[np.int64]:
    """The tasks in an order in which children come before their parents."""
    levels = task_levels(workload.first_parent, workload.parents)
    return np.argsort(-levels, kind="stable")


@compiled
def longest_paths(
    order: NDArray[np.int64],
    first_child: NDArray[np.int64],
    children: NDArray[np.int64],
    length: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each task the longest sum of lengths from it to a task without children."""
    path = length.copy()
    for task in order:
        longest = 0.0
        for c in range(first_child[task], first_child[task + 1]):
            longest = max(longest, path[children[c]])
        path[task] += longest
    return path


@compiled
def dependence_weights(
    order: NDArray[np.int64],
    first_child: NDArray[np.int64],
    children: NDArray[np.int64],
    instances: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How much of a job depends on each task (MaxWeight).

    The number of its children, their instances, the longest path to a leaf in edges, the number of
    all its descendants, and their instances.
    """
    tasks = len(instances)
    depth = np.zeros(tasks)
    weight = np.zeros(tasks)
    seen = np.full(tasks, -1)
    stack = np.empty(tasks, np.int64)
    for task in order:
        for c in range(first_child[task], first_child[task + 1]):
            child = children[c]
            depth[task] = max(depth[task], depth[child] + 1)
            weight[task] += 1 + instances[child]
        stack[0] = task
        height = 1
        while height > 0:
            height -= 1
            above = stack[height]
            for c in range(first_child[above], first_child[above + 1]):
                below = children[c]
                if seen[below] != task:
                    seen[below] = task
                    weight[task] += 1 + instances[below]
                    stack[height] = below
                    height += 1
        weight[task] += depth[task]
    return weight
