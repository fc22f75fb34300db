"""The second stage of LOS: new replications of the selected designs, the more the longer they lead.

If the evaluations suffice, each selected design gets all its replications. If they do not, as many
for each would be too few to tell the best from its rivals, since the selected are many and most are
no rivals. So the evaluations are shared among rounds, as in successive halving: each round gives
the same effort to half as many designs.

Those go on that are first by the final rule, after both stages. A rule may have several orders: the
knee depends on the ends of the front, so there are rivals for each end as well, and the effort is
shared among the orders. Of designs that have never differed one goes on, and stands for them on the
front. The rule ``random`` has no order: there all get the same.

Means over other replications cannot be compared where replications have something in common: who
was dropped early may only have had the easy ones. So for a design with n replications a design R of
the last round, which has N, serves as a control variate: that with which it goes together most. Its
mean is corrected by ``b`` times what R's mean over all N is above that over the n, with b the slope
of the design's losses over R's. The variance is ``(1 - r^2) var (1/n - 1/N) + var / N`` with their
correlation r. With too few replications for a slope, it is taken to be 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.budget.moments import Moments, merge, moments_of, no_moments
from cloudarena.optimizers.budget.rounds import ties_of
from cloudarena.optimizers.ordinal.final_rules import FinalRule, orders

RIVALS = 2
"""Designs that are left by each order in the last round."""
FIRST_SHARE = 0.4
"""The share of the evaluations for the first round if there are several objectives.

People look at the front too, and most of it is evaluated in no other round."""


FEWEST_FOR_SLOPE = 5
"""The replications below which no slope is estimated."""


class SecondStage(NamedTuple):
    """What new replications tell of the selected designs."""

    losses: Moments
    """The losses of each design; dropped ones have fewer replications, and comparable means."""
    errors: Floats
    """Standard errors of the means."""
    front: Ints
    """The indices, among the selected, of the front when they were last compared.

    Those whose means say otherwise are left out."""
    finalists: Ints
    """The designs of the front that were never dropped: one of them is to be taken."""
    rounds: Ints  # (rounds, selected)
    """New replications of each after each round."""


def second_stage(
    meter: Meter,
    selected: Ints,
    rough: Moments,
    start: int,
    replications: int,
    left: int | None,
    rule: FinalRule,
) -> SecondStage:
    """Evaluates the selected designs with replications that had no part in their selection.

    Args:
        meter: evaluates and counts.
        selected: the designs.
        rough: what the screening stage told of them, by which they are ordered too.
        start: the index of the first new replication.
        replications: of each design, at most.
        left: evaluations, at most; None for as many as it takes.
        rule: how one of them will be chosen.
    """
    wanted = len(selected) * replications
    left = wanted if left is None else min(left, wanted)
    meter.expected = meter.spent + left
    counts, mean, squares = losses = no_moments(len(selected), rough.mean.shape[1])
    rivals = _rivals(len(selected), len(orders(rule, rough.mean)), left) if left < wanted else []
    indices, taken, history = np.arange(len(selected)), 0, []
    on_front, has_front = np.zeros(len(selected), np.bool_), rough.mean.shape[1] > 1
    keeps = bool(rivals) and meter.problem.common_random_numbers
    kept: list[list[Floats]] = [[] for _ in range(len(selected) if keeps else 0)]
    for round_index, most in enumerate([len(selected), *rivals]):
        if round_index > 0:
            both = merge(rough.at(indices), losses.at(indices))
            differing = ties_of(both).first
            on_front[indices] = False
            indices, means = indices[differing], both.mean[differing]
            on_front[indices[front_of(means)]] = True
            by_rule = orders(rule, means)
            meter.best = int(selected[indices[by_rule[0][0]]])
            indices = indices[np.unique(np.concatenate([order[:most] for order in by_rule]))]
        share = left // (len(rivals) + 1 - round_index)
        if round_index == 0 and rivals and has_front:
            share = max(share, int(FIRST_SHARE * left))
        # The first rounds have many designs: one replication each, if need be more than a share.
        more = min(max(share // len(indices), 1), left // len(indices), replications - taken)
        if more == 0:
            break
        numbers = range(start + taken, start + taken + more)
        if keeps:
            values = meter.evaluate(selected[indices], numbers)
            for index, rows in zip(indices.tolist(), values, strict=True):
                kept[index].append(rows)
            new = moments_of(values)
        else:
            new = meter.estimate(selected[indices], numbers)
        counts[indices], mean[indices], squares[indices] = merge(losses.at(indices), new)
        taken += more
        left -= more * len(indices)
        history.append(counts.copy())
    errors = losses.standard_error
    if keeps:
        whole = [np.concatenate(rows) for rows in kept]
        mean, errors = _comparable(losses, whole, np.flatnonzero(counts == counts.max()))
    finalists = indices[front_of(mean[indices])]
    on_front[indices] = False
    front = np.union1d(_beside(mean, np.flatnonzero(on_front), finalists), finalists)
    return SecondStage(losses._replace(mean=mean), errors, front, finalists, np.array(history))


def _comparable(losses: Moments, values: list[Floats], last: Ints) -> tuple[Floats, Floats]:
    """Means and their standard errors, as if all had had the replications of the last ones."""
    counts, mean, _ = losses
    mean, variance = mean.copy(), losses.variance
    squared = variance / counts.max()
    known = np.array([values[index] for index in last.tolist()])  # (designs, replications, ...)
    whole, most = known.mean(axis=1), known.shape[1]
    for index, own in enumerate(values):
        fewer = len(own)
        if fewer == most:
            continue
        shared = known[:, :fewer]
        slope, left, control = _slopes(own, shared)
        every = np.arange(own.shape[1])
        mean[index] += slope * (whole - shared.mean(axis=1))[control, every]
        squared[index] += left * (1.0 / fewer - 1.0 / most)
    return mean, np.sqrt(squared)


def _slopes(own: Floats, shared: Floats) -> tuple[Floats, Floats, Ints]:
    """Slopes over the best control by objective, what they leave of the variance, and who."""
    replications, objectives = own.shape
    if replications < FEWEST_FOR_SLOPE:
        spread = (
            (own - shared).var(axis=1, ddof=1) if replications > 1 else np.zeros(shared[:, 0].shape)
        )
        control = spread.argmin(axis=0)
        return np.ones(objectives), spread[control, np.arange(objectives)], control
    mine, theirs = own - own.mean(axis=0), shared - shared.mean(axis=1, keepdims=True)
    products = (mine * theirs).sum(axis=1)
    squares = (theirs * theirs).sum(axis=1)
    slopes = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0.0)
    left = np.maximum((mine * mine).sum(axis=0) - slopes * products, 0.0) / (replications - 2)
    control = left.argmin(axis=0)
    every = np.arange(objectives)
    return slopes[control, every], left[control, every], control


def _beside(mean: Floats, others: Ints, finalists: Ints) -> Ints:
    """The others that neither dominate a finalist nor are dominated by any."""
    mine, theirs = mean[others][:, None, :], mean[finalists][None, :, :]
    lower, higher = (mine < theirs).any(axis=2), (mine > theirs).any(axis=2)
    left = others[(lower == higher).all(axis=1)]  # both, or equal to it
    return left[front_of(mean[left])] if len(left) else left


def _rivals(designs: int, orders: int, left: int) -> list[int]:
    """How many are kept by each order at each cut: half as many, until two are left.

    Not more often than there are replications for all.
    """
    kept = []
    by_order = designs // orders if orders else 0
    while by_order > RIVALS:
        by_order = max(by_order // 2, RIVALS)
        kept.append(by_order)
    return kept[: max(left // designs - 1, 0)]
