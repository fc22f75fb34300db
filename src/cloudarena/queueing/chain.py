"""A chain of tiers, each with VMs of several sizes: flows, losses and response times.

Requests walk along the tiers (see ``routing``). Each visit goes to one of the tier's VMs at
random: to all alike (``equal``), or in proportion to their service rates (``weighted``), which
loads all VMs of a tier alike. A VM is an M/M/1/C queue: exponential service, first come, first
served, room for C requests; a request that finds no room is lost.

Configurations are arrays of VM counts with the axes (..., tier, size); all are evaluated at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_not_negative, check_positive, check_wholes, keep
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.queueing.flows import Acceptance, flows_with_losses
from cloudarena.queueing.geometric import ends, log_ratio, mean
from cloudarena.queueing.routing import check_forward, traverse, visits

BALANCES = ("weighted", "equal")
MOST_ROOM = 10**6
MOST_VMS = 10**6
TINY = 1e-30
"""The step of a complex derivative: its square vanishes beside 1."""


@dataclass(frozen=True, eq=False, init=False)
class TierChain:
    """A chain of tiers. Rates are in requests a second."""

    rates: Floats
    """What a VM serves, (tier, size)."""
    forward: Floats
    """The probability of going on to the next tier, for each tier but the last."""
    room: Floats
    """Requests that a VM of each tier holds, the one in service included."""
    routing: str
    balance: str
    visits: Floats
    """The mean number of times that a request comes to each tier, if none is lost."""

    def __init__(
        self,
        rates: ArrayLike,
        forward: ArrayLike,
        room: ArrayLike,
        routing: str = "depth",
        balance: str = "weighted",
    ) -> None:
        """Checks and keeps a description.

        Args:
            rates: a row for each tier, a column for each size of VM (fat, thin, ...).
            forward: for each tier but the last.
            room: one number, or one for each tier.
            routing: ``depth`` or ``random_walk``, see ``routing``.
            balance: ``weighted`` by the rates of VMs, or ``equal``.
        """
        serving = check_positive("rates", rates)
        if serving.ndim != 2 or 0 in serving.shape:
            raise SpecError(f"rates: the shape {serving.shape} is not allowed: tiers x sizes")
        tiers = len(serving)
        onward = check_forward(forward, routing)
        if len(onward) != tiers - 1:
            raise SpecError(
                f"forward: {len(onward)} probabilities are not allowed: "
                f"{tiers - 1}, one for each tier but the last"
            )
        capacity = check_wholes("room", room, 1, MOST_ROOM).astype(np.float64)
        if capacity.shape not in ((), (tiers,)):
            raise SpecError(
                f"room: the shape {capacity.shape} is not allowed: one number, or one for each tier"
            )
        check_choice("balance", balance, BALANCES)
        keep(
            self,
            rates=serving,
            forward=onward,
            room=np.broadcast_to(capacity, tiers),
            routing=routing,
            balance=balance,
            visits=visits(onward, routing),
        )


class Tiers(NamedTuple):
    """What the tiers do to the flows that come to them, with the axes (..., tier)."""

    flows: Floats
    """Requests a second."""
    accepted: Floats
    """The share of visits that find room."""
    blocked: Floats
    """The share of visits that find none."""
    response_s: Floats
    """The mean time of a visit that finds room, over all VMs of the tier."""
    utilisation: Floats
    """The share of time that a VM is busy, (..., tier, size)."""
    load: Floats
    """The arrival rate at a VM over its service rate, as a logarithm, (..., tier, size)."""
    weights: Floats
    """The share of visits that find room in VMs of a size, (..., tier, size)."""
    full: Floats
    """The share of visits that find no room in VMs of a size, (..., tier, size)."""


class ChainMeasures(NamedTuple):
    """A chain in the long run. The leading axes are those of the configurations."""

    flows: Floats
    """Requests a second that come to each tier."""
    utilisation: Floats
    """The share of time that a VM is busy, for each tier and size; 0 where there is none."""
    blocked: Floats
    """The share of visits that find no room, for each tier."""
    visit_s: Floats
    """The mean time of a visit that finds room, for each tier."""
    response_s: Floats
    """The mean time from the arrival of a request until it leaves, having found room everywhere."""
    served: Floats
    """The share of requests that find room at all their visits."""


def evaluate(
    chain: TierChain, arrival_rate: ArrayLike, counts: ArrayLike, losses: bool = False
) -> ChainMeasures:
    """Evaluates configurations: ``counts`` has the axes (..., tier, size).

    ``arrival_rate`` is that of requests from outside, a number, or one for each configuration.

    Without ``losses`` a request goes on where it finds no room, as if it had been served like the
    others: ``flows = arrival_rate * visits`` and ``response = sum over tiers of visits * visit_s``
    (3.16 of the thesis). ``served`` is then a lower bound. With ``losses`` it leaves where it finds
    no room, tiers get less (see ``flows``), and the response is that of the requests served to
    the end. With weighted balancing the response without losses is an upper bound of that: less
    flow is served sooner, and a long walk is lost more likely than a short one.
    """
    tiers = settle(chain, *check_configurations(chain, arrival_rate, counts), losses)
    served = traverse(chain.forward, chain.routing, tiers.accepted)
    return ChainMeasures(
        flows=tiers.flows,
        utilisation=tiers.utilisation,
        blocked=tiers.blocked,
        visit_s=tiers.response_s,
        response_s=mean_response(chain, tiers, losses),
        served=served[()],
    )


def mean_response(chain: TierChain, tiers: Tiers, losses: bool) -> Floats:
    """The mean response time, by the mean times of visits."""
    if not losses:
        return weighted_sum(chain.visits, tiers.response_s)
    # Each visit multiplies exp(i h time): the imaginary part is h times the sum of times.
    step = TINY / tiers.response_s.max(initial=1.0)
    passage = tiers.accepted * (1.0 + 1j * step * tiers.response_s)
    whole = traverse(chain.forward, chain.routing, passage)
    return whole.imag / (step * whole.real)


def check_configurations(
    chain: TierChain, arrival_rate: ArrayLike, counts: ArrayLike
) -> tuple[Floats, Ints]:
    """The rate of each configuration, and the counts with the axes (..., tier, size)."""
    vms = check_wholes("counts", counts, 0, MOST_VMS)
    tiers, sizes = chain.rates.shape
    if vms.shape[-2:] != (tiers, sizes):
        raise SpecError(
            f"counts: the shape {vms.shape} is not allowed: (..., {tiers}, {sizes}), "
            "tiers x sizes for each configuration"
        )
    is_empty = vms.sum(axis=-1) == 0
    if is_empty.any():
        index = np.unravel_index(int(np.argmax(is_empty)), is_empty.shape)
        where = ", ".join(map(str, index))
        raise SpecError(f"counts[{where}]: {vms[index].tolist()} is not allowed: at least one VM")
    rate = check_not_negative("arrival_rate", arrival_rate)
    try:
        return np.broadcast_to(rate, vms.shape[:-2]), vms
    except ValueError:
        raise SpecError(
            f"arrival_rate: the shape {rate.shape} is not allowed: "
            f"one number, or {vms.shape[:-2]}, one for each configuration"
        ) from None


def settle(chain: TierChain, rate: Floats, vms: Ints, losses: bool) -> Tiers:
    """The flows to the tiers, and what these do to them."""
    room = chain.room[:, None]
    if not losses:
        flows = rate[..., None] * chain.visits
        return serve(chain.rates, room, chain.balance, flows, vms)

    def accept(flows: Floats) -> Acceptance:
        # p[n] is proportional to load^n: log p[C] rises by C - mean of n when log load does by 1.
        tiers = serve(chain.rates, room, chain.balance, flows, vms)
        rise = tiers.full * (room - mean(tiers.load, room))
        return Acceptance(tiers.accepted, rise.sum(axis=-1))

    flows = flows_with_losses(chain.forward, chain.routing, rate, accept)
    return serve(chain.rates, room, chain.balance, flows, vms)


def serve(rates: Floats, room: Floats, balance: str, flows: Floats, vms: Ints) -> Tiers:
    """What tiers with these VMs do to these flows; the last axis of all but ``flows`` is sizes.

    Means over VMs are weighted by the flow that each accepts: ``visit = sum over v of lambda[v]
    (1 - p[C, v]) response[v] / sum over v of lambda[v] (1 - p[C, v])``.
    """
    parts = rates if balance == "weighted" else np.ones_like(rates)
    shares = parts / (vms * parts).sum(axis=-1, keepdims=True)
    at_vm = flows[..., None] * shares
    load = log_ratio(at_vm, rates)
    states = ends(load, room)
    weights, full = vms * shares * states.before_last, vms * shares * states.last
    total = weights.sum(axis=-1)
    visit = (1.0 + mean(load, room - 1.0)) / rates
    return Tiers(
        flows=flows,
        accepted=np.minimum(total, 1.0),
        blocked=full.sum(axis=-1),
        response_s=(weights * visit).sum(axis=-1) / total,
        utilisation=np.where(vms > 0, at_vm * states.before_last / rates, 0.0),
        load=load,
        weights=weights,
        full=full,
    )


def weighted_sum(weights: Floats, values: Floats) -> Floats:
    """The sum over the last axis, tier by tier: the order in which optimisers add up."""
    total = weights[0] * values[..., 0]
    for tier in range(1, len(weights)):
        total = total + weights[tier] * values[..., tier]
    return total
