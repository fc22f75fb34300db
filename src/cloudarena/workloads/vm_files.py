"""The neutral form of a VM trace: a vmtable and readings, as Parquet or CSV.

``vmtable``: vmid, subscriptionid, deploymentid, vmcreated, vmdeleted, vmcategory (0
delay-insensitive, 1 interactive, 2 unknown), vmcorecountbucket, vmmemorybucket (GB), lifetime;
times in ticks, sorted by vmcreated; vmdeleted is not used. ``readings``: timestamp (ticks, rising
for each VM), vmid, maxcpu (percent).

Only readings within a VM's life count, and only those of VMs in the table. Before its first
reading a VM is idle; a gap holds the last reading; a VM without readings is idle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled
from cloudarena.errors import TraceError
from cloudarena.files import written_folder
from cloudarena.workloads.columns import check, place, read_columns
from cloudarena.workloads.vms import VmWorkload, fill_gaps, offsets, readings_table, vmtable

VMTABLE_TYPES = {
    "vmid": None,
    "subscriptionid": None,
    "deploymentid": None,
    "vmcreated": pa.int64(),
    "vmdeleted": pa.int64(),
    "vmcategory": pa.int64(),
    "vmcorecountbucket": pa.float64(),
    "vmmemorybucket": pa.float64(),
    "lifetime": pa.int64(),
}
READINGS_TYPES = {"timestamp": pa.int64(), "vmid": None, "maxcpu": pa.float64()}

FINE, NEGATIVE_TIME, NOT_RISING, BAD_VALUE = range(4)


def read_vm_files(vmtable_path: Path, readings_path: Path) -> VmWorkload:
    """Reads and checks a trace."""
    vms = _read_vmtable(vmtable_path)
    readings = read_columns(readings_path, READINGS_TYPES)
    owner = _owners(readings["vmid"].combine_chunks(), vms.ids)
    time = _writable(readings["timestamp"])
    value = _writable(readings["maxcpu"])
    filled = np.full(int(vms.lifetime.sum()), np.nan)
    problem, row = _scatter(
        owner, time, value, vms.created, vms.lifetime, vms.first_reading, filled
    )
    if problem != FINE:
        name, shown, allowed = {
            NEGATIVE_TIME: ("timestamp", int(time[row]), "at least 0"),
            NOT_RISING: ("timestamp", int(time[row]), "more than the one before of the same VM"),
            BAD_VALUE: ("maxcpu", float(value[row]), "a number from 0 to 100"),
        }[problem]
        raise TraceError(f"{place(readings_path, row)}: {name}: {shown} is not allowed: {allowed}")
    fill_gaps(vms.first_reading, vms.lifetime, filled)
    return vms._replace(readings=filled)


def write_vm_files(workload: VmWorkload, folder: Path) -> None:
    """Writes ``vmtable.parquet`` and ``readings.parquet`` into a folder."""
    with written_folder(folder) as draft:
        pq.write_table(vmtable(workload), draft / "vmtable.parquet", compression="zstd")
        pq.write_table(readings_table(workload), draft / "readings.parquet", compression="zstd")


def _read_vmtable(path: Path) -> VmWorkload:
    table = read_columns(path, VMTABLE_TYPES)
    if len(table) == 0:
        raise TraceError(f"{path}: has no VMs")
    numbers = {
        name: _writable(table[name]) for name, kind in VMTABLE_TYPES.items() if kind is not None
    }
    created, lifetime = numbers["vmcreated"], numbers["lifetime"]
    cores, memory = numbers["vmcorecountbucket"], numbers["vmmemorybucket"]
    category = numbers["vmcategory"]
    check(path, "vmcreated", created, created >= 0, "at least 0")
    sorted_ = np.concatenate(([True], created[1:] >= created[:-1]))
    check(path, "vmcreated", created, sorted_, "at least that of the row before (sort the table)")
    check(path, "lifetime", lifetime, lifetime >= 1, "at least 1")
    check(path, "vmcategory", category, (category >= 0) & (category <= 2), "0, 1 or 2")
    check(path, "vmcorecountbucket", cores, (cores > 0) & np.isfinite(cores), "more than 0")
    check(path, "vmmemorybucket", memory, (memory > 0) & np.isfinite(memory), "more than 0")
    ids = table["vmid"].combine_chunks()
    codes = _codes(ids)
    _, first = np.unique(codes, return_index=True)
    is_first = np.zeros(len(codes), bool)
    is_first[first] = True
    check(path, "vmid", np.array(ids), is_first, "each VM once")
    return VmWorkload(
        ids=ids,
        subscription=_codes(table["subscriptionid"].combine_chunks()),
        deployment=_codes(table["deploymentid"].combine_chunks()),
        created=created,
        lifetime=lifetime,
        category=category,
        cores=cores,
        memory_gb=memory,
        first_reading=offsets(lifetime),
        readings=np.empty(0),
    )


def _writable(column: pa.ChunkedArray) -> NDArray:
    """A NumPy array of its own: compiled code takes no read-only ones."""
    return np.array(column.to_numpy(zero_copy_only=False))


def _codes(values: pa.Array) -> NDArray[np.int64]:
    """Numbers values in order of appearance."""
    return np.array(pc.dictionary_encode(values).indices.to_numpy(), np.int64)


def _owners(ids: pa.Array, known: pa.Array) -> NDArray[np.int64]:
    """The row of the vmtable for each reading, or -1."""
    if ids.type != known.type:
        ids, known = ids.cast(pa.string()), known.cast(pa.string())
    rows = pc.index_in(ids, value_set=known)
    return np.array(pc.fill_null(rows, -1).to_numpy(), np.int64)


@compiled
def _scatter(
    owner: NDArray[np.int64],
    time: NDArray[np.int64],
    value: NDArray[np.float64],
    created: NDArray[np.int64],
    lifetime: NDArray[np.int64],
    first_reading: NDArray[np.int64],
    readings: NDArray[np.float64],
) -> tuple[int, int]:
    """Puts each reading where its VM's readings lie; returns what is wrong, and in which row."""
    last = np.full(len(created), -1)
    for row in range(len(owner)):
        if time[row] < 0:
            return NEGATIVE_TIME, row
        if not 0.0 <= value[row] <= 100.0:
            return BAD_VALUE, row
        vm = owner[row]
        if vm < 0:
            continue
        if time[row] <= last[vm]:
            return NOT_RISING, row
        last[vm] = time[row]
        k = time[row] - created[vm]
        if 0 <= k < lifetime[vm]:
            readings[first_reading[vm] + k] = value[row]
    return FINE, -1
