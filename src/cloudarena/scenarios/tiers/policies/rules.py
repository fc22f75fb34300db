"""Rules of thumb: more VMs where a tier is busy, fewer where it is idle."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_level, check_not_negative, check_share, check_wholes
from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.tiers.decision import TiersDecision
from cloudarena.scenarios.tiers.policies.book import POLICIES
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import Size


@POLICIES.stepped("static")
class Static:
    """Leaves the VMs as they were at the start."""

    name = "static"

    def __call__(self, decision: TiersDecision) -> Ints:
        """The VMs in force."""
        return decision.counts


@POLICIES.stepped("utilisation")
class Utilisation:
    """Thresholds of utilisation, tier by tier: above the highest one fat VM more, and so on.

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

    def __call__(self, decision: TiersDecision) -> Ints:
        """The VMs in force, with at most one change per tier."""
        high, raised, lowered, low = self._thresholds
        counts = decision.counts.copy()
        for tier, use in enumerate(decision.last.utilisation):
            most = decision.limits[tier]
            if use > high:
                size = Size.FAT if counts[tier, Size.FAT] < most[Size.FAT] else Size.THIN
                counts[tier, size] = min(counts[tier, size] + 1, most[size])
            elif use > raised:
                counts[tier, Size.THIN] = min(counts[tier, Size.THIN] + 1, most[Size.THIN])
            elif use < lowered and counts[tier].sum() > 1:
                size = Size.FAT if use < low else Size.THIN
                counts[tier, size] = max(counts[tier, size] - 1, 0)
        return _within_totals(decision, counts)


@POLICIES.stepped("target-tracking")
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
        self._changed: Ints = np.zeros(0, np.int64)

    def start(self, scenario: TiersScenario, seed: int) -> None:
        """Forgets the changes of the last run."""
        self._changed = np.full(len(scenario.tiers), -(10**9))

    def __call__(self, decision: TiersDecision) -> Ints:
        """Returns the cheapest VMs of each tier that would run at the target."""
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


@POLICIES.stepped("step")
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
        self._changed: Ints = np.zeros(0, np.int64)

    def start(self, scenario: TiersScenario, seed: int) -> None:
        """Forgets the changes of the last run."""
        self._changed = np.full(len(scenario.tiers), -(10**9))

    def __call__(self, decision: TiersDecision) -> Ints:
        """The VMs in force, with a step where it is due."""
        counts, period = decision.counts.copy(), len(decision.periods)
        for tier, use in enumerate(decision.last.utilisation):
            before, most = counts[tier].copy(), decision.limits[tier]
            if use > self._upper:
                steep = use > (1.0 + self._upper) / 2.0
                size = Size.FAT if steep and counts[tier, Size.FAT] < most[Size.FAT] else Size.THIN
                if counts[tier, size] == most[size]:
                    size = Size(1 - size)
                counts[tier, size] = min(counts[tier, size] + 1, most[size])
            rested = period - self._changed[tier] >= self._cooldown
            if use < self._lower and counts[tier].sum() > 1 and rested:
                size = Size.THIN if counts[tier, Size.THIN] > 0 else Size.FAT
                counts[tier, size] -= 1
            if (counts[tier] != before).any():
                self._changed[tier] = period
        return _within_totals(decision, counts)


def idle(decision: TiersDecision) -> Ints:
    """Rents as little as it may: what no comparison may crown."""
    counts = np.zeros_like(decision.limits)
    size = np.where(decision.limits[:, Size.THIN] > 0, Size.THIN, Size.FAT)
    counts[np.arange(len(counts)), size] = 1
    return _within_totals(decision, counts)


def _cheapest_capacity(decision: TiersDecision, tier: int, rates: Floats, capacity: float) -> Ints:
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


def _within_totals(decision: TiersDecision, counts: Ints) -> Ints:
    """Takes back additions, from the last tier on, that are more than allowed in all tiers.

    A tier that would be left without VMs keeps those in force. That may bring back VMs of the other
    size, so it goes on until both limits are kept, as they are by the VMs in force.
    """
    limits = (decision.scenario.max_fat, decision.scenario.max_thin)
    most = [np.inf if limit is None else limit for limit in limits]
    while (counts.sum(axis=0) > most).any():
        for size in (Size.FAT, Size.THIN):
            for tier in range(len(counts) - 1, -1, -1):
                excess = counts[:, size].sum() - most[size]
                added = int(counts[tier, size] - decision.counts[tier, size])
                counts[tier, size] -= int(max(0, min(excess, added)))
                if counts[tier].sum() == 0:
                    counts[tier] = decision.counts[tier]
    return counts
