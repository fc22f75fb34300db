"""``learned:tiers``: a lower total cost, penalties included, than the best rule at the same SLA."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.learned_trials import (
    Case,
    Recipe,
    Trials,
    Values,
    comparison_results,
    keep,
    print_duels,
    print_variants,
    print_weights,
    put_to_the_test,
    train_or_load,
)
from cloudarena.contract.learned import policy_of
from cloudarena.learn.cross_entropy import CrossEntropyOptions

METRICS = ("total_cost_usd", "sla_minutes_ok", "cost_usd", "unserved_share", "response_p95_s")
RULES = ("static", "utilisation", "target-tracking", "step", "model-based")
"""Those that decide by the past; the oracle sees the rates to come."""
RATES = ((220, 120), (36, 20), (80, 40))
"""What fat and thin VMs of the tiers of ``tiers/day`` serve in a second."""


MOST = ((4, 4), (8, 8), (3, 3))
"""How many of each these tiers may have."""


def slow_day(hours: float, load: float = 1.0, vms: float = 1.0) -> dict[str, Any]:
    """The changes that make ``tiers/day`` a tenth as fast, and so long: a run is ten times cheaper.

    The bound of the SLA is five times as long. ``vms`` multiplies the VMs that there may be.
    """
    changes = {"duration_s": 3600.0 * hours, "sla.seconds": 10.0}
    changes |= {"arrivals.base": 6.0 * load, "arrivals.burst": 11.0 * load}
    for tier, (fat, thin) in enumerate(RATES):
        changes |= {f"tiers[{tier}].fat.rate": fat / 10, f"tiers[{tier}].thin.rate": thin / 10}
        most = [max(1, int(vms * one)) for one in MOST[tier]]
        changes |= {f"tiers[{tier}].fat.max": most[0], f"tiers[{tier}].thin.max": most[1]}
    return changes


TRAINED = (
    Case("slow day", "tiers/day", slow_day(4)),
    Case("slow day, load x 0.7, two hours", "tiers/day", slow_day(2, 0.7)),
    Case("slow day, load x 1.3, two hours", "tiers/day", slow_day(2, 1.3)),
    Case("rubis-slow", "tiers/rubis-slow"),
)
VARIANTS = (
    Case("rubis-slow", "tiers/rubis-slow"),
    Case("rubis-hour", "tiers/rubis-hour"),
    Case("slow day, load x 0.7", "tiers/day", slow_day(4, 0.7)),
    Case("slow day, load x 1.3", "tiers/day", slow_day(4, 1.3)),
    Case("slow day, VMs that boot in 180 s", "tiers/day", {**slow_day(4), "boot_s": 180}),
    Case("slow day, half of all", "tiers/day", slow_day(4, 0.5, 0.5)),
    Case("slow hour, ten times of all", "tiers/day", slow_day(1, 10.0, 10.0)),
    Case("day, two hours", "tiers/day", {"duration_s": 7200}),
)
START = {"response_30": -10.0, "response": -5.0, "cost": -10.0, "released": -0.5, "hold": 0.3}
"""Short responses for little money, and no haste to release VMs."""
RIVALS = ("target-tracking", "step")
"""The rules with the lowest cost and with the most minutes within the SLA."""
MARGIN = 0.003
"""In how large a share of minutes more than any rival it should keep the SLA."""
OPTIONS = CrossEntropyOptions(population=32, windows=3, elite=0.2, spread=2.0, least_spread=0.02)


def goal(found: Values, rivals: Mapping[str, Values]) -> float:
    """How far the total cost is below the lowest, less what the SLA is kept less than by any."""
    cheapest = min(one["total_cost_usd"] for one in rivals.values())
    kept = max(one["sla_minutes_ok"] for one in rivals.values())
    lost = max(0.0, kept + MARGIN - found["sla_minutes_ok"])
    return -math.log(found["total_cost_usd"] / cheapest) - 5.0 * lost


RECIPE = Recipe(
    "tiers",
    "tiers/day, a tenth as fast, at three loads, and tiers/rubis-slow",
    "total_cost_usd",
    lambda: Trials(TRAINED, "tiers", goal, METRICS[:2], RIVALS),
    START,
    OPTIONS,
    rounds=12,
    retests=16,
)


def make_tiers(out: Path | None, policy: str | None, quick: bool) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    learned = train_or_load(RECIPE, "tiers", policy, quick)
    chosen, count = policy_of(learned), 3 if quick else 24
    print_weights(learned)
    print(f"{count} runs that nobody trained on:\n")
    comparison = put_to_the_test(TRAINED[0], chosen, count, RULES)
    print_duels(comparison, METRICS)
    keep(learned, TRAINED[0].title, comparison_results(comparison, METRICS[:2]), out)
    print_variants(VARIANTS, chosen, METRICS[:2], max(2, count // 3), RULES[1:])
