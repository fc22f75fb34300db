"""The multiple-choice knapsack: one option for each tier, merged tier by tier as Pareto fronts.

Each option has a cost, a number of VMs, a response time and a loss in excess of what is allowed;
all add up over tiers. A front holds the partial configurations, for the tiers so far, that no
other makes useless: whatever is chosen for the tiers to come, the other would do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints

BLOCK = 512
MOST_PAIRS = 2_000_000
"""Pairs of a partial configuration and an option in memory at a time."""
SLACK = 1e-12
"""Sums in another order differ by rounding: a bound must not cut off what just meets it."""


class Front(NamedTuple):
    """Partial configurations, or the options of a tier: a row in each array."""

    counts: Ints
    """VMs, (row, tier, size)."""
    cost: Ints
    """The cost in whole units of money, so that equal costs compare as equal."""
    vms: Ints
    response_s: Floats
    excess: Floats
    """Visits of a request that find no room, beyond what is allowed."""
    used: Ints
    """What counts against each limit in total, (row, limit)."""

    def rows(self, which: NDArray[Any]) -> Front:
        """The rows with these numbers, or where a mask is true."""
        return Front(*(values[which] for values in self))


Prune: TypeAlias = Callable[[Front], Ints]


def cheapest_front(options: Sequence[Front], limits: Ints, seconds: float) -> Front:
    """All that may be cheapest within the limits and a response of ``seconds``.

    Of two partial configurations, the later in the order of (cost, VMs, response) is useless if
    it is no quicker and uses no less of any limit. So for each bound up to ``seconds`` the front
    has a configuration with the lowest (cost, response, VMs) of all that meet it.
    """

    def prune(front: Front) -> Ints:
        order = np.lexsort((front.response_s, front.vms, front.cost))
        return _undominated(order, [front.response_s, *front.used.T])

    return _merge(options, limits, seconds, prune)


def quickest_front(options: Sequence[Front], limits: Ints) -> Front:
    """All that may have the lowest (excess, response, cost, VMs) within the limits, in order.

    Of two partial configurations, the later in that order is useless if it uses no less of any
    limit. Without limits that leaves one.
    """

    def prune(front: Front) -> Ints:
        order = np.lexsort((front.vms, front.cost, front.response_s, front.excess))
        return _undominated(order, list(front.used.T))

    return _merge(options, limits, np.inf, prune)


def _merge(options: Sequence[Front], limits: Ints, seconds: float, prune: Prune) -> Front:
    # What the tiers to come need at least is not there for those before.
    limits_left = limits - sum(tier.used.min(axis=0) for tier in options)
    seconds_left = seconds - sum(tier.response_s.min() for tier in options)
    slack = SLACK * seconds if np.isfinite(seconds) else 0.0
    front = _nothing(options[0])
    for tier in options:
        limits_left = limits_left + tier.used.min(axis=0)
        seconds_left += tier.response_s.min()
        choices = tier.rows(prune(tier))
        front = _join(front, choices, limits_left, seconds_left + slack, prune)
    return front


def _nothing(like: Front) -> Front:
    """The configuration of no tier."""
    zero = np.zeros(1, np.int64)
    counts = np.zeros((1, 0, like.counts.shape[2]), np.int64)
    used = np.zeros((1, like.used.shape[1]), np.int64)
    return Front(counts, zero, zero, np.zeros(1), np.zeros(1), used)


def _join(front: Front, choices: Front, limits: Ints, seconds: float, prune: Prune) -> Front:
    """All pairs within the bounds that are not useless."""
    step = max(1, MOST_PAIRS // len(choices.cost))
    parts = []
    for begin in range(0, len(front.cost), step):
        end = min(begin + step, len(front.cost))
        left = np.repeat(np.arange(begin, end), len(choices.cost))
        right = np.tile(np.arange(len(choices.cost)), end - begin)
        response = front.response_s[left] + choices.response_s[right]
        used = front.used[left] + choices.used[right]
        possible = (response <= seconds) & (used <= limits).all(axis=1)
        left, right = left[possible], right[possible]
        pairs = Front(
            np.column_stack((left, right)),
            front.cost[left] + choices.cost[right],
            front.vms[left] + choices.vms[right],
            response[possible],
            front.excess[left] + choices.excess[right],
            used[possible],
        )
        pairs = pairs.rows(prune(pairs))
        left, right = pairs.counts.T
        counts = np.concatenate((front.counts[left], choices.counts[right]), axis=1)
        parts.append(pairs._replace(counts=counts))
    if len(parts) <= 1:
        return parts[0] if parts else front
    whole = Front(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return whole.rows(prune(whole))


def _undominated(order: Ints, columns: Sequence[NDArray[Any]]) -> Ints:
    """The rows of ``order`` that are below every earlier one in at least one of the columns."""
    if len(columns) == 0 or len(order) == 0:
        return order[:1]
    if len(columns) == 1:
        values = columns[0][order]
        lowest = np.minimum.accumulate(values)
        return order[np.concatenate(([True], values[1:] < lowest[:-1]))]
    values = np.column_stack([column[order] for column in columns]).astype(np.float64)
    kept = np.empty(0, np.int64)
    for begin in range(0, len(order), BLOCK):
        block = np.arange(begin, min(begin + BLOCK, len(order)))
        block = block[~_covered(values[block], values[kept])]
        among = (values[block, None] >= values[None, block]).all(axis=2)
        is_covered = np.tril(among, -1).any(axis=1)
        kept = np.concatenate((kept, block[~is_covered]))
    return order[kept]


def _covered(values: Floats, by: Floats) -> NDArray[np.bool_]:
    """Which rows are in no column below some row of ``by``."""
    covered = np.ones((len(values), len(by)), np.bool_)
    for column in range(values.shape[1]):
        covered &= values[:, column, None] >= by[None, :, column]
    return np.any(covered, axis=1)
