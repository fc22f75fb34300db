"""Designs as points of a lattice, for methods that search: regions of designs with the same keys.

A design that has other keys than another, as one with another policy has, is in another region: its
parameters exist in no other. Within a region each key is an axis, and a point is the index of a
level on each. Axes are ordered if their levels are numbers. A continuous key is an axis of very
many levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints


class Axis(NamedTuple):
    """A key of designs."""

    levels: int
    is_ordered: bool = True
    is_continuous: bool = False


class Region(NamedTuple):
    """Designs that have the same keys."""

    axes: tuple[Axis, ...]
    numbers: Callable[[Ints], Ints]
    """The numbers of the designs at some points, a point a row."""
    allowed: Callable[[Ints], Flags]
    """Whether there is a design at each of some points."""

    @property
    def levels(self) -> Ints:
        """How many levels each axis has."""
        return np.array([axis.levels for axis in self.axes], np.int64)

    @property
    def is_ordered(self) -> Flags:
        """Whether each axis is ordered."""
        return np.array([axis.is_ordered for axis in self.axes], np.bool_)

    @property
    def free(self) -> int:
        """How many axes have more than one level."""
        return sum(axis.levels > 1 for axis in self.axes)

    def scaled(self, points: Ints) -> Floats:
        """Points with ordered axes from 0 to 1; of others, the index of the level."""
        span = np.where(self.is_ordered, np.maximum(self.levels - 1, 1), 1)
        return np.asarray(points / span)

    @property
    def centre(self) -> Ints:
        """The point in the middle of each ordered axis, at the first level of others."""
        return np.where(self.is_ordered, (self.levels - 1) // 2, 0)

    def draw(self, count: int, rng: np.random.Generator, tries: int = 200) -> Ints:
        """Points drawn uniformly, as many as are allowed of those that are tried."""
        kept = np.empty((0, len(self.axes)), np.int64)
        for _ in range(tries):
            fresh = rng.integers(0, self.levels, (max(count, 16), len(self.axes)))
            kept = np.concatenate((kept, fresh[self.allowed(fresh)]))
            if len(kept) >= count:
                break
        return kept[:count]


def all_allowed(points: Ints) -> Flags:
    """Every point is a design."""
    return np.ones(len(points), np.bool_)


def united(regions: Sequence[Region], axis: int) -> Region:
    """Regions with the same keys as one, of which an axis says which of them; in each it is single.

    So that what is learned of a key in one of them counts in the others.
    """
    axes = list(regions[0].axes)
    axes[axis] = Axis(len(regions), is_ordered=False)

    def of_each(points: Ints, ask: Callable[[Region, Ints], Ints | Flags], kind: type) -> Any:
        answers: Any = np.zeros(len(points), kind)
        single = points.copy()
        single[:, axis] = 0
        for index, region in enumerate(regions):
            mine = points[:, axis] == index
            if mine.any():
                answers[mine] = ask(region, single[mine])
        return answers

    return Region(
        tuple(axes),
        numbers=lambda points: of_each(points, lambda region, some: region.numbers(some), np.int64),
        allowed=lambda points: of_each(points, lambda region, some: region.allowed(some), np.bool_),
    )
