"""Policies by a queueing model: the cheapest VMs that keep the SLA at a rate to come."""

from __future__ import annotations

from functools import partial

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.base.checks import check_positive, check_wholes
from cloudarena.base.errors import PolicyError, check_choice
from cloudarena.queueing import Offer, Sla, cheapest
from cloudarena.scenarios.tiers.decision import TiersDecision
from cloudarena.scenarios.tiers.policies.book import POLICIES
from cloudarena.scenarios.tiers.policies.estimates import Estimates, chain_of
from cloudarena.scenarios.tiers.policies.forecasts import FORECASTS, holt_winters
from cloudarena.scenarios.tiers.spec import TiersScenario


class _Modelled:
    """The cheapest VMs that keep the SLA by the queueing model, at a rate that a subclass gives.

    The model knows the long run only. So where the tiers hold more than they may by the SLA (by
    Little's law, rate times bound), they also get the capacity to serve that within the period,
    besides what arrives.
    """

    name = ""

    def __init__(self, margin: float, estimate: bool = False) -> None:
        check_positive(f"policy {self.name}: margin", margin)
        if not isinstance(estimate, bool):
            raise PolicyError(
                f"policy {self.name}: estimate: {estimate!r} is not allowed: true or false"
            )
        self._margin = margin
        self._estimate = estimate

    def start(self, scenario: TiersScenario, seed: int) -> None:
        """Takes the prices, limits and bounds of the scenario."""
        self._scenario = scenario
        tiers = scenario.tiers
        totals = [
            sum(most) if limit is None else limit
            for most, limit in (
                ([tier.fat.max for tier in tiers], scenario.max_fat),
                ([tier.thin.max for tier in tiers], scenario.max_thin),
            )
        ]
        prices = scenario.prices
        self._offer = Offer(
            (prices.fat_minute_usd, prices.thin_minute_usd),
            [[tier.fat.max, tier.thin.max] for tier in tiers],
            most_in_total=totals,
        )
        self._sla = Sla(scenario.sla.seconds, scenario.sla.metric, scenario.sla.level)
        self._chain = chain_of(scenario)
        self._estimates = Estimates(scenario)

    def _counts(self, decision: TiersDecision, rate: float) -> Ints:
        self._estimates.learn(decision.last)
        chain = self._estimates.chain() if self._estimate else self._chain
        rate = self._margin * max(rate, 1e-9)
        held = decision.last.held_at_end
        capacity = np.zeros(len(held))
        if held.sum() > rate * self._sla.seconds:
            capacity = rate * chain.visits + held / self._scenario.period_s
        return cheapest(chain, self._offer, rate, self._sla, least_capacity=capacity).counts


@POLICIES.stepped("model-based")
class ModelBased(_Modelled):
    """The cheapest VMs that keep the SLA by the queueing model at the rate that is forecast.

    ``forecast`` is last, linear, smoothing or holt-winters; the forecast is multiplied by
    ``margin``. With ``estimate=true`` routing and service rates are measured, not known. For
    holt-winters, ``season`` is the length of a season in periods, such as 1440 for a day of
    minutes; without one it has level and trend only.
    """

    name = "model-based"

    def __init__(
        self,
        forecast: str = "linear",
        margin: float = 1.15,
        estimate: bool = False,
        season: int | None = None,
    ) -> None:
        super().__init__(margin, estimate)
        check_choice("policy model-based: forecast", forecast, FORECASTS)
        self._forecast = FORECASTS[forecast]
        if season is not None:
            if forecast != "holt-winters":
                raise PolicyError(
                    f"policy model-based: season: {season} is not allowed: forecast {forecast} has "
                    "none, only holt-winters"
                )
            check_wholes("policy model-based: season", season, 2)
            self._forecast = partial(holt_winters, season=int(season))

    def __call__(self, decision: TiersDecision) -> Ints:
        """The cheapest VMs for the forecast rate."""
        return self._counts(decision, self._forecast(decision.rates))


@POLICIES.stepped("oracle")
class Oracle(_Modelled):
    """The cheapest VMs that keep the SLA by the queueing model at the true rate to come."""

    name = "oracle"

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__(margin)

    def start(self, scenario: TiersScenario, seed: int) -> None:
        """Looks at the rates of the run."""
        super().start(scenario, seed)
        self._rates = scenario.load_workload(seed)

    def __call__(self, decision: TiersDecision) -> Ints:
        """The cheapest VMs for the highest rate of the next period."""
        begin = int(decision.now)
        end = int(np.ceil(decision.now + self._scenario.period_s))
        return self._counts(decision, float(self._rates[begin:end].max()))
