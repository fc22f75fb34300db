"""The state of a run before its first tick."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import MICRO, whole_millionths
from cloudarena.contract import RecordLevel
from cloudarena.engine.calendar import make_calendar
from cloudarena.engine.recorder import make_log
from cloudarena.scenarios.vm import state
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import Power, World, empty_machines
from cloudarena.workloads.vm.columns import VmWorkload, vm_numbers


def build_world(scenario: VmScenario, workload: VmWorkload, record: RecordLevel) -> World:
    """The state before the first tick."""
    count, vms = scenario.machine_count, len(workload.created)
    kinds = scenario.machines
    repeat = [kind.count for kind in kinds]

    def column(values: list[float]) -> np.ndarray:
        return np.repeat(np.array(values, np.float64), repeat)

    cores, memory = column([k.cores for k in kinds]), column([k.memory_gb for k in kinds])
    rates = scenario.oversubscription
    machines = empty_machines(count)
    machines.cores[:] = machines.free_cores[:] = cores
    machines.memory_gb[:] = machines.free_memory_gb[:] = memory
    machines.limit_cores[:] = whole_millionths(cores * rates.cpu) / MICRO
    machines.rack[:] = scenario.racks()
    machines.state[:] = Power.ON
    fleet = state.Fleet(
        cores=whole_millionths(cores),
        memory=whole_millionths(memory),
        cores_limit=whole_millionths(cores * rates.cpu),
        memory_limit=whole_millionths(memory * rates.memory),
        use_limit=100.0 * whole_millionths(cores * rates.utilisation).astype(np.float64),
        idle_w=column([k.power.idle_w for k in kinds]),
        busy_w=column([k.power.busy_w for k in kinds]),
        curve_r=column([k.power.r for k in kinds]),
        boot_w=column([k.power.when_booting_w for k in kinds]),
        off_w=column([k.power.off_w for k in kinds]),
    )
    demand = state.Demand(
        number=vm_numbers(workload.ids),
        arrival=workload.created,
        lifetime=workload.lifetime,
        cores=whole_millionths(workload.cores),
        memory=whole_millionths(workload.memory_gb),
        category=workload.category,
        subscription=workload.subscription,
        deployment=workload.deployment,
        first_reading=workload.first_reading,
        readings=workload.readings,
    )
    median_cores, median_memory = _median(demand.cores), _median(demand.memory)
    fits = (fleet.cores >= median_cores) & (fleet.memory >= median_memory)
    rows = 0 if record == "none" else -(-scenario.ticks // scenario.series_every)
    shape = (rows if record == "full" else 0, count)
    clock, totals = np.zeros(1, state.CLOCK), np.zeros(1, state.TOTALS)
    clock["pending"] = clock["last_machine"] = -1
    may_boot = scenario.off_after_ticks is not None
    return World(
        rules=state.Rules(
            scenario.ticks,
            scenario.buffer.budget_ticks,
            scenario.buffer.delay_ticks,
            scenario.overload == "kill",
            scenario.decide_when_full,
            "lifetimes" in scenario.known,
            scenario.series_every,
            scenario.off_after_ticks if scenario.off_after_ticks is not None else state.NEVER,
            scenario.boot_ticks,
            median_cores,
            median_memory,
        ),
        fleet=fleet,
        demand=demand,
        machines=machines,
        vms=state.Vms(
            outcome=np.zeros(vms, np.int64),
            machine=np.full(vms, -1, np.int64),
            start=np.full(vms, -1, np.int64),
            end=np.full(vms, -1, np.int64),
            buffer=np.zeros(vms, np.int64),
            delay=np.zeros(vms, np.int64),
            chosen_delay=np.zeros(vms, np.int64),
        ),
        allocated_cores=np.zeros(count, np.int64),
        allocated_memory=np.zeros(count, np.int64),
        used=np.zeros(count),
        ahead=np.zeros((count, state.WINDOW)),
        order=np.empty(vms, np.int64),
        departures=make_calendar(vms),
        retries=make_calendar(vms),
        starts=make_calendar(vms if may_boot else 0),
        state=np.full(count, Power.ON),
        ready=np.zeros(count, np.int64),
        empty_since=np.zeros(count, np.int64),
        stranded=np.where(fits, 0, fleet.cores),
        stranded_since=np.zeros(count, np.int64),
        clock=clock,
        totals=totals,
        machine_watt_ticks=np.zeros(count),
        machine_demand_ticks=np.zeros(count),
        machine_excess_ticks=np.zeros(count),
        machine_oversubscribed=np.zeros(count, np.int64),
        machine_overloaded=np.zeros(count, np.int64),
        decisions=make_log(4, 0 if record == "none" else max(16, vms)),
        series=state.Series(
            totals=np.zeros((rows, len(state.SERIES_COLUMNS))),
            allocated_cores=np.zeros(shape),
            allocated_memory_gb=np.zeros(shape),
            utilisation=np.zeros(shape),
            power_w=np.zeros(shape),
            vms=np.zeros(shape, np.int64),
        ),
    )


def _median(sizes: np.ndarray) -> int:
    """The median of sizes in millionths; 0 if there are none."""
    return round(float(np.median(sizes))) if len(sizes) else 0


def memory_needs(scenario: VmScenario, record: RecordLevel) -> tuple[float, str]:
    """The machines' use ahead, and what is recorded; a workload asks for itself."""
    machines = scenario.machine_count
    rows = 0 if record == "none" else -(-scenario.ticks // scenario.series_every)
    of_machines = (len(state.Series._fields) - 1) * machines if record == "full" else 0
    needed = 8.0 * (machines * state.WINDOW + rows * (len(state.SERIES_COLUMNS) + of_machines))
    return needed, f"ticks: {scenario.ticks} of {machines} machines, record: {record}"
