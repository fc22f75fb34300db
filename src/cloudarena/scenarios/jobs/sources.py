"""Where the jobs of a jobs scenario come from, and how their traces are shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from cloudarena.contract.source import sources_of
from cloudarena.workloads.jobs import columns
from cloudarena.workloads.jobs.alibaba2018 import Alibaba2018
from cloudarena.workloads.jobs.alibaba_like import AlibabaLike
from cloudarena.workloads.jobs.borg import Borg2019
from cloudarena.workloads.jobs.cloudsimpy import CloudSimPy
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.deeprm import DeepRm
from cloudarena.workloads.jobs.files import JobFile, write_job_files
from cloudarena.workloads.jobs.inline import Inline
from cloudarena.workloads.jobs.lublin import LublinFeitelson
from cloudarena.workloads.jobs.openb import Openb
from cloudarena.workloads.jobs.poisson import PoissonJobs
from cloudarena.workloads.jobs.source import Trace
from cloudarena.workloads.jobs.swf import Swf
from cloudarena.workloads.jobs.tpch_like import TpchLike

Traces = CloudSimPy | Alibaba2018 | Swf | Borg2019 | Openb | JobFile
Generators = AlibabaLike | LublinFeitelson | DeepRm | TpchLike | PoissonJobs
Workload = Annotated[Traces | Generators | Inline, Field(discriminator="source")]
SOURCES = sources_of(Workload)
GIVEN = (Trace, Inline)
"""Sources that give the same jobs whatever the seed."""


def describe(workload: JobWorkload, scenario: Any = None) -> dict[str, Any]:
    """The figures by which job traces are known."""
    return columns.describe(workload)


def write(workload: JobWorkload, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes a trace in the canonical format, and texts beside it; says what was written."""
    write_job_files(workload, folder, texts)
    instances = int(workload.instances.sum())
    return {"written_jobs": len(workload.submit), "written_instances": instances}
