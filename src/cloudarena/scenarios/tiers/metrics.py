"""What a tiers run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Metric, Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.simulation import TiersSimulation

METRICS = (
    Metric("arrived", "requests that arrived after the warm-up"),
    Metric("served", "those of them that were served", "higher"),
    Metric("blocked", "those that found no room at some tier", "lower"),
    Metric("response_mean_s", "mean of finish - arrival over the served", "lower"),
    Metric("response_p95_s", "its 95th percentile", "lower"),
    Metric("response_p99_s", "its 99th percentile", "lower"),
    Metric(
        "sla_minutes_ok",
        "share of periods whose served requests keep the SLA's bound, by mean or quantile",
        "higher",
    ),
    Metric("sla_requests_ok", "share of arrived requests served within the bound", "higher"),
    Metric("cost_usd", "minutes of rented VMs times their prices, boots and drains too", "lower"),
    Metric("vm_minutes", "minutes of rented VMs", "lower"),
    Metric("changes", "VMs started or released by decisions", "lower"),
    Metric(
        "total_cost_usd",
        "cost_usd + sla.penalty_usd for each period that does not keep the SLA",
        "lower",
    ),
)

HEADLINE = "total_cost_usd"
HIGHLIGHTS = (
    "served",
    "blocked",
    "response_mean_s",
    "response_p95_s",
    "sla_minutes_ok",
    "cost_usd",
    "total_cost_usd",
)
PLOTS = (
    Plot("Arrivals", "periods", "time_s", "rate", "requests/s"),
    Plot("VMs", "periods", "time_s", "vms", "VMs"),
    Plot("Mean response time", "periods", "time_s", "response_mean_s", "s"),
    Plot("Cost of the period", "periods", "time_s", "cost_usd", "$"),
)


def measure(run: TiersSimulation) -> dict[str, float]:
    """The metrics so far."""
    scenario, world = run.scenario, run.world
    first = int(np.searchsorted(world.requests["arrival"], scenario.warmup_s))
    arrived = max(0, int(world.clock[0]["arrived"]) - first)
    responses, blocked = run.responses(first), run.blocked(first)
    tails = np.quantile(responses, (0.95, 0.99)) if len(responses) else (0.0, 0.0)
    within = int((responses <= scenario.sla.seconds).sum())
    kept = [period.keeps_sla for period in run.periods]
    fat, thin = run.rented_minutes()
    cost = cost_usd(run)
    values = (
        arrived,
        len(responses),
        blocked,
        float(responses.mean()) if len(responses) else 0.0,
        float(tails[0]),
        float(tails[1]),
        sum(kept) / len(kept) if kept else 1.0,
        within / arrived if arrived else 1.0,
        cost,
        fat + thin,
        run.changes,
        cost + scenario.sla.penalty_usd * (len(kept) - sum(kept)),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def cost_usd(run: TiersSimulation) -> float:
    """What the VMs have cost so far."""
    fat, thin = run.rented_minutes()
    prices = run.scenario.prices
    return fat * prices.fat_minute_usd + thin * prices.thin_minute_usd


def keeps_sla(run: TiersSimulation, responses: NDArray[np.float64]) -> bool:
    """Whether the requests served in a period keep the SLA; a period without any does."""
    sla = run.scenario.sla
    if len(responses) == 0:
        return True
    if sla.metric == "mean":
        return bool(responses.mean() <= sla.seconds)
    return bool(np.quantile(responses, sla.level) <= sla.seconds)
