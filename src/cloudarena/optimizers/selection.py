"""What every method returns: designs, their objectives with intervals, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.limits import Limit
from cloudarena.base.statistics import front_of, student_quantile
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.final_rules import FinalRule, choose
from cloudarena.optimizers.ordinal.order_curve import Screening
from cloudarena.optimizers.problem import Objective, Problem


class Estimates(NamedTuple):
    """Means of the objectives of some designs, in their own units, each with an interval."""

    designs: Ints
    mean: Floats  # (designs, objectives)
    low: Floats
    high: Floats
    replications: Ints  # (designs,)

    def at(self, indices: Ints) -> Estimates:
        """The estimates of some of the designs."""
        designs, mean, low, high, replications = self
        return Estimates(
            designs[indices], mean[indices], low[indices], high[indices], replications[indices]
        )

    def plain(self, index: int, objectives: Sequence[Objective]) -> dict[str, dict[str, Any]]:
        """The objectives of one of the designs as plain values for JSON."""
        return {
            objective.name: {
                "mean": _plain(self.mean[index, k]),
                "low": _plain(self.low[index, k]),
                "high": _plain(self.high[index, k]),
                "direction": objective.direction,
            }
            for k, objective in enumerate(objectives)
        }


class Feasibility(NamedTuple):
    """How surely the selected designs keep limits."""

    limits: tuple[Limit, ...]
    metrics: Estimates
    """The means of the metrics that the limits are on, in the order of the selected designs."""
    surely: Flags  # (designs, limits)
    """Whether the whole interval of a metric keeps its limit.

    Intervals rest on new replications alone and hold for all these designs at once, so with the
    probability ``confidence`` nothing is called sure that is not, but for what has not been seen
    (``budget/kept.py``)."""
    probability: Floats  # (designs, limits)
    """The probability that each limit is kept; NaN where nobody can tell.

    It is right on average over limits that are as near as it seems, and not for each: where one is
    broken by so little that nobody can see it, it is a half on average, and not 0."""
    sure: int | None
    """The best design that surely keeps all limits; None if none does."""

    def all_kept(self, index: int) -> float:
        """The probability, at least, that a design keeps all limits; NaN if nobody can tell."""
        return max(1.0 - float((1.0 - self.probability[index]).sum()), 0.0)

    def plain(self, index: int) -> list[dict[str, Any]]:
        """The limits of one of the designs as plain values for JSON."""
        return [
            {
                "limit": str(limit),
                "mean": _plain(self.metrics.mean[index, k]),
                "low": _plain(self.metrics.low[index, k]),
                "high": _plain(self.metrics.high[index, k]),
                "probability": _plain(self.probability[index, k]),
                "surely": bool(self.surely[index, k]),
            }
            for k, limit in enumerate(self.limits)
        ]


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
    """The estimates of the selected designs."""
    front: Estimates
    """The estimates of selected designs that no other dominated when last compared."""
    chosen: Ints
    """What to take: one of the front by the final rule, or the best few if so many were asked."""
    alignment: Alignment
    confidence: float
    """The level of the intervals of each objective.

    With this probability those of all designs that were compared hold, so that of the chosen one
    holds whichever was chosen."""
    shortfall: float | None = None
    """The most by which, with probability ``confidence``, a design is better than the chosen one.

    It is that of a single objective, in its unit, and of methods that can tell."""
    feasibility: Feasibility | None = None
    """How surely limits are kept, if there are any."""
    visited: int | None = None
    """How many designs were looked at, of methods that do not look at all; claims are of these."""
    omega: str | None = None
    noise: float | None = None
    screening: Screening | None = field(default=None, repr=False)
    """The screening stage over all designs, of methods that begin with one."""
    needed: Ints | None = field(default=None, repr=False)
    """How many designs LOS must select to hold enough, for each draw of the truth."""
    rounds: Ints | None = field(default=None, repr=False)
    """Replications of each design after each round, of methods that go round by round."""
    remark: str = ""
    """What the user should know about this result, in a sentence."""

    @property
    def best(self) -> int:
        """The first of the chosen designs."""
        return int(self.chosen[0])

    def row(self, design: int) -> int:
        """Where in the estimates a selected design is."""
        return int(np.flatnonzero(self.estimates.designs == design)[0])

    def summary(self) -> dict[str, Any]:
        """Plain values for JSON."""
        index = self.row(self.best)
        kept = self.feasibility
        limits: dict[str, Any] = {}
        if kept is not None:
            limits = {
                "limits": kept.plain(index),
                "feasible_probability": _plain(kept.all_kept(index)),
                "surely_feasible": kept.sure,
            }
        return {
            "method": self.method,
            "designs": self.designs,
            "evaluations": self.evaluations,
            **({} if self.visited is None else {"visited": self.visited}),
            "selected": self.selected.tolist(),
            "front": self.front.designs.tolist(),
            "chosen": self.chosen.tolist(),
            "objectives": self.estimates.plain(index, self.objectives),
            **limits,
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
    all_losses: Moments,
    skewness: Floats | None = None,
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
        selected: the indices of the designs.
        losses: their moments, in the same order.
        evaluations: what they cost.
        alignment: what is claimed of them.
        confidence: level of the intervals.
        compared: among how many designs these were chosen, by the very replications that the
            moments are of; intervals hold for as many at once.
        all_losses: the moments of all that were compared, which tell what a replication may do.
        skewness: of the losses by each objective, if it is known.
        errors: standard errors of the means, if they are not those of the moments.
        final_rule: how one of the front is chosen, unless it is given as ``chosen``.
        chosen: indices of the designs to take.
        front: indices of the designs on the front, if their means alone do not tell.
        finalists: indices of those on the front that may be chosen; all by default.
        seed: for the rule ``random``.
        more: further fields of the selection.
    """
    front = front_of(losses.mean) if front is None else front
    finalists = front if finalists is None else finalists
    if chosen is None:
        index = choose(final_rule or "first_objective", losses.mean[finalists], seed)
        chosen = selected[finalists[index : index + 1]]
    values = losses.times(problem.signs)
    widest = np.sqrt(2.0 * all_losses.squares.max(axis=0))
    skewness = np.zeros(len(widest)) if skewness is None else skewness * problem.signs
    estimates = intervals(selected, values, confidence, compared, errors, skewness, widest)
    more["remark"] = f"{more.get('remark', '')} {_if_nothing_varies(problem, all_losses)}".strip()
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


