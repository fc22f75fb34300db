"""What a run of a data centre measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.measures import ratio
from cloudarena.contract.metric import metric
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.vm.state import Outcome

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun


def _total(run: VmRun, name: str) -> int:
    """One of the sums that the kernel keeps as a whole number."""
    return int(run.world.totals[0][name])


def _ticks(run: VmRun) -> int:
    """The ticks so far, at least 1."""
    return max(1, int(run.world.clock[0]["tick"]))


def _core_ticks(run: VmRun) -> float:
    """All cores over all ticks so far."""
    return _ticks(run) * float(run.world.machines.cores.sum())


def _energy_per_core_hour(run: VmRun, at_least_h: float) -> float:
    """Energy over the core-hours served so far, or over ``at_least_h`` if those are fewer."""
    served_h = _total(run, "billed_core_ticks") / 1e6 * run.scenario.tick_seconds / 3600.0
    return ratio(energy_kwh(run), max(served_h, at_least_h))


def _put_off(run: VmRun) -> float:
    """The parts of the lives of running VMs, up to now, that a policy put off past now, summed.

    Else who starts all VMs in the last tick would leave nothing undone. Waits for room and for
    boots are not the policy's wish, and a VM that has lived its whole life lost nothing.
    """
    vms, demand, now = run.world.vms, run.world.demand, int(run.world.clock[0]["tick"])
    late = np.flatnonzero((vms.chosen_delay > 0) & (vms.outcome == Outcome.RUNNING))
    due = np.minimum(demand.lifetime[late], now - demand.arrival[late])
    missing = due - np.maximum(now - vms.start[late], 0)
    lost = np.clip(missing, 0, vms.chosen_delay[late])
    return float((lost / np.maximum(due, 1)).sum())


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: VmRun) -> float:
    """(failed + refused + killed + waiting_at_end) / requests; 0 if nothing arrived.

    A VM that runs at the end counts with the part of its life so far that the policy put off.
    """
    lost = failed(run) + refused(run) + killed(run)
    return (lost + waiting_at_end(run) + _put_off(run)) / max(1, requests(run))


@metric()
def requests(run: VmRun) -> float:
    """VM requests that arrived."""
    return int(run.world.clock[0]["arrived"])


@metric(better="higher", highlight=True)
def allocated(run: VmRun) -> float:
    """Requests that were given a machine."""
    return _total(run, "allocated")


@metric(better="higher")
def completed(run: VmRun) -> float:
    """VMs that lived to their end."""
    return _total(run, "completed")


@metric(better="lower", highlight=True)
def failed(run: VmRun) -> float:
    """Requests without a machine when their buffer was used up."""
    return _total(run, "failed")


@metric(better="lower")
def refused(run: VmRun) -> float:
    """Requests that the policy turned away."""
    return _total(run, "refused")


@metric(better="lower")
def killed(run: VmRun) -> float:
    """VMs ended by the overload of their machine."""
    return _total(run, "killed")


@metric()
def running_at_end(run: VmRun) -> float:
    """VMs alive after the last tick."""
    return int(run.world.clock[0]["live"])


@metric()
def waiting_at_end(run: VmRun) -> float:
    """Requests still waiting after the last tick, for a machine or for its boot."""
    ended = failed(run) + refused(run) + killed(run) + completed(run)
    return requests(run) - running_at_end(run) - ended


@metric(better="lower")
def energy_kwh(run: VmRun) -> float:
    """The energy of all machines: the sum of power times the length of a tick."""
    watt_ticks = float(run.world.totals[0]["watt_ticks"])
    return watt_ticks * run.scenario.tick_seconds / JOULES_PER_KWH


@metric(
    better="lower",
    highlight=True,
    label="Energy per core-hour served, kWh",
    unit="kWh",
    reward=lambda run: -_energy_per_core_hour(run, at_least_h=1.0),
)
def energy_kwh_per_core_hour_served(run: VmRun) -> float:
    """energy_kwh over the core-hours that VMs paid for and kept.

    As a reward it counts at least one core-hour, so that it is finite, and serving nothing is the
    worst.
    """
    return _energy_per_core_hour(run, at_least_h=0.0)


@metric(better="lower")
def energy_cost_usd(run: VmRun) -> float:
    """energy_kwh * prices.kwh_usd * prices.pue."""
    prices = run.scenario.prices
    return energy_kwh(run) * (prices.kwh_usd * prices.pue)


@metric(better="higher", highlight=True)
def income_usd(run: VmRun) -> float:
    """For each tick a VM lives: (cores * core_hour_usd + GB * gb_hour_usd) / ticks per hour.

    A killed VM gets back all it paid.
    """
    prices, hours = run.scenario.prices, run.scenario.tick_seconds / 3600.0 / 1e6
    return hours * (
        prices.core_hour_usd * _total(run, "billed_core_ticks")
        + prices.gb_hour_usd * _total(run, "billed_memory_ticks")
    )


@metric(better="higher", highlight=True)
def profit_usd(run: VmRun) -> float:
    """income_usd - energy_cost_usd."""
    return income_usd(run) - energy_cost_usd(run)


@metric(label="Ticks of oversubscribed machines")
def oversubscribed_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, with more cores allocated than they have."""
    return _total(run, "oversubscribed")


