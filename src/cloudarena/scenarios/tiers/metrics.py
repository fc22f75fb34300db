"""What a tiers run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import censored_mean, censored_quantiles, ratio
from cloudarena.contract.metric import metric, shared

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.run import TiersRun

ROUNDING = 1e-9
"""Seconds and shares that are no difference: sums of floats are not exact."""


@shared
def _first(run: TiersRun) -> int:
    """The first request after the warm-up."""
    return int(run.world.rules.first)


@shared
def _responses(run: TiersRun) -> Floats:
    """The response times of the requests after the warm-up that were served."""
    return run.responses(_first(run))


@shared
def _waited(run: TiersRun) -> Floats:
    """How long the requests after the warm-up that are not done have been there."""
    return run.waited(_first(run))


@shared
def _tails(run: TiersRun) -> tuple[float, ...]:
    """The 95th and the 99th percentile of the response times."""
    return censored_quantiles(_responses(run), _waited(run), (0.95, 0.99))


@shared
def _times(run: TiersRun) -> Floats:
    """Response times as learning sees them: who is blocked has waited for the whole run."""
    lost = np.full(int(blocked(run)), run.scenario.duration_s)
    return np.concatenate((_responses(run), _waited(run), lost))


def _earned_by_mean(run: TiersRun) -> float:
    """Minus the mean of the times that learning sees; 0 before anybody came."""
    times = _times(run)
    return -float(times.mean()) if len(times) else 0.0


def _earned_by_quantile(run: TiersRun, level: float) -> float:
    """Minus a quantile of the times that learning sees, and the share beyond what it leaves out.

    It is 0 before anybody came.
    """
    times = _times(run)
    beyond = max(0.0, unserved_share(run) - (1.0 - level)) * run.scenario.duration_s
    return -float(np.quantile(times, level)) - beyond if len(times) else 0.0


def _all_minutes(run: TiersRun) -> tuple[float, float]:
    """The minutes of fat and thin VMs if all there may be were rented for the whole run."""
    scenario = run.scenario
    fat, thin = run.limits.sum(axis=0).tolist()
    most_fat = fat if scenario.max_fat is None else min(fat, scenario.max_fat)
    most_thin = thin if scenario.max_thin is None else min(thin, scenario.max_thin)
    minutes = scenario.duration_s / 60.0
    return most_fat * minutes, most_thin * minutes


def _within(run: TiersRun) -> int:
    """How many requests were served within the bound of the SLA."""
    return int((_responses(run) <= run.scenario.sla.seconds + ROUNDING).sum())


def _kept(run: TiersRun) -> int:
    """How many periods keep the SLA."""
    return int(run.world.clock[0]["kept"])


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: TiersRun) -> float:
    """The lost share of all requests: blocked or not done yet; 0 if nobody came.

    Those of the warm-up count too, as its rent does: else who rents nothing until it ends would
    save that and leave nothing undone.
    """
    came, done = (int(run.world.clock[0][name]) for name in ("arrived", "done"))
    return (came - done) / max(1, came)


@metric()
def arrived(run: TiersRun) -> float:
    """Requests that arrived after the warm-up."""
    return max(0, int(run.world.clock[0]["arrived"]) - _first(run))


def _all_undone(run: TiersRun) -> float:
    """Minus all requests that were left undone."""
    return -unserved_share(run) * int(run.world.clock[0]["arrived"])


@metric(better="higher", highlight=True)
def served(run: TiersRun) -> float:
    """Requests that arrived after the warm-up and were served."""
    return len(_responses(run))


@metric(better="lower", highlight=True, reward=_all_undone)
def blocked(run: TiersRun) -> float:
    """Requests that arrived after the warm-up and found no room at some tier.

    As a reward it is all that was left undone, in whatever way.
    """
    return run.blocked(_first(run))


@metric(
    better="lower",
    highlight=True,
    label="Mean response time, s",
    reward=_earned_by_mean,
    worst=lambda run: run.scenario.duration_s,
)
def response_mean_s(run: TiersRun) -> float:
    """The mean of finish - arrival over all but the blocked; one that is not done counts so far.

    As a reward a blocked request counts with ``duration_s``, so that nobody earns by blocking.
    """
    return censored_mean(_responses(run), _waited(run))


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of response times, s",
    reward=lambda run: _earned_by_quantile(run, 0.95),
    worst=lambda run: run.scenario.duration_s,
)
def response_p95_s(run: TiersRun) -> float:
    """The 95th percentile of finish - arrival over all but the blocked.

    As a reward a blocked request counts with ``duration_s``.
    """
    return _tails(run)[0]


@metric(
    better="lower",
    label="99th percentile of response times, s",
    reward=lambda run: _earned_by_quantile(run, 0.99),
    worst=lambda run: run.scenario.duration_s,
)
def response_p99_s(run: TiersRun) -> float:
    """The 99th percentile of finish - arrival over all but the blocked.

    As a reward a blocked request counts with ``duration_s``.
    """
    return _tails(run)[1]


@metric(better="higher", highlight=True, label="Periods that keep the SLA")
def sla_minutes_ok(run: TiersRun) -> float:
    """The share of periods that keep the SLA: by mean or quantile, blocked and late ones too."""
    return ratio(_kept(run), int(run.world.clock[0]["period"]))


@metric(
    better="higher",
    label="Requests within the bound of the SLA",
    reward=lambda run: _within(run) / max(1, arrived(run)),
)
def sla_requests_ok(run: TiersRun) -> float:
    """The share of the arrived requests that were served within the bound.

    As a reward it is 0 before anybody came.
    """
    return ratio(_within(run), arrived(run))


@metric(
    better="lower",
    highlight=True,
    most=lambda run: _price(run, *_all_minutes(run)),
)
def cost_usd(run: TiersRun) -> float:
    """Minutes of rented VMs times their prices, boots and drains too.

    As a reward the share of requests that are not served costs that share of all VMs for the whole
    run: who rents little and blocks everybody earns less than who rents all there is.
    """
    return rent_usd(run)


@metric(
    better="lower",
    most=lambda run: sum(_all_minutes(run)),
)
def vm_minutes(run: TiersRun) -> float:
    """Minutes of rented VMs.

    As a reward the share of requests that are not served counts as that share of all VMs for the
    whole run.
    """
    fat, thin = run.rented_minutes()
    return fat + thin


@metric(
    better="lower",
    most=lambda run: _most_changes(run),
)
def changes(run: TiersRun) -> float:
    """VMs started or released by decisions.

    As a reward the share of requests that are not served counts as that share of the changes of all
    VMs in every period.
    """
    return run.changes


@metric(better="lower", highlight=True, most=lambda run: _most_usd(run))
def total_cost_usd(run: TiersRun) -> float:
    """All costs: cost_usd + sla.penalty_usd for each period that does not keep the SLA.

    As a reward the share of requests that are not served costs that share of all VMs and all
    penalties.
    """
    return cost_usd(run) + run.scenario.sla.penalty_usd * (
        int(run.world.clock[0]["period"]) - _kept(run)
    )


def rent_usd(run: TiersRun) -> float:
    """The rent of all VMs so far."""
    return _price(run, *run.rented_minutes())


def _price(run: TiersRun, fat: float, thin: float) -> float:
    """The price of so many minutes of fat and thin VMs."""
    prices = run.scenario.prices
    return fat * prices.fat_minute_usd + thin * prices.thin_minute_usd


def _most_usd(run: TiersRun) -> float:
    """The price of all VMs for the whole run, and all penalties."""
    penalties = run.scenario.sla.penalty_usd * run.scenario.periods
    return _price(run, *_all_minutes(run)) + penalties


def _most_changes(run: TiersRun) -> int:
    """The changes if every decision changed all VMs there may be."""
    return int(run.limits.sum()) * run.scenario.periods
