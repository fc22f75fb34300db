"""The tables of a jobs run, made from its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrow import arrow_column, arrow_table
from cloudarena.scenarios.jobs.state import SERIES_COLUMNS, RowState
from cloudarena.workloads.jobs.columns import RESOURCES

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


def make_tables(run: JobsRun) -> dict[str, pa.Table]:
    """All tables. Times are seconds from the first submission; null where it did not happen.

    Of a stream no job is kept that has finished.
    """
    rows = run.world.machines.rows[: run.world.clock[0]["rows"]]
    if run.is_streamed:
        return {"series": series_table(run)}
    tables = {
        "instances": instances_table(run, rows),
        "tasks": tasks_table(run),
        "jobs": jobs_table(run),
        "machines": machines_table(run, rows),
        "decisions": decisions_table(run, rows),
        "series": series_table(run),
    }
    if run.record == "full":
        tables["machines_series"] = machines_series_table(run, rows)
    return tables


def instances_table(run: JobsRun, rows: NDArray[np.void]) -> pa.Table:
    """One row per instance that has finished, by job, task and number."""
    rows = rows[rows["state"] == RowState.DONE]
    rows = rows[np.lexsort((rows["first"], rows["task"]))]
    count = rows["count"]
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    task = np.repeat(rows["task"], count)
    return arrow_table(
        {
            **_names(run, task),
            "instance": np.repeat(rows["first"], count) + within,
            "machine": np.repeat(rows["machine"], count),
            "start": np.repeat(rows["start"], count),
            "finish": np.repeat(rows["finish"], count),
        }
    )


def tasks_table(run: JobsRun) -> pa.Table:
    """One row per task."""
    world, workload = run.world, run.workload
    return arrow_table(
        {
            **_names(run, np.arange(len(workload.instances))),
            "instances": workload.instances,
            "finished": world.tasks.finished,
            "duration": workload.duration,
            "ready": _or_null(world.progress.ready_time),
            "start": _or_null(world.progress.first_start),
            "finish": _or_null(world.progress.last_finish),
        }
    )


def jobs_table(run: JobsRun) -> pa.Table:
    """One row per job."""
    workload, finish = run.workload, run.world.progress.job_finish
    start = np.minimum.reduceat(run.world.progress.first_start, workload.first_task[:-1])
    return arrow_table(
        {
            "job": workload.job_ids,
            "user": workload.user,
            "tasks": np.diff(workload.first_task),
            "submit": workload.submit,
            "start": _or_null(start),
            "finish": _or_null(finish),
            "completion": _or_null(finish - workload.submit),
            "shortest": 1.0 / run.world.demand.job_weight,
        }
    )


def machines_table(run: JobsRun, rows: NDArray[np.void]) -> pa.Table:
    """One row per machine: what was held of it, averaged up to the end of the run."""
    machines, names = run.world.machines, run.scenario.machine_names()
    span = max(run.now, 1e-300)
    work = rows["count"] * (np.minimum(rows["finish"], run.now) - rows["start"])
    columns = {}
    for r, name in enumerate(RESOURCES):
        held = np.bincount(
            rows["machine"], work * run.world.tasks.demand[rows["task"], r], len(names)
        )
        columns[f"{name}_utilisation"] = held / (np.maximum(machines.capacity[:, r], 1) * span)
    count = np.bincount(rows["machine"], rows["count"], len(names)).astype(np.int64)
    return arrow_table(
        {
            "machine": np.arange(len(names)),
            "name": names,
            "speed": machines.speed,
            "starts": count,
            **columns,
        }
    )


def decisions_table(run: JobsRun, rows: NDArray[np.void]) -> pa.Table:
    """One row per action that started something, in order: a file for ``--policy replay:FILE``."""
    begin = np.flatnonzero(np.diff(rows["action"], prepend=-1))
    count = np.add.reduceat(rows["count"], begin) if len(rows) else np.zeros(0, np.int64)
    return arrow_table(
        {
            "time_s": rows["start"][begin],
            **_names(run, rows["task"][begin]),
            "machine": rows["machine"][begin],
            "instances": count,
        }
    )


def series_table(run: JobsRun) -> pa.Table:
    """The cluster after the events and starts of an instant; thinned when there are very many."""
    values = run.world.series[: run.world.clock[0]["series"]]
    columns = {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(SERIES_COLUMNS)}
    for name in ("jobs", "ready_tasks", "machines_up"):
        columns[name] = columns[name].astype(np.int64)
    return arrow_table(columns)


def machines_series_table(run: JobsRun, rows: NDArray[np.void]) -> pa.Table:
    """Every machine at each instant at which what it holds changed, from that instant on."""
    ends = rows[rows["finish"] <= run.now]
    machine = np.concatenate((rows["machine"], ends["machine"]))
    time = np.concatenate((rows["start"], ends["finish"]))
    count = np.concatenate((rows["count"], -ends["count"]))
    task = np.concatenate((rows["task"], ends["task"]))
    order = np.lexsort((time, machine))
    machine, time, count, task = machine[order], time[order], count[order], task[order]
    last = np.ones(len(time), bool)
    last[:-1] = (machine[1:] != machine[:-1]) | (time[1:] != time[:-1])
    # Each machine ends empty or with what runs now, so sums over all machines would carry that on.
    first = np.searchsorted(machine, np.arange(len(run.world.machines.up)))

    def running_sum(changes: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.concatenate(([0], np.cumsum(changes)))
        return (total[1:] - total[first[machine]])[last]

    held = {
        name: running_sum(count * run.world.tasks.demand[task, r]) / 1e6
        for r, name in enumerate(RESOURCES)
    }
    order = np.lexsort((machine[last], time[last]))
    columns = {
        "time_s": time[last],
        "machine": machine[last],
        "instances": running_sum(count),
        **held,
    }
    return arrow_table({name: values[order] for name, values in columns.items()})


def _names(run: JobsRun, task: NDArray[np.int64]) -> dict[str, pa.Array]:
    """The columns that name a task, by its names and by the index that decisions show."""
    return {
        "job": run.workload.job_ids.take(arrow_column(run.world.tasks.job[task])),
        "task": run.workload.task_ids.take(arrow_column(task)),
        "task_index": task,
    }


def _or_null(values: NDArray[np.float64]) -> pa.Array:
    return arrow_column(values, mask=~np.isfinite(values))
