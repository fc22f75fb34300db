"""What was measured of the visited designs, smoothed by a model of each region."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.optimizers.search.gaussian import fit
from cloudarena.optimizers.search.visited import Visited

FEWEST = 4
"""Designs of a region that a model needs; of fewer the means are taken as they are."""


class Smoothed(NamedTuple):
    """What a model makes of the visited designs, (designs, columns)."""

    mean: Floats
    deviation: Floats
    noise: Floats
    """Standard deviations of a replication; 0 where there is no model."""


def smoothed(visited: Visited) -> Smoothed:
    """Predicted losses of all visited designs, each from what was measured of all in its region."""
    mean = visited.all_losses()
    deviation, noise = np.zeros_like(mean), np.zeros_like(mean)
    for index, region in enumerate(visited.regions):
        points, losses = visited.of(index)
        if len(points) < FEWEST or not region.is_ordered.any():
            continue
        rows = np.array(visited.rows(index))
        scaled = region.scaled(points)
        counts = np.full(len(points), visited.replications)
        for column in range(losses.shape[1]):
            target = (
                clipped(losses[:, column]) if column < visited.objectives else losses[:, column]
            )
            process = fit(scaled, region.is_ordered, target, counts, steps=60)
            mean[rows, column], deviation[rows, column] = process.predict(scaled)
            noise[rows, column] = process.noise
    return Smoothed(mean, deviation, noise)


def clipped(losses: Floats) -> Floats:
    """Losses without outliers, such as an overload, which stretch what lies near the best."""
    middle = float(np.median(losses))
    return np.minimum(losses, middle + 3.0 * (middle - float(losses.min())))
