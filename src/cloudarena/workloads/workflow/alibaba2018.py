"""Alibaba's table of batch tasks of 2018 as workflows: a job is a workflow, a task a function.

The table is read by ``jobs.alibaba2018``: what is said there of rows that are left out, of DAGs in
the names of tasks and of arrivals holds here.

- A task is a pool of workers that work off its instances: ``parallelism`` is the number of
  instances, but at most ``workers``. All work is kept: ``computation`` is instances * plan_cpu
  (cores) * duration * single_core_speed, at least one operation.
- Memory is what the workers hold at a time: parallelism * plan_mem, as a share of a machine of
  ``machine_memory_mb``, rounded up. The machines have 96 cores; how much memory is not
  published, so 2 GB for each core is taken, as c5 instances have.
- The table tells no data: edges have 0 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.jobs.alibaba2018 import Status, is_batch_task, load_alibaba2018
from cloudarena.workloads.jobs.columns import RESOURCES, TERMINATED, JobWorkload, slice_jobs
from cloudarena.workloads.workflow.columns import (
    SINGLE_CORE_SPEED,
    WorkflowWorkload,
    check_workload,
    figures_not_told,
    templates_of,
)
from cloudarena.workloads.workflow.source import Counted, NotTold, WorkflowSource
from cloudarena.workloads.workflow.template import MOST_MEMORY, MOST_OPERATIONS, MOST_PARALLELISM

WORKERS = 4
"""The cores of a NUMA node of most c5 instances."""
MACHINE_MEMORY_MB = 96 * 2048
NAME = "alibaba-2018"


class Alibaba2018(WorkflowSource):
    """The table batch_task of Alibaba's trace of 2018: jobs as workflows, tasks as functions."""

    aliases = ("alibaba-2018-workflows",)
    example = "--kind workflow batch_task.csv --workflows 1000 --out alibaba"

    source: Literal["alibaba-2018"]
    path: SpecPath
    """The table, plain or .gz."""
    status: Status = TERMINATED
    """Takes tasks of this status; null, or any, takes all."""
    offset: int = Field(0, ge=0)
    """Leaves out so many of the first jobs."""
    workflows: int | None = Field(None, ge=1)
    """Takes so many jobs."""
    workers: int = Field(WORKERS, ge=1, le=MOST_PARALLELISM)
    """The highest parallelism of a function."""
    machine_memory_mb: int = Field(MACHINE_MEMORY_MB, ge=1, le=MOST_MEMORY)
    """The memory of a machine of the trace."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by nine cells without a header."""
        return is_batch_task(beginning)

    def load(self, seed: int, single_core_speed: float = SINGLE_CORE_SPEED) -> WorkflowWorkload:
        """Reads the file; the same for every seed."""
        return load_alibaba2018_workflows(
            self.path,
            self.status,
            self.offset,
            self.workflows,
            self.workers,
            self.machine_memory_mb,
            int(single_core_speed),
        )

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Reads the file; each workflow is a template of its own."""
        mix = templates_of(self.load(seed, single_core_speed))
        return Counted(mix._replace(single_core_speed=single_core_speed), self._untold())

    def not_told(self, seed: int) -> Mapping[str, str]:
        """Parallelism, memory in MB and data."""
        return figures_not_told(self._untold())

    def _untold(self) -> NotTold:
        return not_told(self.workers, self.machine_memory_mb)


def not_told(
    workers: int = WORKERS, machine_memory_mb: int = MACHINE_MEMORY_MB
) -> tuple[tuple[str, str], ...]:
    """What the table does not tell of workflows, by column, and where it comes from."""
    pool = f"set: as many as a task has instances, but at most {workers}"
    return (
        ("parallelism", pool),
        ("seconds", f"work of the table over the parallelism, which is {pool}"),
        ("memory_req", f"shares of a machine, whose memory is set to {machine_memory_mb:,} MB"),
        ("parent_bytes", "set to 0"),
    )


def load_alibaba2018_workflows(
    path: Path,
    status: str | None = TERMINATED,
    offset: int = 0,
    workflows: int | None = None,
    workers: int = WORKERS,
    machine_memory_mb: int = MACHINE_MEMORY_MB,
    single_core_speed: int = SINGLE_CORE_SPEED,
) -> WorkflowWorkload:
    """Reads a table of tasks as workflows: those of a status, or all with None.

    Args:
        path: the table, CSV without header.
        status: takes tasks of this status.
        offset: leaves out so many of the first jobs.
        workflows: takes so many jobs; all that are left by default.
        workers: the highest parallelism of a function.
        machine_memory_mb: the memory of a machine of the trace.
        single_core_speed: operations that a core does in a second.
    """
    jobs = slice_jobs(load_alibaba2018(path, status), offset, workflows)
    return workflows_of_jobs(jobs, workers, machine_memory_mb, single_core_speed, str(path))


def workflows_of_jobs(
    jobs: JobWorkload,
    workers: int = WORKERS,
    machine_memory_mb: int = MACHINE_MEMORY_MB,
    single_core_speed: int = SINGLE_CORE_SPEED,
    source: str = "",
) -> WorkflowWorkload:
    """Jobs whose memory is a share of a machine, as workflows."""
    for name, value in (
        ("workers", workers),
        ("machine_memory_mb", machine_memory_mb),
        ("single_core_speed", single_core_speed),
    ):
        if value < 1:
            raise SpecError(f"{name}: {value} is not allowed: at least 1")
    cpu, memory = (jobs.demand[:, RESOURCES.index(name)] for name in ("cpu", "memory"))
    operations = np.rint(jobs.instances * cpu * jobs.duration * float(single_core_speed))
    parallelism = np.minimum(jobs.instances, workers)
    held = np.ceil(parallelism * memory * float(machine_memory_mb))
    workload = WorkflowWorkload(
        workflow_ids=jobs.job_ids,
        arrival=jobs.submit,
        template=np.zeros(len(jobs.submit), np.int64),
        template_names=(NAME,),
        first_function=jobs.first_task,
        function_ids=jobs.task_ids,
        # Too many stay too many, for the check.
        computation=np.clip(operations, 1, 2 * MOST_OPERATIONS).astype(np.int64),
        memory_req=np.maximum(held, 1).astype(np.int64),
        parallelism=parallelism,
        first_parent=jobs.first_parent,
        parents=jobs.parents,
        parent_bytes=np.zeros(len(jobs.parents), np.int64),
    )
    check_workload(workload, source)
    return workload
