"""The cheapest VMs for a chain of tiers that keep its response time within a bound.

A configuration says how many VMs of each size each tier has. It is judged by flows without loss
(see ``chain.evaluate``): then a tier's response depends on its own VMs only, the mean response is
a sum over tiers, and the best configuration is a multiple-choice knapsack, solved exactly. This
errs on the safe side: with weighted balancing, losses make flows, shares lost and response times
smaller, so what meets the bounds without losses meets them with losses (docs/queueing.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_not_negative, check_one, check_shape, check_share
from cloudarena.base.errors import SpecError
from cloudarena.queueing.chain import TierChain, evaluate, serve
from cloudarena.queueing.fronts import Front, cheapest_front, quickest_front
from cloudarena.queueing.offers import Offer, Sla, price_units, tier_counts
from cloudarena.queueing.response import response_tail

MOST_BLOCKED = 0.05
SEARCHED = 20_000
"""Configurations up to which a bound on a quantile is met by trying all, the cheapest first."""
FIRST_TRIED = 32


class Choice(NamedTuple):
    """The configuration that was chosen."""

    counts: Ints
    """VMs, (tier, size)."""
    cost: float
    """The sum of the prices."""
    response_s: float
    """The mean response time, without losses."""
    blocked: Floats
    """The share of visits that find no room, for each tier."""
    within: float | None
    """The share of responses within the bound, if that is on a quantile."""
    meets_sla: bool
    """Whether the response and every tier's loss are within their bounds."""
    is_exact: bool
    """Whether it is proved to be the best; for a quantile in a large space it is not."""


def cheapest(
    chain: TierChain,
    offer: Offer,
    arrival_rate: float,
    sla: Sla,
    most_blocked: float = MOST_BLOCKED,
    least_capacity: ArrayLike = 0.0,
) -> Choice:
    """The cheapest configuration that meets the SLA and loses at most a share of visits per tier.

    ``least_capacity`` is what the VMs of each tier, or of every tier, must be able to serve in a
    second, the sum of their rates, whatever the SLA asks for; a tier that cannot comes as near as
    it can, and where limits in total do not allow that it does not count.

    Of equally cheap ones that with the lowest mean response, then with the fewest VMs.

    If none meets the SLA, but some keep the losses: of those the one with the lowest mean
    response, or for a quantile with the largest share within the bound. If none keeps the losses:
    the one that exceeds them least, in visits of a request, then with the lowest mean response.
    In both cases then the cheapest, then that with the fewest VMs.

    A mean is met exactly, by merging the Pareto fronts of the tiers. For a quantile all
    configurations are tried, the cheapest first, if they are at most 20,000; else those on the
    Pareto front of cost and mean response.
    """
    rate = check_one("arrival_rate", check_not_negative("arrival_rate", arrival_rate))
    allowed = check_one("most_blocked", check_share("most_blocked", most_blocked))
    check_shape("most", offer.most, chain.rates.shape, f"{chain.rates.shape}, as rates")
    least = np.broadcast_to(check_not_negative("least_capacity", least_capacity), len(chain.rates))
    options = [_options(chain, offer, tier, rate, allowed) for tier in range(len(offer.most))]
    able = [_able(*of) for of in zip(options, chain.rates, least, strict=True)]
    found = _keeping_losses(chain, offer, rate, sla, able)
    if found is None:
        found = _keeping_losses(chain, offer, rate, sla, options)
    if found is None:
        quickest = quickest_front(options, offer.limits)
        if len(quickest.cost) == 0:
            raise SpecError(
                f"most_in_total, most_vms: {offer.limits.tolist()} is not allowed: "
                "no configuration gives every tier a VM"
            )
        found = _Found(quickest.counts[0], False, True)
    measures = evaluate(chain, rate, found.counts)
    within = None
    if sla.metric == "quantile":
        within = 1.0 - float(response_tail(chain, rate, found.counts, sla.seconds))
    return Choice(
        counts=found.counts,
        cost=float(found.counts.sum(axis=0) @ offer.prices),
        response_s=float(measures.response_s),
        blocked=measures.blocked,
        within=within,
        meets_sla=found.meets_sla,
        is_exact=found.is_exact,
    )


class _Found(NamedTuple):
    counts: Ints
    meets_sla: bool
    is_exact: bool


def _options(chain: TierChain, offer: Offer, tier: int, rate: float, most_blocked: float) -> Front:
    """The options of a tier, with what they add to a configuration."""
    counts = tier_counts(offer.most[tier])
    visits = float(chain.visits[tier])
    flows = np.full(len(counts), rate * visits)
    served = serve(chain.rates[tier], chain.room[tier], chain.balance, flows, counts)
    return Front(
        counts=counts[:, None],
        cost=counts @ price_units(offer.prices),
        vms=counts.sum(axis=1),
        response_s=visits * served.response_s,
        excess=visits * np.maximum(served.blocked - most_blocked, 0.0),
        used=counts @ offer.counted,
    )


def _able(options: Front, rates: Floats, least: float) -> Front:
    """The options of a tier that serve so many requests a second, or as many as any does."""
    capacity = options.counts[:, 0] @ rates
    return options.rows(capacity >= min(least, capacity.max()))


def _keeping_losses(
    chain: TierChain, offer: Offer, rate: float, sla: Sla, options: Sequence[Front]
) -> _Found | None:
    """The best of the configurations that keep the losses; None if a mean is met by none."""
    options = [tier.rows(tier.excess == 0.0) for tier in options]
    if not all(len(tier.cost) for tier in options):
        return None
    if sla.metric == "mean":
        front = _in_order(cheapest_front(options, offer.limits, sla.seconds))
        met = np.flatnonzero(front.response_s <= sla.seconds)
        return _Found(front.counts[met[0]], True, True) if len(met) else None
    is_exact = math.prod(len(tier.cost) for tier in options) <= SEARCHED
    if is_exact:
        front = _product(options, offer.limits)
    else:
        front = cheapest_front(options, offer.limits, np.inf)
    return _try(chain, rate, sla, _in_order(front).counts, is_exact)


def _in_order(front: Front) -> Front:
    """The cheapest first, then the lowest mean response, then the fewest VMs."""
    return front.rows(np.lexsort((front.vms, front.response_s, front.cost)))


def _product(options: Sequence[Front], limits: Ints) -> Front:
    """All configurations within the limits."""
    indices = np.indices([len(tier.cost) for tier in options]).reshape(len(options), -1)
    parts = [tier.rows(index) for tier, index in zip(options, indices, strict=True)]
    counts, *sums = zip(*parts, strict=True)
    whole = Front(np.concatenate(counts, axis=1), *(sum(columns) for columns in sums))
    return whole.rows(np.all(whole.used <= limits, axis=1))


def _try(chain: TierChain, rate: float, sla: Sla, counts: Ints, is_exact: bool) -> _Found | None:
    """The first configuration that meets a bound on a quantile, or that which comes nearest."""
    nearest, most_within = None, -1.0
    begin, step = 0, FIRST_TRIED
    while begin < len(counts):
        part = counts[begin : begin + step]
        within = 1.0 - response_tail(chain, rate, part, sla.seconds)
        if (within >= sla.level).any():
            return _Found(part[int(np.argmax(within >= sla.level))], True, is_exact)
        if within.max() > most_within:
            most_within = float(within.max())
            nearest = _Found(part[int(np.argmax(within))], False, is_exact)
        begin, step = begin + step, 2 * step
    return nearest
