"""VMs that stand in the spec itself."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa
from cloudarena.base.memory import check_memory
from cloudarena.contract.source import Source
from cloudarena.contract.spec import Spec
from cloudarena.workloads.vm.columns import (
    CATEGORIES,
    LARGEST_SIZE,
    READING_BYTES,
    SMALLEST_SIZE,
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
    readings: tuple[Annotated[float, Field(ge=0, le=100)], ...] = ()
    """Percent, tick by tick; the last one holds to the end of its life; none: idle."""


class Inline(Source):
    """VMs written into the spec, in order of arrival."""

    reads_files = False

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
