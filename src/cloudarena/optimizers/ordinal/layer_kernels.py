"""The compiled loops of ``layers``, apart so that methods are listed without Numba."""

from __future__ import annotations

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.compiled import jit_uncounted


@jit_uncounted
def layers_of_pairs(first: Floats, second: Floats, order: Ints, last: Floats, layer: Ints) -> None:
    """Fills in ``layer``; ``last`` is the second objective of each layer's last point."""
    count = 0
    for position in range(len(order)):
        point = order[position]
        if position > 0:
            before = order[position - 1]
            if first[point] == first[before] and second[point] == second[before]:
                layer[point] = layer[before]
                continue
        value = second[point]
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if last[middle] <= value:
                low = middle + 1
            else:
                high = middle
        layer[point] = low
        if low < len(last):
            last[low] = value
            count = max(count, low + 1)


@jit_uncounted
def layers_of_many(losses: Floats, order: Ints, newest: Ints, older: Ints, layer: Ints) -> None:
    """Fills in ``layer``; the members of a layer are a list from its newest through ``older``."""
    points, objectives = losses.shape
    count = 0
    for position in range(points):
        point = order[position]
        if position > 0:
            before = order[position - 1]
            same = True
            for objective in range(objectives):
                same &= losses[point, objective] == losses[before, objective]
            if same:
                layer[point] = layer[before]
                continue
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            member = newest[middle]
            dominated = False
            while member >= 0 and not dominated:
                dominated = True
                for objective in range(objectives):
                    if losses[member, objective] > losses[point, objective]:
                        dominated = False
                        break
                member = older[member]
            if dominated:
                low = middle + 1
            else:
                high = middle
        layer[point] = low
        if low < len(newest):
            older[point] = newest[low]
            newest[low] = point
            count = max(count, low + 1)
