"""``learned:scale``: fewer joules for an invocation than threshold scalers, at the same p95."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learned_trials import (
    FRESH_SEED,
    Case,
    Recipe,
    Trials,
    Values,
    keep,
    print_weights,
    results_of,
    train_or_load,
    values_of,
)
from benchmarks.rlscheduler import print_header, print_row
from cloudarena.base.statistics import interval
from cloudarena.contract.learned import LearnedPolicy, policy_of
from cloudarena.learn.cross_entropy import CrossEntropyOptions

METRICS = ("energy_j_per_invocation", "response_p95_s", "unserved_share")
NAME = "faas/edge-energy"
THRESHOLDS, RATES = (0.8, 0.3, 1.2), (6.0, 3.0, 9.0)
"""Of the entry: requests a second for each replica, and requests a second."""


def thresholds(factor: float) -> dict[str, Any]:
    """The entry's scalers with other thresholds."""
    return {f"functions[{k}].scaling.threshold": factor * one for k, one in enumerate(THRESHOLDS)}


def scalers(by: str, threshold: float) -> dict[str, Any]:
    """Scalers by something else."""
    return {
        f"functions[{k}].scaling.{key}": value
        for k in range(3)
        for key, value in (("by", by), ("threshold", threshold))
    }


def load(factor: float) -> dict[str, Any]:
    """More or fewer requests."""
    return {f"functions[{k}].requests.mean": factor * rate for k, rate in enumerate(RATES)}


RULES: dict[str, dict[str, Any]] = {
    "the entry's thresholds": {},
    **{f"thresholds x {f:g}": thresholds(f) for f in (0.5, 0.75, 1.25, 1.5, 2.0, 3.0)},
    **{f"`request-rate` {t:g}": scalers("request-rate", t) for t in (1.0, 4.0)},
    **{f"`queue-length` {t:g}": scalers("queue-length", t) for t in (0.5, 2.0)},
    **{f"`cpu-utilisation` {t:g}": scalers("cpu-utilisation", t) for t in (0.3, 0.5, 0.8)},
    **{f"`concurrency` {t:g}": scalers("concurrency", t) for t in (0.5, 0.7, 1.0, 1.25, 1.5, 2.0)},
    **{f"`{name}`": {"scaler": name} for name in ("per-request", "knative", "hpa")},
}
SHORT = {"duration_s": 1200}
TRAINED = (
    Case("edge-energy, 20 minutes", NAME, SHORT),
    Case("load x 0.7", NAME, {**SHORT, **load(0.7)}),
    Case("load x 1.3", NAME, {**SHORT, **load(1.3)}),
)
VARIANTS = {
    "load x 0.7": load(0.7),
    "load x 1.3": load(1.3),
    "half the devices": {"devices.count": 60},
    "ten times of all": {"devices.count": 1200, **load(10.0),
                         **{f"functions[{k}].scaling.maximum": 600 for k in range(3)}},
    "a sine of 5 minutes": {f"functions[{k}].requests.period_s": 300 for k in range(3)},
    "thresholds x 2": thresholds(2.0),
}  # fmt: skip
START = {
    "spare_squared": -2.8, "of_suggested_squared": -2.3, "rate": -1.6, "cpu": 0.8,
    "of_maximum": -0.8, "running": -1.0, "of_suggested": -0.7, "none": 0.6, "spare": -0.3,
    "queue": -1.5, "waiting": -1.0,
}  # fmt: skip
"""What a search before had found, with more weight on waiting requests by hand: it had a p95 0.2 %
above that of the entry's thresholds, and 2 requests in 10,000 more unserved."""
OPTIONS = CrossEntropyOptions(population=24, windows=2, elite=0.2, spread=2.0, least_spread=0.02)


def goal(found: Values, rivals: Mapping[str, Values]) -> float:
    """Energy as a share of the spec's scaler's; later or lost responses cost more than it saves."""
    spec = rivals["spec"]
    late = max(0.0, found["response_p95_s"] / spec["response_p95_s"] - 1.0)
    lost = max(0.0, found["unserved_share"] - spec["unserved_share"])
    energy = found["energy_j_per_invocation"] / spec["energy_j_per_invocation"]
    return -energy - min(5.0, 100.0 * late) - min(5.0, 1000.0 * lost)


RECIPE = Recipe(
    "scale",
    "faas/edge-energy at three loads",
    "energy_j_per_invocation",
    lambda: Trials(TRAINED, "faas-scale", goal, METRICS, ("spec",)),
    START,
    OPTIONS,
    rounds=10,
    retests=8,
)


def make_scale(out: Path | None, policy: str | None, quick: bool) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    learned = train_or_load(RECIPE, "faas", policy, quick)
    chosen, count = policy_of(learned), 3 if quick else 20
    print_weights(learned)
    print(f"{count} runs that nobody trained on:\n")
    keep(learned, NAME, print_rules(chosen, {}, RULES, count), out)
    for title, changes in VARIANTS.items():
        print(f"{title}, {max(2, count // 2)} runs:\n")
        some = ("the entry's thresholds", "thresholds x 1.5", "thresholds x 2")
        print_rules(chosen, changes, {name: RULES[name] for name in some}, max(2, count // 2))


def print_rules(
    policy: LearnedPolicy,
    changes: Mapping[str, Any],
    rules: Mapping[str, Mapping[str, Any]],
    count: int,
) -> dict[str, Any]:
    """Prints each rule's metrics, and what the learned policy has more, pair by pair.

    Returns that, as the file of a policy says it.
    """
    seeds = range(FRESH_SEED, FRESH_SEED + count)
    own = rows_of(Case("", NAME, changes), policy, seeds)
    print_header(
        "scaler",
        *(f"`{name}`" for name in METRICS),
        *(f"learned has more `{name}` (95 %)" for name in METRICS),
    )
    print_row("**learned**", *(f"**{value:.4g}**" for value in own.mean(axis=1)), *[""] * 3)
    others = {}
    for name, rule in rules.items():
        theirs = others[name] = rows_of(Case("", NAME, {**changes, **rule}), "spec", seeds)
        cells = [f"{value:.4g}" for value in theirs.mean(axis=1)]
        for mine, other in zip(own, theirs, strict=True):
            one = interval(mine - other)
            cells.append(f"{one.mean:+.3g} ({one.low:+.3g} to {one.high:+.3g})")
        print_row(name, *cells)
    print(flush=True)
    first, *more = (
        results_of(metric, "lower", own[k], {name: rows[k] for name, rows in others.items()})
        for k, metric in enumerate(METRICS)
    )
    return {**first, "other_metrics": more}


def rows_of(case: Case, policy: Any, seeds: Sequence[int]) -> Any:
    """A row of values for each metric, one for each seed."""
    found = [values_of(case.scenario, policy, seed, METRICS) for seed in seeds]
    return np.array([[one[name] for one in found] for name in METRICS])
