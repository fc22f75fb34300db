"""Non-dominated layers: who is beaten by nobody, who then, and so on.

A point dominates another if it is nowhere larger and somewhere smaller (losses are minimised).
Layer 0 holds the points that nobody dominates, layer 1 those that only points of layer 0
dominate, and so on: a point's layer is one more than the largest layer of those that dominate it.
Points that are equal are in the same layer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_table
from cloudarena.engine.compiled import lean


def layers(points: ArrayLike, most: int | None = None) -> Ints:
    """The layer of each point, from 0.

    Two objectives take O(N log N): in the order of the first objective, then the second, a point
    is dominated by a layer exactly if the last point put there has no larger second objective;
    these grow from layer to layer, so the point's layer is found by bisection. More objectives
    compare with the members of a layer, by bisection over the layers (Zhang et al., "An efficient
    approach to nondominated sorting", IEEE Trans. Evolutionary Computation 19(2), 2015): O(N^2)
    at worst.

    Args:
        points: losses, an array of (points, objectives).
        most: layers to tell apart; all points beyond have the number ``most``.
    """
    losses = check_table("points", points, "points", "objectives")
    return layers_of(losses, len(losses) if most is None else most)


def layers_of(losses: Floats, most: int) -> Ints:
    """As ``layers``, for losses that are known to be good."""
    objectives = losses.shape[1]
    if objectives == 1:
        return np.minimum(np.unique(losses[:, 0], return_inverse=True)[1], most)
    layer = np.empty(len(losses), np.int64)
    if objectives == 2:
        first, second = np.ascontiguousarray(losses.T)
        # The plain sort is several times as fast as the one by both, and most often enough.
        order = np.argsort(first)
        in_order = first[order]
        if (in_order[1:] == in_order[:-1]).any():
            order = np.lexsort((second, first))
        _layers_of_pairs(first, second, order, np.empty(min(len(losses), most)), layer)
        return layer
    order = np.lexsort(losses.T[::-1])
    newest = np.full(min(len(losses), most), -1, np.int64)
    _layers_of_many(np.ascontiguousarray(losses), order, newest, np.empty_like(order), layer)
    return layer


def front_of(losses: Floats) -> Ints:
    """The places of the points that nobody dominates, ascending.

    What the point with the least sum of stretched losses dominates is put aside first: most often
    nearly all.
    """
    left = np.empty(len(losses), np.int64)
    left = left[: _put_aside(losses, np.empty((2, losses.shape[1])), left)]
    return left[layers_of(losses[left], 1) == 0]


def up_to_layer(layer: Ints) -> Ints:
    """For each point, how many points are in its layer and those before."""
    return np.asarray(np.cumsum(np.bincount(layer))[layer])


def whole_layers(layer: Ints, wanted: int) -> Ints:
    """The places of the first layers that together have at least ``wanted`` points, ascending."""
    sizes = np.cumsum(np.bincount(layer))
    return np.flatnonzero(layer <= np.searchsorted(sizes, wanted))


def first_in_order(losses: Floats, count: int, layer: Ints | None = None) -> Ints:
    """The places of exactly ``count`` points of the first layers, ascending.

    Of a layer that does not fit whole, those spread evenly along the first objective.

    Args:
        losses: an array of (points, objectives).
        count: how many.
        layer: the layers of the points, if they are known.
    """
    layer = layers_of(losses, len(losses)) if layer is None else layer
    first = whole_layers(layer, count)
    last = first[layer[first] == layer[first].max()]
    along = last[np.argsort(losses[last, 0], kind="stable")]
    kept = len(last) - (len(first) - count)
    spread = np.round(np.linspace(0, len(along) - 1, kept)).astype(np.int64)
    return np.setdiff1d(first, np.delete(along, spread))


@lean
def _put_aside(losses: Floats, ranges: Floats, left: Ints) -> int:
    """Writes the places of points that the central one does not dominate; returns how many."""
    points, objectives = losses.shape
    for objective in range(objectives):
        low = high = losses[0, objective]
        for point in range(points):
            low = min(low, losses[point, objective])
            high = max(high, losses[point, objective])
        ranges[0, objective] = low
        ranges[1, objective] = 1.0 / (high - low) if high > low else 0.0
    central, least = 0, np.inf
    for point in range(points):
        total = 0.0
        for objective in range(objectives):
            total += (losses[point, objective] - ranges[0, objective]) * ranges[1, objective]
        if total < least:
            central, least = point, total
    count = 0
    for point in range(points):
        is_smaller, is_larger = False, False
        for objective in range(objectives):
            is_smaller |= losses[point, objective] < losses[central, objective]
            is_larger |= losses[point, objective] > losses[central, objective]
        if is_smaller or not is_larger:
            left[count] = point
            count += 1
    return count


@lean
def _layers_of_pairs(first: Floats, second: Floats, order: Ints, last: Floats, layer: Ints) -> None:
    """Fills in ``layer``; ``last`` is the second objective of each layer's last point."""
    count = 0
    for place in range(len(order)):
        point = order[place]
        if place > 0:
            before = order[place - 1]
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


@lean
def _layers_of_many(losses: Floats, order: Ints, newest: Ints, older: Ints, layer: Ints) -> None:
    """Fills in ``layer``; the members of a layer are a list from its newest through ``older``."""
    points, objectives = losses.shape
    count = 0
    for place in range(points):
        point = order[place]
        if place > 0:
            before = order[place - 1]
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
