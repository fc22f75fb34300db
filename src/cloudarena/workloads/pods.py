"""The pod lists of Alibaba's GPU cluster of 2023 (openb, gpu-v2023), which hold VMs or jobs.

A CSV with the header name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase,
creation_time, deletion_time, scheduled_time; times in seconds. The columns of GPUs, the phase and
the time of scheduling may be missing; an empty cell is NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.contract.source import Beginning
from cloudarena.workloads.arrays import first_of_each, writable
from cloudarena.workloads.columns import NUMBER, TEXT, check, read_columns

TYPES = {
    "name": TEXT,
    "cpu_milli": NUMBER,
    "memory_mib": NUMBER,
    "qos": TEXT,
    "creation_time": NUMBER,
    "deletion_time": NUMBER,
}
OPTIONAL_TYPES = {
    "num_gpu": NUMBER,
    "gpu_milli": NUMBER,
    "gpu_spec": None,
    "pod_phase": None,
    "scheduled_time": NUMBER,
}


class Pods(NamedTuple):
    """Pods as columns, in the order of the file."""

    names: pa.Array
    qos: pa.ChunkedArray
    numbers: dict[str, NDArray[np.float64]]
    """The columns of numbers that the file has."""


def is_pod_list(beginning: Beginning) -> bool:
    """Whether a file is a list of pods, by its header."""
    return {"cpu_milli", "memory_mib"} <= set(beginning.cells)


def read_pods(path: Path, wanted: tuple[str, ...] = ()) -> Pods:
    """Reads and checks a list of pods.

    Args:
        path: the CSV, which may be compressed.
        wanted: the optional columns of numbers that are used; others are not looked at.
    """
    optional = {name: kind if name in wanted else None for name, kind in OPTIONAL_TYPES.items()}
    pods = read_columns(path, TYPES, optional)
    if len(pods) == 0:
        raise TraceError(f"{path}: has no pods")
    numbers = {
        name: writable(pods[name])
        for name, kind in {**TYPES, **optional}.items()
        if kind == NUMBER and name in pods.column_names
    }
    for name in ("cpu_milli", "memory_mib", "creation_time", "num_gpu", "gpu_milli"):
        if name in numbers:
            good = (numbers[name] >= 0) & np.isfinite(numbers[name])
            check(path, name, numbers[name], good, "a number, at least 0")
    if "scheduled_time" in numbers:
        start = numbers["scheduled_time"]
        good = np.isnan(start) | ((start >= 0) & np.isfinite(start))
        check(path, "scheduled_time", start, good, "a number, at least 0")
    created, end = numbers["creation_time"], numbers["deletion_time"]
    good = np.isnan(end) | ((end >= created) & np.isfinite(end))
    check(path, "deletion_time", end, good, "a number, at least creation_time")
    names = pods["name"].combine_chunks()
    check(path, "name", np.array(names), first_of_each(names), "each pod once")
    return Pods(names, pods["qos"], numbers)
