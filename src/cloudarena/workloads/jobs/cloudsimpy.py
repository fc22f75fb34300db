"""The job lists of CloudSimPy: Alibaba's batch jobs of 2017, made ready by its authors.

A CSV with the columns submit_time (s), duration (s), cpu (cores), memory and disk (shares of a
machine), job_id, task_id and instances_num, found by their names; disk may be missing, any other
column is ignored, such as the unnamed first one. A row is a task.

- A job is all rows with its job_id, its tasks in their order. Rows with the same task_id in a job
  are separate tasks.
- A job is submitted at the submit_time of its last row. Jobs are ordered by that time, those of
  the same time by their first row.
- Where task_id is text such as ``J5_3_4``, it says what a task waits for (see ``names``); a
  parent that the job has not is dropped, and counted.
- There are no users, estimates or gangs.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, TEXT, check, is_parquet, read_columns
from cloudarena.workloads.jobs.columns import JobWorkload, assemble, task_rules, tidy_ids
from cloudarena.workloads.jobs.names import edges_by_name
from cloudarena.workloads.jobs.source import NOBODY, Trace

TYPES = {
    "submit_time": NUMBER,
    "duration": NUMBER,
    "cpu": NUMBER,
    "memory": NUMBER,
    "job_id": TEXT,
    "task_id": TEXT,
    "instances_num": NUMBER,
}
DISK = {"disk": NUMBER}
COLUMN_OF = {"instances": "instances_num"}
"""Where a column of the file is not called as the column of a workload is."""


class Reading(NamedTuple):
    """What became of a list of jobs."""

    jobs: int
    tasks: int
    dropped_parents: int


class CloudSimPy(Trace):
    """CloudSimPy's list of jobs, such as Alibaba's of 2017; text ids may tell a DAG."""

    untold: ClassVar[Mapping[str, str]] = NOBODY
    example = "jobs.csv --out alibaba-2017"

    source: Literal["cloudsimpy-csv"]

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return {"job_id", "instances_num"} <= set(beginning.cells)

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the file, and what was left out."""
        return scan_cloudsimpy(self.path)


def load_cloudsimpy(path: Path) -> JobWorkload:
    """Reads a list of jobs."""
    return scan_cloudsimpy(path)[0]


def scan_cloudsimpy(path: Path) -> tuple[JobWorkload, Reading]:
    """Reads a list of jobs, and says what was left out."""
    optional = {**{name: None for name in _header(path) if name not in TYPES}, **DISK}
    table = read_columns(path, TYPES, optional)
    if len(table) == 0:
        raise TraceError(f"{path}: has no jobs")
    numbers = {
        name: writable(table[name])
        for name, kind in {**TYPES, **DISK}.items()
        if kind == NUMBER and name in table.column_names
    }
    submit, amount = numbers["submit_time"], numbers["instances_num"]
    check(path, "submit_time", submit, np.isfinite(submit), "a number")
    check(path, "instances_num", amount, amount == np.rint(amount), "a whole number")
    for name in ("job_id", "task_id"):
        given = pc.fill_null(pc.not_equal(table[name], ""), False)
        texts = np.array(table[name])
        check(path, name, texts, given.to_numpy(zero_copy_only=False), "any name")
    demand = np.zeros((len(table), 4))
    for k, name in enumerate(("cpu", "memory", "disk")):
        demand[:, k] = numbers.get(name, 0.0)
    duration = numbers["duration"]
    for rule in task_rules(amount, demand, duration, duration):
        check(path, COLUMN_OF.get(rule.name, rule.name), rule.values, rule.good, rule.allowed)

    jobs = pc.dictionary_encode(table["job_id"].combine_chunks())
    job = np.asarray(jobs.indices.to_numpy(), np.int64)
    # Of several values for one index the last stays.
    last = np.empty(len(jobs.dictionary), np.int64)
    last[job] = np.arange(len(job))
    task_ids = tidy_ids(table["task_id"])
    edges, dropped = None, 0
    if pa.types.is_string(task_ids.type):
        edges, dropped = edges_by_name(job, task_ids)
    workload = assemble(
        job_ids=tidy_ids(jobs.dictionary),
        submit=submit[last],
        job=job,
        task_ids=task_ids,
        instances=amount.astype(np.int64),
        demand=demand,
        duration=duration,
        edges=edges,
        source=str(path),
    )
    return workload, Reading(len(workload.submit), len(job), dropped)


def _header(path: Path) -> list[str]:
    """The names of a CSV's columns; none if they cannot be read, which the reader explains."""
    if is_parquet(path) or not path.is_file():
        return []
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
            return next(csv.reader(file), [])
    except (*UNREADABLE, csv.Error):
        return []
