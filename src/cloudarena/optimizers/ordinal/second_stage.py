"""The second look of LOS: new replications of the selected designs, the more the longer they lead.

If the evaluations suffice, each selected design gets all its replications. If they do not, as many
for each would be too few to tell the best from its rivals, since the selected are many and most are
no rivals. So the evaluations are shared among rounds, as in successive halving: each round gives
the same effort to half as many designs.

Those go on that are first by the final rule, after both looks. A rule may have several orders: the
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
"""By each order, in the last round."""
FIRST_SHARE = 0.4
"""Of the evaluations, for the first round if there are several objectives: people look at the front
too, and most of it is evaluated in no other round."""


FEWEST_FOR_SLOPE = 5
"""Replications."""


class SecondLook(NamedTuple):
    """What new replications tell of the selected designs."""

    losses: Moments
    """Of each; those that were dropped have fewer replications, and means that can be compared."""
    errors: Floats
    """Standard errors of the means."""
    front: Ints
    """The places, among the selected, of those on the front when they were last compared, but for
    those whose means say otherwise."""
    finalists: Ints
    """Those of the front that were never dropped: one of them is to be taken."""
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
) -> SecondLook:
    """Evaluates the selected designs with replications that had no part in their selection.

    Args:
        meter: evaluates and counts.
        selected: the designs.
        rough: what the first look told of them, by which they are ordered too.
        start: the number of the first new replication.
        replications: of each design, at most.
        left: evaluations, at most; None for as many as it takes.
        rule: how one of them will be chosen.
    """
    wanted = len(selected) * replications
    left = wanted if left is None else min(left, wanted)
    meter.expected = meter.spent + left
    counts, mean, squares = losses = no_moments(len(selected), rough.mean.shape[1])
    rivals = _rivals(len(selected), len(orders(rule, rough.mean)), left) if left < wanted else []
    places, taken, history = np.arange(len(selected)), 0, []
    on_front, has_front = np.zeros(len(selected), np.bool_), rough.mean.shape[1] > 1
    keeps = bool(rivals) and meter.problem.common_random_numbers
    kept: list[list[Floats]] = [[] for _ in range(len(selected) if keeps else 0)]
    for number, most in enumerate([len(selected), *rivals]):
        if number > 0:
            both = merge(rough.at(places), losses.at(places))
            differing = ties_of(both).first
            on_front[places] = False
            places, means = places[differing], both.mean[differing]
            on_front[places[front_of(means)]] = True
            by_rule = orders(rule, means)
            meter.best = int(selected[places[by_rule[0][0]]])
            places = places[np.unique(np.concatenate([order[:most] for order in by_rule]))]
        share = left // (len(rivals) + 1 - number)
        if number == 0 and rivals and has_front:
            share = max(share, int(FIRST_SHARE * left))
        # The first rounds have many designs: one replication each, if need be more than a share.
        more = min(max(share // len(places), 1), left // len(places), replications - taken)
        if more == 0:
            break
        numbers = range(start + taken, start + taken + more)
        if keeps:
            values = meter.evaluate(selected[places], numbers)
            for place, rows in zip(places.tolist(), values, strict=True):
                kept[place].append(rows)
            new = moments_of(values)
        else:
            new = meter.estimate(selected[places], numbers)
        counts[places], mean[places], squares[places] = merge(losses.at(places), new)
        taken += more
        left -= more * len(places)
        history.append(counts.copy())
    errors = losses.standard_error
    if keeps:
        whole = [np.concatenate(rows) for rows in kept]
        mean, errors = _comparable(losses, whole, np.flatnonzero(counts == counts.max()))
    finalists = places[front_of(mean[places])]
    on_front[places] = False
    front = np.union1d(_beside(mean, np.flatnonzero(on_front), finalists), finalists)
    return SecondLook(losses._replace(mean=mean), errors, front, finalists, np.array(history))


def _comparable(losses: Moments, values: list[Floats], last: Ints) -> tuple[Floats, Floats]:
    """Means and their standard errors, as if all had had the replications of the last ones."""
    counts, mean, _ = losses
    mean, variance = mean.copy(), losses.variance
    squared = variance / counts.max()
    known = np.array([values[place] for place in last.tolist()])  # (designs, replications, ...)
    whole, most = known.mean(axis=1), known.shape[1]
    for place, own in enumerate(values):
        fewer = len(own)
        if fewer == most:
            continue
        shared = known[:, :fewer]
        slope, left, control = _slopes(own, shared)
        every = np.arange(own.shape[1])
        mean[place] += slope * (whole - shared.mean(axis=1))[control, every]
        squared[place] += left * (1.0 / fewer - 1.0 / most)
    return mean, np.sqrt(squared)


def _slopes(own: Floats, shared: Floats) -> tuple[Floats, Floats, Ints]:
    """For each objective: the slope over the best control, what it leaves of the variance, who."""
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
    """Those of the others that neither dominate a finalist nor are dominated by any."""
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
