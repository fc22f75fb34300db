"""What a run of a data centre measures.

What a warm-up leaves out is in ``warm_up``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.measures import ratio
from cloudarena.contract.metric import metric, shared
from cloudarena.engine.gpu_scores import WHOLE, Nodes, Typical, fragment
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.vm.metrics import warm_up
from cloudarena.scenarios.vm.state import Outcome

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun


def _total(run: VmRun, name: str) -> Any:
    """One of the sums that the kernel keeps, without what a warm-up leaves out."""
    return warm_up.total(run, name) if warm_up.warms_up(run) else run.total(name)


def _ticks(run: VmRun) -> int:
    """The ticks that count so far, at least 1."""
    return max(1, warm_up.ticks_since(run))


def _all_s(run: VmRun) -> float:
    """How long all ticks are that count."""
    return (run.scenario.ticks - run.scenario.warmup_ticks) * run.scenario.tick_seconds


def _core_ticks(run: VmRun) -> float:
    """All cores over all ticks that count so far."""
    return _ticks(run) * float(run.world.machines.cores.sum())


def _energy_per_core_hour(run: VmRun, at_least_h: float) -> float:
    """Energy over the core-hours served so far, or over ``at_least_h`` if those are fewer."""
    served_h = _total(run, "billed_core_ticks") / 1e6 * run.scenario.tick_seconds / 3600.0
    return ratio(energy_kwh(run), max(served_h, at_least_h))


def _peak_kwh(run: VmRun) -> float:
    """The energy of all machines if each drew all it can for the whole run."""
    fleet = run.world.fleet
    highest_w = np.maximum(fleet.busy_w, fleet.boot_w)  # idle and off are not above busy
    return float(highest_w.sum()) * _all_s(run) / JOULES_PER_KWH


def _peak_kwh_per_core_hour(run: VmRun) -> float:
    """The most energy over the core-hours that there are."""
    hours = _all_s(run) / 3600.0
    return _peak_kwh(run) / (hours * float(run.world.machines.cores.sum()))


def _peak_cost_usd(run: VmRun) -> float:
    """What that costs."""
    return _peak_kwh(run) * run.scenario.prices.kwh_usd * run.scenario.prices.pue


def _repeated(run: VmRun, values: list[float]) -> Floats:
    """A value of each type of machine, machine by machine."""
    return np.repeat(np.array(values), [kind.count for kind in run.scenario.machines])


def used_ticks(run: VmRun) -> Floats:
    """The ticks in which each machine has had a VM on it, also one that a stream has forgotten.

    Those of a warm-up are left out.
    """
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


def machine_ticks(run: VmRun) -> Ints:
    """The ticks of each machine that its sums do not have yet, which is steady since."""
    world, now = run.world, int(run.world.clock[0]["tick"])
    ticks: Ints = np.where(world.varying_at < 0, now - world.counted_to, 0)
    return ticks


def machine_watt_ticks(run: VmRun) -> Floats:
    """What each machine drew in the ticks that count so far, in watts times ticks."""
    world = run.world
    if warm_up.ticks_since(run) == 0:
        return np.zeros(len(world.counted_to))
    drawn: Floats = world.machine_watt_ticks + machine_ticks(run) * world.machines.power_w
    return drawn


def _energy_usd(run: VmRun) -> float:
    """The price of the energy that is paid for, and of its carbon."""
    prices = run.scenario.prices
    if all(kind.pays_energy for kind in run.scenario.machines):
        kwh, bill = energy_kwh(run), energy_cost_usd(run)
    else:
        paid = _repeated(run, [kind.pays_energy for kind in run.scenario.machines])
        watt_ticks = float((machine_watt_ticks(run) * paid).sum())
        kwh = watt_ticks * run.scenario.tick_seconds / JOULES_PER_KWH
        bill = kwh * (prices.kwh_usd * prices.pue)
    return bill + kwh * prices.pue * prices.carbon_g_per_kwh / 1e6 * prices.carbon_tonne_usd


def _most_usd(run: VmRun) -> float:
    """What machines cost that are in use, and draw all they can, for the whole run.

    Of those that are paid for by use there are as many as VMs that came: one VM may be the only
    one for which a machine is in use, so to leave it undone must cost a machine.
    """
    ticks = float(run.scenario.ticks - run.scenario.warmup_ticks)
    prices = run.scenario.prices
    machines = len(run.world.machines.cores)
    everything = np.full(machines, ticks * max(1.0, _arrived(run) / machines))
    carbon = _peak_kwh(run) * prices.pue * prices.carbon_g_per_kwh / 1e6 * prices.carbon_tonne_usd
    return _machines_usd(run, everything, ticks) + _peak_cost_usd(run) + carbon


def _all_ticks(run: VmRun) -> float:
    """The ticks of all requests, had each all of the run."""
    return float(_arrived(run)) * run.scenario.ticks


@shared
def _put_off(run: VmRun) -> tuple[float, float]:
    """The parts of the lives of running VMs, up to now, that a policy put off past now, summed.

    And the part of the sum that is of VMs of the warm-up.
    Else who starts all VMs in the last tick would leave nothing undone. Waits for room and for
    boots are not the policy's wish, and a VM that has lived its whole life lost nothing.
    """
    vms, demand, now = run.world.vms, run.world.demand, int(run.world.clock[0]["tick"])
    if warm_up.goes_on(run):
        return 0.0, 0.0
    late = np.flatnonzero((vms.chosen_delay > 0) & (vms.outcome == Outcome.RUNNING))
    due = np.minimum(demand.lifetime[late], now - demand.arrival[late])
    missing = due - np.maximum(now - vms.start[late], 0)
    lost = np.clip(missing, 0, vms.chosen_delay[late])
    parts = lost / np.maximum(due, 1)
    return float(parts.sum()), float(parts[demand.arrival[late] < run.scenario.warmup_ticks].sum())


def _arrived(run: VmRun) -> int:
    """All requests that arrived, those of a warm-up too."""
    return int(run.world.clock[0]["arrived"]) + int(run.world.clock[0]["gone"])


def _all_undone(run: VmRun) -> float:
    """Minus all VMs left undone: who turns one away that would fail earns nothing by it."""
    return -unserved_share(run) * _arrived(run)


def _paid(name: str, most: Callable[[VmRun], float]) -> Callable[[VmRun], float]:
    """The reward of a metric that may be better for who leaves VMs of a warm-up undone.

    These have no part in it, but may be in the way of others: their share costs so much of the
    most that there is to earn.
    """

    def earned(run: VmRun) -> float:
        value = run.scenario.kind.metric[name](run)
        if not warm_up.warms_up(run):
            return value
        undone = warm_up.left_undone(run) + _put_off(run)[1]
        return value - undone / max(1, _arrived(run)) * most(run)

    return earned


def _most_income_usd(run: VmRun) -> float:
    """What VMs would pay that have all cores and all memory for the whole run."""
    prices, machines = run.scenario.prices, run.world.machines
    cores, memory_gb = float(machines.cores.sum()), float(machines.memory_gb.sum())
    hourly = prices.core_hour_usd * cores + prices.gb_hour_usd * memory_gb
    return hourly * _all_s(run) / 3600.0


def _most_profit_usd(run: VmRun) -> float:
    """What they would pay, and what energy may cost."""
    return _most_income_usd(run) + _peak_cost_usd(run)


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: VmRun) -> float:
    """The share lost, (failed + refused + killed + waiting_at_end) / requests; 0 if none came.

    A VM that runs at the end counts with the part of its life so far that the policy put off.
    Requests of the warm-up count too, on both sides: else who turns them away would have room for
    others, and leave nothing undone.
    """
    lost = sum(int(run.total(outcome)) for outcome in ("failed", "refused", "killed"))
    ended = lost + int(run.total("completed"))
    waiting = _arrived(run) - int(run.world.clock[0]["live"]) - ended
    return (lost + waiting + _put_off(run)[0]) / max(1, _arrived(run))


@metric()
def requests(run: VmRun) -> float:
    """VM requests that arrived; of those of the warm-up, who was lost after it or waits."""
    if warm_up.warms_up(run):
        return int(_total(run, "requests"))
    return _arrived(run)


@metric(
    better="higher",
    highlight=True,
    reward=_paid("allocated", _arrived),
)
def allocated(run: VmRun) -> float:
    """Requests that were given a machine."""
    return int(_total(run, "allocated"))


@metric(better="higher", reward=_paid("completed", _arrived))
def completed(run: VmRun) -> float:
    """VMs that lived to their end."""
    return int(_total(run, "completed"))


@metric(better="lower", highlight=True, reward=_all_undone)
def failed(run: VmRun) -> float:
    """Requests without a machine when their buffer was used up.

    As a reward it is all that was left undone, in whatever way.
    """
    return int(_total(run, "failed"))


@metric(better="lower", reward=_all_undone)
def refused(run: VmRun) -> float:
    """Requests that the policy turned away. As a reward it is all that was left undone."""
    return int(_total(run, "refused"))


@metric(better="lower", reward=_all_undone)
def killed(run: VmRun) -> float:
    """VMs ended by the overload of their machine. As a reward it is all that was left undone."""
    return int(_total(run, "killed"))


@metric()
def running_at_end(run: VmRun) -> float:
    """VMs alive after the last tick, without those that came in the warm-up."""
    if warm_up.warms_up(run):
        return int(_total(run, "live"))
    return int(run.world.clock[0]["live"])


@metric()
def waiting_at_end(run: VmRun) -> float:
    """Requests still waiting after the last tick, for a machine or for its boot."""
    ended = failed(run) + refused(run) + killed(run) + completed(run)
    return requests(run) - running_at_end(run) - ended


@metric(better="lower", most=_peak_kwh)
def energy_kwh(run: VmRun) -> float:
    """The energy of all machines: the sum of power times the length of a tick."""
    return float(_total(run, "watt_ticks")) * run.scenario.tick_seconds / JOULES_PER_KWH


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
    penalty = unserved_share(run) * _arrived(run) * run.scenario.prices.unserved_usd
    return (
        _machines_usd(run, used_ticks(run), warm_up.ticks_since(run)) + _energy_usd(run) + penalty
    )


@metric(
    better="higher",
    highlight=True,
    reward=_paid("income_usd", _most_income_usd),
)
def income_usd(run: VmRun) -> float:
    """The sum over all ticks of VMs: (cores * core_hour_usd + GB * gb_hour_usd) / ticks an hour.

    A killed VM gets back all it paid. After a warm-up a VM that came in it pays no longer than if
    it had begun at once.
    """
    prices, hours = run.scenario.prices, run.scenario.tick_seconds / 3600.0 / 1e6
    return hours * (
        prices.core_hour_usd * _total(run, "billed_core_ticks")
        + prices.gb_hour_usd * _total(run, "billed_memory_ticks")
    )


@metric(
    better="higher",
    highlight=True,
    reward=_paid("profit_usd", _most_profit_usd),
)
def profit_usd(run: VmRun) -> float:
    """The profit: income_usd - energy_cost_usd."""
    return income_usd(run) - energy_cost_usd(run)


@metric(label="Ticks of oversubscribed machines")
def oversubscribed_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, with more cores allocated than they have."""
    return int(_total(run, "oversubscribed"))


