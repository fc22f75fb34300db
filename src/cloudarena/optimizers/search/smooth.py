"""What was measured of the visited designs, smoothed by a model of each region."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.optimizers.search.gaussian import Measured, fit
from cloudarena.optimizers.search.visited import Visited
from cloudarena.optimizers.spaces.regions import Region

FEWEST = 4
"""Designs of a region that a model needs; of fewer the means are taken as they are."""
STEPS = 60
"""Iterations of the likelihood's maximisation."""


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
        rows = np.array(visited.rows(index), np.int64)
        if len(rows) < FEWEST or not can_model(region):
            continue
        points = region.scaled(visited.of(index)[0])
        for column in range(mean.shape[1]):
            measured = of_region(visited, index, column)
            process = fit(measured, region.is_ordered, steps=STEPS)
            mean[rows, column], deviation[rows, column] = process.predict(points)
            noise[rows, column] = process.noise
    return Smoothed(mean, deviation, noise)


def can_model(region: Region) -> bool:
    """Whether there can be a model of a region, as soon as enough designs were visited."""
    return bool(region.is_ordered.any() and np.prod(region.levels.astype(np.float64)) >= FEWEST)


def of_region(visited: Visited, index: int, column: int) -> Measured:
    """What was measured of the designs of a region; objectives without outliers."""
    points, losses = visited.of(index)
    measured = Measured(
        visited.regions[index].scaled(points),
        losses[:, column],
        np.full(len(points), visited.replications),
        visited.shared(index),
    )
    if column < visited.objectives:
        return measured._replace(losses=pressed(measured.losses))
    return measured


def pressed(losses: Floats) -> Floats:
    """Losses of which the worse half is pressed together, as an overload stretches the scale.

    From the median on they grow by a logarithm, so that their order stays.
    """
    middle = float(np.median(losses))
    span = middle - float(losses.min()) or 1.0
    above = np.maximum(losses - middle, 0.0)
    return np.asarray(np.minimum(losses, middle) + span * np.log1p(above / span))
