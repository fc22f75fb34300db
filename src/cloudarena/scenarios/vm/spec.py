"""What a user writes for a vm scenario, validated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract import Metric, Observer, Plot, RecordLevel, Scenario, Spec
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.vm.metrics import HEADLINE, HIGHLIGHTS, METRICS, PLOTS
from cloudarena.scenarios.vm.policies import policy as built_in_policies
from cloudarena.sources import SpecPath, load_workload, source_names
from cloudarena.workloads import azure_like, azure_v2, openb
from cloudarena.workloads.readings import LAST_TICK
from cloudarena.workloads.vms import (
    CATEGORIES,
    LARGEST_SIZE,
    SMALLEST_SIZE,
    VmWorkload,
    offsets,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.simulation import VmSimulation


class PowerCurve(Spec):
    """``P = idle + (busy - idle)(2u - u^r)`` at CPU utilisation u, in watts."""

    idle_w: float = Field(120.0, ge=0)
    busy_w: float = Field(185.0, ge=0)
    r: float = Field(1.4, ge=1, le=2)
    """Beyond 1 to 2 the curve would leave the range from idle to busy."""

    @model_validator(mode="after")
    def _busy_above_idle(self) -> PowerCurve:
        if self.busy_w < self.idle_w:
            raise PydanticCustomError(
                "not_allowed",
                f"busy_w: {self.busy_w:g} is not allowed: at least idle_w, {self.idle_w:g}",
            )
        return self


class MachineType(Spec):
    """Machines that are alike."""

    name: str = "machine"
    count: int = Field(ge=1, le=1_000_000)
    cores: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    memory_gb: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    power: PowerCurve = PowerCurve()


class Hierarchy(Spec):
    """How many of each there are in one of the level above; machines fill racks in order."""

    regions: int = Field(1, ge=1)
    zones: int = Field(1, ge=1)
    data_centres: int = Field(1, ge=1)
    clusters: int = Field(1, ge=1)
    racks: int = Field(1, ge=1)


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

    core_hour_usd: float = Field(0.0698, ge=0)
    gb_hour_usd: float = Field(0.0078, ge=0)
    kwh_usd: float = Field(0.07, ge=0)
    pue: float = Field(1.7, ge=1)


class AzureLike(Spec):
    """VMs drawn like those of Azure's trace of 2019."""

    source: Literal["azure-like"]
    vms: int = Field(ge=1)
    concurrent: float | None = Field(None, gt=0)
    cpu_percent: float = Field(azure_like.CPU_PERCENT, gt=1, le=50)
    ticks: int = Field(azure_like.MONTH_TICKS, ge=2)

    def load(self, seed: int) -> VmWorkload:
        """Draws the VMs of a seed."""
        return azure_like.generate(self.vms, seed, self.concurrent, self.cpu_percent, self.ticks)


class Files(Spec):
    """A trace in the neutral form: a vmtable and readings, as Parquet or CSV."""

    source: Literal["files"]
    vmtable: SpecPath
    readings: SpecPath

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a trace is the same for every seed."""
        from cloudarena.workloads.vm_files import read_vm_files

        return read_vm_files(self.vmtable, self.readings)


class AzureV2(Spec):
    """AzurePublicDatasetV2 as published; a folder of readings stands for the CSVs in it."""

    tick_seconds: ClassVar[float] = azure_v2.TICK_SECONDS

    source: Literal["azure-v2"]
    vmtable: SpecPath
    readings: tuple[SpecPath, ...] = Field(min_length=1)
    vms: int | None = Field(None, ge=1)
    """Takes a sample of so many VMs."""
    seed: int = Field(0, ge=0)
    """Decides which VMs are in the sample."""

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a sample is the same for every seed of a run."""
        return azure_v2.read_azure_v2(self.vmtable, self.readings, self.vms, self.seed)


class Openb(Spec):
    """A list of pods of Alibaba's gpu-v2023 as VMs with one constant CPU utilisation."""

    source: Literal["openb"]
    path: SpecPath
    cpu_percent: float = Field(openb.CPU_PERCENT, ge=0, le=100)
    tick_seconds: float = Field(openb.TICK_SECONDS, gt=0)

    def load(self, seed: int) -> VmWorkload:
        """Reads the file; a trace is the same for every seed."""
        return openb.read_openb(self.path, self.tick_seconds, self.cpu_percent)


class InlineVm(Spec):
    """One VM written into the spec."""

    created: int = Field(ge=0, le=LAST_TICK)
    lifetime: int = Field(ge=1, le=LAST_TICK)
    cores: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    memory_gb: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    category: Literal["delay-insensitive", "interactive", "unknown"] = "unknown"
    readings: tuple[Annotated[float, Field(ge=0, le=100)], ...] = ()
    """Percent, tick by tick; the last one holds to the end of its life; none: idle."""


