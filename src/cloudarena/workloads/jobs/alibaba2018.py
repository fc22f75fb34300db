"""Alibaba's cluster trace of 2018: its table of batch tasks, ``batch_task``, as published.

A CSV without header: task_name, instance_num, job_name, task_type, status, start_time (s),
end_time (s), plan_cpu (100 is a core), plan_mem (percent of a machine). It may be gzipped, but
must not be inside a tar archive. It is read in batches, so that only what is kept of its 14
million rows is in memory.

- Rows of another status than the wanted one are left out. So are rows with an empty cell (tasks
  without a plan) and rows that cannot be: an end before the start, fewer instances than one, a
  plan below 0 or a plan_mem above 100. Each is counted.
- What a task waits for is in its name (see ``names``). A parent that is not among the kept
  rows of the job is dropped, and counted.
- Cut-off names make the tasks of some published jobs wait for each other in a circle (the
  publisher's issues 115 and 136). Such jobs are left out, and counted.
- An instance runs for end - start, at least a second. That is the time of its task: the
  publisher's start is when a task was registered, before its parents had finished (issue 56),
  so the tasks of a DAG, run one after the other, take longer than they took there.
- A job is submitted at the earliest start of its tasks.
- Memory is a share of a machine, from 0 to 1. There are no users, estimates or gangs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.engine.dag import parent_lists, task_levels
from cloudarena.workloads.columns import NUMBER, WORD, read_batches
from cloudarena.workloads.jobs.columns import TERMINATED, JobWorkload, assemble
from cloudarena.workloads.jobs.names import edges_by_name
from cloudarena.workloads.jobs.source import NOBODY, Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = (
    "task_name",
    "instance_num",
    "job_name",
    "task_type",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
)
TYPES = {
    "task_name": WORD,
    "instance_num": NUMBER,
    "job_name": WORD,
    "status": WORD,
    "start_time": NUMBER,
    "end_time": NUMBER,
    "plan_cpu": NUMBER,
    "plan_mem": NUMBER,
}
NUMBERS = tuple(name for name, kind in TYPES.items() if kind == NUMBER)
KEPT = ("task_name", "job_name", *NUMBERS)

STATUS = TERMINATED
"""The status of the tasks that are taken by default."""


class Reading(NamedTuple):
    """What became of a table of tasks."""

    jobs: int
    tasks: int
    rows_of_other_status: int
    incomplete_rows: int
    impossible_rows: int
    dropped_parents: int
    jobs_in_circles: int


Status = Annotated[str | None, AfterValidator(lambda word: None if word == "any" else word)]
"""The status of the tasks that are taken; None takes all."""


def is_batch_task(beginning: Beginning) -> bool:
    """Whether a file is such a table: task, count, job, type, status, times and plans."""
    cells = beginning.cells
    return len(cells) == len(NAMES) and cells[1].isdigit() and cells[4].isalpha()


class Alibaba2018(Trace):
    """The table batch_task of Alibaba's trace of 2018, CSV without header."""

    untold: ClassVar[Mapping[str, str]] = NOBODY
    example = "batch_task.csv --jobs 1000 --out alibaba-2018"

    source: Literal["alibaba-2018"]
    status: Status = TERMINATED
    """Takes tasks of this status; null, or any, takes all."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by nine cells without a header."""
        return is_batch_task(beginning)

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the file, and what was left out."""
        return scan_alibaba2018(self.path, self.status)


def load_alibaba2018(path: Path, status: str | None = STATUS) -> JobWorkload:
    """Reads a table of tasks: those of a status, or all with None."""
    return scan_alibaba2018(path, status)[0]


def scan_alibaba2018(path: Path, status: str | None = STATUS) -> tuple[JobWorkload, Reading]:
    """Reads a table of tasks, and says what was left out."""
    if path.name.endswith((".tar", ".tar.gz", ".tgz")):
        raise TraceError(f"{path}: is an archive: unpack it, and give the CSV in it")
    parts, left_out = [], np.zeros(3, np.int64)
    for _, batch in read_batches(path, TYPES, NAMES, empty_cells=True):
        good, counts = _choose(batch, status)
        parts.append(batch.select(KEPT).filter(pa.array(good)))
        left_out += counts
    tasks = pa.concat_tables(parts).unify_dictionaries().combine_chunks() if parts else None
    if tasks is None or len(tasks) == 0:
        words = "" if status is None else f" of status {status}"
        raise TraceError(f"{path}: has no usable tasks{words}")

    edges, dropped = edges_by_name(_codes(tasks["job_name"]), tasks["task_name"].chunk(0))
    circling = _in_circles(_codes(tasks["job_name"]), edges)
    jobs_in_circles = len(np.unique(_codes(tasks["job_name"])[circling]))
    if jobs_in_circles:
        kept = np.flatnonzero(~circling)
        new_index = np.full(len(tasks), -1)
        new_index[kept] = np.arange(len(kept))
        edges = new_index[edges[~circling[edges[:, 0]]]]
        tasks = tasks.take(pa.array(kept)).combine_chunks()
        if len(tasks) == 0:
            raise TraceError(f"{path}: the tasks of every job wait for each other in a circle")
    workload = _workload(tasks, edges, str(path))
    other_status, incomplete, impossible = left_out.tolist()
    return workload, Reading(
        jobs=len(workload.submit),
        tasks=len(workload.instances),
        rows_of_other_status=other_status,
        incomplete_rows=incomplete,
        impossible_rows=impossible,
        dropped_parents=dropped,
        jobs_in_circles=jobs_in_circles,
    )


def _choose(batch: pa.Table, status: str | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which rows are kept; how many have another status, an empty cell, an impossible value."""
    wanted = np.ones(len(batch), np.bool_)
    if status is not None:
        words = batch["status"].combine_chunks()
        wanted = np.array([*words.dictionary.to_pylist(), None]) == status
        wanted = wanted[pc.fill_null(words.indices, len(words.dictionary)).to_numpy()]
    amount, start, end, cpu, memory = (batch[name].to_numpy() for name in NUMBERS)
    complete = np.ones(len(batch), np.bool_)
    for values in (amount, start, end, cpu, memory):
        complete &= ~np.isnan(values)
    for name in ("task_name", "job_name"):
        given = pc.fill_null(pc.not_equal(batch[name].cast(pa.string()), ""), False)
        complete &= given.to_numpy(zero_copy_only=False)
    possible = (amount >= 1) & (start >= 0) & (end >= start) & np.isfinite(end)
    possible &= (cpu >= 0) & (memory >= 0) & (memory <= 100)
    counts = [(~wanted).sum(), (wanted & ~complete).sum(), (wanted & complete & ~possible).sum()]
    return wanted & complete & possible, np.array(counts, np.int64)


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """The number of each word of a column of words."""
    return np.asarray(column.combine_chunks().indices.to_numpy(), np.int64)


