"""What a policy learns of a service while it runs: who goes on, and how fast VMs serve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.queueing import TierChain
from cloudarena.scenarios.tiers.decision import Period
from cloudarena.scenarios.tiers.spec import TiersScenario

FIRST_SHARE = 0.5
WEIGHT = 0.5
FEWEST_SERVED = 30
"""Visits after which a measured service rate is believed."""
LARGEST_SHARE = 0.99
"""The largest share: on a random walk a share of 1 would let nobody out."""


def chain_of(
    scenario: TiersScenario, forward: ArrayLike | None = None, rates: ArrayLike | None = None
) -> TierChain:
    """The queueing model of a scenario, with its shares and service rates or with others."""
    tiers, routing = scenario.tiers, scenario.routing
    if rates is None:
        rates = [[tier.fat.rate, tier.thin.rate] for tier in tiers]
    return TierChain(
        rates,
        routing.forward if forward is None else forward,
        [tier.room for tier in tiers],
        routing.kind,
        scenario.balance,
    )


class Estimates:
    """Shares and service rates, period by period.

    The share of requests that go on from a tier, P_j of those that came so far (E6 of the errata:
    not of all), begins at 0.5 and is smoothed exponentially. A service rate is the visits that VMs
    of a size have served over the time that they took without waiting: sojourn times would count
    waiting as work. It is believed from 30 visits on; before, that of the spec holds.
    """

    def __init__(self, scenario: TiersScenario) -> None:
        tiers = len(scenario.tiers)
        self._scenario = scenario
        self._known = chain_of(scenario).rates
        self.forward = np.full(tiers, FIRST_SHARE)
        self.served = np.zeros((tiers, 2), np.int64)
        self.service_s = np.zeros((tiers, 2))

    def learn(self, period: Period) -> None:
        """Takes in what was measured in a period."""
        passed = period.forward + period.turned
        share = period.forward / np.maximum(passed, 1)
        self.forward = np.where(
            passed > 0, self.forward + WEIGHT * (share - self.forward), self.forward
        )
        self.served = self.served + period.served_by_size
        self.service_s = self.service_s + period.service_s

    def chain(self) -> TierChain:
        """The queueing model with what was learnt."""
        measured = self.served / np.maximum(self.service_s, 1e-300)
        rates = np.where(self.served >= FEWEST_SERVED, measured, self._known)
        return chain_of(self._scenario, np.minimum(self.forward[:-1], LARGEST_SHARE), rates)
