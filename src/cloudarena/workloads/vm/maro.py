"""VM traces in the binary form of MARO's scenario ``vm_scheduling`` (MARO 0.2 and 0.3).

A file begins with a header of 69 bytes, little endian: ``MARO``, the type of the file (1), the
version (100), how many records there are and how long each is, where the description lies and how
long it is, the same of the records, and the first and the last tick. The description is YAML: a
list of attributes, each with a name and a type, in the order in which a record has them. The
records follow one another without gaps.

The table of VMs has the attributes timestamp (the tick of creation), vm_id, sub_id, deploy_id,
vm_lifetime, vm_category, vm_cpu_cores and vm_memory; the readings timestamp, vm_id and
cpu_utilization. Ticks of both are taken as they stand; of two readings of a VM in a tick the
larger counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import Field

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source, SpecPath
from cloudarena.workloads.columns import location, not_allowed
from cloudarena.workloads.vm.columns import VmWorkload, fill_gaps
from cloudarena.workloads.vm.files import checked_vms, with_room
from cloudarena.workloads.vm.maro_config import read_config
from cloudarena.workloads.vm.readings import (
    FINE,
    LAST_TICK,
    NEGATIVE_TIME,
    ReadingBoard,
    ReadingCounts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = struct.Struct("<4sbIQIQQQQqq")
MAGIC, ONE_TABLE, VERSION = b"MARO", 1, 100
DTYPES = {"i": "<i4", "i4": "<i4", "i2": "<i2", "i8": "<i8", "f": "<f4", "d": "<f8"}
VMTABLE = {
    "vmid": "vm_id",
    "subscriptionid": "sub_id",
    "deploymentid": "deploy_id",
    "vmcreated": "timestamp",
    "vmcategory": "vm_category",
    "vmcorecountbucket": "vm_cpu_cores",
    "vmmemorybucket": "vm_memory",
    "lifetime": "vm_lifetime",
}
"""The columns of the canonical format, and what MARO calls them."""
READINGS = ("timestamp", "vm_id", "cpu_utilization")
ROWS_AT_ONCE = 2**20


MONTH_TICKS = 8638
WRITTEN = {"source": "files", "vmtable": "vmtable.parquet", "readings": "readings.parquet"}
"""The workload of a scenario that lies beside the trace."""


class Maro(Source):
    """Binary files of MARO's vm_scheduling; a folder of readings stands for the files in it."""

    arguments = ()

    source: Literal["maro"]
    vmtable: SpecPath
    readings: tuple[SpecPath, ...] = Field(min_length=1)

    @classmethod
    def command(cls) -> type[Source]:
        """A topology may say which files there are."""
        return MaroTopology

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a trace is the same for every seed."""
        return read_maro(self.vmtable, self.readings)

    def scan(self, seed: int) -> Scan:
        """Reads the files; the command, which may read a topology too, says what it read."""
        return Scan(self.load(seed))


class MaroTopology(Source):
    """A topology and binary trace of MARO's vm_scheduling, as a scenario and a trace."""

    arguments = ()
    example = "--config config.yml --out azure-10k"

    source: Literal["maro"]
    config: SpecPath | None = None
    """A config.yml: its machines, rules, prices, files."""
    vmtable: SpecPath | None = None
    """The file vmtable.bin, if not the config's."""
    readings: tuple[SpecPath, ...] = ()
    """Readings, if not the config's: .bin files or folders."""
    ticks: int = Field(MONTH_TICKS, ge=1, le=LAST_TICK)
    """How long a scenario of the config runs."""

    def scan(self, seed: int) -> Scan:
        """Reads config and files."""
        topology = None if self.config is None else read_config(self.config, self.ticks)
        table = self.vmtable or (topology.vmtable if topology else None)
        files = self.readings or (topology.readings if topology else ())
        if table is None or not files:
            raise TraceError("which trace? Give --config, or --vmtable and --readings")
        specs = {"scenario.yaml": {**topology.spec, "workload": WRITTEN}} if topology else {}
        workload, counts = scan_maro(table, files)
        return Scan(
            workload,
            {"vms": len(workload.created), **counts._asdict()},
            specs,
            topology.notes if topology else (),
        )


