"""The canonical format of a VM trace: a vmtable and readings, as Parquet or CSV.

``vmtable``: vmid, subscriptionid, deploymentid, vmcreated, vmdeleted, vmcategory (0
delay-insensitive, 1 interactive, 2 unknown), vmcorecountbucket, vmmemorybucket (GB), lifetime;
times in ticks, sorted by vmcreated; vmdeleted is not used. ``readings``: timestamp (ticks, rising
for each VM), vmid, maxcpu (percent).

Only readings within a VM's life count, and only those of VMs in the table. Before its first
reading a VM is idle; a gap holds the last reading. A VM without readings is as busy as
``cpu_percent`` says, idle by default; a table without a file of readings needs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa, pc, pq
from cloudarena.base.errors import TraceError
from cloudarena.base.files import written_folder
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source, SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrays import Numbering, first_of_each, plain, writable
from cloudarena.workloads.columns import (
    NUMBER,
    WHOLE,
    check,
    is_parquet,
    location,
    not_allowed,
    read_batches,
    read_columns,
)
from cloudarena.workloads.resample import Resample, drawn_again, scaled_rows
from cloudarena.workloads.vm.columns import (
    LARGEST_SIZE,
    OF_EACH_VM,
    SMALLEST_SIZE,
    VmWorkload,
    fill_gaps,
    no_readings,
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
from cloudarena.workloads.vm.stream import SizeCounts, VmStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


CpuPercent = Annotated[float, Field(ge=0, le=100)]


class CpuLevels(Spec):
    """Levels of CPU utilisation in per cent, one for each VM, drawn from a beta distribution."""

    mean: float = Field(gt=0, lt=100)
    deviation: float = Field(gt=0, lt=50)
    """The standard deviation among VMs, in per cent."""

    @model_validator(mode="after")
    def _possible(self) -> CpuLevels:
        most = math.sqrt(self.mean * (100.0 - self.mean))
        if self.deviation >= most:
            raise PydanticCustomError(
                "not_allowed",
                f"deviation: {self.deviation:g} is not allowed: less than {most:.4g}, the most of "
                f"numbers from 0 to 100 with the mean {self.mean:g}",
            )
        return self

    def draw(self, count: int, seed: int) -> NDArray[np.float64]:
        """The levels of so many VMs."""
        share, spread = self.mean / 100.0, self.deviation / 100.0
        total = share * (1.0 - share) / spread**2 - 1.0
        return 100.0 * stream(seed, "vm/cpu").beta(share * total, (1.0 - share) * total, count)


class Files(Source):
    """A trace in the canonical format, checked: a vmtable and readings, as Parquet or CSV.

    Readings that do not count are left out.
    """

    arguments = ()
    canonical: ClassVar[Mapping[str, str]] = {"vmtable": "vmtable", "readings": "readings"}
    shows_counts = True
    example = "--vmtable vms.csv --readings cpu.csv --out my-trace"

    source: Literal["files"]
    vmtable: SpecPath
    """The table of VMs."""
    readings: SpecPath | None = None
    """The readings of the VMs; none if all are as busy as cpu_percent says."""
    cpu_percent: CpuPercent | CpuLevels | None = None
    """How busy VMs without readings are: per cent, or {mean: 30, deviation: 15} drawn for each."""
    stream: bool = False
    """Whether VMs are read as they arrive, so that only live ones are in memory."""

    start_s: float = Field(0.0, ge=0, le=1e12)
    """Begins so many seconds after the beginning of the trace, with the VMs that are there then."""
    resample: Resample | None = None
    """Draws the VMs again by the seed, in blocks: {blocks: day}; then replications differ."""
    scale: float = Field(1.0, gt=0, le=100)
    """Fewer VMs (thinning) or more (copies within ten minutes), drawn by the seed."""

    @property
    def resampled(self) -> str:
        """What replications draw again of the trace, in words."""
        return drawn_again(self.resample, self.scale)

    @model_validator(mode="after")
    def _how_busy(self) -> Files:
        if self.readings is None and self.cpu_percent is None:
            raise PydanticCustomError(
                "not_allowed", "readings or cpu_percent is needed: how busy the VMs are"
            )
        if self.stream and self.readings is not None:
            raise PydanticCustomError(
                "not_allowed", "stream: true is not allowed with readings: leave them out"
            )
        if self.stream and not self._is_plain:
            raise PydanticCustomError(
                "not_allowed",
                "stream: true is not allowed with start_s, resample, scale or drawn levels",
            )
        return self

    @property
    def _is_plain(self) -> bool:
        """Whether all VMs use the same share of their cores, and are those of the table."""
        is_drawn = isinstance(self.cpu_percent, CpuLevels)
        return not is_drawn and self.resample is None and self.scale == 1.0 and not self.start_s

    def parts(self, seed: int) -> VmStream | None:
        """The VMs a part at a time, if they are to be read as they arrive."""
        if not self.stream or isinstance(self.cpu_percent, CpuLevels):
            return None
        return stream_vm_files(self.vmtable, self.cpu_percent or 0.0)

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a trace is the same for every seed, but for levels that are drawn."""
        if self.readings is None:
            if self._is_plain and not isinstance(self.cpu_percent, CpuLevels):
                return read_vm_files(self.vmtable, None, self.cpu_percent or 0.0)
            vms = _read_vmtable(self.vmtable)
            return vms._replace(readings=np.repeat(self._levels(vms, seed), vms.lifetime))
        if self.cpu_percent is None:
            return read_vm_files(self.vmtable, self.readings)
        workload, _ = _scan(self.vmtable, self.readings)
        missing = np.isnan(workload.readings)
        silent = np.logical_and.reduceat(missing, workload.first_reading)
        levels = np.where(silent, self._levels(workload, seed), np.nan)
        filled = np.where(missing, np.repeat(levels, workload.lifetime), workload.readings)
        fill_gaps(workload.first_reading, workload.lifetime, filled)
        return workload._replace(readings=filled)

    def drawn(self, workload: VmWorkload, seed: int, tick_s: float, ticks: int) -> VmWorkload:
        """The VMs of a seed: those of the trace, resampled and scaled if that is asked for."""
        there = 0
        if self.start_s:
            workload, there = _from(workload, int(self.start_s // tick_s))
        if self.resample is not None and there < len(workload.created):
            # Who is there at the beginning is there in each draw, and comes on no other day.
            time = workload.created[there:].astype(np.float64) * tick_s
            # The trace lasts to its last arrival, or to the end of the run if that is later.
            span = max(float(time[-1]) + tick_s, ticks * tick_s)
            rows, moved = self.resample.rows(time, span, ticks * tick_s, seed)
            workload = pick_vms(
                workload,
                np.concatenate((np.arange(there), there + rows)),
                np.concatenate((np.zeros(there), np.rint(moved / tick_s))).astype(np.int64),
            )
        if self.scale != 1.0:
            rows, moved = scaled_rows(
                workload.created.astype(np.float64) * tick_s, self.scale, stream(seed, "scale")
            )
            workload = pick_vms(workload, rows, np.floor(moved / tick_s).astype(np.int64))
        return workload

    def _levels(self, workload: VmWorkload, seed: int) -> NDArray[np.float64]:
        """How busy each VM is that has no readings, in per cent."""
        count = len(workload.created)
        if isinstance(self.cpu_percent, CpuLevels):
            return self.cpu_percent.draw(count, seed)
        return np.full(count, self.cpu_percent or 0.0)

    def scan(self, seed: int) -> Scan:
        """Reads the files, and says what does not count."""
        if self.readings is None:
            loaded = self.load(seed)
            return Scan(loaded, {"vms": len(loaded.created)})
        workload, counts = scan_vm_files(self.vmtable, self.readings)
        return Scan(workload, {"vms": len(workload.created), **counts._asdict()})

    def not_told(self, seed: int) -> Mapping[str, str]:
        """Says that readings are set, where no file has them."""
        if self.readings is not None:
            return {}
        return {"readings": "set by cpu_percent", "cpu_percent_mean": "set by cpu_percent"}


def _from(workload: VmWorkload, tick: int) -> tuple[VmWorkload, int]:
    """The VMs from a tick on, and how many came before it, which are the first.

    These have the rest of their lives before them. A run so begins with the load of the trace at
    that time, not with an empty cloud.
    """
    rows = np.flatnonzero(workload.created + workload.lifetime > tick)
    if not len(rows):
        raise TraceError("workload.start_s: no VM of the trace is there so late")
    gone = np.maximum(0, tick - workload.created[rows])
    there = int((gone > 0).sum())
    lifetime = workload.lifetime[rows] - gone
    first = offsets(lifetime)
    begin = np.repeat(workload.first_reading[rows] + gone - first, lifetime)
    late = workload._replace(
        **{name: getattr(workload, name)[rows] for name in PER_VM if name != "lifetime"},
        ids=workload.ids.take(pa.array(rows)),
        created=np.maximum(0, workload.created[rows] - tick),
        lifetime=lifetime,
        first_reading=first,
        readings=workload.readings[begin + np.arange(int(lifetime.sum()))],
    )
    return late, there


def pick_vms(
    workload: VmWorkload, rows: NDArray[np.int64], created: NDArray[np.int64]
) -> VmWorkload:
    """The VMs of these rows, some perhaps several times, at other times of arrival."""
    if not len(rows):
        raise TraceError("workload: has no VMs left: take a larger scale or other blocks")
    lifetime = workload.lifetime[rows]
    first = offsets(lifetime)
    begin = np.repeat(workload.first_reading[rows] - first, lifetime)
    return workload._replace(
        **{name: getattr(workload, name)[rows] for name in PER_VM},
        ids=pa.array(np.arange(len(rows))),
        created=created,
        first_reading=first,
        readings=workload.readings[begin + np.arange(int(lifetime.sum()))],
    )


PER_VM = ("subscription", "deployment", "lifetime", "category", "cores", "memory_gb")
"""Columns with a value for each VM that go with it."""


def read_vm_files(
    vmtable_path: Path, readings_path: Path | None, cpu_percent: float = 0.0
) -> VmWorkload:
    """Reads and checks a trace."""
    if readings_path is None or _has_no_rows(readings_path):
        return checked_vms(
            vmtable_path, read_columns(vmtable_path, VMTABLE_TYPES), cpu_percent=cpu_percent
        )
    workload, _ = _scan(vmtable_path, readings_path)
    fill_gaps(workload.first_reading, workload.lifetime, workload.readings)
    return workload


def _has_no_rows(path: Path) -> bool:
    """Whether a file is Parquet without a row, as a trace without readings is written."""
    if not path.is_file() or not is_parquet(path):
        return False
    try:
        return pq.read_metadata(path).num_rows == 0
    except (pa.ArrowInvalid, OSError):
        return False  # whoever reads it says what is wrong


def stream_vm_files(path: Path, cpu_percent: float) -> VmStream:
    """A trace that is read as its VMs arrive."""
    cores, memory = SizeCounts(), SizeCounts()
    for _, table in read_batches(path, VMTABLE_TYPES):
        cores.add(writable(table["vmcorecountbucket"]))
        memory.add(writable(table["vmmemorybucket"]))
    return VmStream(_read_parts(path, cpu_percent), cores.median(), memory.median())


def _read_parts(path: Path, cpu_percent: float) -> Iterator[VmWorkload]:
    """The VMs of a table, a batch of rows at a time."""
    before, groups = 0, (Numbering(), Numbering())
    for first_row, table in read_batches(path, VMTABLE_TYPES):
        part = checked_vms(path, table, cpu_percent=cpu_percent, first_row=first_row, before=before)
        names = [
            _group(table[name], numbering)
            for name, numbering in zip(("subscriptionid", "deploymentid"), groups, strict=True)
        ]
        before = int(part.created[-1])
        yield part._replace(subscription=names[0], deployment=names[1])


def scan_vm_files(
    vmtable_path: Path, readings_path: Path | None
) -> tuple[VmWorkload, ReadingCounts]:
    """Reads and checks a trace as it is: where there is no reading there is NaN."""
    if readings_path is None:
        workload = read_vm_files(vmtable_path, None)
        return workload, ReadingCounts(0, 0, 0, len(workload.created))
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
            while start < len(workload.created) and len(workload.readings) > 0:
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
            raise not_allowed(location(readings_path, first_row + row), name, shown, allowed)
    return vms._replace(readings=board.readings), board


def _read_vmtable(path: Path) -> VmWorkload:
    """The VMs of a table, each with room for its readings."""
    return with_room(path, checked_vms(path, read_columns(path, VMTABLE_TYPES)))


def with_room(path: Path, vms: VmWorkload) -> VmWorkload:
    """The VMs of a table, each with room for its readings."""
    check_room(path, vms.lifetime)
    return vms._replace(first_reading=offsets(vms.lifetime))


def checked_vms(
    path: Path, table: pa.Table, cpu_percent: float = 0.0, first_row: int = 0, before: int = 0
) -> VmWorkload:
    """The VMs of a vmtable with the columns of ``VMTABLE_TYPES``, without readings.

    Args:
        path: the file.
        table: its rows, or some of them.
        cpu_percent: what they use.
        first_row: which row of the file is the first of the table.
        before: when the VM of the row before arrived.
    """
    if len(table) == 0:
        raise TraceError(f"{path}: has no VMs")
    numbers = {
        name: writable(table[name]) for name, kind in VMTABLE_TYPES.items() if kind is not None
    }
    see = partial(check, path, first_row=first_row)
    created, lifetime = numbers["vmcreated"], numbers["lifetime"]
    cores, memory = numbers["vmcorecountbucket"], numbers["vmmemorybucket"]
    category = numbers["vmcategory"]
    see("vmcreated", created, created >= 0, "at least 0")
    sorted_ = np.diff(created, prepend=before) >= 0
    see("vmcreated", created, sorted_, "at least that of the row before (sort the table)")
    see("vmcreated", created, created < LAST_TICK, f"less than {LAST_TICK} ticks")
    see("lifetime", lifetime, lifetime >= 1, "at least 1")
    see("lifetime", lifetime, lifetime < LAST_TICK, f"less than {LAST_TICK} ticks")
    see("vmcategory", category, (category >= 0) & (category <= 2), "0, 1 or 2")
    for name, sizes in (("vmcorecountbucket", cores), ("vmmemorybucket", memory)):
        good = (sizes >= SMALLEST_SIZE) & (sizes <= LARGEST_SIZE)
        see(name, sizes, good, f"{SMALLEST_SIZE:g} to {LARGEST_SIZE:,.0f}")
    ids = plain(table["vmid"].combine_chunks())
    see("vmid", np.array(ids), first_of_each(ids), "each VM once")
    return VmWorkload(
        ids=ids,
        subscription=_group(table["subscriptionid"]),
        deployment=_group(table["deploymentid"]),
        created=created,
        lifetime=lifetime,
        category=category,
        cores=cores,
        memory_gb=memory,
        first_reading=no_readings(len(created)),
        readings=np.empty(0),
        cpu_percent=cpu_percent,
    )


def _group(column: pa.ChunkedArray, numbering: Numbering | None = None) -> NDArray[np.int64]:
    """Whole numbers as they are; other ids numbered in order of appearance."""
    values = plain(column.combine_chunks())
    if values.type == pa.int64():
        return writable(values)
    return (numbering or Numbering()).codes(values)


def _members(workload: VmWorkload, start: int, end: int) -> VmWorkload:
    """The VMs from ``start`` to before ``end``."""
    begin, stop = np.append(workload.first_reading, len(workload.readings))[[start, end]]
    columns = {name: getattr(workload, name)[start:end] for name in OF_EACH_VM}
    columns["first_reading"] = columns["first_reading"] - begin
    return workload._replace(**columns, readings=workload.readings[begin:stop])
