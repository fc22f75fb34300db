"""Where the VMs of a vm scenario come from."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa
from cloudarena.base.memory import check_memory
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.vm import azure_like, azure_v2, openb
from cloudarena.workloads.vm.columns import (
    CATEGORIES,
    LARGEST_SIZE,
    SMALLEST_SIZE,
    VmWorkload,
    offsets,
)
from cloudarena.workloads.vm.readings import LAST_TICK, MOST_READINGS

READING_BYTES = 8.0
MOST_VMS = 10_000_000
"""Four times all VMs of Azure's trace of 2019."""


class AzureLike(Spec):
    """VMs drawn like those of Azure's trace of 2019."""

    source: Literal["azure-like"]
    vms: int = Field(ge=1, le=MOST_VMS)
    concurrent: float | None = Field(None, gt=0, le=MOST_VMS)
    cpu_percent: float = Field(azure_like.CPU_PERCENT, gt=1, le=50)
    ticks: int = Field(azure_like.MONTH_TICKS, ge=2, le=LAST_TICK)

    @model_validator(mode="after")
    def _room(self) -> AzureLike:
        """Each VM has a reading for each tick of its life."""
        readings = self._alive * self.ticks
        if readings > MOST_READINGS:
            raise PydanticCustomError(
                "not_allowed",
                f"ticks: {self.ticks} is not allowed: {self._alive:g} VMs at a time have "
                f"{readings:.2g} readings, and at most {MOST_READINGS:,} can be kept",
            )
        return self

    @property
    def _alive(self) -> float:
        """How many VMs there are at a time."""
        return self.concurrent or azure_like.CONCURRENT_SHARE * self.vms

    def load(self, seed: int) -> VmWorkload:
        """Draws the VMs of a seed."""
        check_memory(
            READING_BYTES * self._alive * self.ticks,
            f"workload.vms: {self.vms} over {self.ticks} ticks",
        )
        return azure_like.generate(self.vms, seed, self.concurrent, self.cpu_percent, self.ticks)


class Files(Spec):
    """A trace in the neutral form: a vmtable and readings, as Parquet or CSV."""

    source: Literal["files"]
    vmtable: SpecPath
    readings: SpecPath

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a trace is the same for every seed."""
        from cloudarena.workloads.vm.files import read_vm_files

        return read_vm_files(self.vmtable, self.readings)


class AzureV2(Spec):
    """AzurePublicDatasetV2 as published; a folder of readings stands for the CSVs in it."""

    tick_seconds: ClassVar[float] = azure_v2.TICK_SECONDS

    source: Literal["azure-v2"]
    vmtable: SpecPath
    readings: tuple[SpecPath, ...] = Field(min_length=1)
    vms: int | None = Field(None, ge=1, le=MOST_VMS)
    """Takes a sample of so many VMs."""
    seed: int = Field(0, ge=0, le=2**63 - 1)
    """Decides which VMs are in the sample."""

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a sample is the same for every seed of a run."""
        return azure_v2.read_azure_v2(self.vmtable, self.readings, self.vms, self.seed)


class Maro(Spec):
    """Binary files of MARO's vm_scheduling; a folder of readings stands for the files in it."""

    source: Literal["maro"]
    vmtable: SpecPath
    readings: tuple[SpecPath, ...] = Field(min_length=1)

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a trace is the same for every seed."""
        from cloudarena.workloads.vm.maro import read_maro

        return read_maro(self.vmtable, self.readings)


class Openb(Spec):
    """A list of pods of Alibaba's gpu-v2023 as VMs with one constant CPU utilisation."""

    source: Literal["openb"]
    path: SpecPath
    cpu_percent: float = Field(openb.CPU_PERCENT, ge=0, le=100)
    tick_seconds: float = Field(openb.TICK_SECONDS, ge=1e-6, le=1e7)

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
        ticks = sum(vm.lifetime for vm in self.vms)
        if ticks > MOST_READINGS:
            raise PydanticCustomError(
                "not_allowed",
                f"vms: {ticks:,} ticks of life in all are not allowed: at most {MOST_READINGS:,}",
            )
        return self

    def load(self, seed: int) -> VmWorkload:
        """Lays the VMs out as columns; they are the same for every seed."""
        lifetime = np.array([vm.lifetime for vm in self.vms], np.int64)
        ticks = int(lifetime.sum())
        check_memory(READING_BYTES * ticks, f"workload.vms: {ticks} ticks of life in all")
        first = offsets(lifetime)
        readings = np.empty(ticks)
        for vm, start in zip(self.vms, first, strict=True):
            given = vm.readings[: vm.lifetime] or (0.0,)
            readings[start : start + len(given)] = given
            readings[start + len(given) : start + vm.lifetime] = given[-1]
        return VmWorkload(
            ids=pa.array(np.arange(1, len(self.vms) + 1)),
            subscription=np.zeros(len(self.vms), np.int64),
            deployment=np.zeros(len(self.vms), np.int64),
            created=np.array([vm.created for vm in self.vms], np.int64),
            lifetime=lifetime,
            category=np.array([CATEGORIES.index(vm.category) for vm in self.vms], np.int64),
            cores=np.array([vm.cores for vm in self.vms]),
            memory_gb=np.array([vm.memory_gb for vm in self.vms]),
            first_reading=first,
            readings=readings,
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
    AzureLike | Files | AzureV2 | Maro | Openb | Inline,
    Field(discriminator="source"),
    AfterValidator(_same_ticks),
]
