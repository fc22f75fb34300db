"""Azure's public VM trace of 2019, AzurePublicDatasetV2, as it is published.

``vmtable`` is a CSV without header: vmid, subscriptionid, deploymentid, created (s), deleted (s),
maxcpu, avgcpu, p95maxcpu, category, core bucket, memory bucket (GB). The readings are any number
of CSVs without header: timestamp (s), vmid, mincpu, maxcpu, avgcpu. All may be gzipped.

Times become ticks of 300 s, and a VM lives from the tick in which it is created to the tick in
which it is deleted. The bucket ">24" becomes 32 cores, ">64" 128 GB; rows with an empty cell are
dropped (the CPU summaries are not looked at). VMs are sorted by creation, then VMs,
subscriptions and deployments are numbered from 1 in order of appearance; only then a sample is
taken, so a VM has the same number in every sample. A reading is maxcpu, the peak within its 300
seconds, clipped to 0 and 100; of two in a tick the larger counts, whatever the order of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source, SpecPath
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrays import codes, first_of_each, writable
from cloudarena.workloads.columns import (
    NUMBER,
    TEXT,
    WHOLE,
    WORD,
    location,
    not_allowed,
    read_batches,
)
from cloudarena.workloads.vm.columns import (
    LARGEST_SIZE,
    MOST_VMS,
    SMALLEST_SIZE,
    VmWorkload,
    fill_gaps,
    offsets,
)
from cloudarena.workloads.vm.readings import (
    FINE,
    LAST_TICK,
    NEGATIVE_TIME,
    ReadingBoard,
    ReadingCounts,
    check_room,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

TICK_SECONDS = 300

VMTABLE_NAMES = (
    "vmid",
    "subscriptionid",
    "deploymentid",
    "vmcreated",
    "vmdeleted",
    "maxcpu",
    "avgcpu",
    "p95maxcpu",
    "vmcategory",
    "vmcorecountbucket",
    "vmmemorybucket",
)
VMTABLE_TYPES = {
    "vmid": TEXT,
    "subscriptionid": WORD,
    "deploymentid": WORD,
    "vmcreated": WHOLE,
    "vmdeleted": WHOLE,
    "vmcategory": WORD,
    "vmcorecountbucket": WORD,
    "vmmemorybucket": WORD,
}
READINGS_NAMES = ("timestamp", "vmid", "mincpu", "maxcpu", "avgcpu")
READINGS_TYPES = {"timestamp": WHOLE, "vmid": TEXT, "maxcpu": NUMBER}

CATEGORY_CODES = {"Delay-insensitive": 0.0, "Interactive": 1.0, "Unknown": 2.0}
OPEN_BUCKETS = {"vmcorecountbucket": {">24": 32.0}, "vmmemorybucket": {">64": 128.0}}


class AzureV2(Source):
    """AzurePublicDatasetV2: its vmtable and its readings, CSV without header or .csv.gz.

    A folder of readings stands for the CSVs in it.
    """

    tick_seconds: ClassVar[float] = TICK_SECONDS
    arguments = ()
    example = "--vmtable vmtable.csv.gz --readings cpu/ --out azure"

    source: Literal["azure-v2"]
    vmtable: SpecPath
    """The table of VMs, CSV or .csv.gz."""
    readings: tuple[SpecPath, ...] = Field(min_length=1)
    """Readings: files, or folders of files."""
    vms: int | None = Field(None, ge=1, le=MOST_VMS)
    """Takes a sample of so many VMs."""
    seed: int = Field(0, ge=0, le=2**63 - 1)
    """Decides which VMs are in the sample."""

    def load(self, seed: int) -> VmWorkload:
        """Reads the files; a sample is the same for every seed of a run."""
        return read_azure_v2(self.vmtable, self.readings, self.vms, self.seed)

    def scan(self, seed: int) -> Scan:
        """Reads the files, and says what was dropped."""
        workload, done = _scan(self.vmtable, self.readings, self.vms, self.seed)
        counts = {"vms": done.vms, "dropped_rows": done.dropped_rows}
        return Scan(workload, {**counts, **done.readings._asdict()})


class Conversion(NamedTuple):
    """What became of a trace: its VMs, its readings, and what was left out."""

    vms: int
    dropped_rows: int
    readings: ReadingCounts


class _Requests(NamedTuple):
    """Rows of the vmtable, in order of creation; ``names`` are the published ids."""

    vms: VmWorkload
    names: pa.Array
    dropped_rows: int


def read_azure_v2(
    vmtable: Path, readings: Sequence[Path], vms: int | None = None, seed: int = 0
) -> VmWorkload:
    """Reads the trace, or a sample of ``vms`` VMs by a seed."""
    workload, _ = _scan(vmtable, readings, vms, seed)
    fill_gaps(workload.first_reading, workload.lifetime, workload.readings)
    return workload


def readings_files(paths: Iterable[Path]) -> list[Path]:
    """The files meant by paths: a folder stands for the CSVs in it."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted([*path.glob("*.csv"), *path.glob("*.csv.gz")])
        if not inside:
            raise TraceError(f"{path}: has no .csv or .csv.gz files")
        files += inside
    return files


