"""VMs that stand in the spec itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import arrow_column
from cloudarena.base.memory import check_memory
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source
from cloudarena.contract.spec import Spec
from cloudarena.workloads.vm.columns import (
    CATEGORIES,
    LARGEST_SIZE,
    MOST_GPUS,
    READING_BYTES,
    SMALLEST_SIZE,
    WHOLE_GPU,
    VmGpus,
    VmWorkload,
    offsets,
)
from cloudarena.workloads.vm.readings import LAST_TICK, MOST_READINGS


class InlineVm(Spec):
    """One VM written into the spec."""

    created: int = Field(ge=0, le=LAST_TICK)
    lifetime: int = Field(ge=1, le=LAST_TICK)
    cores: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    memory_gb: float = Field(ge=SMALLEST_SIZE, le=LARGEST_SIZE)
    category: Literal["delay-insensitive", "interactive", "unknown"] = "unknown"
    gpus: int = Field(0, ge=0, le=MOST_GPUS)
    """How many GPUs it asks for."""
    gpu_milli: int = Field(WHOLE_GPU, ge=1, le=WHOLE_GPU)
    """Thousandths of a GPU; fewer than 1000 of one GPU only."""
    gpu_models: tuple[str, ...] = ()
    """The models that it allows; any by default."""
    readings: tuple[Annotated[float, Field(ge=0, le=100)], ...] = ()
    """Percent, tick by tick; the last one holds to the end of its life; none: idle."""

    @model_validator(mode="after")
    def _a_share_of_one_gpu(self) -> InlineVm:
        if self.gpu_milli < WHOLE_GPU and self.gpus != 1:
            raise PydanticCustomError(
                "not_allowed",
                f"gpu_milli: {self.gpu_milli} is not allowed: {WHOLE_GPU} unless gpus is 1",
            )
        return self


class Inline(Source):
    """VMs written into the spec, in order of arrival."""

    reads_files = False

    source: Literal["inline"]
    vms: tuple[InlineVm, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> Inline:
        for index, (before, after) in enumerate(zip(self.vms, self.vms[1:], strict=False), 1):
            if after.created < before.created:
                raise PydanticCustomError(
                    "not_allowed",
                    f"vms[{index}].created: {after.created} is not allowed: "
                    f"at least {before.created}, the tick of the VM before it",
                )
        ticks = sum(vm.lifetime for vm in self.vms)
        if ticks > MOST_READINGS:
            raise PydanticCustomError(
                "not_allowed",
                f"vms: {ticks:,} ticks of life in all are not allowed: at most {MOST_READINGS:,}",
            )
        return self

    def scan(self, seed: int) -> Scan:
        """The VMs of the spec."""
        return Scan(self.load(seed))

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
            ids=arrow_column(np.arange(1, len(self.vms) + 1)),
            subscription=np.zeros(len(self.vms), np.int64),
            deployment=np.zeros(len(self.vms), np.int64),
            created=np.array([vm.created for vm in self.vms], np.int64),
            lifetime=lifetime,
            category=np.array([CATEGORIES.index(vm.category) for vm in self.vms], np.int64),
            cores=np.array([vm.cores for vm in self.vms]),
            memory_gb=np.array([vm.memory_gb for vm in self.vms]),
            first_reading=first,
            readings=readings,
            gpus=VmGpus(
                np.array([vm.gpus for vm in self.vms], np.int64),
                np.array([vm.gpu_milli for vm in self.vms], np.int64),
                arrow_column(["|".join(vm.gpu_models) for vm in self.vms]),
            )
            if any(vm.gpus for vm in self.vms)
            else None,
        )
