"""A problem that remembers what it has simulated, for experiments that are dear."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.spaces.encoding import Encoding

MOST_REMEMBERED = 1_000_000
"""Replications of single designs; what comes later is simulated again when it is asked for."""


class Remembered(Problem):
    """The same problem; no replication of a design is simulated twice.

    Methods count what they ask for, remembered or not, so their costs stay comparable.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.size = problem.size
        self.objectives = problem.objectives
        self.common_random_numbers = problem.common_random_numbers
        self.how_to_sample = problem.how_to_sample
        self._known: dict[tuple[int, int], Floats] = {}

    def design(self, number: int) -> Any:
        """The design of the problem."""
        return self.problem.design(number)

    @property
    def encoding(self) -> Encoding:
        """That of the problem."""
        return self.problem.encoding

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """What is known from memory, the rest from the problem, in as few calls as can be."""
        missing: dict[tuple[int, ...], list[int]] = {}
        wanted = replications.tolist()
        for design in designs.tolist():
            new = tuple(r for r in wanted if (design, r) not in self._known)
            if new:
                missing.setdefault(new, []).append(design)
        fresh: dict[tuple[int, int], Floats] = {}
        for new, some in missing.items():
            values = self.problem.simulate(np.array(some), np.array(new))
            for design, rows in zip(some, values, strict=True):
                fresh |= {(design, r): row for r, row in zip(new, rows, strict=True)}
        if len(self._known) + len(fresh) <= MOST_REMEMBERED:
            self._known |= fresh
        shape = (len(designs), len(wanted), len(self.objectives))
        rows = [
            fresh[design, r] if (design, r) in fresh else self._known[design, r]
            for design in designs.tolist()
            for r in wanted
        ]
        return np.array(rows, np.float64).reshape(shape)
