"""Where the VMs of a vm scenario come from, and how their traces are shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from cloudarena.base.numpy import np
from cloudarena.contract.source import sources_of
from cloudarena.workloads.vm import columns
from cloudarena.workloads.vm.azure_like import AzureLike
from cloudarena.workloads.vm.azure_v2 import AzureV2
from cloudarena.workloads.vm.columns import VmWorkload, fill_gaps
from cloudarena.workloads.vm.files import Files, write_vm_files
from cloudarena.workloads.vm.inline import Inline
from cloudarena.workloads.vm.maro import Maro
from cloudarena.workloads.vm.openb import Openb
from cloudarena.workloads.vm.poisson import Poisson


def _same_ticks(workload: Any, info: ValidationInfo) -> Any:
    """Refuses a trace in seconds whose ticks are not as long as the scenario's."""
    length, wanted = getattr(workload, "tick_seconds", None), info.data.get("tick_seconds")
    if length is not None and wanted is not None and length != wanted:
        raise PydanticCustomError(
            "not_allowed", f"has ticks of {length:g} s: tick_seconds is {wanted:g}"
        )
    return workload


Workload = Annotated[
    AzureLike | Files | AzureV2 | Maro | Openb | Poisson | Inline,
    Field(discriminator="source"),
    AfterValidator(_same_ticks),
]
SOURCES = sources_of(Workload)


def describe(workload: VmWorkload, scenario: Any = None) -> dict[str, Any]:
    """The figures by which VM traces are known."""
    if np.isnan(workload.readings).any():
        readings = workload.readings.copy()
        fill_gaps(workload.first_reading, workload.lifetime, readings)
        workload = workload._replace(readings=readings)
    return columns.describe(workload)


def write(workload: VmWorkload, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes a trace in the canonical format, and texts beside it; says what more to count."""
    write_vm_files(workload, folder, texts)
    return {}
