"""Logs in the Standard Workload Format of the Parallel Workloads Archive.

A text with 18 numbers in each line, ``;`` before comments, and -1 for what is not known; it may
be gzipped. A line is a job of one task.

- A rigid job of ``p`` processors is a gang: ``p`` instances of one cpu each that start at once,
  on any machines. (One instance of ``p`` cpus would need one machine of that size.)
- ``p`` is the number of allocated processors or, where that is not known, of requested ones; with
  ``processors: larger`` the larger of both.
- The duration is the run time, the estimate the requested time. Where a log has requested times,
  jobs without one get the longest; with ``unknown_estimate: duration`` jobs without one get their
  run time. A log may hold jobs that ran longer than they had requested: they stay as they are.
- Memory is what was requested for a processor or, where that is not known, what was used, in GB
  (the log has KB); 0 where neither is known.
- Jobs whose run time or number of processors is not known or 0, or whose submission is not
  known, are skipped, and counted. With ``unknown_run_time_s`` those whose run time is not known
  have run so long. So are lines of status 2 to 4: parts of a job that has a line
  of its own.
- Waiting times, groups, queues, partitions, and what a job came after are not used.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.columns import not_allowed
from cloudarena.workloads.jobs.columns import JobWorkload, assemble, task_rules
from cloudarena.workloads.jobs.source import NO_EDGES, Seconds, Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
LARGEST_WHOLE = 2.0**53
"""Whole numbers from here on are not exact as floats."""
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


class Swf(Trace):
    """A log of the Parallel Workloads Archive in Standard Workload Format."""

    untold: ClassVar[Mapping[str, str]] = {
        "gang_tasks": "set: the processors of a job start together",
        **NO_EDGES,
    }
    example = "SDSC-SP2-1998-4.2-cln.swf.gz --out sdsc-sp2"

    source: Literal["swf"]
    processors: Literal["allocated", "larger"] = "allocated"
    """Processors allocated, else those requested; or the larger of both."""
    unknown_run_time_s: Seconds | None = None
    """How long jobs ran whose run time is not known; they are skipped by default."""
    unknown_estimate: Literal["longest", "duration"] = "longest"
    """What jobs without a requested time are said to take, where others have one; or all."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by a comment, or by the name of the file."""
        return beginning.text.startswith(";") or ".swf" in beginning.path.suffixes

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the file, and what was left out."""
        return scan_swf(
            self.path,
            takes_larger=self.processors == "larger",
            unknown_run_time_s=self.unknown_run_time_s,
            trusts_run_times=self.unknown_estimate == "duration",
        )


def load_swf(path: Path) -> JobWorkload:
    """Reads a log."""
    return scan_swf(path)[0]


def scan_swf(
    path: Path,
    takes_larger: bool = False,
    unknown_run_time_s: float | None = None,
    trusts_run_times: bool = False,
) -> tuple[JobWorkload, Reading]:
    """Reads a log, and says what was left out.

    Args:
        path: the log, plain or .gz.
        takes_larger: whether a job has the larger of allocated and requested processors.
        unknown_run_time_s: how long jobs ran whose run time is not known; None skips them.
        trusts_run_times: whether jobs without a requested time are said to take their run time.
    """
    log = _numbers(path)
    column = dict(zip(FIELDS, log.T, strict=True))
    whole = ("job number", "allocated processors", "requested processors", "status", "user")
    for name in whole:
        values = column[name]
        good = (values == np.rint(values)) & (np.abs(values) < LARGEST_WHOLE)
        _check(path, name, values, good, "a whole number")
    processors = _known(column["allocated processors"], column["requested processors"])
    if takes_larger:
        processors = np.maximum(processors, column["requested processors"])
    run_time = column["run time"]
    if unknown_run_time_s is not None:
        run_time = np.where(run_time < 0, unknown_run_time_s, run_time)
    memory = _known(column["requested memory"], column["used memory"])
    partial = np.isin(column["status"], PARTIAL)
    usable = (run_time > 0) & (processors > 0) & (column["submit time"] >= 0)
    rows = np.flatnonzero(usable & ~partial)
    if len(rows) == 0:
        raise TraceError(f"{path}: has no jobs whose run time and processors are known")

    demand = np.zeros((len(rows), 4))
    demand[:, 0] = 1.0
    demand[:, 1] = np.maximum(memory[rows], 0.0) / KB_PER_GB
    duration = run_time[rows]
    unknown = run_time if trusts_run_times else np.full(len(log), np.nan)
    estimate = _known(column["requested time"], unknown)[rows]
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
