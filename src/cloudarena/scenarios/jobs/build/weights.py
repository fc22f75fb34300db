"""How much of a job depends on each of its tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit


@jit
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
