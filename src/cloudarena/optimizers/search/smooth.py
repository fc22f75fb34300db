"""What was measured of the visited designs, smoothed by a model of each region."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.search.gaussian import Measured, fit
from cloudarena.optimizers.search.visited import Visited

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


class Again(NamedTuple):
    """Means of new replications of some of the visited designs, all from the same first one on."""

    rows: Ints
    """Which of all visited designs."""
    losses: Floats
    """(designs, columns)"""
    counts: Ints


def smoothed(visited: Visited, again: Again | None = None) -> Smoothed:
    """Predicted losses of all visited designs, each from what was measured of all in its region."""
    mean = visited.all_losses()
    deviation, noise = np.zeros_like(mean), np.zeros_like(mean)
    for index, region in enumerate(visited.regions):
        rows = np.array(visited.rows(index), np.int64)
        if len(rows) < FEWEST or not region.is_ordered.any():
            continue
        points = region.scaled(visited.of(index)[0])
        for column in range(mean.shape[1]):
            measured = of_region(visited, index, column, again)
            process = fit(measured, region.is_ordered, steps=STEPS)
            mean[rows, column], deviation[rows, column] = process.predict(points)
            noise[rows, column] = process.noise
    return Smoothed(mean, deviation, noise)


def of_region(visited: Visited, index: int, column: int, again: Again | None = None) -> Measured:
    """What was measured of the designs of a region; objectives without outliers."""
    points, losses = visited.of(index)
    measured = Measured(
        visited.regions[index].scaled(points),
        losses[:, column],
        np.full(len(points), visited.replications),
        visited.shared(index),
    )
    if again is not None:
        measured = _joined(measured, visited, index, column, again)
    if column < visited.objectives:
        measured = measured._replace(losses=clipped(measured.losses))
    return measured


def _joined(
    measured: Measured, visited: Visited, index: int, column: int, again: Again
) -> Measured:
    """What was measured first and again."""
    rows = visited.rows(index)
    mine = np.flatnonzero(np.isin(again.rows, rows))
    if not len(mine):
        return measured
    places = [rows.index(row) for row in again.rows[mine].tolist()]
    counts = again.counts[mine]
    shared = None
    if visited.meter.problem.common_random_numbers:
        # The first n and the first m >= n replications: n of n times m are the same.
        new = 1.0 / np.maximum(counts[:, None], counts)
        before = measured.shared
        if before is None:
            before = np.full((len(rows), len(rows)), 1.0 / visited.replications)
        shared = np.zeros((len(rows) + len(mine),) * 2)
        shared[: len(rows), : len(rows)] = before
        shared[len(rows) :, len(rows) :] = new
    return Measured(
        np.concatenate((measured.points, measured.points[places])),
        np.append(measured.losses, again.losses[mine, column]),
        np.append(measured.counts, counts),
        shared,
    )


def clipped(losses: Floats) -> Floats:
    """Losses without outliers, such as an overload, which stretch what lies near the best."""
    middle = float(np.median(losses))
    return np.minimum(losses, middle + 3.0 * (middle - float(losses.min())))
