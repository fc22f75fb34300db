"""What a run of the queue measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.measures import ratio
from cloudarena.contract import metric

if TYPE_CHECKING:
    from admission.run import AdmissionRun


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: AdmissionRun) -> float:
    """Accepted customers who have not been served, over those who were accepted.

    To reject is a service too, for here waiting costs: whoever rejects all earns nothing.
    """
    clock = run.world.clock[0]
    return int(clock["accepted"] - clock["served"]) / max(1, int(clock["accepted"]))


@metric()
def customers(run: AdmissionRun) -> float:
    """Customers who came."""
    return int(run.world.clock[0]["arrived"])


@metric(highlight=True)
def accepted(run: AdmissionRun) -> float:
    """Customers who were accepted."""
    return int(run.world.clock[0]["accepted"])


@metric(highlight=True)
def in_system_mean(run: AdmissionRun) -> float:
    """Customers in the system, averaged over time."""
    return ratio(float(run.world.clock[0]["customer_s"]), run.now)


@metric(better="higher", highlight=True)
def profit_usd(run: AdmissionRun) -> float:
    """The profit: ``reward_usd`` times customers served, less the price of their waiting.

    That is ``waiting_usd_per_s`` times the seconds that all were in the system.
    """
    clock, scenario = run.world.clock[0], run.scenario
    earned = scenario.reward_usd * int(clock["served"])
    return earned - scenario.waiting_usd_per_s * float(clock["customer_s"])
