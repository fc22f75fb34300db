"""The designs that a search has visited, and what was measured of them."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.spaces.regions import Region


class Visited:
    """Designs with their points and mean losses; each was evaluated in the same replications.

    Args:
        meter: evaluates.
        regions: where the designs are.
        replications: of each design.
    """

    def __init__(self, meter: Meter, regions: tuple[Region, ...], replications: int) -> None:
        self.meter = meter
        self.regions = regions
        self.replications = replications
        self.numbers: list[int] = []
        self.losses: list[Floats] = []
        """The mean losses of each design, by column."""
        self._known: set[int] = set()
        self._rows: list[list[int]] = [[] for _ in regions]
        self._points: list[list[Ints]] = [[] for _ in regions]

    def __len__(self) -> int:
        return len(self.numbers)

    def fresh(self, region: int, points: Ints) -> Ints:
        """The points among some that are designs and were not visited, each once."""
        there = self.regions[region]
        points = np.unique(points[there.allowed(points)], axis=0)
        numbers = there.numbers(points).tolist() if len(points) else []
        return points[np.array([number not in self._known for number in numbers], np.bool_)]

    def visit(self, region: int, points: Ints) -> None:
        """Evaluates the designs at some points that were not visited before."""
        if not len(points):
            return
        numbers = self.regions[region].numbers(points)
        losses = self.meter.evaluate(numbers, range(self.replications)).mean(axis=1)
        first = len(self)
        self.numbers += numbers.tolist()
        self._known |= set(numbers.tolist())
        self.losses += list(losses)
        self._rows[region] += range(first, len(self))
        self._points[region] += list(points)

    def of(self, region: int) -> tuple[Ints, Floats]:
        """The points of a region that were visited, and their mean losses."""
        there = self.regions[region]
        points = np.array(self._points[region], np.int64).reshape(-1, len(there.axes))
        columns = len(self.meter.problem.columns)
        losses = np.array([self.losses[row] for row in self._rows[region]]).reshape(-1, columns)
        return points, losses

    def rows(self, region: int) -> list[int]:
        """Which of all visited designs are those of a region."""
        return self._rows[region]

    @property
    def objectives(self) -> int:
        """How many of the columns are objectives; the others are limits."""
        return len(self.meter.problem.objectives)

    def all_losses(self) -> Floats:
        """The mean losses of all designs, (designs, columns)."""
        return np.array(self.losses)
