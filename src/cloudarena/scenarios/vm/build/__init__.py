"""The state of a run before its first tick."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import MICRO, Floats, Ints, locked, whole_millionths
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import (
    HOURS,
    SECONDS_PER_HOUR,
    Window,
    end_of_window,
    whole_windows,
)
from cloudarena.engine.calendar import Calendar, make_calendar
from cloudarena.engine.gpu_scores import WHOLE
from cloudarena.engine.recorder import make_log
from cloudarena.engine.timing_wheel import make_timing_wheel
from cloudarena.scenarios.vm import state
from cloudarena.scenarios.vm.build.gpus import gpus_of, models_of, typical_pods
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import Power, World, empty_machines
from cloudarena.workloads.vm.columns import (
    LARGEST_SIZE,
    OF_EACH_VM,
    VmGpus,
    VmWorkload,
    numeric_ids,
)
from cloudarena.workloads.vm.stream import VmStream

WINDOWS = ("vms", HOURS)
"""What the length of a window may be given in."""


def build_world(
    scenario: VmScenario,
    workload: VmWorkload,
    record: RecordLevel,
    stream: VmStream | None = None,
) -> World:
    """The state before the first tick; of a stream, ``workload`` is the first part."""
    count, vms = scenario.machine_count, len(workload.created)
    kinds = scenario.machines
    repeat = [kind.count for kind in kinds]

    def column(values: list[float]) -> np.ndarray:
        return np.repeat(np.array(values, np.float64), repeat)

    cores, memory = column([k.cores for k in kinds]), column([k.memory_gb for k in kinds])
    rates = scenario.oversubscription
    node_count = kinds[0].nodes
    gpus = gpus_of(scenario, workload)
    typical = typical_pods(workload, gpus)
    machines = empty_machines(
        count,
        node_count if node_count > 1 else 0,
        max(k.gpus for k in kinds),
        len(typical),
    )
    machines.gpus[:] = np.repeat([k.gpus for k in kinds], repeat)
    names = models_of(scenario)
    machines.gpu_model[:] = np.repeat([names.index(k.gpu_model) for k in kinds], repeat)
    machines.gpu_free[:] = WHOLE * (np.arange(machines.gpu_free.shape[1]) < machines.gpus[:, None])
    machines.typical_pods[:] = typical
    machines.cores[:] = machines.free_cores[:] = cores
    machines.memory_gb[:] = machines.free_memory_gb[:] = memory
    machines.limit_cores[:] = whole_millionths(cores * rates.cpu) / MICRO
    machines.rack[:] = scenario.racks()
    machines.state[:] = Power.ON
    machines.limit_memory_gb[:] = whole_millionths(memory * rates.memory) / MICRO
    machines.last_tick[:] = machines.last_deployment[:] = -1
    alike: dict[tuple[object, ...], int] = {}
    types = [
        alike.setdefault((k.cores, k.memory_gb, k.power, k.gpus, k.gpu_model), len(alike))
        for k in kinds
    ]
    machines.type[:] = np.repeat(np.array(types, np.int64), repeat)
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
    for name in ("idle_w", "busy_w", "curve_r", "off_w"):
        getattr(machines, name)[:] = getattr(fleet, name)
    demand = demand_of(workload)
    nodes = _make_nodes(scenario, fleet, demand)
    if nodes is not None:
        machines.node_free_cores[:] = nodes.cores[:, None] / MICRO
        machines.node_free_memory_gb[:] = nodes.memory[:, None] / MICRO
    median_cores, median_memory = _median(demand.cores), _median(demand.memory)
    if stream is not None:
        sizes = np.array([stream.median_cores, stream.median_memory_gb])
        median_cores, median_memory = whole_millionths(sizes).tolist()
    fits = (fleet.cores >= median_cores) & (fleet.memory >= median_memory)
    rows = 0 if record == "none" else -(-scenario.ticks // scenario.series_every)
    shape = (rows if record == "full" else 0, count)
    clock, totals = np.zeros(1, state.CLOCK), np.zeros(1, state.TOTALS)
    clock["pending"] = clock["last_machine"] = clock["choice"] = -1
    clock["blocked"] = -1
    clock["machines_on"] = count
    clock["steady_watts"] = fleet.idle_w.sum()
    machines.power_w[:] = fleet.idle_w
    may_boot = scenario.off_after_ticks is not None
    clock["more"] = stream is not None
    has_readings = bool((demand.first_reading >= 0).any())
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
            scenario.tick_seconds,
            _split_above(scenario),
            scenario.queue == "wait",
            scenario.warmup_ticks,
        ),
        fleet=fleet,
        demand=locked(demand),
        machines=machines,
        vms=new_vms(vms),
        allocated_cores=np.zeros(count, np.int64),
        allocated_memory=np.zeros(count, np.int64),
        used=np.zeros(count),
        constant_use=np.zeros(count),
        ahead=np.zeros((count if has_readings else 0, state.WINDOW)),
        order=np.empty(vms if has_readings or scenario.overload == "kill" else 0, np.int64),
        varying=np.empty(count, np.int64),
        varying_at=np.full(count, -1, np.int64),
        vms_with_readings=np.zeros(count, np.int64),
        counted_to=np.zeros(count, np.int64),
        departures=make_timing_wheel(vms, scenario.ticks),
        retries=make_calendar(vms if scenario.buffer.budget_ticks > 0 else 0),
        starts=make_calendar(vms if may_boot else 0),
        switches=_first_switches(count, scenario.off_after_ticks),
        off_planned=np.full(count, may_boot),
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
        decisions=make_log(4, 0 if record == "none" or stream is not None else max(16, vms)),
        series=state.Series(
            totals=np.zeros((rows, len(state.SERIES_COLUMNS))),
            allocated_cores=np.zeros(shape),
            allocated_memory_gb=np.zeros(shape),
            utilisation=np.zeros(shape),
            power_w=np.zeros(shape),
            vms=np.zeros(shape, np.int64),
        ),
        ranking=np.zeros(len(state.Ranks), np.int64),
        rooms=None,
        shapes=None,
        nodes=nodes,
        gpus=gpus,
    )


def _split_above(scenario: VmScenario) -> int:
    """The memory, in millionths, above which VMs are split; more than any VM has if none is."""
    above = scenario.split_above_gb
    return round((LARGEST_SIZE if above is None else above) * MICRO)


def _make_nodes(
    scenario: VmScenario, fleet: state.Fleet, demand: state.Demand
) -> state.Nodes | None:
    """The NUMA nodes of the machines, all free, if machines have more than one."""
    count = scenario.machines[0].nodes
    if count == 1:
        return None
    held = np.zeros((len(fleet.cores), count), np.int64)
    return state.Nodes(
        cores=fleet.cores // count,
        memory=fleet.memory // count,
        held_cores=held,
        held_memory=held.copy(),
        of_vm=np.full(len(demand.memory), -1, np.int64),
        is_split=demand.memory > _split_above(scenario),
    )


def new_vms(count: int) -> state.Vms:
    """VMs that have not arrived."""
    return state.Vms(
        outcome=np.zeros(count, np.int64),
        machine=np.full(count, -1, np.int64),
        start=np.full(count, -1, np.int64),
        end=np.full(count, -1, np.int64),
        buffer=np.zeros(count, np.int64),
        delay=np.zeros(count, np.int64),
        chosen_delay=np.zeros(count, np.int64),
    )


def demand_of(workload: VmWorkload, first: int = 0) -> state.Demand:
    """The VMs as the kernel counts them; ``first`` is the index of the first in the trace."""
    cores = whole_millionths(workload.cores)
    use = np.rint(workload.cpu_percent * cores)
    return state.Demand(
        vm_id=numeric_ids(workload.ids, first),
        arrival=workload.created,
        lifetime=workload.lifetime,
        cores=cores,
        memory=whole_millionths(workload.memory_gb),
        category=workload.category,
        subscription=workload.subscription,
        deployment=workload.deployment,
        first_reading=workload.first_reading,
        use=use,
        readings=workload.readings,
    )


def _first_switches(machines: int, off_after_ticks: int | None) -> Calendar:
    """All machines are empty, and are looked at when they may be switched off."""
    if off_after_ticks is None:
        return make_calendar(0)
    calendar = make_calendar(2 * machines)  # the end of a boot, and a look at a machine
    calendar.times[:machines] = off_after_ticks
    calendar.sequence[:machines] = calendar.payloads[:machines] = np.arange(machines)
    calendar.counters[:] = machines
    return calendar


def _median(sizes: np.ndarray) -> int:
    """The median of sizes in millionths; 0 if there are none."""
    return round(float(np.median(sizes))) if len(sizes) else 0


def places(scenario: VmScenario, workload: VmWorkload, window: Window) -> Ints:
    """Where windows may begin: at the numbers of VMs, or at ticks."""
    if window.unit == HOURS:
        return np.arange(max(0, scenario.ticks - _window_ticks(scenario, window)) + 1)
    here = workload.created[: int(np.searchsorted(workload.created, scenario.ticks))]
    return np.arange(max(1, whole_windows(here, window.unit, window.length)))


def cut(scenario: VmScenario, workload: VmWorkload, window: Window, place: int) -> VmScenario:
    """The scenario of a window, which begins with the first of its VMs, or at a tick.

    A window of VMs ends with the tick in which the last of them arrives.
    """
    if window.unit == HOURS:
        begin, ticks = place, _window_ticks(scenario, window)
        first, behind = np.searchsorted(workload.created, (begin, begin + ticks))
    else:
        first = place
        behind = end_of_window(workload.created, place, window.unit, window.length)
        begin = int(workload.created[first])
        ticks = min(int(workload.created[behind - 1]), scenario.ticks - 1) - begin + 1
    columns = {name: getattr(workload, name)[first:behind] for name in OF_EACH_VM}
    columns["created"] = columns["created"] - begin
    if workload.gpus is not None:
        columns["gpus"] = VmGpus(*(column[first:behind] for column in workload.gpus))
    part = workload._replace(**columns)
    return scenario.with_workload(part, ticks=min(ticks, scenario.ticks - begin), warmup_s=0.0)


def arrivals_s(scenario: VmScenario, workload: VmWorkload) -> Floats:
    """When each VM is asked for, in seconds."""
    return np.asarray(workload.created * float(scenario.tick_seconds))


def _window_ticks(scenario: VmScenario, window: Window) -> int:
    """The length of a window of hours, at least one tick."""
    return max(1, round(window.length * SECONDS_PER_HOUR / scenario.tick_seconds))


def memory_needs(scenario: VmScenario, record: RecordLevel) -> tuple[float, str]:
    """The machines' use ahead, and what is recorded; a workload asks for itself."""
    machines = scenario.machine_count
    rows = 0 if record == "none" else -(-scenario.ticks // scenario.series_every)
    of_machines = (len(state.Series._fields) - 1) * machines if record == "full" else 0
    needed = 8.0 * (machines * state.WINDOW + rows * (len(state.SERIES_COLUMNS) + of_machines))
    return needed, f"ticks: {scenario.ticks} of {machines} machines, record: {record}"
