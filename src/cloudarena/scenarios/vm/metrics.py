"""What a run of a data centre measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import ratio
from cloudarena.contract.metric import metric
from cloudarena.engine.gpu_scores import WHOLE, Nodes, Typical, fragment
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.vm.state import Outcome

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun


def _total(run: VmRun, name: str) -> int:
    """One of the sums that the kernel keeps as a whole number."""
    return int(run.total(name))


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


def _peak_kwh(run: VmRun) -> float:
    """The energy of all machines if each drew all it can for the whole run."""
    fleet = run.world.fleet
    highest_w = np.maximum(fleet.busy_w, fleet.boot_w)  # idle and off are not above busy
    seconds = run.scenario.ticks * run.scenario.tick_seconds
    return float(highest_w.sum()) * seconds / JOULES_PER_KWH


def _peak_kwh_per_core_hour(run: VmRun) -> float:
    """The most energy over the core-hours that there are."""
    hours = run.scenario.ticks * run.scenario.tick_seconds / 3600.0
    return _peak_kwh(run) / (hours * float(run.world.machines.cores.sum()))


def _peak_cost_usd(run: VmRun) -> float:
    """What that costs."""
    return _peak_kwh(run) * run.scenario.prices.kwh_usd * run.scenario.prices.pue


def _ticks_so_far(run: VmRun) -> float:
    """The ticks that have passed."""
    return float(run.world.clock[0]["tick"])


def _repeated(run: VmRun, values: list[float]) -> Floats:
    """A value of each type of machine, machine by machine."""
    return np.repeat(np.array(values), [kind.count for kind in run.scenario.machines])


def used_ticks(run: VmRun) -> Floats:
    """The ticks in which each machine has had a VM on it, also one that a stream has forgotten."""
    vms, machines = run.world.vms, len(run.world.machines.cores)
    if not any(kind.price and kind.price.is_by_use for kind in run.scenario.machines):
        return np.zeros(machines)
    now = int(run.world.clock[0]["tick"])
    placed = np.flatnonzero((vms.machine >= 0) & (vms.start >= 0) & (vms.start <= now))
    end = np.clip(vms.end[placed], run.used_until, now)
    machine, start = vms.machine[placed], np.maximum(vms.start[placed], run.used_until)
    order = np.lexsort((start, machine))
    machine, start, end = machine[order], start[order], end[order]
    # Machines lie one behind the other on one line of time, so that the latest end so far is that
    # of the machine itself, or of none.
    line = (run.scenario.ticks + 1) * machine
    before = np.concatenate(([0], np.maximum.accumulate(line + end)[:-1]))
    new = np.maximum(0, line + end - np.maximum(line + start, before))
    used = run.used_before + np.zeros(machines)
    np.add.at(used, machine, new)
    return used


def _machines_usd(run: VmRun, used: Floats, ticks: float) -> float:
    """What machines cost that are in use in so many ticks of all."""
    kinds = run.scenario.machines
    if all(kind.price is None for kind in kinds):
        return 0.0
    hourly = _repeated(run, [kind.price.hourly_usd if kind.price else 0.0 for kind in kinds])
    by_use = _repeated(run, [bool(kind.price and kind.price.is_by_use) for kind in kinds])
    counted = np.where(by_use > 0, used, ticks)
    return float((hourly * counted).sum()) * run.scenario.tick_seconds / 3600.0


def _energy_usd(run: VmRun) -> float:
    """The price of the energy that is paid for, and of its carbon."""
    prices = run.scenario.prices
    if all(kind.pays_energy for kind in run.scenario.machines):
        kwh, bill = energy_kwh(run), energy_cost_usd(run)
    else:
        paid = _repeated(run, [kind.pays_energy for kind in run.scenario.machines])
        watt_ticks = float((run.world.machine_watt_ticks * paid).sum())
        kwh = watt_ticks * run.scenario.tick_seconds / JOULES_PER_KWH
        bill = kwh * (prices.kwh_usd * prices.pue)
    return bill + kwh * prices.pue * prices.carbon_g_per_kwh / 1e6 * prices.carbon_tonne_usd


def _most_usd(run: VmRun) -> float:
    """What machines cost that are in use, and draw all they can, for the whole run.

    Of those that are paid for by use there are as many as VMs that came: one VM may be the only
    one for which a machine is in use, so to leave it undone must cost a machine.
    """
    ticks, prices = float(run.scenario.ticks), run.scenario.prices
    machines = len(run.world.machines.cores)
    everything = np.full(machines, ticks * max(1.0, requests(run) / machines))
    carbon = _peak_kwh(run) * prices.pue * prices.carbon_g_per_kwh / 1e6 * prices.carbon_tonne_usd
    return _machines_usd(run, everything, ticks) + _peak_cost_usd(run) + carbon


def _all_ticks(run: VmRun) -> float:
    """The ticks of all requests, had each all of the run."""
    return float(requests(run)) * run.scenario.ticks


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
    """The share lost, (failed + refused + killed + waiting_at_end) / requests; 0 if none came.

    A VM that runs at the end counts with the part of its life so far that the policy put off.
    """
    lost = failed(run) + refused(run) + killed(run)
    return (lost + waiting_at_end(run) + _put_off(run)) / max(1, requests(run))


@metric()
def requests(run: VmRun) -> float:
    """VM requests that arrived."""
    return int(run.world.clock[0]["arrived"]) + int(run.world.clock[0]["gone"])


@metric(better="higher", highlight=True)
def allocated(run: VmRun) -> float:
    """Requests that were given a machine."""
    return _total(run, "allocated")


@metric(better="higher")
def completed(run: VmRun) -> float:
    """VMs that lived to their end."""
    return _total(run, "completed")


@metric(better="lower", highlight=True, most=lambda run: requests(run))
def failed(run: VmRun) -> float:
    """Requests without a machine when their buffer was used up."""
    return _total(run, "failed")


@metric(better="lower", most=lambda run: requests(run))
def refused(run: VmRun) -> float:
    """Requests that the policy turned away."""
    return _total(run, "refused")


@metric(better="lower", most=lambda run: requests(run))
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


@metric(better="lower", most=_peak_kwh)
def energy_kwh(run: VmRun) -> float:
    """The energy of all machines: the sum of power times the length of a tick."""
    return float(run.total("watt_ticks")) * run.scenario.tick_seconds / JOULES_PER_KWH


@metric(
    better="lower",
    highlight=True,
    label="Energy per core-hour served, kWh",
    unit="kWh",
    reward=lambda run: -_energy_per_core_hour(run, at_least_h=1.0),
    most=_peak_kwh_per_core_hour,
    worst=_peak_kwh,
)
def energy_kwh_per_core_hour_served(run: VmRun) -> float:
    """The energy_kwh over the core-hours that VMs paid for and kept.

    As a reward it counts at least one core-hour, so that it is finite.
    """
    return _energy_per_core_hour(run, at_least_h=0.0)


@metric(better="lower", most=_peak_cost_usd)
def energy_cost_usd(run: VmRun) -> float:
    """The energy bill: energy_kwh * prices.kwh_usd * prices.pue."""
    prices = run.scenario.prices
    return energy_kwh(run) * (prices.kwh_usd * prices.pue)


@metric(better="lower", highlight=True, most=lambda run: _most_usd(run))
def cost_usd(run: VmRun) -> float:
    """The price of machines, of energy and carbon, and of VMs that were not served.

    A machine that is owned or reserved is paid for in every tick, one on demand or spot in those in
    which a VM is on it; the energy of rented machines is in their price. Each VM of the
    unserved_share adds prices.unserved_usd.
    """
    penalty = unserved_share(run) * requests(run) * run.scenario.prices.unserved_usd
    return _machines_usd(run, used_ticks(run), _ticks_so_far(run)) + _energy_usd(run) + penalty


@metric(better="higher", highlight=True)
def income_usd(run: VmRun) -> float:
    """The sum over all ticks of VMs: (cores * core_hour_usd + GB * gb_hour_usd) / ticks an hour.

    A killed VM gets back all it paid.
    """
    prices, hours = run.scenario.prices, run.scenario.tick_seconds / 3600.0 / 1e6
    return hours * (
        prices.core_hour_usd * _total(run, "billed_core_ticks")
        + prices.gb_hour_usd * _total(run, "billed_memory_ticks")
    )


@metric(better="higher", highlight=True)
def profit_usd(run: VmRun) -> float:
    """The profit: income_usd - energy_cost_usd."""
    return income_usd(run) - energy_cost_usd(run)


@metric(label="Ticks of oversubscribed machines")
def oversubscribed_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, with more cores allocated than they have."""
    return _total(run, "oversubscribed")


