"""Evaluations of a problem, counted, as losses that are always minimised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.problem import Problem

REPORTS = 100
"""How often a long series of evaluations says how far it is."""


class Progress(NamedTuple):
    """How far a method is."""

    evaluations: int
    expected: int
    """Evaluations when it will have ended, as far as is known."""
    best: int | None
    """The index of the design that looks best now."""


Watcher: TypeAlias = Callable[[Progress], None]


class Meter:
    """Evaluates a problem, counts, and stops at a limit.

    Args:
        problem: what is evaluated.
        expected: how many evaluations there will be, as far as is known.
        limit: raises rather than evaluate more often than this.
        watcher: is called again and again with the progress.
    """

    def __init__(
        self,
        problem: Problem,
        expected: int,
        limit: int | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.problem = problem
        self.expected = expected
        self.limit = limit
        self.watcher = watcher
        self.spent = 0
        self.best: int | None = None
        """The design that looks best now, for those who watch."""

    def evaluate(self, designs: Ints, replications: range) -> Floats:
        """The losses: an array of (designs, replications, objectives).

        With limits, further columns say by how much each is broken.
        """
        parts = [
            self.problem.evaluate(block, replications)
            for block in self._blocks(designs, len(replications))
        ]
        return self.problem.losses(np.concatenate(parts))

    def estimate(self, designs: Ints, replications: range) -> Moments:
        """The moments of the losses."""
        parts = [
            self.problem.estimate(block, replications)
            for block in self._blocks(designs, len(replications))
        ]
        whole = Moments(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return whole._replace(mean=self.problem.losses(whole.mean))

    def _blocks(self, designs: Ints, replications: int) -> Iterator[Ints]:
        """The designs, in one block, or in several if somebody watches."""
        needed = len(designs) * replications
        if self.limit is not None and self.spent + needed > self.limit:
            raise SpecError(
                f"evaluations: {self.limit:,} are not enough: {self.spent:,} are spent and "
                f"{needed:,} more are needed"
            )
        blocks = 1 if self.watcher is None else min(REPORTS, max(1, len(designs)))
        for block in np.array_split(designs, blocks):
            yield block
            self.spent += len(block) * replications
            if self.watcher is not None:
                self.watcher(Progress(self.spent, max(self.expected, self.spent), self.best))