@metric(better="lower", label="Ticks of overloaded machines")
def overloaded_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, whose VMs use more cores than they have."""
    return _total(run, "overloaded_machines")


@metric(better="lower", label="Ticks of VMs on overloaded machines")
def overloaded_vm_ticks(run: VmRun) -> float:
    """VMs on overloaded machines, summed over ticks."""
    return _total(run, "overloaded_vms")


@metric(better="lower")
def delay_ticks(run: VmRun) -> float:
    """Ticks for which requests were put off, summed."""
    return _total(run, "delay_ticks")


@metric()
def boots(run: VmRun) -> float:
    """How often a machine that was off was booted."""
    return _total(run, "boots")


@metric(better="lower", label="Wait for boots, ticks")
def boot_wait_ticks(run: VmRun) -> float:
    """Ticks for which placed VMs waited for their machine's boot."""
    return _total(run, "boot_wait_ticks")


@metric(better="higher", highlight=True)
def mean_cpu_utilisation(run: VmRun) -> float:
    """Used cores, at most those of each machine, over all cores, averaged over ticks."""
    totals = run.world.totals[0]
    used = float(totals["demand_ticks"]) - float(totals["excess_ticks"])
    return min(1.0, used / 1e8 / _core_ticks(run))


@metric()
def mean_cpu_demand(run: VmRun) -> float:
    """Cores that VMs would use, were there enough, over all cores, averaged over ticks."""
    return float(run.world.totals[0]["demand_ticks"]) / 1e8 / _core_ticks(run)


@metric(better="higher", highlight=True)
def mean_allocation(run: VmRun) -> float:
    """Allocated cores over all cores, averaged over ticks."""
    return float(run.world.totals[0]["core_ticks"]) / 1e6 / _core_ticks(run)


@metric(label="Empty machines, mean")
def empty_machines_mean(run: VmRun) -> float:
    """Machines without a VM, on or off, averaged over ticks."""
    world = run.world
    since = world.empty_since[world.allocated_cores == 0]
    now = int(world.clock[0]["tick"])
    return (_total(run, "empty_ticks") + int((now - since).sum())) / _ticks(run)


@metric(better="lower", label="Stranded cores, share")
def stranded_cores_share(run: VmRun) -> float:
    """Free cores of machines into which the median VM does not fit, as a share of all cores.

    The median VM has the trace's median cores and median memory. Averaged over ticks.
    """
    world = run.world
    open_ticks = int(world.clock[0]["tick"]) - world.stranded_since
    core_ticks = _total(run, "stranded_ticks") + int((open_ticks * world.stranded).sum())
    return core_ticks / 1e6 / _core_ticks(run)
