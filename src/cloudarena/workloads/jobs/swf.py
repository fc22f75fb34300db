"""Logs in the Standard Workload Format of the Parallel Workloads Archive.

A text with 18 numbers in each line, ``;`` before comments, and -1 for what is not known; it may
be gzipped. A line is a job of one task.

- A rigid job of ``p`` processors is a gang: ``p`` instances of one cpu each that start at once,
  on any machines. (One instance of ``p`` cpus would need one machine of that size.)
- ``p`` is the number of allocated processors or, where that is not known, of requested ones.
- The duration is the run time, the estimate the requested time. Where a log has requested times,
  jobs without one get the longest. A log may hold jobs that ran longer than they had requested:
  they stay as they are.
- Memory is what was requested for a processor or, where that is not known, what was used, in GB
  (the log has KB); 0 where neither is known.
- Jobs whose run time or number of processors is not known or 0, or whose submission is not
  known, are skipped, and counted. So are lines of status 2 to 4: parts of a job that has a line
  of its own.
- Waiting times, groups, queues, partitions, and what a job came after are not used.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.workloads.columns import not_allowed
from cloudarena.workloads.jobs.columns import JobWorkload, assemble, task_rules

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average cpu time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
PARTIAL = (2, 3, 4)
"""The statuses of lines that tell of a part of a job."""
KB_PER_GB = 2.0**20
COLUMN_OF = {
    "instances": "allocated processors",
    "memory": "requested memory",
    "duration": "run time",
    "estimate": "requested time",
}


class Reading(NamedTuple):
    """What became of a log."""

    jobs: int
    skipped_jobs: int
    partial_lines: int


def load_swf(path: Path) -> JobWorkload:
    """Reads a log."""
    return scan_swf(path)[0]


def scan_swf(path: Path) -> tuple[JobWorkload, Reading]:
    """Reads a log, and says what was left out."""
    log = _numbers(path)
    column = dict(zip(FIELDS, log.T, strict=True))
    whole = ("job number", "allocated processors", "requested processors", "status", "user")
    for name in whole:
        _check(path, name, column[name], column[name] == np.rint(column[name]), "a whole number")
    processors = _known(column["allocated processors"], column["requested processors"])
    memory = _known(column["requested memory"], column["used memory"])
    partial = np.isin(column["status"], PARTIAL)
    usable = (column["run time"] > 0) & (processors > 0) & (column["submit time"] >= 0)
    rows = np.flatnonzero(usable & ~partial)
    if len(rows) == 0:
        raise TraceError(f"{path}: has no jobs whose run time and processors are known")

    demand = np.zeros((len(rows), 4))
    demand[:, 0] = 1.0
    demand[:, 1] = np.maximum(memory[rows], 0.0) / KB_PER_GB
    duration = column["run time"][rows]
    estimate = _known(column["requested time"], np.full(len(log), np.nan))[rows]
    for rule in task_rules(processors[rows], demand, duration, estimate):
        name = COLUMN_OF.get(rule.name, rule.name)
        _check(path, name, rule.values, rule.good, rule.allowed, rows)
    instances = processors[rows].astype(np.int64)
    workload = assemble(
        job_ids=pa.array(column["job number"][rows].astype(np.int64)),
        submit=column["submit time"][rows],
        user=column["user"][rows].astype(np.int64),
        job=np.arange(len(rows)),
        task_ids=pa.array(np.ones(len(rows), np.int64)),
        instances=instances,
        demand=demand,
        duration=duration,
        estimate=estimate,
        gang=instances > 1,
        source=str(path),
    )
    return workload, Reading(len(rows), int((~usable & ~partial).sum()), int(partial.sum()))


def _known(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values that are known, which are more than 0; else the others."""
    return np.where(values > 0, values, others)


def _numbers(path: Path) -> NDArray[np.float64]:
    """The lines of a log as rows of 18 finite numbers."""
    if not path.is_file():
        raise TraceError(f"{path}: " + ("is a folder" if path.is_dir() else "does not exist"))
    try:
        with warnings.catch_warnings():
            # An empty log is an error of its own.
            warnings.simplefilter("ignore", UserWarning)
            log = np.loadtxt(path, comments=";", encoding="latin-1", ndmin=2)
    except (ValueError, *UNREADABLE) as error:
        raise _explained(path, error) from None
    if log.size == 0:
        raise TraceError(f"{path}: has no jobs")
    if log.shape[1] != len(FIELDS):
        raise _explained(path, ValueError("it has not 18 columns"))
    for name, values in zip(FIELDS, log.T, strict=True):
        _check(path, name, values, np.isfinite(values), "a number")
    return log


def _check(
    path: Path,
    name: str,
    values: NDArray[np.float64],
    good: NDArray[np.bool_],
    allowed: str,
    rows: NDArray[np.int64] | None = None,
) -> None:
    """Raises for the first value that is not good; ``rows`` are the values' rows in the log."""
    if good.all():
        return
    at = int(np.argmin(good))
    row = at if rows is None else int(rows[at])
    line = next((line for k, (line, _) in enumerate(_lines(path)) if k == row), row + 1)
    raise not_allowed(f"{path}, line {line}", name, values[at], allowed)


def _explained(path: Path, error: Exception) -> TraceError:
    """Finds the line that is not 18 numbers."""
    for line, words in _lines(path):
        where = f"{path}, line {line}"
        if len(words) != len(FIELDS):
            return TraceError(f"{where}: has {len(words)} columns: {len(FIELDS)} are needed")
        for name, word in zip(FIELDS, words, strict=True):
            try:
                float(word)
            except ValueError:
                return not_allowed(where, name, word, "a number")
    return TraceError(f"{path}: cannot be read: {error}")


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines with jobs, and their numbers. Slow: only errors need it."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="latin-1") as file:
            for line, text in enumerate(file, 1):
                words = text.partition(";")[0].split()
                if words:
                    yield line, words
    except UNREADABLE:
        return
