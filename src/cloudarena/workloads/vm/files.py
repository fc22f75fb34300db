"""The neutral form of a VM trace: a vmtable and readings, as Parquet or CSV.

``vmtable``: vmid, subscriptionid, deploymentid, vmcreated, vmdeleted, vmcategory (0
delay-insensitive, 1 interactive, 2 unknown), vmcorecountbucket, vmmemorybucket (GB), lifetime;
times in ticks, sorted by vmcreated; vmdeleted is not used. ``readings``: timestamp (ticks, rising
for each VM), vmid, maxcpu (percent).

Only readings within a VM's life count, and only those of VMs in the table. Before its first
reading a VM is idle; a gap holds the last reading; a VM without readings is idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrow import pa, pc, pq
from cloudarena.base.errors import TraceError
from cloudarena.base.files import written_folder
from cloudarena.workloads.arrays import codes, first_of_each, plain, writable
from cloudarena.workloads.columns import (
    NUMBER,
    WHOLE,
    check,
    is_parquet,
    not_allowed,
    place,
    read_batches,
    read_columns,
)
from cloudarena.workloads.vm.columns import (
    LARGEST_SIZE,
    SMALLEST_SIZE,
    VmWorkload,
    fill_gaps,
    offsets,
    readings_table,
    vmtable,
)
from cloudarena.workloads.vm.readings import (
    BAD_VALUE,
    FINE,
    LAST_TICK,
    NEGATIVE_TIME,
    NOT_RISING,
    ReadingBoard,
    ReadingCounts,
    check_room,
)

VMTABLE_TYPES = {
    "vmid": None,
    "subscriptionid": None,
    "deploymentid": None,
    "vmcreated": WHOLE,
    "vmdeleted": WHOLE,
    "vmcategory": WHOLE,
    "vmcorecountbucket": NUMBER,
    "vmmemorybucket": NUMBER,
    "lifetime": WHOLE,
}
READINGS_TYPES = {"timestamp": WHOLE, "vmid": None, "maxcpu": NUMBER}

READINGS_STORAGE: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": ["vmid"],
    "column_encoding": {"timestamp": "DELTA_BINARY_PACKED", "maxcpu": "BYTE_STREAM_SPLIT"},
}
"""Chosen by measurement: 40 % smaller and read twice as fast as by default."""
ROWS_AT_ONCE = 2**20
"""How many readings are laid out at a time to be written: a row group of the file."""


def read_vm_files(vmtable_path: Path, readings_path: Path) -> VmWorkload:
    """Reads and checks a trace."""
    workload, _ = _scan(vmtable_path, readings_path)
    fill_gaps(workload.first_reading, workload.lifetime, workload.readings)
    return workload


def scan_vm_files(vmtable_path: Path, readings_path: Path) -> tuple[VmWorkload, ReadingCounts]:
    """Reads and checks a trace as it is: where there is no reading there is NaN."""
    workload, board = _scan(vmtable_path, readings_path)
    return workload, board.counts()


def write_vm_files(
    workload: VmWorkload, folder: Path, texts: Mapping[str, str] | None = None
) -> None:
    """Writes ``vmtable.parquet`` and ``readings.parquet`` into a folder; NaN is no reading.

    ``texts`` are files to be written beside them, by name.
    """
    with written_folder(folder) as draft:
        for name, text in (texts or {}).items():
            (draft / name).write_text(text, encoding="utf-8")
        pq.write_table(vmtable(workload), draft / "vmtable.parquet", compression="zstd")
        schema = readings_table(_members(workload, 0, 0)).schema
        with pq.ParquetWriter(draft / "readings.parquet", schema, **READINGS_STORAGE) as writer:
            start = 0
            while start < len(workload.created):
                reached = workload.first_reading[start] + ROWS_AT_ONCE
                end = max(start + 1, int(np.searchsorted(workload.first_reading, reached)))
                table = readings_table(_members(workload, start, end))
                writer.write_table(table.filter(pc.invert(pc.is_nan(table["maxcpu"]))))
                start = end


def _scan(vmtable_path: Path, readings_path: Path) -> tuple[VmWorkload, ReadingBoard]:
    vms = _read_vmtable(vmtable_path)
    types = dict(READINGS_TYPES)
    if not is_parquet(readings_path):
        # What a CSV's column holds can only be guessed, so it is what the table's ids are.
        types["vmid"] = vms.ids.type
    board = ReadingBoard(vms, vms.ids)
    for first_row, batch in read_batches(readings_path, types):
        time, value = writable(batch["timestamp"]), writable(batch["maxcpu"])
        problem, row = board.put(batch["vmid"].combine_chunks(), time, value)
        if problem != FINE:
            name, shown, allowed = {
                NEGATIVE_TIME: ("timestamp", time[row], "at least 0"),
                NOT_RISING: ("timestamp", time[row], "more than the one before of the same VM"),
                BAD_VALUE: ("maxcpu", value[row], "a number from 0 to 100"),
            }[problem]
            raise not_allowed(place(readings_path, first_row + row), name, shown, allowed)
    return vms._replace(readings=board.readings), board


def _read_vmtable(path: Path) -> VmWorkload:
    return checked_vms(path, read_columns(path, VMTABLE_TYPES))


def checked_vms(path: Path, table: pa.Table) -> VmWorkload:
    """The VMs of a vmtable with the columns of ``VMTABLE_TYPES``, still without readings."""
    if len(table) == 0:
        raise TraceError(f"{path}: has no VMs")
    numbers = {
        name: writable(table[name]) for name, kind in VMTABLE_TYPES.items() if kind is not None
    }
    created, lifetime = numbers["vmcreated"], numbers["lifetime"]
    cores, memory = numbers["vmcorecountbucket"], numbers["vmmemorybucket"]
    category = numbers["vmcategory"]
    check(path, "vmcreated", created, created >= 0, "at least 0")
    sorted_ = np.concatenate(([True], created[1:] >= created[:-1]))
    check(path, "vmcreated", created, sorted_, "at least that of the row before (sort the table)")
    check(path, "vmcreated", created, created < LAST_TICK, f"less than {LAST_TICK} ticks")
    check(path, "lifetime", lifetime, lifetime >= 1, "at least 1")
    check(path, "lifetime", lifetime, lifetime < LAST_TICK, f"less than {LAST_TICK} ticks")
    check_room(path, lifetime)
    check(path, "vmcategory", category, (category >= 0) & (category <= 2), "0, 1 or 2")
    for name, sizes in (("vmcorecountbucket", cores), ("vmmemorybucket", memory)):
        good = (sizes >= SMALLEST_SIZE) & (sizes <= LARGEST_SIZE)
        check(path, name, sizes, good, f"{SMALLEST_SIZE:g} to {LARGEST_SIZE:,.0f}")
    ids = plain(table["vmid"].combine_chunks())
    check(path, "vmid", np.array(ids), first_of_each(ids), "each VM once")
    return VmWorkload(
        ids=ids,
        subscription=_group(table["subscriptionid"]),
        deployment=_group(table["deploymentid"]),
        created=created,
        lifetime=lifetime,
        category=category,
        cores=cores,
        memory_gb=memory,
        first_reading=offsets(lifetime),
        readings=np.empty(0),
    )


def _group(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Whole numbers as they are; other ids numbered in order of appearance."""
    values = plain(column.combine_chunks())
    return writable(values) if values.type == pa.int64() else codes(values)


def _members(workload: VmWorkload, start: int, end: int) -> VmWorkload:
    """The VMs from ``start`` to before ``end``."""
    begin, stop = np.append(workload.first_reading, len(workload.readings))[[start, end]]
    part = VmWorkload._make(column[start:end] for column in workload)
    return part._replace(
        first_reading=part.first_reading - begin, readings=workload.readings[begin:stop]
    )
