"""The pod lists of Alibaba's GPU cluster of 2023 (openb, gpu-v2023) as jobs.

The file is read by ``pods``. A pod is a job of one task of one instance
that holds cpu_milli / 1000 cpus, memory_mib / 1024 GB of memory and num_gpu * gpu_milli / 1000
GPUs (gpu_milli is the share of each: 1000 unless a single GPU is shared).

- It is submitted at creation_time and runs from scheduled_time to deletion_time, at least a
  second. Where the list has no column scheduled_time, it runs from creation_time.
- Pods that never ran have no duration: those with an empty scheduled_time, and those that were
  deleted before it. They are skipped, and counted. So are pods that ask for nothing.
- A pod without a deletion time runs to the end of the trace.
- The models of gpu_spec are asked for with ``gpu_models: true``; machines must have them then.
- There are no users, estimates or gangs; qos and pod_phase are not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.columns import check
from cloudarena.workloads.jobs.columns import JobWorkload, assemble, task_rules
from cloudarena.workloads.jobs.source import Trace
from cloudarena.workloads.pods import is_pod_list, read_pods

COLUMN_OF = {"cpu": "cpu_milli", "memory": "memory_mib", "gpu": "num_gpu * gpu_milli"}


class Openb(Trace):
    """A list of pods of Alibaba's gpu-v2023 (openb), each a job of one instance."""

    aliases = ("openb-jobs",)
    arguments = ()
    option_names: ClassVar[Mapping[str, str]] = {"path": "pods"}
    example = "--kind jobs --pods openb_pod_list_default.csv --out openb"

    source: Literal["openb"]
    gpu_models: bool = False
    """Whether pods ask for the models of GPUs that they name, which machines must have then."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return is_pod_list(beginning)

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the list, and which pods are none."""
        return scan_openb_jobs(self.path, self.gpu_models)


class Reading(NamedTuple):
    """What became of a list of pods."""

    jobs: int
    pods_that_never_ran: int
    pods_that_ask_for_nothing: int


def load_openb_jobs(path: Path) -> JobWorkload:
    """Reads a list of pods as jobs."""
    return scan_openb_jobs(path)[0]


def scan_openb_jobs(path: Path, gpu_models: bool = False) -> tuple[JobWorkload, Reading]:
    """Reads a list of pods as jobs, and says what was left out."""
    wanted = ("num_gpu", "gpu_milli", "scheduled_time", *(["gpu_spec"] if gpu_models else []))
    names, _, numbers, specs = read_pods(path, wanted)
    if gpu_models and specs is None:
        raise TraceError(f"{path}: has no column gpu_spec: gpu_models is true")
    pods = len(names)
    created, end = numbers["creation_time"], numbers["deletion_time"]
    start = numbers.get("scheduled_time", created)
    # An empty cell is read as NaN: the pod was not scheduled, or not deleted.
    latest = max(np.nanmax(times, initial=0.0) for times in (created, start, end))
    end = np.where(np.isnan(end), latest, end)
    ran = end >= start
    duration = np.where(ran, np.maximum(end - start, 1.0), 1.0)
    none = np.zeros(pods)
    demand = np.zeros((pods, 4))
    demand[:, 0] = numbers["cpu_milli"] / 1000.0
    demand[:, 1] = numbers["memory_mib"] / 1024.0
    demand[:, 3] = numbers.get("num_gpu", none) * numbers.get("gpu_milli", none) / 1000.0
    ones = np.ones(pods, np.int64)
    for rule in task_rules(ones, demand, duration, duration):
        name = COLUMN_OF.get(rule.name, "deletion_time")
        check(path, name, rule.values, rule.good, rule.allowed)
    asking = demand.any(axis=1)
    rows = np.flatnonzero(ran & asking)
    if len(rows) == 0:
        raise TraceError(f"{path}: has no pods that ran and ask for anything")
    workload = assemble(
        job_ids=names.take(pa.array(rows)),
        submit=created[rows],
        job=np.arange(len(rows)),
        task_ids=pa.array(ones[rows]),
        instances=ones[rows],
        demand=demand[rows],
        duration=duration[rows],
        gpu_models=None if specs is None else np.array(specs.to_pylist())[rows],
        source=str(path),
    )
    return workload, Reading(len(rows), int((~ran).sum()), int((ran & ~asking).sum()))
