"""OCBA for several objectives: replications go where they tell the front from the rest.

After Lee, Chew, Teng and Goldsman, "Finding the non-dominated Pareto set for multi-objective
simulation models", IIE Transactions 42(9), 2010. For designs i and j with means J, variances s^2
and shares a of the replications, and d = J_ik - J_jk in objective k,

    q_ijk = d |d| / (s_ik^2 / a_i + s_jk^2 / a_j)

is large where j is surely better than i. The design most likely to dominate i is
``j_i = argmax_j min_k q_ijk``, and ``k_i = argmin_k`` of it is the objective in which that is least
sure. Each design is either best told from others by its own replications (set A), or better serves
as the one from which others are told (set B), whichever error is the greater.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_table
from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.budget.rounds import (
    begin,
    check_budget,
    default_step,
    round_up_to,
    ties_of,
)
from cloudarena.optimizers.methods.method import Claim, FinalChoice, FixedBudget, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.final_rules import choose, resolved
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

MOST_DESIGNS = 3000
"""All pairs are compared in each round."""
SMALLEST = 1e-12
"""Gaps and errors are at least this part of the range of the means."""


def mocba_shares(means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> Floats:
    """The share of all replications that each design should have.

    Args:
        means: losses so far, an array of (designs, objectives).
        variances: of a replication.
        counts: replications of each design so far.
    """
    mean = check_table("means", means, "designs", "objectives")
    variance = check_table("variances", variances, "designs", "objectives")
    share = np.asarray(counts, np.float64)
    if variance.shape != mean.shape or share.shape != mean.shape[:1] or not (share > 0).all():
        raise SpecError("variances, counts: are not allowed: one for each design, counts above 0")
    return _shares(mean, variance, share / share.sum())


class MocbaOptions(FixedBudget, Claim, FinalChoice):
    """The options of MOCBA."""

    first: int = Field(10, ge=2)
    """Replications of each design before the first allocation; at least 5 are advised."""
    step: int | None = Field(None, ge=1)
    """Evaluations between two allocations; one for each design by default, at least 20."""


@method("mocba", MocbaOptions)
def mocba(problem: Problem, options: MocbaOptions, watcher: Watcher | None) -> Selection:
    """OCBA for several objectives: replications go where they tell the front from the rest.

    It claims how surely the selected designs are the whole true front and nothing else. Designs
    that have never differed count as one.
    """
    evaluations, first, confidence = options.evaluations, options.first, options.confidence
    seed = options.seed
    rule = resolved(options.final_rule, problem)
    if not 2 <= problem.size <= MOST_DESIGNS:
        raise SpecError(
            f"designs: {problem.size:,} is not allowed: 2 to {MOST_DESIGNS:,}, since all pairs "
            "are compared; select some by LOS first"
        )
    check_budget(problem, evaluations, first)
    step = options.step or default_step(problem.size)
    meter = Meter(problem, evaluations, evaluations, watcher)
    rounds = begin(problem, meter, first)
    while meter.spent < evaluations:
        losses = rounds.moments
        front = front_of(losses.mean)
        meter.best = int(front[choose(rule, losses.mean[front], seed)])
        ties = ties_of(losses)
        some = losses.at(ties.first)
        shares = _shares(some.mean, some.variance, some.counts / losses.counts.sum())
        extra = min(max(step, int(ties.sizes.max())), evaluations - meter.spent)
        given = round_up_to(shares, some.counts, extra, int(np.argmax(shares)), ties.sizes)
        if not given.any():
            break  # fewer are left than there are equals to keep in step
        rounds.extend(given[ties.group])
    front = front_of(rounds.moments.mean)
    differing = rounds.moments.at(ties_of(rounds.moments).first)
    claim = probability_of_front(differing, front_of(differing.mean))
    return select(
        problem,
        "mocba",
        front,
        rounds.moments.at(front),
        evaluations=meter.spent,
        alignment=Alignment(claim, len(front), "the whole true front", exactly=True),
        confidence=confidence,
        compared=problem.size,
        all_losses=rounds.moments,
        skewness=rounds.skewness,
        final_rule=rule,
        seed=seed,
        rounds=rounds.counts_by_round,
    )


def probability_of_front(losses: Moments, front: Ints) -> float:
    """A lower bound of the probability that some of the designs are the true front.

    ``1 - sum over the front of P(dominated) - sum over the others of P(not dominated)``, as Lee et
    al. bound the errors of both types. With the p-value of a test that j is better than i in
    objective k, twice, since what is on the front was chosen by what was seen (``rivals.py``):
    design i is dominated with at most the sum over all others j of the least over k, however
    objectives go together; it is not dominated with at most the sum over k of the opposite, for
    that j for which it is least. Designs are taken to err independently: with common random numbers
    the claim is more careful than it need be.
    """
    from scipy.special import stdtr

    squared_error = losses.variance / losses.counts[:, None]
    error = np.sqrt(squared_error[:, None, :] + squared_error[None, :, :])
    gap = losses.mean[:, None, :] - losses.mean[None, :, :]
    freedom = np.minimum(losses.counts[:, None], losses.counts[None, :])[:, :, None] - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = stdtr(freedom, gap / error)
    # [i, j, k]: that j is better than i in k; if neither errs, it is or is not.
    chance = np.where(error > 0.0, chance, np.where(gap >= 0.0, 1.0, 0.0))
    better, not_better = np.minimum(2.0 * chance, 1.0), np.minimum(2.0 * (1.0 - chance), 1.0)
    dominated = better.min(axis=2)
    not_dominated = np.minimum(not_better.sum(axis=2), 1.0)
    same = (gap == 0.0).all(axis=2) & (error == 0.0).all(axis=2)
    np.fill_diagonal(same, True)
    dominated[same], not_dominated[same] = 0.0, 1.0
    in_front = np.zeros(len(losses.mean), np.bool_)
    in_front[front] = True
    wrong = dominated[in_front].sum() + not_dominated[~in_front].min(axis=1).sum()
    return max(0.0, 1.0 - float(wrong))


def _shares(mean: Floats, variance: Floats, share: Floats) -> Floats:
    designs = len(mean)
    every = np.arange(designs)
    least = SMALLEST * np.maximum(np.ptp(mean, axis=0), SMALLEST)
    variance = np.maximum(variance, least**2)
    error = variance / share[:, None]  # of a mean, up to the total number of replications
    gap = mean[:, None, :] - mean[None, :, :]
    sureness = gap * np.abs(gap) / (error[:, None, :] + error[None, :, :])
    weakest = sureness.min(axis=2)
    np.fill_diagonal(weakest, -np.inf)
    dominator = weakest.argmax(axis=1)
    objective = sureness[every, dominator].argmin(axis=1)
    gaps = np.maximum(np.abs(gap[every, dominator, objective]), least[objective])
    rate = gaps**2 / (error[every, objective] + error[dominator, objective])

    rate_as_dominator = np.full(designs, np.inf)
    np.minimum.at(rate_as_dominator, dominator, rate)
    tells_itself = rate <= rate_as_dominator
    own = variance[every, objective]
    theirs = variance[dominator, objective]
    wanted = np.where(tells_itself, (own + theirs * share / share[dominator]) / gaps**2, 0.0)
    served = np.zeros(designs)
    np.add.at(served, dominator[tells_itself], ((theirs / own) * wanted**2)[tells_itself])
    wanted = np.where(tells_itself, wanted, np.sqrt(served))
    return np.asarray(wanted / wanted.sum())