def _in_circles(job: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True for the tasks of jobs whose tasks wait for each other in a circle."""
    stuck = task_levels(*parent_lists(len(job), edges)) < 0
    bad = np.zeros(job.max() + 1, np.bool_)
    bad[job[stuck]] = True
    return bad[job]


def _workload(tasks: pa.Table, edges: NDArray[np.int64], source: str) -> JobWorkload:
    words = tasks["job_name"].combine_chunks()
    # The jobs that are left, in order of appearance.
    again = pc.dictionary_encode(words.indices)
    job = np.asarray(again.indices.to_numpy(), np.int64)
    amount, start, end, cpu, memory = (tasks[name].to_numpy() for name in NUMBERS)
    submit = np.full(len(again.dictionary), np.inf)
    np.minimum.at(submit, job, start)
    none = np.zeros(len(tasks))
    return assemble(
        job_ids=words.dictionary.take(again.dictionary),
        submit=submit,
        job=job,
        task_ids=tasks["task_name"].combine_chunks().cast(pa.string()),
        instances=np.rint(np.minimum(amount, 1e15)).astype(np.int64),
        demand=np.column_stack((cpu / 100.0, memory / 100.0, none, none)),
        duration=np.maximum(end - start, 1.0),
        edges=edges,
        source=source,
    )
