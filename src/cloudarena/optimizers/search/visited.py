"""The designs that a search has visited, and what was measured of them."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.spaces.regions import Region


class Visited:
    """Designs with their points and mean losses.

    They take turns: of three turns the first, fourth and so on of the designs of a region have the
    first few replications, the second and fifth the next few. So a search does not go after what is
    good in one and the same replication only, and a model tells what a replication does to all.

    Args:
        meter: evaluates.
        regions: where the designs are.
        replications: of each design.
        turns: how many there are.
    """

    def __init__(
        self, meter: Meter, regions: tuple[Region, ...], replications: int, turns: int = 1
    ) -> None:
        self.meter = meter
        self.regions = regions
        self.replications = replications
        self.turns = turns
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
        first, before = len(self), len(self._rows[region])
        turns = np.arange(before, before + len(points)) % self.turns
        losses = np.empty((len(points), len(self.meter.problem.columns)))
        for turn in np.unique(turns).tolist():
            mine = turns == turn
            begin = turn * self.replications
            replications = range(begin, begin + self.replications)
            losses[mine] = self.meter.evaluate(numbers[mine], replications).mean(axis=1)
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

    @property
    def used(self) -> int:
        """The replications that visited designs had; later ones nobody has seen."""
        return self.turns * self.replications

    def shared(self, region: int) -> Floats | None:
        """How much of their luck the designs of a region share, as ``Measured`` has it.

        None where random numbers are not common, or where all have the same replications.
        """
        if self.turns == 1:
            return None
        turns = np.arange(len(self._rows[region])) % self.turns
        return np.asarray((turns[:, None] == turns) / self.replications)

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
