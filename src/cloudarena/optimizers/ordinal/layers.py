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
from cloudarena.base.lazy import lazy_module

layer_kernels = lazy_module("cloudarena.optimizers.ordinal.layer_kernels")


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
    """Layers of losses that need not be checked."""
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
        layer_kernels.layers_of_pairs(first, second, order, np.empty(min(len(losses), most)), layer)
        return layer
    order = np.lexsort(losses.T[::-1])
    newest = np.full(min(len(losses), most), -1, np.int64)
    layer_kernels.layers_of_many(
        np.ascontiguousarray(losses), order, newest, np.empty_like(order), layer
    )
    return layer


def up_to_layer(layer: Ints) -> Ints:
    """The number of points in the layer of each point and those before."""
    return np.asarray(np.cumsum(np.bincount(layer))[layer])


def whole_layers(layer: Ints, wanted: int) -> Ints:
    """The indices of the first layers that together have at least ``wanted`` points, ascending."""
    sizes = np.cumsum(np.bincount(layer))
    return np.flatnonzero(layer <= np.searchsorted(sizes, wanted))


def first_in_order(losses: Floats, count: int, layer: Ints | None = None) -> Ints:
    """The indices of exactly ``count`` points of the first layers, ascending.

    Of a layer that does not fit whole, those spread evenly along the first objective.

    Args:
        losses: an array of (points, objectives).
        count: how many.
        layer: the layers of the points, if they are known.
    """
    if count == 0:
        return np.empty(0, np.int64)
    layer = layers_of(losses, len(losses)) if layer is None else layer
    first = whole_layers(layer, count)
    last = first[layer[first] == layer[first].max()]
    along = last[np.argsort(losses[last, 0], kind="stable")]
    kept = len(last) - (len(first) - count)
    spread = np.round(np.linspace(0, len(along) - 1, kept)).astype(np.int64)
    return np.setdiff1d(first, np.delete(along, spread))
