"""The longest paths through a directed acyclic graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit


@jit
def longest_paths(
    first_parent: NDArray[np.int64],
    parents: NDArray[np.int64],
    lengths: NDArray[np.float64],
    edge_lengths: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The longest path from each task to one without children, both of them included.

    Args:
        first_parent: where the parents of each task begin, as in ``dag``.
        parents: the tasks for which others wait.
        lengths: of the tasks.
        edge_lengths: of the ways from ``parents`` to who waits for them; empty if they have none.
    """
    tasks = len(lengths)
    paths, behind = lengths.copy(), np.zeros(tasks)
    children, ready, count = np.zeros(tasks, np.int64), np.empty(tasks, np.int64), 0
    for edge in range(len(parents)):
        children[parents[edge]] += 1
    for task in range(tasks):
        if children[task] == 0:
            ready[count] = task
            count += 1
    while count > 0:
        count -= 1
        task = ready[count]
        paths[task] = lengths[task] + behind[task]
        for edge in range(first_parent[task], first_parent[task + 1]):
            parent, way = parents[edge], paths[task]
            if len(edge_lengths) > 0:
                way += edge_lengths[edge]
            behind[parent] = max(behind[parent], way)
            children[parent] -= 1
            if children[parent] == 0:
                ready[count] = parent
                count += 1
    return paths
