"""The second look of LOS: new replications of the selected designs, the more the longer they lead.

If the evaluations suffice, each selected design gets all its replications. If they do not, as many
for each would be too few to tell the best from its rivals, since the selected are many and most are
no rivals. So the evaluations are shared among rounds, as in successive halving: each round gives
the same effort to half as many designs.

Those go on that are first by the final rule, after both looks. A rule may have several orders: the
knee depends on the ends of the front, so there are rivals for each end as well, and the effort is
shared among the orders. Of designs that have never differed one goes on, and stands for them on the
front. The rule ``random`` has no order: there all get the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.optimize.checks import Ints
from cloudarena.optimize.final_rules import FinalRule, orders
from cloudarena.optimize.layers import front_of
from cloudarena.optimize.meter import Meter
from cloudarena.optimize.moments import Moments, merge, no_moments
from cloudarena.optimize.rounds import ties_of

RIVALS = 2
"""By each order, in the last round."""
FIRST_SHARE = 0.4
"""Of the evaluations, for the first round if there are several objectives: people look at the front
too, and most of it is evaluated in no other round."""


class SecondLook(NamedTuple):
    """What new replications tell of the selected designs."""

    losses: Moments
    """Of each; those that were dropped have fewer replications."""
    front: Ints
    """The places, among the selected, of those on the front when they were last compared."""
    finalists: Ints
    """Those of the front that were never dropped: one of them is to be taken."""
    rounds: Ints  # (rounds, selected)
    """New replications of each after each round."""


def second_look(
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
        new = meter.estimate(selected[places], range(start + taken, start + taken + more))
        counts[places], mean[places], squares[places] = merge(losses.at(places), new)
        taken += more
        left -= more * len(places)
        history.append(counts.copy())
    finalists = places[front_of(mean[places])]
    on_front[places] = False
    on_front[finalists] = True
    return SecondLook(losses, np.flatnonzero(on_front), finalists, np.array(history))


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
