"""The pod lists of Alibaba's GPU cluster of 2023 (openb, gpu-v2023) as VMs.

The file is read by ``pods``. A pod becomes a VM of
cpu_milli / 1000 cores and memory_mib / 1024 GB that lives from the tick in which it is created
to the tick in which it is deleted, counted from the creation of the first pod; without a
deletion time it lives to the last tick of the trace.

What a VM trace has and this one has not is set by rule:

- Category: latency-sensitive pods (qos LS) are interactive, best-effort ones (BE)
  delay-insensitive, all others unknown.
- Readings: the list has none, so every VM uses a constant share of its cores.
- Subscription and deployment: one for all.
- GPUs are taken with ``gpus: true``: num_gpu devices of gpu_milli thousandths each, of the models
  of gpu_spec. The phase and the time of scheduling are not used.
- Pods that ask for no CPU or no memory cannot be VMs: they are skipped, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning, Scan, Source, SpecPath
from cloudarena.workloads.columns import check
from cloudarena.workloads.pods import is_pod_list, read_pods
from cloudarena.workloads.vm.columns import (
    CATEGORIES,
    LARGEST_SIZE,
    MOST_GPUS,
    SMALLEST_SIZE,
    WHOLE_GPU,
    VmGpus,
    VmWorkload,
    offsets,
)
from cloudarena.workloads.vm.readings import LAST_TICK, check_room

if TYPE_CHECKING:
    from numpy.typing import NDArray

CATEGORY_OF_QOS = {"LS": "interactive", "BE": "delay-insensitive"}

TICK_SECONDS = 300.0
CPU_PERCENT = 50.0
"""The reading of every VM in every tick, unless the user says otherwise."""
CONSTANT = "set: every VM uses the same share of its cores, always"


class Openb(Source):
    """A list of pods of Alibaba's gpu-v2023 (openb) as VMs, with one constant CPU utilisation."""

    arguments = ()
    option_names: ClassVar[Mapping[str, str]] = {"path": "pods"}
    example = "--pods openb_pod_list_default.csv --out openb"

    source: Literal["openb"]
    path: SpecPath
    """The list of pods, CSV or .csv.gz."""
    cpu_percent: float = Field(CPU_PERCENT, ge=0, le=100)
    """How busy every VM is, always."""
    tick_seconds: float = Field(TICK_SECONDS, ge=1e-6, le=1e7)
    """The length of a tick."""
    gpus: bool = False
    """Whether pods ask for their GPUs, which machines must have then."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return is_pod_list(beginning)

    def load(self, seed: int) -> VmWorkload:
        """Reads the file; a trace is the same for every seed."""
        return scan_openb(self.path, self.tick_seconds, self.cpu_percent, self.gpus)[0]

    def scan(self, seed: int) -> Scan:
        """Reads the file, and says how many pods cannot be VMs."""
        workload, counts = scan_openb(self.path, self.tick_seconds, self.cpu_percent, self.gpus)
        return Scan(workload, counts._asdict())

    def not_told(self, seed: int) -> Mapping[str, str]:
        """There are no readings, and categories follow from another column."""
        return {"readings": CONSTANT, "cpu_percent_mean": CONSTANT, "categories": "set: by qos"}


class Conversion(NamedTuple):
    """What became of a list of pods."""

    vms: int
    skipped_pods: int


def read_openb(
    path: Path, tick_seconds: float = TICK_SECONDS, cpu_percent: float = CPU_PERCENT
) -> VmWorkload:
    """Reads a list of pods as VMs; pods without CPU or memory are left out."""
    return scan_openb(path, tick_seconds, cpu_percent)[0]


def scan_openb(
    path: Path,
    tick_seconds: float = TICK_SECONDS,
    cpu_percent: float = CPU_PERCENT,
    gpus: bool = False,
) -> tuple[VmWorkload, Conversion]:
    """Reads a list of pods as VMs, and says how many were left out."""
    wanted = ("num_gpu", "gpu_milli", "gpu_spec") if gpus else ()
    names, qos, numbers, specs = read_pods(path, wanted)
    start, end = numbers["creation_time"], numbers["deletion_time"]
    begin = start.min()
    created = _ticks(start - begin, tick_seconds)
    latest = max(float(start.max()), float(np.nanmax(end, initial=0.0)))
    deleted = _ticks(np.where(np.isnan(end), latest, end) - begin, tick_seconds)
    check(path, "creation_time", start, created < LAST_TICK, f"less than {LAST_TICK} ticks")
    check(path, "deletion_time", end, deleted < LAST_TICK, f"less than {LAST_TICK} ticks")

    asking = np.flatnonzero((numbers["cpu_milli"] > 0) & (numbers["memory_mib"] > 0))
    if len(asking) == 0:
        raise TraceError(f"{path}: has no pods that ask for CPU and memory")
    for name, unit in (("cpu_milli", 1000.0), ("memory_mib", 1024.0)):
        least, most = SMALLEST_SIZE * unit, LARGEST_SIZE * unit
        is_good = (numbers[name] >= least) & (numbers[name] <= most)
        is_good[np.setdiff1d(np.arange(len(names)), asking)] = True
        check(path, name, numbers[name], is_good, f"{least:g} to {most:,.0f}, or 0")
    rows = asking[np.argsort(created[asking], kind="stable")]
    lifetime = (deleted - created + 1)[rows]
    check_room(path, lifetime)
    workload = VmWorkload(
        ids=names.take(pa.array(rows)),
        subscription=np.zeros(len(rows), np.int64),
        deployment=np.zeros(len(rows), np.int64),
        created=created[rows],
        lifetime=lifetime,
        category=_categories(qos)[rows],
        cores=numbers["cpu_milli"][rows] / 1000.0,
        memory_gb=numbers["memory_mib"][rows] / 1024.0,
        first_reading=offsets(lifetime),
        readings=np.full(int(lifetime.sum()), cpu_percent),
        gpus=_gpus(path, numbers, specs, rows) if gpus else None,
    )
    return workload, Conversion(len(rows), len(names) - len(rows))


def _gpus(
    path: Path, numbers: Mapping[str, NDArray[np.float64]], specs: pa.Array | None, rows: Any
) -> VmGpus:
    """What pods ask for of GPUs."""
    if "num_gpu" not in numbers or "gpu_milli" not in numbers:
        raise TraceError(f"{path}: has no columns num_gpu and gpu_milli: gpus is true")
    count = numbers["num_gpu"].astype(np.int64)
    milli = np.where(count > 0, numbers["gpu_milli"], WHOLE_GPU).astype(np.int64)
    check(path, "num_gpu", count, count <= MOST_GPUS, f"at most {MOST_GPUS}")
    good = (milli >= 1) & ((milli == WHOLE_GPU) | ((milli < WHOLE_GPU) & (count == 1)))
    check(path, "gpu_milli", milli, good, f"{WHOLE_GPU}, or from 1 on if num_gpu is 1")
    words = pa.array([""] * len(count)) if specs is None else specs
    return VmGpus(count[rows], milli[rows], words.take(pa.array(rows)))


def _ticks(seconds: NDArray[np.float64], tick_seconds: float) -> NDArray[np.int64]:
    """The tick in which a time lies."""
    return np.minimum(seconds // tick_seconds, LAST_TICK).astype(np.int64)


def _categories(qos: pa.ChunkedArray) -> NDArray[np.int64]:
    values = qos.combine_chunks().fill_null("").dictionary_encode()
    meanings = [
        CATEGORIES.index(CATEGORY_OF_QOS.get(word, "unknown"))
        for word in values.dictionary.to_pylist()
    ]
    return np.array(meanings)[values.indices.to_numpy()]
