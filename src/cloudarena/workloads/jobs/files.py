"""The canonical format of a job trace: one table ``jobs`` with a row for each task.

As Parquet or CSV (also gzipped), with the columns

- job, task: names, as text or whole numbers;
- submit_s: when the job is submitted, in seconds from any origin, the same in all its rows;
- instances, cpu, memory, duration_s: how many instances the task has, what one of them holds,
  and for how long it runs at speed 1;

and any of disk, gpu (0 where empty), user (a whole number, or a name; the same in all rows of a
job), estimate_s (what was said beforehand that it would take; the longest of the file where empty),
gang (true when all instances must start at once; false where empty), gpu_models (the models of GPUs
that the task allows, with ``|`` between them; any where empty) and parents (the names of the tasks
it waits for, with spaces or ``;`` between them).

Jobs may stand in any order, their rows too; those of a job stay in their order, and jobs of the
same time in that of their first rows. Two tasks of a job may have one name: as a parent it stands
for both. Memory, disk and gpu have the unit that the machines of the scenario have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads import columns
from cloudarena.workloads.arrays import codes, plain, writable
from cloudarena.workloads.columns import (
    NUMBER,
    TEXT,
    ColumnType,
    check,
    is_parquet,
    location,
    not_allowed,
    read_columns,
    write_table,
)
from cloudarena.workloads.jobs.columns import (
    JobWorkload,
    assemble,
    jobs_of_tasks,
    task_rules,
    tidy_ids,
)
from cloudarena.workloads.jobs.names import find_parents
from cloudarena.workloads.jobs.source import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudarena.workloads.jobs.stream import JobStream

TYPES: dict[str, ColumnType] = {
    "job": TEXT,
    "submit_s": NUMBER,
    "task": TEXT,
    "instances": NUMBER,
    "cpu": NUMBER,
    "memory": NUMBER,
    "duration_s": NUMBER,
}
OPTIONAL_TYPES = {
    "disk": NUMBER,
    "gpu": NUMBER,
    "user": TEXT,
    "estimate_s": NUMBER,
    "gang": TEXT,
    "gpu_models": TEXT,
    "parents": TEXT,
}
COLUMN_OF = {"duration": "duration_s", "estimate": "estimate_s"}
GANG = {"true": True, "1": True, "false": False, "0": False, "": False}


class JobFile(Trace):
    """A job trace in the canonical format, checked and sorted, as trace convert writes it."""

    aliases = ("jobs",)
    untold: ClassVar[Mapping[str, str]] = {}
    canonical: ClassVar[Mapping[str, str]] = {"path": "jobs"}
    example = "my-jobs.csv --out my-trace"

    source: Literal["file"]
    stream: bool = False
    """Whether jobs are read as they arrive, so that only unfinished ones are in memory."""

    @model_validator(mode="after")
    def _can_be_streamed(self) -> JobFile:
        if not self.stream:
            return self
        if not is_parquet(self.path):
            raise PydanticCustomError(
                "not_allowed",
                f"stream: true is not allowed with {self.path.name}: a Parquet file, as trace "
                "convert writes it",
            )
        if self._is_cut:
            raise PydanticCustomError(
                "not_allowed",
                "stream: true is not allowed with offset, jobs, window, resample, scale or "
                "estimates: all jobs of the file",
            )
        return self

    @property
    def _is_cut(self) -> bool:
        """Whether not all jobs are taken as they are."""
        others = set(JobFile.model_fields) - {"source", "path", "stream"}
        return any(getattr(self, name) != JobFile.model_fields[name].default for name in others)

    def parts(self, seed: int) -> JobStream | None:
        """The jobs a part at a time, if they are to be read as they arrive."""
        if not self.stream:
            return None
        from cloudarena.workloads.jobs.file_stream import stream_job_file

        return stream_job_file(self.path)

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns; Parquet is taken for such a table."""
        return beginning.data.startswith(b"PAR1") or {"job", "task", "duration_s"} <= set(
            beginning.cells
        )

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the file, and how many there are."""
        workload = load_job_file(self.path)
        return workload, Reading(len(workload.submit), len(workload.instances))


class Reading(NamedTuple):
    """What is in a table."""

    jobs: int
    tasks: int


def load_job_file(path: Path) -> JobWorkload:
    """Reads and checks a table of jobs."""
    types = dict(TYPES)
    if is_parquet(path):
        # Parquet knows whether names are numbers; in a CSV they are looked at.
        types.update(job=None, task=None)
    table = read_columns(path, types, OPTIONAL_TYPES)
    if len(table) == 0:
        raise TraceError(f"{path}: has no jobs")
    return jobs_of_table(path, table)


def jobs_of_table(
    path: Path,
    table: pa.Table,
    first_row: int = 0,
    begin: float | None = None,
    longest: float = math.nan,
) -> JobWorkload:
    """The jobs of rows that begin at a row of a file.

    Args:
        path: the file.
        table: the rows.
        first_row: the number of the first of them.
        begin: when the first job of the file was submitted, if it is not among these.
        longest: the estimate of tasks without one; by default the longest of these rows.
    """
    check = partial(columns.check, first_row=first_row)
    texts = {
        name: pc.fill_null(table[name].combine_chunks().cast(pa.string()), "")
        for name in ("job", "task", "user", "gang", "gpu_models", "parents")
        if name in table.column_names
    }
    for name in ("job", "task"):
        given = pc.not_equal(texts[name], "").to_numpy(zero_copy_only=False)
        check(path, name, np.array(texts[name]), given, "any name")
    jobs = pc.dictionary_encode(texts["job"])
    job = np.asarray(jobs.indices.to_numpy(), np.int64)
    first = np.empty(len(jobs.dictionary), np.int64)
    first[job[::-1]] = np.arange(len(job))[::-1]

    submit = writable(table["submit_s"])
    check(path, "submit_s", submit, np.isfinite(submit), "a number")
    same = submit == submit[first[job]]
    check(path, "submit_s", submit, same, "the same in all rows of a job")
    amount, demand, duration, estimate = _sizes(table)
    check(path, "instances", amount, amount == np.rint(amount), "a whole number")
    for rule in task_rules(amount, demand, duration, estimate):
        check(path, COLUMN_OF.get(rule.name, rule.name), rule.values, rule.good, rule.allowed)
    estimate = np.where(np.isnan(estimate), longest, estimate)
    user = _users(path, texts["user"], first[job]) if "user" in texts else None
    return assemble(
        job_ids=_names(path, table["job"]).take(pa.array(first)),
        submit=submit[first],
        user=None if user is None else user[first],
        job=job,
        task_ids=_names(path, table["task"]),
        instances=amount.astype(np.int64),
        demand=demand,
        duration=duration,
        estimate=estimate,
        gang=_gangs(path, texts["gang"]) if "gang" in texts else None,
        edges=_edges(path, job, texts) if "parents" in texts else None,
        gpu_models=np.array(texts["gpu_models"].to_pylist()) if "gpu_models" in texts else None,
        source=str(path),
        begin=begin,
    )


def write_job_files(
    workload: JobWorkload, folder: Path, texts: Mapping[str, str] | None = None
) -> None:
    """Writes ``jobs.parquet`` into a folder, and texts beside it, by name."""
    write_table(job_table(workload), folder, "jobs", texts)


def job_table(workload: JobWorkload) -> pa.Table:
    """The canonical table of a workload, with all columns; to read it gives the same workload."""
    owner = jobs_of_tasks(workload)
    models = workload.gpu_models
    return pa.table(
        {
            "job": workload.job_ids.take(pa.array(owner)),
            "submit_s": workload.begin_s + workload.submit[owner],
            "task": workload.task_ids,
            "instances": workload.instances,
            "cpu": workload.demand[:, 0],
            "memory": workload.demand[:, 1],
            "duration_s": workload.duration,
            "disk": workload.demand[:, 2],
            "gpu": workload.demand[:, 3],
            "user": workload.user[owner],
            "estimate_s": pa.array(workload.estimate, mask=np.isnan(workload.estimate)),
            "gang": workload.gang,
            **({} if models is None else {"gpu_models": pa.array(models.tolist(), pa.string())}),
            "parents": _parents(workload),
        }
    )


def _names(path: Path, column: pa.ChunkedArray) -> pa.Array:
    """Names as they stand in Parquet; whole numbers or text in a CSV."""
    if not is_parquet(path):
        return tidy_ids(column)
    names = plain(column.combine_chunks())
    return names if names.type == pa.int64() else names.cast(pa.string())


def _sizes(table: pa.Table) -> tuple[NDArray[Any], ...]:
    """Instances, demand, duration and estimate; an empty cell that may not be one is NaN."""

    def column(name: str, default: Any) -> NDArray[np.float64]:
        if name not in table.column_names:
            return np.broadcast_to(default, len(table)).astype(np.float64)
        values = writable(table[name])
        empty = table[name].is_null().to_numpy()
        return np.where(empty, default, values)

    demand = [column("cpu", np.nan), column("memory", np.nan), column("disk", 0), column("gpu", 0)]
    duration = column("duration_s", np.nan)
    estimate = column("estimate_s", np.nan)
    return column("instances", np.nan), np.column_stack(demand), duration, estimate


def _users(path: Path, names: pa.Array, first_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers as they are; names numbered in order of appearance."""
    users = codes(names)
    same = users == users[first_row]
    check(path, "user", np.array(names), same, "the same in all rows of a job")
    numbers = tidy_ids(names)
    return writable(numbers) if numbers.type == pa.int64() else users


