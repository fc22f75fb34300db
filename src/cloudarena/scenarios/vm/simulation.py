"""The contract around the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa

from cloudarena.compiled_run import CompiledRun, compiled_step, read_only, whole_millionths
from cloudarena.contract import RecordLevel
from cloudarena.engine.calendar import make_calendar
from cloudarena.engine.recorder import grown, make_log, recorded
from cloudarena.errors import InvalidAction
from cloudarena.scenarios.vm import kernel
from cloudarena.scenarios.vm.kernel import MICRO, Machines, Request, World
from cloudarena.scenarios.vm.metrics import measure
from cloudarena.scenarios.vm.policies import empty_machines, policy
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.workloads.vms import CATEGORIES, VmWorkload

OUTCOMES = ("not arrived", "waiting", "running", "completed", "failed", "refused", "killed")


@dataclass(frozen=True, slots=True)
class VmDecision:
    """Which machine takes this VM?

    The action is the number of a valid machine, ``postpone(n)`` or ``REFUSE``. The arrays are
    read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    now: float
    request: Request
    machines: Machines
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""

    @property
    def valid(self) -> np.ndarray:
        """Which machines may take the VM."""
        return self.machines.valid

    def arguments(self, policy: Any) -> tuple[Machines, Request, np.random.Generator]:
        """What a policy that is a function of arrays takes."""
        return self.machines, self.request, self.rng


