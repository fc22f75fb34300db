"""What a user writes for a vm scenario, validated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import MICRO
from cloudarena.base.numpy import np
from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.source import Source, load_workload
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.vm import KIND
from cloudarena.scenarios.vm.sources import Workload
from cloudarena.workloads.prices.machine import MachinePrice
from cloudarena.workloads.vm.columns import (
    LARGEST_SIZE,
    MOST_GPUS,
    SMALLEST_SIZE,
    VmWorkload,
)
from cloudarena.workloads.vm.files import CpuLevels, Files
from cloudarena.workloads.vm.readings import LAST_TICK
from cloudarena.workloads.vm.stream import VmStream

MOST_MACHINES = 1_000_000
MOST_RACKS = 1_000_000_000
MOST_NODES = 64
MOST_WATTS = 1e9
MOST_USD = 1e6
"""The most that a core, a GB or a kWh may cost; more is a mistake, and sums would overflow."""


class PowerCurve(Spec):
    """``P = idle + (busy - idle)(2u - u^r)`` at CPU utilisation u, in watts."""

    idle_w: float = Field(120.0, ge=0, le=MOST_WATTS)
    busy_w: float = Field(185.0, ge=0, le=MOST_WATTS)
    r: float = Field(1.4, ge=1, le=2)
    """Beyond 1 to 2 the curve would leave the range from idle to busy."""
    boot_w: float | None = Field(None, ge=0, le=MOST_WATTS)
    """While the machine boots; as ``busy_w`` if it is not given."""
    off_w: float = Field(0.0, ge=0, le=MOST_WATTS)

    @property
    def when_booting_w(self) -> float:
        """The power of a machine that boots."""
        return self.busy_w if self.boot_w is None else self.boot_w

    @model_validator(mode="after")
    def _busy_above_idle(self) -> PowerCurve:
        if self.busy_w < self.idle_w:
            raise PydanticCustomError(
                "not_allowed",
                f"busy_w: {self.busy_w:g} is not allowed: at least idle_w, {self.idle_w:g}",
            )
        if self.off_w > self.idle_w:
            raise PydanticCustomError(
                "not_allowed",
                f"off_w: {self.off_w:g} is not allowed: at most idle_w, {self.idle_w:g}",
            )
        return self


class MachineType(Spec):
    """Machines that are alike."""

    name: str = "machine"
    count: int = Field(ge=1, le=MOST_MACHINES)
    cores: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    memory_gb: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    nodes: int = Field(1, ge=1, le=MOST_NODES)
    """NUMA nodes, each with the same part of the cores and of the memory."""
    gpus: int = Field(0, ge=0, le=MOST_GPUS)
    """GPUs, each a device of which VMs have shares in thousandths, or all."""
    gpu_model: str = ""
    """What they are called; VMs may ask for a model."""
    power: PowerCurve = PowerCurve()
    price: MachinePrice | None = None
    """What a machine costs: bought, or rented by the hour; only its energy if it is not given."""

    @property
    def pays_energy(self) -> bool:
        """Whether its energy is paid for: not of a rented machine, whose price has it in it."""
        return self.price is None or self.price.basis == "owned"


class Hierarchy(Spec):
    """How many of each there are in one of the level above; machines fill racks in order."""

    regions: int = Field(1, ge=1, le=MOST_RACKS)
    zones: int = Field(1, ge=1, le=MOST_RACKS)
    data_centres: int = Field(1, ge=1, le=MOST_RACKS)
    clusters: int = Field(1, ge=1, le=MOST_RACKS)
    racks: int = Field(1, ge=1, le=MOST_RACKS)

    @model_validator(mode="after")
    def _countable(self) -> Hierarchy:
        if self.all_racks > MOST_RACKS:
            raise PydanticCustomError(
                "not_allowed",
                f"{self.all_racks:,} racks in all are not allowed: at most {MOST_RACKS:,}",
            )
        return self

    @property
    def all_racks(self) -> int:
        """The racks of all clusters."""
        return math.prod((self.regions, self.zones, self.data_centres, self.clusters, self.racks))


class Oversubscription(Spec):
    """How far delay-insensitive VMs may fill a machine, as multiples of its capacity."""

    cpu: float = Field(1.0, gt=0, le=1000)
    memory: float = Field(1.0, gt=0, le=1000)
    utilisation: float = Field(1.0, gt=0, le=1000)


class Buffer(Spec):
    """How long a request may wait in all, and for how long at a time."""

    budget_ticks: int = Field(0, ge=0, le=LAST_TICK)
    delay_ticks: int = Field(1, ge=1, le=LAST_TICK)


class Prices(Spec):
    """What a VM pays and what energy costs."""

    core_hour_usd: float = Field(0.0698, ge=0, le=MOST_USD)
    gb_hour_usd: float = Field(0.0078, ge=0, le=MOST_USD)
    kwh_usd: float = Field(0.07, ge=0, le=MOST_USD)
    pue: float = Field(1.7, ge=1, le=1000)
    carbon_g_per_kwh: float = Field(300.0, ge=0, le=MOST_USD)
    """The grid's carbon intensity."""
    carbon_tonne_usd: float = Field(0.0, ge=0, le=MOST_USD)
    """The price of a tonne of CO2, of the energy that is paid for."""
    unserved_usd: float = Field(0.0, ge=0, le=MOST_USD)
    """The penalty for each VM that is not served."""