def _gangs(path: Path, texts: pa.Array) -> NDArray[np.bool_]:
    words = pc.dictionary_encode(texts)
    meaning = [GANG.get(word.lower()) for word in words.dictionary.to_pylist()]
    known = np.array([value is not None for value in meaning])[words.indices.to_numpy()]
    check(path, "gang", np.array(texts), known, "true or false")
    return np.array(meaning, np.bool_)[words.indices.to_numpy()]


def _edges(path: Path, job: NDArray[np.int64], texts: dict[str, pa.Array]) -> NDArray[np.int64]:
    """The rows of (task, parent) that the column ``parents`` tells."""
    spaced = pc.utf8_trim_whitespace(pc.replace_substring(texts["parents"], ";", " "))
    lists = pc.utf8_split_whitespace(spaced)
    # A text without words is split into one empty word.
    given = pc.not_equal(lists.flatten(), "")
    names = lists.flatten().filter(given)
    task = np.asarray(pc.list_parent_indices(lists).filter(given).to_numpy(), np.int64)
    numbers = codes(pa.concat_arrays([texts["task"], names]))
    own, wanted = numbers[: len(job)], numbers[len(job) :]
    edges, missing = find_parents(task, wanted, job, own)
    if missing.any():
        at = int(np.argmax(missing))
        row, name = int(task[at]), names[at].as_py()
        others = texts["task"].filter(pa.array(job == job[row])).to_pylist()
        wrong = not_allowed(location(path, row), "parents", name, "a task of the same job")
        raise TraceError(f"{wrong}.{nearest(name, others)}")
    return edges


def _parents(workload: JobWorkload) -> pa.Array:
    """The parents of each task as text."""
    names = workload.task_ids.cast(pa.string()).take(pa.array(workload.parents))
    spaced = pc.match_substring_regex(names, r"[\s;]")
    if pc.any(spaced).as_py():
        name = names.filter(spaced)[0].as_py()
        raise TraceError(
            f"task {name!r}: tasks wait for it, but among parents its name cannot be written: it "
            "has a space or ';' in it"
        )
    first = pa.array(workload.first_parent.astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(first, names), " ")