def _scan(
    vmtable: Path, readings: Sequence[Path], vms: int | None, seed: int
) -> tuple[VmWorkload, Conversion]:
    """The trace with NaN where there is no reading, and what was left out."""
    files = readings_files(readings)
    requests = _read_vmtable(vmtable, vms, seed)
    board = ReadingBoard(requests.vms, requests.names, peaks=True)
    for path in files:
        for first_row, batch in read_batches(path, READINGS_TYPES, READINGS_NAMES):
            time = writable(batch["timestamp"]) // TICK_SECONDS
            value = np.clip(batch["maxcpu"].to_numpy(), 0.0, 100.0)
            problem, row = board.put(batch["vmid"].combine_chunks(), time, value)
            if problem != FINE:
                name, allowed = (
                    ("timestamp", "at least 0")
                    if problem == NEGATIVE_TIME
                    else ("maxcpu", "a number")
                )
                where = location(path, first_row + row, header=False)
                raise not_allowed(where, name, batch[name][row].as_py(), allowed)
    workload = requests.vms._replace(readings=board.readings)
    return workload, Conversion(len(workload.created), requests.dropped_rows, board.counts())


def _read_vmtable(path: Path, sample: int | None, seed: int) -> _Requests:
    batches = [batch for _, batch in read_batches(path, VMTABLE_TYPES, VMTABLE_NAMES, True)]
    if not batches:
        raise TraceError(f"{path}: has no VMs")
    table = pa.concat_tables(batches).unify_dictionaries().combine_chunks()
    complete = _complete(table)
    rows = np.flatnonzero(complete)
    table = table.filter(pa.array(complete))
    if len(table) == 0:
        raise TraceError(f"{path}: has no VMs: every row has an empty cell")
    created = writable(table["vmcreated"]) // TICK_SECONDS
    deleted = writable(table["vmdeleted"]) // TICK_SECONDS
    lifetime = deleted - created + 1

    def check(name: str, good: NDArray[np.bool_], allowed: str) -> None:
        if not good.all():
            row = int(np.argmin(good))
            where = location(path, int(rows[row]), header=False)
            raise not_allowed(where, name, table[name][row].as_py(), allowed)

    check("vmcreated", created >= 0, "at least 0")
    check("vmdeleted", lifetime >= 1, "at least vmcreated")
    check("vmdeleted", deleted < LAST_TICK, f"less than {LAST_TICK} ticks")
    check("vmid", first_of_each(table["vmid"].combine_chunks()), "each VM once")
    category = _translate(table["vmcategory"], CATEGORY_CODES)
    check("vmcategory", ~np.isnan(category), f"one of {', '.join(CATEGORY_CODES)}")
    sizes = {}
    for name, words in OPEN_BUCKETS.items():
        sizes[name] = _translate(table[name], words, numbers=True)
        good = (sizes[name] >= SMALLEST_SIZE) & (sizes[name] <= LARGEST_SIZE)
        check(name, good, f"a number more than 0, or {next(iter(words))}")

    order = np.argsort(created, kind="stable")
    if sample is not None:
        if not 1 <= sample <= len(order):
            raise TraceError(f"{path}: vms: {sample} is not allowed: from 1 to {len(order)}")
        chosen = np.sort(stream(seed, "sample").choice(len(order), sample, replace=False))
    else:
        chosen = np.arange(len(order))
    here = order[chosen]
    check_room(path, lifetime[here])
    vms = VmWorkload(
        ids=pa.array(chosen + 1),
        subscription=_numbers(table["subscriptionid"], order)[chosen],
        deployment=_numbers(table["deploymentid"], order)[chosen],
        created=created[here],
        lifetime=lifetime[here],
        category=category[here].astype(np.int64),
        cores=sizes["vmcorecountbucket"][here],
        memory_gb=sizes["vmmemorybucket"][here],
        first_reading=offsets(lifetime[here]),
        readings=np.empty(0),
    )
    names = table["vmid"].combine_chunks().take(pa.array(here))
    return _Requests(vms, names, int((~complete).sum()))


def _complete(table: pa.Table) -> NDArray[np.bool_]:
    """True for rows without an empty cell."""
    complete = np.ones(len(table), bool)
    for column in table.columns:
        values = column.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = pc.take(pc.not_equal(values.dictionary, ""), values.indices)
        elif pa.types.is_string(values.type):
            values = pc.not_equal(values, "")
        else:
            values = values.is_valid()
        complete &= pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return complete


def _translate(
    column: pa.ChunkedArray, words: dict[str, float], numbers: bool = False
) -> NDArray[np.float64]:
    """The number of each word, NaN for a word that has none; other words may be numbers."""
    values = column.combine_chunks()
    meanings = []
    for word in values.dictionary.to_pylist():
        meaning = words.get(word, np.nan)
        if numbers and word not in words:
            try:
                meaning = float(word)
            except ValueError:
                meaning = np.nan
        meanings.append(meaning)
    return np.array(meanings)[values.indices.to_numpy()]


def _numbers(column: pa.ChunkedArray, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups numbered from 1 as they appear in an order of the rows."""
    return codes(column.combine_chunks().indices.take(pa.array(order))) + 1
