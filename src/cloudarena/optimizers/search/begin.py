"""The first points of a search: spread over each region."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.optimizers.search.visited import Visited
from cloudarena.optimizers.spaces.regions import Region

DRAWN = 20
"""Points that are drawn for each that is taken."""


def spread_points(region: Region, count: int, rng: np.random.Generator) -> Ints:
    """Points of a Latin hypercube; where rules forbid some, others that are far from the rest."""
    levels = region.levels
    axes = len(levels)
    order = np.argsort(rng.random((axes, count)), axis=1).T
    points = np.floor((order + rng.random((count, axes))) / count * levels).astype(np.int64)
    points = np.minimum(points, levels - 1)
    kept = points[region.allowed(points)]
    missing = count - len(kept)
    if missing > 0:
        kept = np.concatenate((kept, far_points(region, kept, missing, rng)))
    return kept


def far_points(region: Region, taken: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Points, one after another the farthest from those that are taken of many that are drawn."""
    drawn = region.draw(DRAWN * count, rng)
    if not len(drawn):
        return drawn
    scaled = region.scaled(drawn)
    nearest = np.full(len(drawn), np.inf)
    for point in region.scaled(taken):
        nearest = np.minimum(nearest, ((scaled - point) ** 2).sum(axis=1))
    chosen = []
    for _ in range(count):
        index = int(np.argmax(nearest))
        if nearest[index] == 0.0:
            break
        chosen.append(index)
        nearest = np.minimum(nearest, ((scaled - scaled[index]) ** 2).sum(axis=1))
    return drawn[chosen]


def begin(visited: Visited, count: int, rng: np.random.Generator) -> None:
    """Visits about so many designs, in each region as its number of free axes asks.

    The middle of a region is the first, since no other point is so near to all of them, and who
    writes down from where to where a key goes seldom puts what is good at an end.
    """
    weights = np.array([1.0 + region.free for region in visited.regions])
    shares = np.maximum(np.round(count * weights / weights.sum()), 1).astype(np.int64)
    for index, region in enumerate(visited.regions):
        wanted = int(min(shares[index], np.prod(region.levels.astype(np.float64))))
        if region.is_ordered.any():
            visited.visit(index, visited.fresh(index, region.centre[None, :]))
            wanted -= len(visited.of(index)[0])
        if wanted > 0:
            visited.visit(index, visited.fresh(index, spread_points(region, wanted, rng)))
