"""The pod lists of Alibaba's GPU cluster of 2023 (openb, gpu-v2023) as VMs.

A CSV with the header name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase,
creation_time, deletion_time, scheduled_time; times in seconds. A pod becomes a VM of
cpu_milli / 1000 cores and memory_mib / 1024 GB that lives from the tick in which it is created
to the tick in which it is deleted, counted from the creation of the first pod; without a
deletion time it lives to the last tick of the trace.

What a VM trace has and this one has not is set by rule:

- Category: latency-sensitive pods (qos LS) are interactive, best-effort ones (BE)
  delay-insensitive, all others unknown.
- Readings: the list has none, so every VM uses a constant share of its cores.
- Subscription and deployment: one for all.
- GPUs, the phase and the time of scheduling are not used.
- Pods that ask for no CPU or no memory cannot be VMs: they are skipped, and counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrow import pa
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.workloads.arrays import first_of_each, writable
from cloudarena.workloads.columns import NUMBER, TEXT, check, read_columns
from cloudarena.workloads.vm.columns import CATEGORIES, VmWorkload, offsets
from cloudarena.workloads.vm.files import write_vm_files
from cloudarena.workloads.vm.readings import LAST_TICK, check_room

USED_TYPES = {
    "name": TEXT,
    "cpu_milli": NUMBER,
    "memory_mib": NUMBER,
    "qos": TEXT,
    "creation_time": NUMBER,
    "deletion_time": NUMBER,
}
UNUSED_TYPES = {
    "num_gpu": None,
    "gpu_milli": None,
    "gpu_spec": None,
    "pod_phase": None,
    "scheduled_time": None,
}
CATEGORY_OF_QOS = {"LS": "interactive", "BE": "delay-insensitive"}

TICK_SECONDS = 300.0
CPU_PERCENT = 50.0
"""The reading of every VM in every tick, unless the user says otherwise."""


class Conversion(NamedTuple):
    """What became of a list of pods."""

    vms: int
    skipped_pods: int


def read_openb(
    path: Path, tick_seconds: float = TICK_SECONDS, cpu_percent: float = CPU_PERCENT
) -> VmWorkload:
    """Reads a list of pods as VMs; pods without CPU or memory are left out."""
    return _read(path, tick_seconds, cpu_percent)[0]


def convert_openb(
    path: Path, folder: Path, tick_seconds: float = TICK_SECONDS, cpu_percent: float = CPU_PERCENT
) -> Conversion:
    """Writes a list of pods in the neutral form into a folder."""
    workload, conversion = _read(path, tick_seconds, cpu_percent)
    write_vm_files(workload, folder)
    return conversion


def _read(path: Path, tick_seconds: float, cpu_percent: float) -> tuple[VmWorkload, Conversion]:
    if not tick_seconds > 0:
        raise SpecError(f"tick_seconds: {tick_seconds:g} is not allowed: more than 0")
    if not 0 <= cpu_percent <= 100:
        raise SpecError(f"cpu_percent: {cpu_percent:g} is not allowed: from 0 to 100")
    pods = read_columns(path, USED_TYPES, UNUSED_TYPES)
    if len(pods) == 0:
        raise TraceError(f"{path}: has no pods")
    numbers = {name: writable(pods[name]) for name, kind in USED_TYPES.items() if kind == NUMBER}
    for name in ("cpu_milli", "memory_mib", "creation_time"):
        good = (numbers[name] >= 0) & np.isfinite(numbers[name])
        check(path, name, numbers[name], good, "a number, at least 0")
    start, end = numbers["creation_time"], numbers["deletion_time"]
    # An empty cell is read as NaN: the pod was not deleted.
    good = np.isnan(end) | ((end >= start) & np.isfinite(end))
    check(path, "deletion_time", end, good, "a number, at least creation_time")
    begin = start.min()
    created = _ticks(start - begin, tick_seconds)
    latest = max(float(start.max()), float(np.nanmax(end, initial=0.0)))
    deleted = _ticks(np.where(np.isnan(end), latest, end) - begin, tick_seconds)
    check(path, "creation_time", start, created < LAST_TICK, f"less than {LAST_TICK} ticks")
    check(path, "deletion_time", end, deleted < LAST_TICK, f"less than {LAST_TICK} ticks")
    names = pods["name"].combine_chunks()
    check(path, "name", np.array(names), first_of_each(names), "each pod once")

    asking = np.flatnonzero((numbers["cpu_milli"] > 0) & (numbers["memory_mib"] > 0))
    if len(asking) == 0:
        raise TraceError(f"{path}: has no pods that ask for CPU and memory")
    rows = asking[np.argsort(created[asking], kind="stable")]
    lifetime = (deleted - created + 1)[rows]
    check_room(path, lifetime)
    workload = VmWorkload(
        ids=names.take(pa.array(rows)),
        subscription=np.zeros(len(rows), np.int64),
        deployment=np.zeros(len(rows), np.int64),
        created=created[rows],
        lifetime=lifetime,
        category=_categories(pods["qos"])[rows],
        cores=numbers["cpu_milli"][rows] / 1000.0,
        memory_gb=numbers["memory_mib"][rows] / 1024.0,
        first_reading=offsets(lifetime),
        readings=np.full(int(lifetime.sum()), cpu_percent),
    )
    return workload, Conversion(len(rows), len(pods) - len(rows))


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
