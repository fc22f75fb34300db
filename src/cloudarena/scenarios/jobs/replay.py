"""Starts of a cluster from a file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pyarrow as pa

from cloudarena.scenarios.jobs.decision import JobsDecision
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import Start
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.workloads.columns import check_filled, is_parquet
from cloudarena.workloads.jobs.columns import JobWorkload, jobs_of_tasks


def task_names(workload: JobWorkload) -> list[tuple[str, str]]:
    """The names of each task's job and of the task itself, as text."""
    jobs = workload.job_ids.take(pa.array(jobs_of_tasks(workload))).to_pylist()
    tasks = workload.task_ids.to_pylist()
    return [(str(job), str(task)) for job, task in zip(jobs, tasks, strict=True)]


class Replay(DecisionFile):
    """Starts from a file: columns time_s, job, task, machine, and any of task_index and instances.

    A task is found by its names or, where a job has two of one name, by its index. Instances are 1
    by default. The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        # Parquet knows whether names are numbers; in a CSV 007 is a name.
        name = None if is_parquet(path) else pa.string()
        types = {"time_s": pa.float64(), "job": name, "task": name, "machine": pa.int64()}
        super().__init__(path, types, {"task_index": pa.int64(), "instances": pa.int64()})
        check_filled(path, self._table, self._table.column_names)
        self._starts: deque[tuple[float, int, int, int]] = deque()

    def start(self, scenario: JobsScenario, seed: int) -> None:
        """Finds the tasks of the file in the workload."""
        names = task_names(scenario.load_workload(seed))
        indices: dict[tuple[str, str], list[int]] = {}
        for index, name in enumerate(names):
            indices.setdefault(name, []).append(index)
        self._starts = deque()
        before = 0.0
        for row, values in self._rows():
            time = values["time_s"]
            if not time >= before:
                raise self._error(
                    f"time_s: {time:g} is not allowed: at least {before:g}, as before it", row
                )
            before = time
            task = self._task(row, values, names, indices)
            self._starts.append((time, task, values["machine"], values.get("instances", 1)))

    def _task(
        self,
        row: int,
        values: dict[str, Any],
        names: list[tuple[str, str]],
        indices: dict[tuple[str, str], list[int]],
    ) -> int:
        """The index of a row's task; its names must be those of the workload."""
        name = str(values["job"]), str(values["task"])
        shown = f"job {values['job']!r}, task {values['task']!r}"
        index: int | None = values.get("task_index")
        if name not in indices:
            raise self._error(f"{shown} is not in the workload", row)
        if index is None:
            if len(indices[name]) > 1:
                raise self._error(f"{shown}: {len(indices[name])} have that name: task_index says "
                                  "which", row)  # fmt: skip
            return indices[name][0]
        if index not in indices[name]:
            allowed = " or ".join(str(one) for one in indices[name][:5])
            raise self._error(f"task_index: {index} is not allowed: {shown} is {allowed}", row)
        return index

    def __call__(self, decision: JobsDecision) -> Start | None:
        """The file's next start, if it is due."""
        if self._starts and self._starts[0][0] <= decision.now:
            time, task, machine, count = self._starts.popleft()
            if time < decision.now:
                raise self._error(f"a start at {time!r} s is not allowed: nothing could start then")
            return task, machine, count
        if not decision.may_wait:
            raise self._error(f"has no start at {decision.now!r} s, when nothing else can happen")
        return None
