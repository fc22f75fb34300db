"""A log of invocations that is read window by window, so that memory does not grow with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.arrow import pa, pc, pq
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import check, check_columns
from cloudarena.workloads.faas.requests import Requests, merge

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = ("time_s", "function")


class LogIndex(NamedTuple):
    """What a log has in each of its row groups, and in all."""

    rows: int
    first_s: NDArray[np.float64]
    last_s: NDArray[np.float64]
    names: frozenset[str]


def index_of(path: Path) -> LogIndex:
    """Reads a log once, and checks it."""
    return _index_of(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=4)
def _index_of(path: Path, stamp: int) -> LogIndex:
    file = _opened(path)
    before, rows = 0.0, 0
    names: set[str] = set()
    bounds = []
    for group in range(file.num_row_groups):
        first = math.inf
        for batch in file.iter_batches(columns=list(COLUMNS), row_groups=[group]):
            time = _times(batch)
            at = partial(check, path, "time_s", time, first_row=rows)
            at((time >= 0) & np.isfinite(time), "at least 0")
            at(np.diff(time, prepend=before) >= 0, "at least that of the row before (sort it)")
            first, before, rows = min(first, float(time[0])), float(time[-1]), rows + len(time)
            names.update(pc.unique(batch.column("function").cast(pa.string())).to_pylist())
        bounds.append((first, before))
    if rows == 0:
        raise TraceError(f"{path}: has no invocations")
    first_s, last_s = np.array(bounds, np.float64).T
    return LogIndex(rows, first_s, last_s, frozenset(names))


def _opened(path: Path) -> pq.ParquetFile:
    """A Parquet file with the columns of a log."""
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise TraceError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    check_columns(path, file.schema_arrow.names, list(COLUMNS), ["duration_s"])
    if not pa.types.is_floating(kind := file.schema_arrow.field("time_s").type) and (
        not pa.types.is_integer(kind)
    ):
        raise TraceError(f"{path}: time_s: {kind} is not allowed: numbers")
    return file


def _times(batch: pa.RecordBatch) -> NDArray[np.float64]:
    return writable(batch.column("time_s").cast(pa.float64()))


def window_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    start_s: float,
    window: int,
    windows: int,
) -> Requests:
    """The requests of one of several windows of equal length."""
    index = index_of(path)
    if not index.names & set(functions) and len(functions) > 1:
        raise TraceError(f"{path}: has no invocations of {', '.join(functions[:5])}")
    begin, end = (duration_s * k / windows for k in (window, window + 1))
    times: list[list[NDArray[np.float64]]] = [[np.empty(0)] for _ in functions]
    for time, names in _rows_between(path, index, start_s, begin, end):
        owner = np.array(pc.fill_null(pc.index_in(names, pa.array(functions)), -1))
        if len(functions) == 1 and functions[0] not in index.names:
            owner = np.zeros(len(time), np.int64)  # a single one stands for all
        for k in range(len(functions)):
            times[k].append(time[owner == k])
    return merge([np.concatenate(parts) for parts in times])


def _rows_between(
    path: Path, index: LogIndex, start_s: float, begin: float, end: float
) -> Iterator[tuple[NDArray[np.float64], pa.Array]]:
    """The instants from ``start_s`` on, and the functions, of a span of time."""
    overlap = (index.last_s - start_s >= begin) & (index.first_s - start_s < end)
    groups = np.flatnonzero(overlap).tolist()
    if not groups:
        return
    for batch in _opened(path).iter_batches(columns=list(COLUMNS), row_groups=groups):
        time = _times(batch) - start_s
        here = (time >= begin) & (time < end)
        names = batch.column("function").cast(pa.string())
        yield time[here], names.filter(pa.array(here))