@metric(
    better="lower",
    label="Ticks of overloaded machines",
    most=lambda run: len(run.world.machines.cores) * run.scenario.ticks,
)
def overloaded_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, whose VMs use more cores than they have."""
    return _total(run, "overloaded_machines")


@metric(better="lower", label="Ticks of VMs on overloaded machines", most=_all_ticks)
def overloaded_vm_ticks(run: VmRun) -> float:
    """VMs on overloaded machines, summed over ticks."""
    return _total(run, "overloaded_vms")


@metric(better="lower", most=_all_ticks)
def delay_ticks(run: VmRun) -> float:
    """Ticks for which requests were put off, summed."""
    return _total(run, "delay_ticks")


@metric(better="lower", label="Wait, ticks, mean", most=lambda run: float(run.scenario.ticks))
def wait_ticks_mean(run: VmRun) -> float:
    """Ticks from arrival to start, or to now in the queue, over requests; 0 if none came."""
    waited = _total(run, "delay_ticks") + _total(run, "boot_wait_ticks")
    if run.scenario.queue == "wait":
        now = int(run.world.clock[0]["tick"])
        queued = run.world.vms.outcome == Outcome.WAITING
        waited += int((now - run.world.demand.arrival[queued]).sum())
    return waited / max(1, requests(run))


@metric(label="Slowdown, mean")
def slowdown_mean(run: VmRun) -> float:
    """The mean of 1 + wait / lifetime of VMs that were given a machine."""
    return ratio(float(run.total("slowdowns")), allocated(run))


@metric()
def boots(run: VmRun) -> float:
    """How often a machine that was off was booted."""
    return _total(run, "boots")


@metric(better="lower", label="Wait for boots, ticks", most=_all_ticks)
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


@metric(better="lower", label="Stranded cores, share", most=lambda run: 1.0)
def stranded_cores_share(run: VmRun) -> float:
    """Free cores of machines into which the median VM does not fit, as a share of all cores.

    The median VM has the trace's median cores and median memory. Averaged over ticks.
    """
    world = run.world
    open_ticks = int(world.clock[0]["tick"]) - world.stranded_since
    core_ticks = _total(run, "stranded_ticks") + int((open_ticks * world.stranded).sum())
    return core_ticks / 1e6 / _core_ticks(run)


@metric(label="GPU allocation, mean")
def mean_gpu_allocation(run: VmRun) -> float:
    """GPUs that VMs hold, in shares, over all GPUs, averaged over ticks; 0 without GPUs."""
    world, now = run.world, int(run.world.clock[0]["tick"])
    total = int(world.machines.gpus.sum())
    if world.gpus is None or total == 0:
        return 0.0
    placed = np.flatnonzero(world.vms.machine >= 0)
    held = world.gpus.wanted[placed] * world.gpus.milli[placed]
    begin = np.minimum(world.vms.start[placed], now)
    ticks = np.minimum(world.vms.end[placed], now) - begin
    return float((held * ticks).sum()) / (WHOLE * total * _ticks(run))


@metric(label="GPU fragments, share")
def gpu_fragments_share(run: VmRun) -> float:
    """The share of all GPUs that is idle and of no use to a typical VM, as the run stands.

    A typical request, weighed by how frequent it is, finds no room on the machine, or none on the
    device (Weng et al., ATC 2023). 0 where no VM asks for a GPU.
    """
    world, machines = run.world, run.world.machines
    if world.gpus is None or not machines.gpus.any():
        return 0.0
    table = machines.typical_pods
    cpu, gpus, milli, models = np.ascontiguousarray(table[:, :4].astype(np.int64).T)
    typical = Typical(cpu, gpus, milli, models, np.ascontiguousarray(table[:, 4]))
    cores = np.rint(machines.free_cores * 1000.0).astype(np.int64)
    nodes = Nodes(
        cores, cores, machines.gpu_free, machines.gpus, machines.gpu_model, machines.gpu_kinds
    )
    lost = sum(fragment(nodes, typical, m, int(cores[m])) for m in range(len(cores)))
    return float(lost) / (WHOLE * float(machines.gpus.sum()))