@metric(
    better="lower",
    label="Ticks of overloaded machines",
    most=lambda run: len(run.world.machines.cores) * run.scenario.ticks,
)
def overloaded_machine_ticks(run: VmRun) -> float:
    """Machines, summed over ticks, whose VMs use more cores than they have."""
    return int(_total(run, "overloaded_machines"))


@metric(better="lower", label="Ticks of VMs on overloaded machines", most=_all_ticks)
def overloaded_vm_ticks(run: VmRun) -> float:
    """VMs on overloaded machines, summed over ticks."""
    return int(_total(run, "overloaded_vms"))


@metric(better="lower", most=_all_ticks)
def delay_ticks(run: VmRun) -> float:
    """Ticks for which requests were put off, summed."""
    return int(_total(run, "delay_ticks"))


@metric(better="lower", label="Wait, ticks, mean", most=lambda run: float(run.scenario.ticks))
def wait_ticks_mean(run: VmRun) -> float:
    """Ticks from arrival to start, or to now in the queue, over requests; 0 if none came."""
    if warm_up.warms_up(run):
        return warm_up.wait_ticks_mean(run)
    waited = _total(run, "delay_ticks") + _total(run, "boot_wait_ticks")
    if run.scenario.queue == "wait":
        now = int(run.world.clock[0]["tick"])
        queued = run.world.vms.outcome == Outcome.WAITING
        waited += int((now - run.world.demand.arrival[queued]).sum())
    return waited / max(1, requests(run))


