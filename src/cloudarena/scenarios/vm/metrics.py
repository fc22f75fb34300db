"""What a vm run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.contract import Metric, Plot
from cloudarena.engine.power import JOULES_PER_KWH

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.kernel import World
    from cloudarena.scenarios.vm.spec import VmScenario

METRICS = (
    Metric("requests", "VM requests that arrived"),
    Metric("allocated", "requests that were given a machine", "higher"),
    Metric("completed", "VMs that lived to their end", "higher"),
    Metric("failed", "requests without a machine when their buffer was used up", "lower"),
    Metric("refused", "requests that the policy turned away", "lower"),
    Metric("killed", "VMs ended by the overload of their machine", "lower"),
    Metric("running_at_end", "VMs alive after the last tick"),
    Metric("waiting_at_end", "requests still waiting after the last tick"),
    Metric("energy_kwh", "energy of all machines: sum of power times tick length", "lower"),
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
    Metric("mean_cpu_utilisation", "used cores over all cores, averaged over ticks", "higher"),
    Metric("mean_allocation", "allocated cores over all cores, averaged over ticks", "higher"),
)

HEADLINE = "profit_usd"
HIGHLIGHTS = (
    "allocated",
    "failed",
    "energy_kwh",
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


def measure(scenario: VmScenario, world: World) -> dict[str, float]:
    """The metrics so far."""
    totals, clock = world.totals[0], world.clock[0]
    core_ticks = max(1, int(clock["tick"])) * float(world.machines.cores.sum())
    energy_kwh = _energy_kwh(scenario, world)
    energy_cost = energy_kwh * _energy_price(scenario)
    income = _income_usd(scenario, world)
    ended = sum(int(totals[key]) for key in ("completed", "killed", "failed", "refused"))
    values = (
        int(clock["arrived"]),
        int(totals["allocated"]),
        int(totals["completed"]),
        int(totals["failed"]),
        int(totals["refused"]),
        int(totals["killed"]),
        int(clock["live"]),
        int(clock["arrived"]) - ended - int(clock["live"]),
        energy_kwh,
        energy_cost,
        income,
        income - energy_cost,
        int(totals["oversubscribed"]),
        int(totals["overloaded_machines"]),
        int(totals["overloaded_vms"]),
        int(totals["delay_ticks"]),
        float(totals["used_ticks"]) / 1e8 / core_ticks,
        float(totals["core_ticks"]) / 1e6 / core_ticks,
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}


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