class VmScenario(Scenario):
    """Which machine takes a VM: a month of a data centre, its energy and its income."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["vm"]
    ticks: int = Field(8638, ge=1, le=LAST_TICK)
    tick_seconds: float = Field(300.0, ge=1e-6, le=1e7)
    warmup_s: float = Field(0.0, ge=0)
    """The first seconds, which metrics leave out: whole ticks."""
    machines: tuple[MachineType, ...] = Field(min_length=1)
    hierarchy: Hierarchy = Hierarchy()
    oversubscription: Oversubscription = Oversubscription()
    overload: Literal["record", "kill"] = "record"
    buffer: Buffer = Buffer()
    queue: Literal["fail", "wait"] = "fail"
    """What a request does that finds no room: it fails once its buffer is used up, or it waits at
    the head of a queue, first come first served, and all later ones behind it."""
    split_above_gb: float | None = Field(None, ge=0, le=LARGEST_SIZE)
    """VMs with more memory are split evenly over all NUMA nodes of their machine; none if not
    given."""
    off_after_ticks: int | None = Field(None, ge=0, le=LAST_TICK)
    """A machine that has spent so many ticks empty is switched off; never if not given."""
    boot_ticks: int = Field(1, ge=0, le=LAST_TICK)
    """How long a machine that was off takes to boot."""
    decide_when_full: bool = False
    known: tuple[Literal["lifetimes"], ...] = ()
    prices: Prices = Prices()
    workload: Workload
    series_every: int = Field(1, ge=1, le=LAST_TICK)

    @model_validator(mode="after")
    def _countable(self) -> VmScenario:
        """Core-ticks and GB-ticks are counted in whole millionths of 64 bits."""
        if self.machine_count > MOST_MACHINES:
            raise PydanticCustomError(
                "not_allowed",
                f"machines: {self.machine_count:,} machines are not allowed: "
                f"at most {MOST_MACHINES:,}",
            )
        for size, rate in (
            ("cores", self.oversubscription.cpu),
            ("memory_gb", self.oversubscription.memory),
        ):
            total = sum(kind.count * getattr(kind, size) for kind in self.machines)
            if total * max(1.0, rate) * self.ticks > 9e12:
                raise PydanticCustomError(
                    "not_allowed",
                    f"machines: {total:g} {size} over {self.ticks} ticks are not allowed: "
                    "at most 9e12 together",
                )
        return self

    @model_validator(mode="after")
    def _warm_up_is_part_of_the_run(self) -> VmScenario:
        """A warm-up lasts for whole ticks, and something is measured after it."""
        allowed = ""
        if self.warmup_s >= self.length_s:
            allowed = f"less than the length of the run, {self.length_s:g}"
        elif abs(self.warmup_ticks * self.tick_seconds - self.warmup_s) > 1e-9 * self.warmup_s:
            allowed = f"a multiple of tick_seconds, {self.tick_seconds:g}"
        elif self.warmup_s > 0 and getattr(self.workload, "stream", False):
            allowed = "0 with stream: true, since VMs that are over are forgotten"
        if allowed:
            raise PydanticCustomError(
                "not_allowed", f"warmup_s: {self.warmup_s:g} is not allowed: {allowed}"
            )
        return self

    @model_validator(mode="after")
    def _nodes_and_queue(self) -> VmScenario:
        """Nodes have whole millionths, of one number on all machines; a queue is the only wait."""
        if len({kind.nodes for kind in self.machines}) > 1:
            raise PydanticCustomError(
                "not_allowed", "machines: nodes: not the same on all machines is not allowed"
            )
        for k, kind in enumerate(self.machines):
            for name in ("cores", "memory_gb"):
                if round(getattr(kind, name) * MICRO) % kind.nodes:
                    raise PydanticCustomError(
                        "not_allowed",
                        f"machines[{k}].{name}: {getattr(kind, name):g} is not allowed: a multiple "
                        f"of a millionth on each of {kind.nodes} nodes",
                    )
        for k, kind in enumerate(self.machines):
            if kind.nodes > 1 and kind.gpus > 0:
                raise PydanticCustomError(
                    "not_allowed",
                    f"machines[{k}].gpus: {kind.gpus} is not allowed: 0 on machines with nodes",
                )
            if "|" in kind.gpu_model:
                raise PydanticCustomError(
                    "not_allowed",
                    f"machines[{k}].gpu_model: {kind.gpu_model!r} is not allowed: a name without |",
                )
        rates = self.oversubscription
        if self.machines[0].nodes > 1 and max(rates.cpu, rates.memory) > 1:
            raise PydanticCustomError(
                "not_allowed",
                f"oversubscription: cpu {rates.cpu:g} and memory {rates.memory:g} are not allowed: "
                "at most 1 on machines with nodes",
            )
        if self.machines[0].nodes == 1 and self.split_above_gb is not None:
            raise PydanticCustomError(
                "not_allowed",
                f"split_above_gb: {self.split_above_gb:g} is not allowed: "
                "machines have one node only",
            )
        if self.queue == "wait" and self.buffer.budget_ticks > 0:
            raise PydanticCustomError(
                "not_allowed",
                f"buffer.budget_ticks: {self.buffer.budget_ticks} is not allowed: "
                "0 where queue is wait",
            )
        if self.queue == "wait" and getattr(self.workload, "stream", False):
            raise PydanticCustomError(
                "not_allowed", "workload.stream: true is not allowed: false where queue is wait"
            )
        return self

    @property
    def source(self) -> Source:
        """Where its work comes from."""
        return self.workload

    @property
    def draws_nothing(self) -> bool:
        """Whether the VMs are those of a recorded trace, with what it says of their CPUs."""
        levels = getattr(self.workload, "cpu_percent", None)
        return self.is_one_trace and not isinstance(levels, CpuLevels)

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of machines."""
        return tuple(
            MachineGroup.listed(
                k, one.name, one.count, 0.0 if one.price is None else one.price.hourly_usd
            )
            for k, one in enumerate(self.machines)
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """What policies know of the future."""
        return self.known

    @property
    def length_s(self) -> float:
        """How long a run lasts."""
        return self.ticks * self.tick_seconds

    @property
    def warmup_ticks(self) -> int:
        """The ticks of the warm-up."""
        return round(self.warmup_s / self.tick_seconds)

    @property
    def machine_count(self) -> int:
        """How many machines there are."""
        return sum(machine.count for machine in self.machines)

    def racks(self) -> np.ndarray:
        """The rack of each machine: racks are filled in order, as evenly as can be."""
        machines = np.arange(self.machine_count, dtype=np.int64)
        return machines * self.hierarchy.all_racks // self.machine_count

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the source of its work does not tell."""
        return self.workload.not_told(seed)

    def stream_workload(self, seed: int) -> VmStream | None:
        """The VMs of a seed as they arrive, if the workload says ``stream: true``."""
        if "load_workload" in self.__dict__ or not hasattr(self.workload, "parts"):
            return None
        return self.workload.parts(seed)

    def load_workload(self, seed: int) -> VmWorkload:
        """The VMs of a seed. The last workload is kept, for the next policy on it."""
        workload: VmWorkload = load_workload(self.workload, seed)
        if isinstance(self.workload, Files):
            return self.workload.drawn(workload, seed, self.tick_seconds, self.ticks)
        return workload