@metric(label="Slowdown, mean")
def slowdown_mean(run: VmRun) -> float:
    """The mean of 1 + wait / lifetime of VMs that were given a machine."""
    found = warm_up.slowdowns(run) if warm_up.warms_up(run) else run.total("slowdowns")
    return ratio(float(found), allocated(run))


@metric()
def boots(run: VmRun) -> float:
    """How often a machine that was off was booted."""
    return int(_total(run, "boots"))


@metric(better="lower", label="Wait for boots, ticks", most=_all_ticks)
def boot_wait_ticks(run: VmRun) -> float:
    """Ticks for which placed VMs waited for their machine's boot."""
    return int(_total(run, "boot_wait_ticks"))


@metric(
    better="higher",
    highlight=True,
    reward=_paid("mean_cpu_utilisation", lambda run: 1.0),
)
def mean_cpu_utilisation(run: VmRun) -> float:
    """Used cores, at most those of each machine, over all cores, averaged over ticks."""
    used = float(_total(run, "demand_ticks")) - float(_total(run, "excess_ticks"))
    return max(0.0, min(1.0, used / 1e8 / _core_ticks(run)))


@metric()
def mean_cpu_demand(run: VmRun) -> float:
    """Cores that VMs would use, were there enough, over all cores, averaged over ticks."""
    return float(_total(run, "demand_ticks")) / 1e8 / _core_ticks(run)


