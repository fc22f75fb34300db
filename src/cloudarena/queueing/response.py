"""The distribution of the response time of a chain, end to end: tails and quantiles.

The time of a visit that finds room in a VM (M/M/1/C) has the Laplace transform

    f(s) = sum over n < C of p[n] / (1 - p[C]) z^(n+1),    z = mu / (mu + s),

a geometric sum, so a closed form. A tier's is the mean over its VMs, by the flow that each
accepts; ``routing.traverse`` multiplies visits up to whole walks; ``inversion`` turns that into
a tail.

This takes the visits of a request for independent, as they are along a line of M/M/1 queues (E.
Reich, Annals of Mathematical Statistics 28(3), 1957). It is exact for one tier; else it is an
approximation, since a request that comes back meets the crowd that it was part of. Means do not
suffer from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Complexes, Floats, Ints
from cloudarena.base.checks import check_level, check_not_negative, check_one
from cloudarena.base.errors import SpecError
from cloudarena.queueing.chain import TierChain, check_configurations, mean_response, settle
from cloudarena.queueing.geometric import ends
from cloudarena.queueing.inversion import FIRST_TERMS, tail_of_transform
from cloudarena.queueing.quantiles import quantile_of_tail
from cloudarena.queueing.routing import traverse

HIGHEST_LEVEL = 0.99999
"""Beyond it the error of the inversion would show in the quantile."""
ACCURACY = 1e-8
SINGULAR = 1e-7
"""Where ``1 - w`` is smaller, ``(1 - w^C) / (1 - w)`` is taken by logarithms."""


def response_tail(
    chain: TierChain,
    arrival_rate: ArrayLike,
    counts: ArrayLike,
    seconds: ArrayLike,
    losses: bool = False,
) -> Floats:
    """The share of served requests whose response takes more than ``seconds``, to about 1e-9.

    ``counts`` has the axes (..., tier, size); ``arrival_rate`` and ``seconds`` are numbers, or one
    for each configuration. ``losses`` is that of ``evaluate``.
    """
    rate, vms = check_configurations(chain, arrival_rate, counts)
    time = check_not_negative("seconds", seconds)
    if time.shape not in ((), rate.shape):
        raise SpecError(
            f"seconds: the shape {time.shape} is not allowed: "
            f"one number, or {rate.shape}, one for each configuration"
        )
    walks = _Walks(chain, rate, vms, losses)
    tail = walks.tail(np.broadcast_to(time, rate.shape).ravel(), np.arange(rate.size))
    return tail.reshape(rate.shape)[()]


def response_quantile(
    chain: TierChain,
    arrival_rate: ArrayLike,
    counts: ArrayLike,
    level: float,
    losses: bool = False,
) -> Floats:
    """The seconds within which a share ``level`` of the served requests have their response."""
    rate, vms = check_configurations(chain, arrival_rate, counts)
    share = check_one("level", check_level("level", level, HIGHEST_LEVEL))
    walks = _Walks(chain, rate, vms, losses)
    quantile = quantile_of_tail(walks.tail, np.full(rate.size, share), walks.mean, ACCURACY)
    return quantile.reshape(rate.shape)[()]


class _Walks:
    """The transforms of the response times of several configurations.

    A visit's is ``scale z (constant - slope z^C) / (1 - ratio z)``, with the load as ratio; above
    a load of 1 numerator and denominator are divided by its power, so that none overflows.
    """

    def __init__(self, chain: TierChain, rate: Floats, vms: Ints, losses: bool) -> None:
        tiers = settle(chain, rate, vms, losses)
        shape = (-1, *chain.rates.shape)
        load, weights = tiers.load.reshape(shape), tiers.weights.reshape(shape)
        if not losses:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        room = chain.room[:, None]
        found = ends(load, room - 1.0)
        self.chain = chain
        self.load = load
        self.ratio = np.exp(load)
        self.scale = weights * np.where(load > 0.0, self.ratio * found.last, found.first)
        self.constant = np.exp(-room * np.maximum(load, 0.0))
        self.slope = np.exp(room * np.minimum(load, 0.0))
        self.served = traverse(chain.forward, chain.routing, weights.sum(axis=-1))
        self.mean = mean_response(chain, tiers, losses).ravel()
        self.terms = np.full(len(load), FIRST_TERMS)

    def tail(self, seconds: Floats, distributions: Ints) -> Floats:
        """``P(T > t)`` of the configurations with these numbers."""
        return tail_of_transform(self.transform, seconds, distributions, self.terms)

    def transform(self, s: Complexes, distributions: Ints) -> Complexes:
        """``E[exp(-s T)]`` of a served request, for the configurations with these numbers."""
        passage = np.zeros((len(self.chain.rates), *s.shape), np.complex128)
        for tier, rates in enumerate(self.chain.rates):
            for size, rate in enumerate(rates):
                rows = np.flatnonzero(self.scale[distributions, tier, size])
                passage[tier, rows] += self._visit(s[rows], distributions[rows], tier, size, rate)
        whole = traverse(self.chain.forward, self.chain.routing, np.moveaxis(passage, 0, -1))
        return whole / self.served[distributions, None]

    def _visit(
        self, s: Complexes, distributions: Ints, tier: int, size: int, rate: float
    ) -> Complexes:
        index = (distributions, tier, size)
        room = int(self.chain.room[tier])
        z = rate / (rate + s)
        left = 1.0 - self.ratio[index][:, None] * z
        total = self.constant[index][:, None] - self.slope[index][:, None] * power(z, room)
        is_singular = np.abs(left) < SINGULAR
        if is_singular.any():
            row, _ = np.nonzero(is_singular)
            logarithm = self.load[index][row] + np.log(z[is_singular])
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.expm1(room * logarithm) / np.expm1(logarithm)
            total[is_singular] = self.constant[index][row] * np.where(logarithm == 0, room, ratio)
            left[is_singular] = 1.0
        return self.scale[index][:, None] * z * total / left


def power(base: Complexes, exponent: int) -> Complexes:
    """A whole power, by squaring: much faster than complex logarithms."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result *= base
        base = base * base
        exponent >>= 1
    return result
