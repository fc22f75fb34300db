"""Designs whose replications grow round by round, each by as many as an allocation says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.budget.moments import Moments, merge, moments_of, no_moments, skewness_of
from cloudarena.optimizers.problem import Problem

MOST_LOOKED_AT = 2**22
"""Evaluations of a first round that are all in memory at once, to see how skewed they are."""


class Rounds:
    """The moments of the losses of all designs so far.

    Design i has had the replications 0 to ``counts[i] - 1``, so designs with as many replications
    have had the same random numbers if the problem has common ones.

    Args:
        meter: evaluates.
    With common random numbers every loss is kept, to compare designs replication by replication.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.moments = no_moments(meter.problem.size, len(meter.problem.columns))
        self.history: list[Ints] = []
        self._keeps = meter.problem.common_random_numbers
        self.skewness: Floats | None = None
        """The skewness of the losses in the first round, by objective."""
        size = meter.problem.size if self._keeps else 0
        self._losses: list[list[Floats]] = [[] for _ in range(size)]

    def extend(self, extra: Ints) -> None:
        """Evaluates design i another ``extra[i]`` times."""
        grown = np.flatnonzero(extra > 0)
        counts, mean, squares = self.moments
        steps = np.column_stack((counts[grown], extra[grown]))
        kinds, kind = np.unique(steps, axis=0, return_inverse=True)
        for group, (start, more) in enumerate(kinds.tolist()):
            designs = grown[kind.reshape(-1) == group]
            new = self._evaluated(designs, range(start, start + more))
            both = merge(self.moments.at(designs), new)
            counts[designs], mean[designs], squares[designs] = both
        self.history.append(counts.copy())

    def _evaluated(self, designs: Ints, replications: range) -> Moments:
        is_first = self.skewness is None and len(designs) * len(replications) <= MOST_LOOKED_AT
        if not self._keeps and not is_first:
            return self.meter.estimate(designs, replications)
        losses = self.meter.evaluate(designs, replications)
        if is_first:
            self.skewness = skewness_of(losses)
        if not self._keeps:
            return moments_of(losses)
        for design, rows in zip(designs.tolist(), losses, strict=True):
            self._losses[design].append(rows)
        return moments_of(losses)

    @property
    def losses(self) -> list[Floats] | None:
        """The losses of each design, arrays of (replications, objectives), if they were kept."""
        return [np.concatenate(rows) for rows in self._losses] if self._keeps else None

    @property
    def counts_by_round(self) -> Ints:
        """Replications of each design after each round."""
        return np.array(self.history)


class Ties(NamedTuple):
    """Designs in groups whose members have had the same losses in every replication so far.

    With common random numbers designs often behave alike, such as thresholds that are never met.
    Replications cannot tell them apart, and whichever of them is taken, it is not worse than the
    others as far as anybody has seen. So a group counts as one design, and its members stay in
    step: each gets the replications that the group is given, until they differ.
    """

    first: Ints  # (groups,): the design with the lowest index
    sizes: Ints  # (groups,)
    group: Ints  # (designs,)


def ties_of(moments: Moments, objectives: slice = slice(None)) -> Ties:
    """The groups of equals by some of the objectives, in the order of their first designs."""
    seen = np.column_stack(
        (moments.counts, moments.mean[:, objectives], moments.squares[:, objectives])
    )
    _, first, group, sizes = np.unique(
        seen, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Ties(first[order], sizes[order], rank[group.reshape(-1)])


def begin(problem: Problem, meter: Meter, first: int) -> Rounds:
    """The first round: ``first`` replications of each design."""
    problem.all_designs()  # raises if there are too many
    rounds = Rounds(meter)
    rounds.extend(np.full(problem.size, first, np.int64))
    return rounds


def check_budget(problem: Problem, evaluations: int, first: int) -> None:
    """Raises unless the evaluations are enough for the first round."""
    check_whole("first", first, 2, why="one tells nothing of the noise")
    check_whole("evaluations", evaluations, 1)
    if evaluations < problem.size * first:
        raise SpecError(
            f"evaluations: {evaluations:,} are not enough: {first} for each of "
            f"{problem.size:,} designs"
        )


def default_step(designs: int) -> int:
    """Evaluations of a round: some for each design that may need them, and not too many rounds."""
    return max(20, designs)


def round_up_to(
    target: Floats, counts: Ints, extra: int, remainder_to: int, sizes: Ints | None = None
) -> Ints:
    """Further replications for each design, so that totals come as near to shares as they can.

    Designs that already have more than their share keep what they have, and the rest is shared
    among the others (repeatedly); what rounding down leaves goes to one design.

    Args:
        target: shares of the total, in any unit.
        counts: replications so far.
        extra: how many replications are to be given.
        remainder_to: the design that gets what rounding leaves.
        sizes: how many designs each stands for; of what does not divide by it, some is left over.
    """
    sizes = np.ones(len(counts), np.int64) if sizes is None else sizes
    total = int((sizes * counts).sum()) + extra
    free = np.ones(len(counts), np.bool_)
    wanted = counts.astype(np.float64)
    while free.any():
        weights = np.where(free, target, 0.0)
        if weights.sum() <= 0.0:
            weights = free.astype(np.float64)
        left = total - (sizes * counts)[~free].sum()
        wanted = np.where(free, left * weights / (sizes * weights).sum(), counts)
        over = free & (wanted < counts)
        if not over.any():
            break
        free &= ~over
    given = np.floor(wanted).astype(np.int64) - counts
    given[remainder_to] += (extra - (sizes * given).sum()) // sizes[remainder_to]
    return given


def objective_index(problem: Problem, objective: str | int) -> int:
    """The index of an objective, given by name or index."""
    names = [known.name for known in problem.objectives]
    if isinstance(objective, str):
        if objective not in names:
            raise SpecError(f"objective: {objective!r} is not allowed: one of {', '.join(names)}")
        return names.index(objective)
    return check_whole("objective", objective, 0, len(names) - 1)
