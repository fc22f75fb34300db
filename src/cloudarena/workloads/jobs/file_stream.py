"""A table of jobs that is read as its jobs arrive: see ``files`` for its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pa, pc, pq
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import ColumnType, check, check_columns, read_batches
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.files import OPTIONAL_TYPES, TYPES, jobs_of_table
from cloudarena.workloads.jobs.stream import JobStream


def stream_job_file(path: Path) -> JobStream:
    """A trace that is read as its jobs arrive: sorted, the rows of a job together."""
    types = _types_in(path)
    if "user" in types and not pa.types.is_integer(pq.read_schema(path).field("user").type):
        raise TraceError(f"{path}: user: names are not allowed in a stream: whole numbers")
    jobs, rows, longest, begin = 0, 0, np.nan, np.nan
    last_job: Any = None
    users: set[int] = set()
    for first_row, table in read_batches(path, types, empty_cells=True):
        submit = writable(table["submit_s"])
        check(path, "submit_s", submit, np.isfinite(submit), "a number", first_row=first_row)
        names = pc.fill_null(table["job"].combine_chunks().cast(pa.string()), "")
        changes = (
            pc.not_equal(names[1:], names[:-1]) if len(names) > 1 else pa.array([], pa.bool_())
        )
        jobs += int(pc.sum(changes).as_py() or 0) + (names[0].as_py() != last_job)
        last_job = names[-1].as_py()
        begin = submit[0] if rows == 0 else begin
        rows += len(table)
        users.update(np.unique(writable(table["user"])).tolist() if "user" in types else (0,))
        estimate = writable(table["estimate_s"]) if "estimate_s" in types else np.full(1, np.nan)
        longest = np.fmax(longest, np.fmax.reduce(estimate))
    if rows == 0:
        raise TraceError(f"{path}: has no jobs")
    parts = _read_parts(path, types, float(begin), float(longest))
    has_estimates = bool(np.isfinite(longest))
    return JobStream(parts, jobs, rows, np.array(sorted(users), np.int64), has_estimates)


def _types_in(path: Path) -> dict[str, ColumnType]:
    """The columns that a Parquet file has, with their types."""
    try:
        found = pq.read_schema(path).names
    except (pa.ArrowInvalid, OSError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    check_columns(path, found, list(TYPES), list(OPTIONAL_TYPES))
    types: dict[str, ColumnType] = {**TYPES, "job": None, "task": None}
    return types | {name: OPTIONAL_TYPES[name] for name in OPTIONAL_TYPES if name in found}


def _read_parts(
    path: Path, types: Mapping[str, ColumnType], begin: float, longest: float
) -> Iterator[JobWorkload]:
    """The jobs of a table, a batch of rows at a time; those of one instant in one part."""
    held, first, before = None, 0, begin
    for first_row, table in read_batches(path, types, empty_cells=True):
        submit = writable(table["submit_s"])
        rises = np.diff(submit, prepend=before) >= 0
        words = "at least that of the row before (sort the table)"
        check(path, "submit_s", submit, rises, words, first_row=first_row)
        before = float(submit[-1])
        if held is not None:
            table = pa.concat_tables([held, table], promote_options="permissive")
            submit = writable(table["submit_s"])
        else:
            first = first_row
        cut = int(np.searchsorted(submit, submit[-1]))
        if cut > 0:
            yield jobs_of_table(path, table.slice(0, cut), first, begin, longest)
        held, first = table.slice(cut), first + cut
    if held is not None:
        yield jobs_of_table(path, held, first, begin, longest)
