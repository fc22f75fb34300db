"""What every method returns: designs, their objectives with intervals, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimize.alignment import Alignment
from cloudarena.optimize.final_rules import FinalRule, choose
from cloudarena.optimize.layers import front_of
from cloudarena.optimize.moments import Moments
from cloudarena.optimize.order import Look
from cloudarena.optimize.problem import Objective, Problem


class Estimates(NamedTuple):
    """Means of the objectives of some designs, in their own units, each with an interval."""

    designs: Ints
    mean: Floats  # (designs, objectives)
    low: Floats
    high: Floats
    replications: Ints  # (designs,)

    def at(self, places: Ints) -> Estimates:
        """Those of some of the designs."""
        designs, mean, low, high, replications = self
        return Estimates(
            designs[places], mean[places], low[places], high[places], replications[places]
        )

    def plain(self, place: int, objectives: Sequence[Objective]) -> dict[str, dict[str, Any]]:
        """The objectives of one of the designs as plain values for JSON."""
        return {
            objective.name: {
                "mean": _plain(self.mean[place, k]),
                "low": _plain(self.low[place, k]),
                "high": _plain(self.high[place, k]),
                "direction": objective.direction,
            }
            for k, objective in enumerate(objectives)
        }


@dataclass(frozen=True, eq=False)
class Selection:
    """The outcome of a method."""

    method: str
    objectives: tuple[Objective, ...]
    designs: int
    """The size of the space the designs were chosen from."""
    evaluations: int
    """What it cost: replications of single designs."""
    selected: Ints
    """The set that the method settled on: those it evaluated last."""
    estimates: Estimates
    """Of the selected designs."""
    front: Estimates
    """Of those selected designs that no other dominated when they were last compared."""
    chosen: Ints
    """What to take: one of the front by the final rule, or the best few if so many were asked."""
    alignment: Alignment
    confidence: float
    """Level of the intervals of each objective: with this probability those of all designs that
    were compared hold, so that of the chosen one holds whichever was chosen."""
    shortfall: float | None = None
    """With probability ``confidence`` no design is better than the chosen one by more than this, by
    a single objective and in its unit, of methods that can tell."""
    omega: str | None = None
    noise: float | None = None
    look: Look | None = field(default=None, repr=False)
    """The rough look at all designs, of methods that begin with one."""
    needed: Ints | None = field(default=None, repr=False)
    """Of LOS: for each draw of the truth, how many designs must be selected to hold enough."""
    rounds: Ints | None = field(default=None, repr=False)
    """Replications of each design after each round, of methods that go round by round."""
    remark: str = ""
    """What the user should know about this result, in a sentence."""

    @property
    def best(self) -> int:
        """The first of the chosen designs."""
        return int(self.chosen[0])

    def summary(self) -> dict[str, Any]:
        """Plain values for JSON."""
        place = int(np.flatnonzero(self.estimates.designs == self.best)[0])
        return {
            "method": self.method,
            "designs": self.designs,
            "evaluations": self.evaluations,
            "selected": self.selected.tolist(),
            "front": self.front.designs.tolist(),
            "chosen": self.chosen.tolist(),
            "objectives": self.estimates.plain(place, self.objectives),
            "confidence": self.confidence,
            "alignment_probability": _plain(self.alignment.probability),
            "alignment": str(self.alignment),
            "assumes": self.alignment.assumes,
            "shortfall": None if self.shortfall is None else _plain(self.shortfall),
            "omega": self.omega,
            "noise": None if self.noise is None else _plain(self.noise),
            "remark": self.remark,
        }


def select(
    problem: Problem,
    method: str,
    selected: Ints,
    losses: Moments,
    *,
    evaluations: int,
    alignment: Alignment,
    confidence: float,
    compared: int,
    errors: Floats | None = None,
    final_rule: FinalRule | None = None,
    chosen: Ints | None = None,
    front: Ints | None = None,
    finalists: Ints | None = None,
    seed: int = 0,
    **more: Any,
) -> Selection:
    """The selection of some designs whose losses have these moments.

    Args:
        problem: where the designs are from.
        method: its name.
        selected: the numbers of the designs.
        losses: their moments, in the same order.
        evaluations: what they cost.
        alignment: what is claimed of them.
        confidence: level of the intervals.
        compared: among how many designs these were chosen, by the very replications that the
            moments are of; intervals hold for as many at once.
        errors: standard errors of the means, if they are not those of the moments.
        final_rule: how one of the front is chosen, unless it is given as ``chosen``.
        chosen: numbers of the designs to take.
        front: places of the designs on the front, if their means alone do not tell.
        finalists: places of those on the front that may be chosen; all by default.
        seed: for the rule ``random``.
        more: further fields of the selection.
    """
    front = front_of(losses.mean) if front is None else front
    finalists = front if finalists is None else finalists
    if chosen is None:
        place = choose(final_rule or "first_objective", losses.mean[finalists], seed)
        chosen = selected[finalists[place : place + 1]]
    values = losses.times(problem.signs)
    estimates = intervals(selected, values, confidence, compared, errors)
    return Selection(
        method=method,
        objectives=problem.objectives,
        designs=problem.size,
        evaluations=evaluations,
        selected=selected,
        estimates=estimates,
        front=estimates.at(front),
        chosen=chosen,
        alignment=alignment,
        confidence=confidence,
        **more,
    )


def intervals(
    designs: Ints,
    values: Moments,
    confidence: float,
    compared: int = 1,
    errors: Floats | None = None,
) -> Estimates:
    """Student's intervals of means; NaN for what was evaluated once.

    Who is chosen for a low mean has one that is too low. The intervals are so wide (Bonferroni)
    that, by each objective, those of ``compared`` designs all hold with the probability
    ``confidence``: then that of the chosen one does, however it was chosen.
    """
    from scipy.special import stdtrit

    level = 1.0 - (1.0 - confidence) / (2.0 * compared)
    with np.errstate(invalid="ignore"):
        quantile = stdtrit(np.maximum(values.counts - 1.0, 1.0), level)
        half = quantile[:, None] * (values.standard_error if errors is None else errors)
    half = np.where((values.counts > 1)[:, None], half, np.nan)
    return Estimates(designs, values.mean, values.mean - half, values.mean + half, values.counts)


def _plain(value: float) -> float | None:
    """JSON has no other numbers than finite ones."""
    return float(value) if math.isfinite(value) else None
