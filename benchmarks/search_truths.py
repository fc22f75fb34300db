"""Truths that problems for searches are drawn of: kinds of them, as simulations have them.

A bowl, a valley that is not along an axis, the cliff of an overload, whole numbers, weights of
which only the ratio or the direction counts, keys that belong to one policy, several valleys,
steps, keys that do nothing, what falls towards an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FINE = 201
"""Levels of a continuous axis."""
Truth = Callable[[int, np.ndarray], np.ndarray]
"""Of the index of a region and points from 0 to 1, a point a row, the means."""


class Drawn(NamedTuple):
    """A truth, and where it is: the levels of the axes of each region."""

    levels: list[list[int]]
    truth: Truth


def bowl(rng: np.random.Generator, axes: int) -> Drawn:
    """A bowl, steeper along some axes, and not quite even."""
    centre, steep = rng.uniform(0.15, 0.85, axes), rng.lognormal(0.0, 0.7, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        gap = np.abs(x - centre)
        return ((steep * gap) ** 2).sum(axis=1)

    return Drawn([[FINE] * axes], truth)


def ridge(rng: np.random.Generator, axes: int) -> Drawn:
    """A long valley that is not along an axis."""
    centre = rng.uniform(0.25, 0.75, axes)
    turn, _ = np.linalg.qr(rng.normal(size=(axes, axes)))
    steep = np.geomspace(8.0, 0.5, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        return np.asarray((((x - centre) @ turn * steep) ** 2).sum(axis=1))

    return Drawn([[FINE] * axes], truth)


def cliff(rng: np.random.Generator, axes: int) -> Drawn:
    """A cost that falls as capacity does, until it is too little: then all is late."""
    weight = rng.dirichlet(np.full(axes, 2.0))
    bound, steep = rng.uniform(0.35, 0.6), rng.uniform(5.0, 40.0)
    other = rng.uniform(0.0, 1.0, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        capacity = x @ weight
        lacking = np.maximum(bound - capacity, 0.0)
        return capacity + 0.3 * ((x - other) ** 2).mean(axis=1) + steep * lacking * (1 + lacking)

    return Drawn([[FINE] * axes], truth)


def whole(rng: np.random.Generator, axes: int) -> Drawn:
    """Whole numbers: what is too little costs more than what is too much."""
    levels = rng.integers(8, 60, axes).tolist()
    centre, steep = rng.uniform(0.2, 0.8, axes), rng.lognormal(0.0, 0.5, axes)
    less = rng.uniform(1.0, 4.0)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        gap = x - centre
        both = np.where(gap < 0.0, -less * gap, gap) * steep
        return both.sum(axis=1) + 0.5 * both.max(axis=1)

    return Drawn([levels], truth)


def ratio(rng: np.random.Generator, axes: int) -> Drawn:
    """Weights from 1 to 40 of which only the ratios count: the load of stations by their shares."""
    work = rng.lognormal(0.0, 0.6, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        weights = 1.0 + 39.0 * x
        load = work / (weights / weights.sum(axis=1, keepdims=True))
        return np.asarray(load.mean(axis=1) + 0.3 * load.max(axis=1))

    return Drawn([[40] * axes], truth)


def direction(rng: np.random.Generator, axes: int) -> Drawn:
    """Scores' weights from -1 to 1, of which the direction counts."""
    wanted = rng.normal(size=axes)
    wanted /= np.linalg.norm(wanted)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        weights = np.column_stack((np.full(len(x), 0.5), 2.0 * x[:, 1:] - 1.0))
        weights = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        to = np.append(abs(wanted[0]), wanted[1:])
        return np.sqrt(np.maximum(1.0 - weights @ to, 0.0))

    return Drawn([[1] + [FINE] * (axes - 1)], truth)


def conditional(rng: np.random.Generator, axes: int) -> Drawn:
    """Policies with keys of their own, and one that has none."""
    parts = [bowl(rng, axes), cliff(rng, axes), bowl(rng, max(1, axes - 1))]
    offset = rng.uniform(0.0, 0.5, len(parts))
    alone = rng.uniform(0.5, 1.0)
    levels = [*(part.levels[0] for part in parts), [1]]

    def truth(region: int, x: np.ndarray) -> np.ndarray:
        if region == len(parts):
            return np.full(len(x), alone)
        return parts[region].truth(0, x) + offset[region]

    return Drawn(levels, truth)


def valleys(rng: np.random.Generator, axes: int) -> Drawn:
    """A bowl with waves: some valleys, one of which is the deepest."""
    base = bowl(rng, axes)
    often, phase = rng.uniform(4.0, 9.0, axes), rng.uniform(0.0, 6.3, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        return base.truth(0, x) + 0.15 * np.sin(often * x + phase).sum(axis=1)

    return Drawn(base.levels, truth)


def thresholds(rng: np.random.Generator, axes: int) -> Drawn:
    """What changes by steps and is flat between, with keys that work together."""
    base = ridge(rng, axes)
    steps = rng.integers(6, 15, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        return np.log1p(base.truth(0, np.round(x * steps) / steps))

    return Drawn(base.levels, truth)


def sparse(rng: np.random.Generator, axes: int) -> Drawn:
    """Keys of which three matter."""
    base = bowl(rng, 3)
    which = rng.choice(axes, 3, replace=False)
    return Drawn([[FINE] * axes], lambda _, x: base.truth(0, x[:, which]))


def edge(rng: np.random.Generator, axes: int) -> Drawn:
    """What falls towards an end of some keys, less and less."""
    reach, ends = rng.uniform(0.1, 0.8, axes), rng.random(axes) < 0.5
    middle = bowl(rng, axes)

    def truth(_: int, x: np.ndarray) -> np.ndarray:
        along = np.where(ends, 1.0 - x, x)
        return np.exp(-along / reach).mean(axis=1) + 0.2 * middle.truth(0, x)

    return Drawn(middle.levels, truth)


FAMILIES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    f"{family.__name__} {axes}": lambda rng, family=family, axes=axes: family(rng, axes)
    for family, sizes in (
        (bowl, (2, 5)),
        (ridge, (3, 6)),
        (cliff, (3, 5)),
        (whole, (2, 4)),
        (ratio, (4, 6)),
        (direction, (4, 5)),
        (conditional, (2, 3)),
        (valleys, (2, 4)),
        (thresholds, (3, 4)),
        (sparse, (8,)),
        (edge, (4,)),
    )
    for axes in sizes
}