def _if_nothing_varies(problem: Problem, losses: Moments) -> str:
    """What to say where no design was ever seen to vary; rare events look like that too."""
    varies = np.any(losses.squares > 0.0, axis=0)
    if np.all(varies) or losses.counts.max() < 2:
        return ""
    names = [problem.objectives[k].name for k in np.flatnonzero(~varies).tolist()]
    return (
        f"No replication of any design differed from another in {' and '.join(names)}: what is "
        "said of it holds if that is so in those not seen."
    )


def intervals(
    designs: Ints,
    values: Moments,
    confidence: float,
    compared: int = 1,
    errors: Floats | None = None,
    skewness: Floats | None = None,
    widest: Floats | None = None,
) -> Estimates:
    """Student's intervals of means; NaN for what was evaluated once.

    Who is chosen for a low mean has one that is too low. The intervals are so wide (Bonferroni)
    that, by each objective, those of ``compared`` designs all hold with the probability
    ``confidence``: then that of the chosen one does, however it was chosen.

    Values that are skewed to one side make means and their errors small together, so on that side
    the end is farther away, as far as Edgeworth's expansion says. A design whose replications all
    gave the same, where others vary, may only not have shown yet how it varies: with probability
    ``1 - a`` no more than a share ``1 - a^(1/n)`` of its replications would give something else.

    Args:
        designs: their numbers.
        values: their moments.
        confidence: of all intervals of an objective together.
        compared: how many designs were compared.
        errors: standard errors of the means, if they are not those of the moments.
        skewness: of the values by each objective; 0 by default.
        widest: by how much, at most, two replications of a design differed, by each objective; 0 by
            default.
    """
    objectives = values.mean.shape[1]
    skew = np.zeros(objectives) if skewness is None else skewness
    chance = (1.0 - confidence) / (2.0 * compared)
    counts = values.counts[:, None]
    freedom = np.maximum(counts - 1.0, 1.0)
    with np.errstate(invalid="ignore"):
        error = values.standard_error if errors is None else errors
        rare = 1.0 - chance ** (1.0 / np.maximum(counts, 1))
        unseen = np.where(error == 0.0, rare * (0.0 if widest is None else widest), 0.0)
        below, above = (
            np.where(
                counts > 1,
                unseen + student_quantile(freedom, _tail(chance, skew, counts)) * error,
                np.nan,
            )
            for skew in (np.maximum(-skew, 0.0), np.maximum(skew, 0.0))
        )
    return Estimates(designs, values.mean, values.mean - below, values.mean + above, values.counts)


def _tail(chance: float, skewness: Floats, counts: Ints) -> Floats:
    """The tail of Student's distribution that is left out, so that the error is ``chance``.

    The error beyond a quantile z is ``Q(z) + g (2 z^2 + 1) phi(z) / (6 sqrt(n))`` with skewness g
    (Hall, "The bootstrap and Edgeworth expansion", 1992), which falls from z = 1.23 on.
    """
    from scipy.special import ndtr, ndtri

    factor = skewness[None, :] / (6.0 * np.sqrt(np.maximum(counts, 1)))
    low = np.full(factor.shape, max(float(-ndtri(chance)), 1.23))
    high = np.full(factor.shape, 30.0)
    if not factor.any():
        return np.full(factor.shape, chance)
    for _ in range(50):
        middle = (low + high) / 2.0
        density = np.exp(-0.5 * middle * middle) / math.sqrt(2.0 * math.pi)
        beyond = ndtr(-middle) + factor * (2.0 * middle * middle + 1.0) * density
        low, high = np.where(beyond > chance, middle, low), np.where(beyond > chance, high, middle)
    return np.where(factor > 0.0, ndtr(-high), chance)


def _plain(value: float) -> float | None:
    """JSON has no other numbers than finite ones."""
    return float(value) if math.isfinite(value) else None