@metric(
    better="higher",
    highlight=True,
    reward=_paid("mean_allocation", lambda run: 1.0),
)
def mean_allocation(run: VmRun) -> float:
    """Allocated cores over all cores, averaged over ticks."""
    return float(_total(run, "core_ticks")) / 1e6 / _core_ticks(run)


@metric(label="Empty machines, mean")
def empty_machines_mean(run: VmRun) -> float:
    """Machines without a VM, on or off, averaged over ticks."""
    world = run.world
    since = world.empty_since[world.allocated_cores == 0]
    since = np.maximum(since, world.rules.warmup_ticks)
    now = max(int(world.clock[0]["tick"]), world.rules.warmup_ticks)
    return (_total(run, "empty_ticks") + int((now - since).sum())) / _ticks(run)


@metric(better="lower", label="Stranded cores, share", most=lambda run: 1.0)
def stranded_cores_share(run: VmRun) -> float:
    """Free cores of machines into which the median VM does not fit, as a share of all cores.

    The median VM has the trace's median cores and median memory. Averaged over ticks.
    """
    world = run.world
    open_ticks = int(world.clock[0]["tick"]) - world.stranded_since
    open_ticks = np.minimum(open_ticks, warm_up.ticks_since(run))
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
    begin = np.maximum(np.minimum(world.vms.start[placed], now), world.rules.warmup_ticks)
    ticks = np.maximum(0, np.minimum(world.vms.end[placed], now) - begin)
    held_ticks = float((held * ticks).sum())
    if warm_up.warms_up(run):
        held_ticks -= warm_up.moved(run).gpu_ticks
    return held_ticks / (WHOLE * total * _ticks(run))


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
