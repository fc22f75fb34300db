"""The built-in policies: how many VMs each tier gets for the next period.

Parameters follow the name: ``model-based:margin=1.3:forecast=last``.
"""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.checks import (
    check_level,
    check_not_negative,
    check_positive,
    check_share,
    check_wholes,
)
from cloudarena.base.errors import PolicyError, check_choice
from cloudarena.policies import PolicyBook
from cloudarena.queueing import Offer, Sla, cheapest
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.tiers.estimates import Estimates, chain_of
from cloudarena.scenarios.tiers.forecasts import FORECASTS, holt_winters
from cloudarena.scenarios.tiers.state import FAT, THIN

Counts = NDArray[np.int64]

policy = PolicyBook("tiers")


@policy.stepped("static")
class Static:
    """Leaves the VMs as they were at the start."""

    name = "static"

    def __call__(self, decision: Any) -> Counts:
        """The VMs in force."""
        counts: Counts = decision.counts
        return counts


@policy.stepped("utilisation")
class Utilisation:
    """By thresholds of utilisation, tier by tier: above the highest one fat VM more, and so on.

    Above ``high`` one fat VM more (a thin one where no fat one is left); above ``raised`` one thin
    more; below ``low`` one fat less; below ``lowered`` one thin less; never the last VM of a tier.
    """

    name = "utilisation"

    def __init__(
        self, high: float = 0.95, raised: float = 0.85, lowered: float = 0.60, low: float = 0.45
    ) -> None:
        thresholds = {"high": high, "raised": raised, "lowered": lowered, "low": low}
        for key, value in thresholds.items():
            check_share(f"policy utilisation: {key}", value)
        for name, threshold in (("lowered", lowered), ("low", low)):
            if threshold > min(raised, high):
                raise PolicyError(
                    f"policy utilisation: {name}: {threshold} is not allowed: at most "
                    f"{min(raised, high)}, above which VMs are added"
                )
        self._thresholds = high, raised, lowered, low

    def __call__(self, decision: Any) -> Counts:
        """The VMs in force, with at most one change per tier."""
        high, raised, lowered, low = self._thresholds
        counts = decision.counts.copy()
        for tier, use in enumerate(decision.last.utilisation):
            most = decision.limits[tier]
            if use > high:
                size = FAT if counts[tier, FAT] < most[FAT] else THIN
                counts[tier, size] = min(counts[tier, size] + 1, most[size])
            elif use > raised:
                counts[tier, THIN] = min(counts[tier, THIN] + 1, most[THIN])
            elif use < lowered and counts[tier].sum() > 1:
                size = FAT if use < low else THIN
                counts[tier, size] = max(counts[tier, size] - 1, 0)
        return _within_totals(decision, counts)


@policy.stepped("target-tracking")
class TargetTracking:
    """Keeps the utilisation of each tier near a target, as public clouds do.

    The capacity wanted is that in force times utilisation / target. More is taken at once, less
    only after ``cooldown`` periods without a change of the tier; within ``tolerance`` of the target
    nothing changes. Of the VMs that give the capacity, the cheapest.
    """

    name = "target-tracking"

    def __init__(self, target: float = 0.6, tolerance: float = 0.1, cooldown: int = 5) -> None:
        check_level("policy target-tracking: target", target, 1.0)
        check_not_negative("policy target-tracking: tolerance", tolerance)
        check_wholes("policy target-tracking: cooldown", cooldown, 0)
        self._target, self._tolerance, self._cooldown = target, tolerance, cooldown
        self._changed: NDArray[np.int64] = np.zeros(0, np.int64)

    def start(self, scenario: Any, seed: int) -> None:
        """Forgets the changes of the last run."""
        self._changed = np.full(len(scenario.tiers), -(10**9))

    def __call__(self, decision: Any) -> Counts:
        """For each tier the cheapest VMs that would run at the target."""
        counts, period = decision.counts.copy(), len(decision.periods)
        for tier, spec in enumerate(decision.scenario.tiers):
            rates = np.array((spec.fat.rate, spec.thin.rate))
            use = decision.last.utilisation[tier] / self._target
            if abs(use - 1.0) <= self._tolerance:
                continue
            if use < 1.0 and period - self._changed[tier] < self._cooldown:
                continue
            wanted = _cheapest_capacity(decision, tier, rates, float(counts[tier] @ rates) * use)
            if (wanted != counts[tier]).any():
                self._changed[tier] = period
                counts[tier] = wanted
        return _within_totals(decision, counts)


