"""What a tiers run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import UNSERVED, censored_mean, censored_quantiles, ratio
from cloudarena.contract import Metric, Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.simulation import TiersRun
    from cloudarena.scenarios.tiers.spec import Sla

METRICS = (
    Metric(
        UNSERVED,
        "share of the arrived requests that were not served: blocked, or not done yet",
        "lower",
    ),
    Metric("arrived", "requests that arrived after the warm-up"),
    Metric("served", "those of them that were served", "higher"),
    Metric("blocked", "those that found no room at some tier", "lower"),
    Metric(
        "response_mean_s",
        "mean of finish - arrival over all but the blocked; one that is not done counts so far",
        "lower",
    ),
    Metric("response_p95_s", "its 95th percentile", "lower"),
    Metric("response_p99_s", "its 99th percentile", "lower"),
    Metric(
        "sla_minutes_ok",
        "share of periods that keep the SLA: by mean or quantile, blocked and late requests too",
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

ROUNDING = 1e-9
"""Seconds and shares that are no difference: sums of floats are not exact."""

HEADLINE = "total_cost_usd"
HIGHLIGHTS = (
    UNSERVED,
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


def measure(run: TiersRun) -> dict[str, float]:
    """The metrics so far."""
    scenario, world = run.scenario, run.world
    first = int(np.searchsorted(world.requests["arrival"], scenario.warmup_s))
    arrived = max(0, int(world.clock[0]["arrived"]) - first)
    responses, blocked = run.responses(first), run.blocked(first)
    waited = run.waited(first)
    tails = censored_quantiles(responses, waited, (0.95, 0.99))
    within = int((responses <= scenario.sla.seconds + ROUNDING).sum())
    kept = [period.keeps_sla for period in run.periods]
    fat, thin = run.rented_minutes()
    cost = cost_usd(run)
    values = (
        (arrived - len(responses)) / max(1, arrived),
        arrived,
        len(responses),
        blocked,
        censored_mean(responses, waited),
        *tails,
        ratio(sum(kept), len(kept)),
        ratio(within, arrived),
        cost,
        fat + thin,
        run.changes,
        cost + scenario.sla.penalty_usd * (len(kept) - sum(kept)),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def cost_usd(run: TiersRun) -> float:
    """What the VMs have cost so far."""
    fat, thin = run.rented_minutes()
    prices = run.scenario.prices
    return fat * prices.fat_minute_usd + thin * prices.thin_minute_usd


def keeps_sla(
    sla: Sla, responses: NDArray[np.float64], blocked: int, waited: NDArray[np.float64]
) -> bool:
    """Whether a period keeps the SLA.

    Requests that were served in the period count with their response times, those that wait at its
    end if they have waited longer than the bound already, and those that were blocked. By quantile,
    the share ``level`` of all these must have been served within the bound. By mean, the mean over
    the served and the late must be within it, and at most the share 1 - ``level`` of all be
    blocked: a mean with an infinite time in it could not be kept. A period with none of these
    keeps it.

    Args:
        sla: the bound.
        responses: response times of the requests that were served in the period.
        blocked: how many requests were blocked in the period.
        waited: how long each request has been there that is in the service at the period's end.
    """
    bound = sla.seconds + ROUNDING
    late = waited[waited > bound]
    counted = len(responses) + len(late) + blocked
    if counted == 0:
        return True
    if sla.metric == "quantile":
        return bool((responses <= bound).sum() >= sla.level * counted - ROUNDING)
    if blocked == counted or blocked > (1.0 - sla.level) * counted + ROUNDING:
        return False
    return bool(np.concatenate((responses, late)).mean() <= bound)
