"""A problem that remembers what it has simulated, for experiments that are dear."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.problem import Problem, WrappedProblem

MOST_MEMOIZED = 1_000_000
"""Replications of single designs; what comes later is simulated again when it is asked for."""


class MemoizedProblem(WrappedProblem):
    """A problem of which no replication of a design is simulated twice.

    Methods count what they ask for, remembered or not, so their costs stay comparable.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.known: dict[tuple[int, int], Floats] = {}
        """What was measured, by design and replication."""

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """What is known from memory, the rest from the problem, in as few calls as can be."""
        missing: dict[tuple[int, ...], list[int]] = {}
        wanted = replications.tolist()
        for design in designs.tolist():
            new = tuple(r for r in wanted if (design, r) not in self.known)
            if new:
                missing.setdefault(new, []).append(design)
        fresh: dict[tuple[int, int], Floats] = {}
        for new, some in missing.items():
            values = self.problem.simulate(np.array(some), np.array(new))
            for design, rows in zip(some, values, strict=True):
                fresh |= {(design, r): row for r, row in zip(new, rows, strict=True)}
        if len(self.known) + len(fresh) <= MOST_MEMOIZED:
            self.known |= fresh
        shape = (len(designs), len(wanted), len(self.columns))
        rows = [
            fresh[design, r] if (design, r) in fresh else self.known[design, r]
            for design in designs.tolist()
            for r in wanted
        ]
        return np.array(rows, np.float64).reshape(shape)