class _Description(yaml.SafeLoader):
    """YAML in which MARO's own objects are plain mappings."""


_Description.add_multi_constructor(
    "!Maro", lambda loader, _, node: loader.construct_mapping(node, deep=True)
)


def read_maro(vmtable: Path, readings: Sequence[Path]) -> VmWorkload:
    """Reads and checks a trace."""
    workload, _ = scan_maro(vmtable, readings)
    fill_gaps(workload.first_reading, workload.lifetime, workload.readings)
    return workload


def scan_maro(vmtable: Path, readings: Sequence[Path]) -> tuple[VmWorkload, ReadingCounts]:
    """Reads and checks a trace as it is: where there is no reading there is NaN."""
    vms = _read_vms(vmtable)
    board = ReadingBoard(vms, vms.ids, peaks=True)
    for path in readings_files(readings):
        records = read_records(path, READINGS)
        for start in range(0, len(records), ROWS_AT_ONCE):
            rows = records[start : start + ROWS_AT_ONCE]
            time = rows["timestamp"].astype(np.int64)
            value = rows["cpu_utilization"].astype(np.float64)
            problem, row = board.put(pa.array(rows["vm_id"].astype(np.int64)), time, value)
            if problem != FINE:
                name, shown, allowed = (
                    ("timestamp", time[row], "at least 0")
                    if problem == NEGATIVE_TIME
                    else ("cpu_utilization", value[row], "a number from 0 to 100")
                )
                raise not_allowed(location(path, start + row), name, shown, allowed)
    return vms._replace(readings=board.readings), board.counts()


def readings_files(paths: Iterable[Path]) -> list[Path]:
    """The files meant by paths: a folder stands for the files of readings in it."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(path.glob("*cpu_readings*.bin"))
        if not inside:
            raise TraceError(f"{path}: has no files of readings, *cpu_readings*.bin")
        files += inside
    return files


def read_records(path: Path, needed: Iterable[str]) -> NDArray[Any]:
    """The records of a file, one field per attribute."""
    try:
        data = path.read_bytes()
    except UNREADABLE as error:
        raise TraceError(f"{path}: cannot be read: {_reason(error)}") from None
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise TraceError(f"{path}: is not a binary file of MARO: it does not begin with 'MARO'")
    _, kind, version, count, size, meta_at, meta_size, data_at, _, _, _ = HEADER.unpack_from(data)
    if (kind, version) != (ONE_TABLE, VERSION):
        raise TraceError(
            f"{path}: type {kind} of version {version} is not allowed: "
            f"only type {ONE_TABLE} of version {VERSION}"
        )
    if meta_at + meta_size > len(data) or data_at + count * size > len(data):
        raise TraceError(f"{path}: is cut short: {len(data):,} bytes are there")
    record = _record_type(path, data[meta_at : meta_at + meta_size])
    missing = [name for name in needed if name not in (record.names or ())]
    if missing:
        raise TraceError(
            f"{path}: attribute {missing[0]!r} is missing: needed are {', '.join(needed)}"
        )
    if record.itemsize != size:
        raise TraceError(f"{path}: records of {size} bytes do not fit their description")
    return np.frombuffer(data, record, count, data_at)


def _read_vms(path: Path) -> VmWorkload:
    records = read_records(path, VMTABLE.values())
    columns = {ours: records[theirs] for ours, theirs in VMTABLE.items()}
    whole = {name: column.astype(np.int64) for name, column in columns.items()}
    for name in ("vmcorecountbucket", "vmmemorybucket"):
        whole[name] = columns[name].astype(np.float64)
    whole["vmdeleted"] = whole["vmcreated"] + whole["lifetime"] - 1
    return with_room(path, checked_vms(path, pa.table(whole)))


def _record_type(path: Path, description: bytes) -> np.dtype[Any]:
    """What a record looks like, by the description in the file."""
    try:
        attributes = yaml.load(description.decode(), _Description)["attributes"]
        fields = [(str(one["name"]), DTYPES[one["dtype"]]) for one in attributes]
        return np.dtype(fields)
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError, LookupError, TypeError, ValueError):
        raise TraceError(f"{path}: its description of the records cannot be read") from None


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