class Inline(Spec):
    """VMs written into the spec, in order of arrival."""

    source: Literal["inline"]
    vms: tuple[InlineVm, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> Inline:
        for number, (before, after) in enumerate(zip(self.vms, self.vms[1:], strict=False), 1):
            if after.created < before.created:
                raise PydanticCustomError(
                    "not_allowed",
                    f"vms[{number}].created: {after.created} is not allowed: "
                    f"at least {before.created}, the tick of the VM before it",
                )
        return self

    def load(self, seed: int) -> VmWorkload:
        """Lays the VMs out as columns; they are the same for every seed."""
        lifetime = np.array([vm.lifetime for vm in self.vms], np.int64)
        readings = [
            (vm.readings + (vm.readings or (0.0,))[-1:] * vm.lifetime)[: vm.lifetime]
            for vm in self.vms
        ]
        return VmWorkload(
            ids=pa.array(np.arange(1, len(self.vms) + 1)),
            subscription=np.zeros(len(self.vms), np.int64),
            deployment=np.zeros(len(self.vms), np.int64),
            created=np.array([vm.created for vm in self.vms], np.int64),
            lifetime=lifetime,
            category=np.array([CATEGORIES.index(vm.category) for vm in self.vms], np.int64),
            cores=np.array([vm.cores for vm in self.vms]),
            memory_gb=np.array([vm.memory_gb for vm in self.vms]),
            first_reading=offsets(lifetime),
            readings=np.array([value for row in readings for value in row]),
        )


def _same_ticks(workload: Any, info: ValidationInfo) -> Any:
    """Refuses a trace in seconds whose ticks are not as long as the scenario's."""
    length, wanted = getattr(workload, "tick_seconds", None), info.data.get("tick_seconds")
    if length is not None and wanted is not None and length != wanted:
        raise PydanticCustomError(
            "not_allowed", f"has ticks of {length:g} s: tick_seconds is {wanted:g}"
        )
    return workload


Workload = Annotated[
    AzureLike | Files | AzureV2 | Openb | Inline,
    Field(discriminator="source"),
    AfterValidator(_same_ticks),
]


class VmScenario(Scenario):
    """Which machine takes a VM: a month of a data centre, its energy and its income."""

    kind: ClassVar[str] = "vm"
    measures: ClassVar[tuple[Metric, ...]] = METRICS
    headline: ClassVar[str] = HEADLINE
    unit_of_work: ClassVar[str] = "VMs"
    highlights: ClassVar[tuple[str, ...]] = HIGHLIGHTS
    plots: ClassVar[tuple[Plot, ...]] = PLOTS
    example: ClassVar[str] = "vm/azure-like-10k"
    default_policy: ClassVar[str] = "best-fit"
    book: ClassVar[PolicyBook] = built_in_policies

    scenario: Literal["vm"]
    ticks: int = Field(8638, ge=1, le=LAST_TICK)
    tick_seconds: float = Field(300.0, gt=0, le=1e7)
    machines: tuple[MachineType, ...] = Field(min_length=1)
    hierarchy: Hierarchy = Hierarchy()
    oversubscription: Oversubscription = Oversubscription()
    overload: Literal["record", "kill"] = "record"
    buffer: Buffer = Buffer()
    decide_when_full: bool = False
    known: tuple[Literal["lifetimes"], ...] = ()
    prices: Prices = Prices()
    workload: Workload
    series_every: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _countable(self) -> VmScenario:
        """Core-ticks and GB-ticks are counted in whole millionths of 64 bits."""
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

    @property
    def machine_count(self) -> int:
        """How many machines there are."""
        return sum(machine.count for machine in self.machines)

    def racks(self) -> np.ndarray:
        """The rack of each machine: racks are filled in order, as evenly as can be."""
        levels = self.hierarchy
        racks = math.prod(
            (levels.regions, levels.zones, levels.data_centres, levels.clusters, levels.racks)
        )
        return np.arange(self.machine_count, dtype=np.int64) * racks // self.machine_count

    def load_workload(self, seed: int) -> VmWorkload:
        """The VMs of a seed. The last workload is kept, for the next policy on it."""
        workload: VmWorkload = load_workload(self.workload, seed)
        return workload

    @classmethod
    def union_branches(cls) -> tuple[str, ...]:
        """The sources of workloads."""
        return source_names(Workload)

    def start(self, seed: int = 0, record: RecordLevel | None = None) -> VmSimulation:
        """Begins a run."""
        from cloudarena.scenarios.vm.simulation import VmSimulation

        return VmSimulation(self, seed, record or self.record)

    def observer(self, reward: str | None = None) -> Observer:
        """Features, masks and rewards of the placement of VMs."""
        from cloudarena.scenarios.vm.observe import VmObserver

        return VmObserver(self, reward or HEADLINE)