class VmSimulation(CompiledRun):
    """A run of a data centre."""

    scenario: VmScenario
    ended, deciding, full = kernel.ENDED, kernel.DECIDE, kernel.LOG_FULL
    kernel_play = staticmethod(kernel.play)
    book = policy

    def __init__(self, scenario: VmScenario, seed: int, record: RecordLevel) -> None:
        self._workload = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self._workload, record))
        self._views = Machines(*(read_only(column) for column in self.world.machines))

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["tick"]) * self.scenario.tick_seconds

    @property
    def decision(self) -> VmDecision | None:
        """The request to be placed; None when the run has ended."""
        if not self.is_deciding:
            return None
        request = self._request_of(self.world)
        return VmDecision(self.now, request, self._views, self.rng)

    def apply(self, action: Any) -> None:
        """Places, puts off or refuses the request."""
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        self._go_on(self._step(self._act, _whole_number(action)))

    @cached_property
    def _act(self) -> Any:
        return compiled_step(kernel.act, numba.typeof(self.world), numba.int64)

    @cached_property
    def _request_of(self) -> Any:
        return compiled_step(kernel.request_of, numba.typeof(self.world))

    def _first_decision(self) -> int:
        return int(self._act(self.world, 0))

    def _make_room(self) -> None:
        self.world = self.world._replace(decisions=grown(self.world.decisions))

    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        world, request = self.world, kernel.request_of(self.world)
        action, pms = int(world.clock[0]["action"]), world.machines
        if status == kernel.NO_SUCH_MACHINE:
            return f"machine {action} is not allowed: 0 to {len(pms.valid) - 1}"
        reasons = []
        category = CATEGORIES[request.category]
        shared = request.category == kernel.DELAY_INSENSITIVE
        if pms.sharing[action] == (kernel.SEPARATE if shared else kernel.SHARED):
            reasons.append(f"it does not host {category} VMs now")
        limits = (
            (world.fleet.cores_limit, world.fleet.memory_limit)
            if shared
            else (world.fleet.cores, world.fleet.memory)
        )
        for unit, need, used, limit in (
            ("cores", request.cores, world.allocated_cores[action], limits[0][action]),
            ("GB", request.memory_gb, world.allocated_memory[action], limits[1][action]),
        ):
            if used + round(need * MICRO) > limit:
                left = max(0, limit - used) / MICRO
                reasons.append(f"{need:g} {unit} are asked for and {left:g} are left")
        if not reasons:
            reasons.append("its utilisation leaves no room for the VM's cores")
        return f"machine {action} is not allowed for VM {request.vm}: {'; '.join(reasons)}"

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self.scenario, self.world)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        world, ids = self.world, self._workload.ids
        tables = {
            "vms": _vms_table(world, self._workload),
            "decisions": _decisions_table(world, ids, self.scenario.tick_seconds),
            "machines": _machines_table(world, self.scenario),
            "series": _series_table(world),
        }
        if self.record == "full":
            tables["machines_series"] = _machines_series_table(world)
        return tables


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
    fleet = kernel.Fleet(
        cores=whole_millionths(cores),
        memory=whole_millionths(memory),
        cores_limit=whole_millionths(cores * rates.cpu),
        memory_limit=whole_millionths(memory * rates.memory),
        use_limit=100.0 * whole_millionths(cores * rates.utilisation),
        idle_w=column([k.power.idle_w for k in kinds]),
        busy_w=column([k.power.busy_w for k in kinds]),
        curve_r=column([k.power.r for k in kinds]),
    )
    demand = kernel.Demand(
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
    rows = 0 if record == "none" else -(-scenario.ticks // scenario.series_every)
    shape = (rows if record == "full" else 0, count)
    clock, totals = np.zeros(1, kernel.CLOCK), np.zeros(1, kernel.TOTALS)
    clock["pending"] = clock["last_machine"] = -1
    return World(
        rules=kernel.Rules(
            scenario.ticks,
            scenario.buffer.budget_ticks,
            scenario.buffer.delay_ticks,
            scenario.overload == "kill",
            scenario.decide_when_full,
            "lifetimes" in scenario.known,
            scenario.series_every,
        ),
        fleet=fleet,
        demand=demand,
        machines=machines,
        vms=kernel.Vms(
            outcome=np.zeros(vms, np.int64),
            machine=np.full(vms, -1, np.int64),
            start=np.full(vms, -1, np.int64),
            end=np.full(vms, -1, np.int64),
            buffer=np.zeros(vms, np.int64),
            delay=np.zeros(vms, np.int64),
        ),
        allocated_cores=np.zeros(count, np.int64),
        allocated_memory=np.zeros(count, np.int64),
        used=np.zeros(count),
        ahead=np.zeros((count, kernel.WINDOW)),
        order=np.empty(vms, np.int64),
        departures=make_calendar(vms),
        retries=make_calendar(vms),
        clock=clock,
        totals=totals,
        machine_watt_ticks=np.zeros(count),
        machine_used_ticks=np.zeros(count),
        machine_oversubscribed=np.zeros(count, np.int64),
        machine_overloaded=np.zeros(count, np.int64),
        decisions=make_log(4, 0 if record == "none" else max(16, vms)),
        series=kernel.Series(
            totals=np.zeros((rows, len(kernel.SERIES_COLUMNS))),
            allocated_cores=np.zeros(shape),
            allocated_memory_gb=np.zeros(shape),
            utilisation=np.zeros(shape),
            power_w=np.zeros(shape),
            vms=np.zeros(shape, np.int64),
        ),
    )


def _whole_number(action: Any) -> int:
    if isinstance(action, (int, np.integer)) and not isinstance(action, bool):
        number = int(action)
        if -(2**63) <= number < 2**63:
            return number
    raise InvalidAction(
        f"action {action!r} is not allowed: the number of a machine, postpone(n) or REFUSE"
    )


def _masked(values: np.ndarray, missing: np.ndarray) -> pa.Array:
    return pa.array(values, mask=missing)


def _vms_table(world: World, workload: VmWorkload) -> pa.Table:
    """One row per request that arrived; ticks; null where it does not apply."""
    vms, arrived = world.vms, int(world.clock[0]["arrived"])
    outcome = vms.outcome[:arrived]
    placed = vms.machine[:arrived] >= 0
    ended = np.isin(outcome, (kernel.WAITING, kernel.RUNNING), invert=True)
    return pa.table(
        {
            "vm": workload.ids[:arrived],
            "arrival": workload.created[:arrived],
            "start": _masked(vms.start[:arrived], ~placed),
            "end": _masked(vms.end[:arrived], ~ended),
            "machine": _masked(vms.machine[:arrived], ~placed),
            "outcome": pa.array(np.array(OUTCOMES)[outcome]),
            "delay": vms.delay[:arrived],
            "cores": workload.cores[:arrived],
            "memory_gb": workload.memory_gb[:arrived],
            "category": pa.array(np.array(CATEGORIES)[workload.category[:arrived]]),
            "lifetime": workload.lifetime[:arrived],
        }
    )


def _decisions_table(world: World, ids: pa.Array, tick_seconds: float) -> pa.Table:
    """One row per decision, in order: a file for ``--policy replay:FILE``."""
    tick, vm, action, valid = recorded(world.decisions).T
    kind = np.where(action >= 0, 0, np.where(action == kernel.REFUSE, 1, 2))
    return pa.table(
        {
            "tick": tick,
            "time_s": tick * tick_seconds,
            "vm": ids.take(pa.array(vm)),
            "action": pa.array(np.array(("place", "refuse", "postpone"))[kind]),
            "machine": _masked(action, kind != 0),
            "delays": _masked(kernel.REFUSE - action, kind != 2),
            "valid_machines": valid,
        }
    )


def _machines_table(world: World, scenario: VmScenario) -> pa.Table:
    """One row per machine, with its place in the hierarchy."""
    ticks = max(1, int(world.clock[0]["tick"]))
    kinds = scenario.machines
    names = np.repeat(np.array([kind.name for kind in kinds]), [kind.count for kind in kinds])
    levels = scenario.hierarchy
    rack = world.machines.rack
    cluster = rack // levels.racks
    data_centre = cluster // levels.clusters
    zone = data_centre // levels.data_centres
    return pa.table(
        {
            "machine": np.arange(len(rack)),
            "name": pa.array(names),
            "region": zone // levels.zones,
            "zone": zone,
            "data_centre": data_centre,
            "cluster": cluster,
            "rack": rack,
            "cores": world.machines.cores,
            "memory_gb": world.machines.memory_gb,
            "energy_kwh": world.machine_watt_ticks * scenario.tick_seconds / 3.6e6,
            "mean_cpu_utilisation": world.machine_used_ticks / (100 * ticks * world.fleet.cores),
            "oversubscribed_ticks": world.machine_oversubscribed,
            "overloaded_ticks": world.machine_overloaded,
        }
    )


def _recorded_ticks(world: World) -> np.ndarray:
    return np.arange(0, int(world.clock[0]["tick"]), world.rules.series_every)


def _series_table(world: World) -> pa.Table:
    """The whole data centre in every recorded tick."""
    ticks = _recorded_ticks(world)
    totals = world.series.totals[: len(ticks)]
    columns = {name: totals[:, k] for k, name in enumerate(kernel.SERIES_COLUMNS)}
    for name in ("live_vms", "waiting"):
        columns[name] = columns[name].astype(np.int64)
    return pa.table({"tick": ticks, **columns})


def _machines_series_table(world: World) -> pa.Table:
    """Every machine in every recorded tick."""
    ticks, machines = _recorded_ticks(world), len(world.fleet.cores)
    columns = world.series._asdict()
    del columns["totals"]
    return pa.table(
        {
            "tick": np.repeat(ticks, machines),
            "machine": np.tile(np.arange(machines), len(ticks)),
            **{name: values[: len(ticks)].ravel() for name, values in columns.items()},
        }
    )
