"""Layered random workflows: functions in levels, each waiting for some of those above.

Our own shape, for workflows without a story. There are about as many levels as functions in one,
``sqrt(functions)``. Each level has one function, the others are in any. A function waits for one
of the level above and, with probability 1/4 each, for up to two of any level above. Run times are
log-normal with median 1 s and sigma 1, the bytes of edges with median 1 MB and sigma 2, at most
10 GB.
"""

from __future__ import annotations

import math

from cloudarena.base.numpy import np
from cloudarena.workloads.workflow.shapes.drawing import Drawing

LEAST = 1
OTHER_PARENTS, OTHER_PARENT_PROBABILITY = 2, 0.25
RUNTIME_MEDIAN_S, RUNTIME_SIGMA = 1.0, 1.0
BYTES_MEDIAN, BYTES_SIGMA, MOST_BYTES = 1e6, 2.0, 1e10


def draw_layered(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of exactly so many functions."""
    rng = drawing.rng
    levels = math.isqrt(functions)
    free = rng.integers(0, levels, functions - levels)
    level = np.sort(np.concatenate((np.arange(levels), free)))
    first = np.searchsorted(level, np.arange(levels + 1))
    runtime = RUNTIME_MEDIAN_S * np.exp(RUNTIME_SIGMA * rng.standard_normal(functions))
    number = drawing.add("function", functions, runtime)

    child = np.arange(first[1], functions)
    begin, end = first[level[child] - 1], first[level[child]]
    edges = [np.column_stack((rng.integers(begin, end), child))]
    for _ in range(OTHER_PARENTS):
        asked = rng.random(len(child)) < OTHER_PARENT_PROBABILITY
        edges.append(np.column_stack((rng.integers(0, end), child))[asked])
    parent, child = np.unique(np.concatenate(edges), axis=0).T
    size = BYTES_MEDIAN * np.exp(BYTES_SIGMA * rng.standard_normal(len(parent)))
    drawing.link(number[parent], number[child], np.minimum(size, MOST_BYTES))