@policy.stepped("step")
class StepScaling:
    """Steps by how far the utilisation is above or below bounds, as public clouds do.

    More than ``upper`` adds one thin VM, more than half way from there to 1 two (a fat one counts
    for two); less than ``lower`` releases one, after ``cooldown`` periods without a change.
    """

    name = "step"

    def __init__(self, upper: float = 0.75, lower: float = 0.35, cooldown: int = 3) -> None:
        check_share("policy step: upper", upper)
        check_share("policy step: lower", lower)
        check_wholes("policy step: cooldown", cooldown, 0)
        self._upper, self._lower, self._cooldown = upper, lower, cooldown
        self._changed: NDArray[np.int64] = np.zeros(0, np.int64)

    def start(self, scenario: Any, seed: int) -> None:
        """Forgets the changes of the last run."""
        self._changed = np.full(len(scenario.tiers), -(10**9))

    def __call__(self, decision: Any) -> Counts:
        """The VMs in force, with a step where it is due."""
        counts, period = decision.counts.copy(), len(decision.periods)
        for tier, use in enumerate(decision.last.utilisation):
            before, most = counts[tier].copy(), decision.limits[tier]
            if use > self._upper:
                steep = use > (1.0 + self._upper) / 2.0
                size = FAT if steep and counts[tier, FAT] < most[FAT] else THIN
                if counts[tier, size] == most[size]:
                    size = 1 - size
                counts[tier, size] = min(counts[tier, size] + 1, most[size])
            rested = period - self._changed[tier] >= self._cooldown
            if use < self._lower and counts[tier].sum() > 1 and rested:
                size = THIN if counts[tier, THIN] > 0 else FAT
                counts[tier, size] -= 1
            if (counts[tier] != before).any():
                self._changed[tier] = period
        return _within_totals(decision, counts)


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

    def start(self, scenario: Any, seed: int) -> None:
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

    def _counts(self, decision: Any, rate: float) -> Counts:
        self._estimates.learn(decision.last)
        chain = self._estimates.chain() if self._estimate else self._chain
        rate = self._margin * max(rate, 1e-9)
        held = decision.last.held_at_end
        capacity = np.zeros(len(held))
        if held.sum() > rate * self._sla.seconds:
            capacity = rate * chain.visits + held / self._scenario.period_s
        return cheapest(chain, self._offer, rate, self._sla, least_capacity=capacity).counts


@policy.stepped("model-based")
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

    def __call__(self, decision: Any) -> Counts:
        """The cheapest VMs for the forecast rate."""
        return self._counts(decision, self._forecast(decision.rates))


@policy.stepped("oracle")
class Oracle(_Modelled):
    """The cheapest VMs that keep the SLA by the queueing model at the true rate to come."""

    name = "oracle"

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__(margin)

    def start(self, scenario: Any, seed: int) -> None:
        """Looks at the rates of the run."""
        super().start(scenario, seed)
        self._rates = scenario.rates(seed)

    def __call__(self, decision: Any) -> Counts:
        """The cheapest VMs for the highest rate of the next period."""
        begin = int(decision.now)
        end = int(np.ceil(decision.now + self._scenario.period_s))
        return self._counts(decision, float(self._rates[begin:end].max()))


@policy.replay
class Replay(DecisionFile):
    """Numbers of VMs from a file: columns time_s, tier, fat, thin.

    The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        types = {
            "time_s": pa.float64(),
            "tier": pa.string(),
            "fat": pa.int64(),
            "thin": pa.int64(),
        }
        super().__init__(path, types)
        self._changes: deque[tuple[float, int, int, int]] = deque()

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the tiers of the file in the scenario."""
        number = {tier.name: k for k, tier in enumerate(scenario.tiers)}
        changes: list[tuple[float, int, int, int]] = []
        for row, values in self._rows():
            if values["tier"] not in number:
                raise self._error(f"tier: {values['tier']!r} is not in the scenario", row)
            if not math.isfinite(values["time_s"]):
                raise self._error(f"time_s: {values['time_s']} is not allowed: a number", row)
            change = (values["time_s"], number[values["tier"]], values["fat"], values["thin"])
            changes.append(change)
        # Rows of one time in the order of the file, since the last one holds.
        self._changes = deque(sorted(changes, key=lambda change: change[0]))

    def __call__(self, decision: Any) -> Counts:
        """The VMs in force, with the file's rows up to now."""
        counts: Counts = decision.counts.copy()
        while self._changes and self._changes[0][0] <= decision.now:
            _, tier, fat, thin = self._changes.popleft()
            counts[tier] = (fat, thin)
        return counts


def _cheapest_capacity(
    decision: Any, tier: int, rates: NDArray[np.float64], capacity: float
) -> Counts:
    """The cheapest VMs of a tier that serve so many requests a second, or all there are."""
    prices = decision.scenario.prices
    cost = np.array((prices.fat_minute_usd, prices.thin_minute_usd))
    fat, thin = (np.arange(most + 1) for most in decision.limits[tier])
    options = np.stack(np.meshgrid(fat, thin, indexing="ij"), axis=-1).reshape(-1, 2)[1:]
    enough = options @ rates >= capacity * (1 - 1e-9)
    if not enough.any():
        return decision.limits[tier].copy()
    options = options[enough]
    return options[np.lexsort((options.sum(axis=1), options @ cost))[0]].astype(np.int64)


def _within_totals(decision: Any, counts: Counts) -> Counts:
    """Takes back additions, from the last tier on, that are more than allowed in all tiers.

    A tier that would be left without VMs keeps those in force. That may bring back VMs of the other
    size, so it goes on until both limits are kept, as they are by the VMs in force.
    """
    limits = (decision.scenario.max_fat, decision.scenario.max_thin)
    most = [np.inf if limit is None else limit for limit in limits]
    while (counts.sum(axis=0) > most).any():
        for size in (FAT, THIN):
            for tier in range(len(counts) - 1, -1, -1):
                excess = counts[:, size].sum() - most[size]
                added = int(counts[tier, size] - decision.counts[tier, size])
                counts[tier, size] -= int(max(0, min(excess, added)))
                if counts[tier].sum() == 0:
                    counts[tier] = decision.counts[tier]
    return counts
