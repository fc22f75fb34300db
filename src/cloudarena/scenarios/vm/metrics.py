"""What a vm run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.contract import Metric, Plot
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.measures import UNSERVED, ratio
from cloudarena.scenarios.vm.kernel import RUNNING

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.kernel import World
    from cloudarena.scenarios.vm.spec import VmScenario

METRICS = (
    Metric(
        UNSERVED,
        "(failed + refused + killed + waiting_at_end) / requests; a VM that runs at the end counts "
        "with the part of its life so far that the policy put off; 0 if nothing arrived",
        "lower",
    ),
    Metric("requests", "VM requests that arrived"),
    Metric("allocated", "requests that were given a machine", "higher"),
    Metric("completed", "VMs that lived to their end", "higher"),
    Metric("failed", "requests without a machine when their buffer was used up", "lower"),
    Metric("refused", "requests that the policy turned away", "lower"),
    Metric("killed", "VMs ended by the overload of their machine", "lower"),
    Metric("running_at_end", "VMs alive after the last tick"),
    Metric(
        "waiting_at_end",
        "requests still waiting after the last tick, for a machine or for its boot",
    ),
    Metric("energy_kwh", "energy of all machines: sum of power times tick length", "lower"),
    Metric(
        "energy_kwh_per_core_hour_served",
        "energy_kwh over the core-hours that VMs paid for and kept",
        "lower",
    ),
    Metric("energy_cost_usd", "energy_kwh * prices.kwh_usd * prices.pue", "lower"),
    Metric(
        "income_usd",
        "for each tick a VM lives: (cores * core_hour_usd + GB * gb_hour_usd) / ticks per hour; "
        "a killed VM gets back all it paid",
        "higher",
    ),
    Metric("profit_usd", "income_usd - energy_cost_usd", "higher"),
    Metric(
        "oversubscribed_machine_ticks",
        "machines, summed over ticks, with more cores allocated than they have",
    ),
    Metric(
        "overloaded_machine_ticks",
        "machines, summed over ticks, whose VMs use more cores than they have",
        "lower",
    ),
    Metric("overloaded_vm_ticks", "VMs on overloaded machines, summed over ticks", "lower"),
    Metric("delay_ticks", "ticks for which requests were put off, summed", "lower"),
    Metric("boots", "how often a machine that was off was booted"),
    Metric(
        "boot_wait_ticks", "ticks for which placed VMs waited for their machine's boot", "lower"
    ),
    Metric(
        "mean_cpu_utilisation",
        "used cores, at most those of each machine, over all cores, averaged over ticks",
        "higher",
    ),
    Metric(
        "mean_cpu_demand",
        "cores that VMs would use, were there enough, over all cores, averaged over ticks",
    ),
    Metric("mean_allocation", "allocated cores over all cores, averaged over ticks", "higher"),
    Metric("empty_machines_mean", "machines without a VM, on or off, averaged over ticks"),
    Metric(
        "stranded_cores_share",
        "free cores of machines into which a VM of the trace's median cores and median memory "
        "does not fit, over all cores, averaged over ticks",
        "lower",
    ),
)

HEADLINE = "profit_usd"
HIGHLIGHTS = (
    UNSERVED,
    "allocated",
    "failed",
    "energy_kwh_per_core_hour_served",
    "income_usd",
    "profit_usd",
    "mean_cpu_utilisation",
    "mean_allocation",
)
PLOTS = (
    Plot("Cores in use", "series", "tick", "used_cores", "cores"),
    Plot("Cores allocated", "series", "tick", "allocated_cores", "cores"),
    Plot("Power", "series", "tick", "power_w", "W"),
    Plot("VMs alive", "series", "tick", "live_vms", "VMs"),
)


def profit_usd(scenario: VmScenario, world: World) -> float:
    """What has been earned so far: income less the cost of energy."""
    return _income_usd(scenario, world) - _energy_kwh(scenario, world) * _energy_price(scenario)


def energy_kwh_per_core_hour(scenario: VmScenario, world: World, at_least_h: float) -> float:
    """Energy over the core-hours served so far, or over ``at_least_h`` if those are fewer."""
    served_h = int(world.totals[0]["billed_core_ticks"]) / 1e6 * scenario.tick_seconds / 3600.0
    return ratio(_energy_kwh(scenario, world), max(served_h, at_least_h))


def measure(scenario: VmScenario, world: World) -> dict[str, float]:
    """The metrics so far."""
    totals, clock = world.totals[0], world.clock[0]
    ticks = max(1, int(clock["tick"]))
    core_ticks = ticks * float(world.machines.cores.sum())
    energy_kwh = _energy_kwh(scenario, world)
    energy_cost = energy_kwh * _energy_price(scenario)
    income = _income_usd(scenario, world)
    arrived, live = int(clock["arrived"]), int(clock["live"])
    lost = sum(int(totals[key]) for key in ("failed", "refused", "killed"))
    waiting = arrived - live - lost - int(totals["completed"])
    demand = float(totals["demand_ticks"])
    values = (
        (lost + waiting + _put_off(world)) / max(1, arrived),
        arrived,
        int(totals["allocated"]),
        int(totals["completed"]),
        int(totals["failed"]),
        int(totals["refused"]),
        int(totals["killed"]),
        live,
        waiting,
        energy_kwh,
        energy_kwh_per_core_hour(scenario, world, at_least_h=0.0),
        energy_cost,
        income,
        income - energy_cost,
        int(totals["oversubscribed"]),
        int(totals["overloaded_machines"]),
        int(totals["overloaded_vms"]),
        int(totals["delay_ticks"]),
        int(totals["boots"]),
        int(totals["boot_wait_ticks"]),
        min(1.0, (demand - float(totals["excess_ticks"])) / 1e8 / core_ticks),
        demand / 1e8 / core_ticks,
        float(totals["core_ticks"]) / 1e6 / core_ticks,
        _empty_machine_ticks(world) / ticks,
        _stranded_core_ticks(world) / core_ticks,
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


def _put_off(world: World) -> float:
    """The parts of the lives of running VMs, up to now, that a policy put off past now, summed.

    Else who starts all VMs in the last tick would leave nothing undone. Waits for room and for
    boots are not the policy's wish, and a VM that has lived its whole life lost nothing.
    """
    vms, demand, now = world.vms, world.demand, int(world.clock[0]["tick"])
    late = np.flatnonzero((vms.chosen_delay > 0) & (vms.outcome == RUNNING))
    due = np.minimum(demand.lifetime[late], now - demand.arrival[late])
    missing = due - np.maximum(now - vms.start[late], 0)
    lost = np.clip(missing, 0, vms.chosen_delay[late])
    return float((lost / np.maximum(due, 1)).sum())


def _empty_machine_ticks(world: World) -> int:
    """Machines without a VM, summed over the ticks so far."""
    since = world.empty_since[world.allocated_cores == 0]
    now = int(world.clock[0]["tick"])
    return int(world.totals[0]["empty_ticks"]) + int((now - since).sum())


def _stranded_core_ticks(world: World) -> float:
    """Stranded cores, summed over the ticks so far."""
    open_ticks = int(world.clock[0]["tick"]) - world.stranded_since
    return (int(world.totals[0]["stranded_ticks"]) + int((open_ticks * world.stranded).sum())) / 1e6


def _energy_kwh(scenario: VmScenario, world: World) -> float:
    return float(world.totals[0]["watt_ticks"]) * scenario.tick_seconds / JOULES_PER_KWH


def _energy_price(scenario: VmScenario) -> float:
    return scenario.prices.kwh_usd * scenario.prices.pue


def _income_usd(scenario: VmScenario, world: World) -> float:
    totals, prices = world.totals[0], scenario.prices
    hours = scenario.tick_seconds / 3600.0 / 1e6
    return hours * (
        prices.core_hour_usd * int(totals["billed_core_ticks"])
        + prices.gb_hour_usd * int(totals["billed_memory_ticks"])
    )
