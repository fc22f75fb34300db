"""The second look of LOS: new replications of the selected designs, the more the longer they lead.

If the evaluations suffice, each selected design gets all its replications. If they do not, as many
for each would be too few to tell the best from its rivals, since the selected are many and most are
no rivals. So the evaluations are shared among rounds, as in successive halving: each round gives
the same effort to half as many designs, those that are first in order by both looks. Designs on the
front so far are never dropped, so with several objectives rounds end where the front begins.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cloudarena.optimize.checks import Ints
from cloudarena.optimize.layers import first_in_order, front_of
from cloudarena.optimize.meter import Meter
from cloudarena.optimize.moments import Moments, merge, no_moments


class SecondLook(NamedTuple):
    """What new replications tell of the selected designs."""

    losses: Moments
    """Of each; those that were dropped have fewer replications."""
    finalists: Ints
    """The places, among the selected, of those that were never dropped."""
    rounds: Ints  # (rounds, selected)
    """New replications of each after each round."""


def second_look(
    meter: Meter, selected: Ints, rough: Moments, start: int, replications: int, left: int | None
) -> SecondLook:
    """Evaluates the selected designs with replications that had no part in their selection.

    Args:
        meter: evaluates and counts.
        selected: the designs.
        rough: what the first look told of them, by which they are ordered too.
        start: the number of the first new replication.
        replications: of each design, at most.
        left: evaluations, at most; None for as many as it takes.
    """
    wanted = len(selected) * replications
    left = wanted if left is None else min(left, wanted)
    rounds = 1 if left == wanted else _rounds(len(selected), len(front_of(rough.mean)), left)
    meter.expected = meter.spent + left
    counts, mean, squares = losses = no_moments(len(selected), rough.mean.shape[1])
    places, taken, history = np.arange(len(selected)), 0, []
    for number in range(rounds):
        if number > 0:
            both = merge(rough.at(places), losses.at(places))
            kept = max(len(places) // 2, len(front_of(both.mean)))
            places = places[first_in_order(both.mean, kept)]
            meter.best = int(selected[places[0]])
        share = left // (rounds - number)
        # The first rounds have many designs: one replication each, if need be more than a share.
        more = min(max(share // len(places), 1), left // len(places), replications - taken)
        if more == 0:
            break
        new = meter.estimate(selected[places], range(start + taken, start + taken + more))
        counts[places], mean[places], squares[places] = merge(losses.at(places), new)
        taken += more
        left -= more * len(places)
        history.append(counts.copy())
    return SecondLook(losses, places, np.array(history))


def _rounds(selected: int, front: int, left: int) -> int:
    """So many that halving leads to the front, or to two rivals, if that can be afforded."""
    halvings = math.ceil(math.log2(selected / front)) + (1 if front > 1 else 0)
    return max(1, min(halvings, left // selected))
