"""The pod lists of Alibaba's GPU cluster of 2023 (openb, gpu-v2023), which hold VMs or jobs.

A CSV with the header name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase,
creation_time, deletion_time, scheduled_time; times in seconds. The columns of GPUs, the phase and
the time of scheduling may be missing; an empty cell is NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.arrays import first_of_each, writable
from cloudarena.workloads.columns import NUMBER, TEXT, check, read_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
MOST = 1e15
"""The largest number that a column may hold: products of two are finite."""


class Pods(NamedTuple):
    """Pods as columns, in the order of the file."""

    names: pa.Array
    qos: pa.ChunkedArray
    numbers: dict[str, NDArray[np.float64]]
    """The columns of numbers that the file has."""
    gpu_spec: pa.Array | None
    """The models of GPUs that each pod allows, with | between them, if they were asked for."""


def is_pod_list(beginning: Beginning) -> bool:
    """Whether a file is a list of pods, by its header."""
    return {"cpu_milli", "memory_mib"} <= set(beginning.cells)


def read_pods(path: Path, wanted: tuple[str, ...] = ()) -> Pods:
    """Reads and checks a list of pods.

    Args:
        path: the CSV, which may be compressed.
        wanted: the optional columns of numbers that are used; others are not looked at.
    """
    types = {**OPTIONAL_TYPES, "gpu_spec": TEXT}
    optional = {name: kind if name in wanted else None for name, kind in types.items()}
    pods = read_columns(path, TYPES, optional)
    if len(pods) == 0:
        raise TraceError(f"{path}: has no pods")
    numbers = {
        name: writable(pods[name])
        for name, kind in {**TYPES, **optional}.items()
        if kind == NUMBER and name in pods.column_names
    }
    for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"):
        if name in numbers:
            good = (numbers[name] >= 0) & (numbers[name] <= MOST)
            check(path, name, numbers[name], good, f"a number, at least 0 and at most {MOST:g}")
    created = numbers["creation_time"]
    good = (created >= 0) & np.isfinite(created)
    check(path, "creation_time", created, good, "a number, at least 0")
    if "scheduled_time" in numbers:
        start = numbers["scheduled_time"]
        good = np.isnan(start) | ((start >= 0) & np.isfinite(start))
        check(path, "scheduled_time", start, good, "a number, at least 0")
    end = numbers["deletion_time"]
    good = np.isnan(end) | ((end >= created) & np.isfinite(end))
    check(path, "deletion_time", end, good, "a number, at least creation_time")
    names = pods["name"].combine_chunks()
    given = pc.fill_null(pc.not_equal(names, ""), False).to_numpy(zero_copy_only=False)
    check(path, "name", np.array(names), given, "any name")
    check(path, "name", np.array(names), first_of_each(names), "each pod once")
    specs = None
    if "gpu_spec" in wanted and "gpu_spec" in pods.column_names:
        specs = pc.fill_null(pods["gpu_spec"].combine_chunks(), "")
    return Pods(names, pods["qos"], numbers, specs)
