"""The first part of a run, which metrics leave out.

What ended in the warm-up counts nowhere. What was submitted in it and ends later takes the place of
the shortest of what was submitted later, with all of its time: so there are as many spans as were
submitted after the warm-up, whatever a policy held back, and no mean or quantile of them is lower
for it. Utilisation is by what was submitted later; losses and money count from the end of the
warm-up on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.scenarios.jobs.state import RowState

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


def warms_up(run: JobsRun) -> bool:
    """Whether metrics leave out the first part of a run."""
    return run.scenario.warmup_s > 0.0


def since(run: JobsRun, time: float) -> float:
    """How long after the warm-up a time is; 0 before its end."""
    return max(0.0, time - run.scenario.warmup_s)


def first_job(run: JobsRun) -> int:
    """The first job that was submitted after the warm-up."""
    return int(np.searchsorted(run.told.submit, run.scenario.warmup_s)) if warms_up(run) else 0


def first_task(run: JobsRun) -> int:
    """The first task of these jobs."""
    return int(run.told.first_task[first_job(run)]) if warms_up(run) else 0


def _rows(run: JobsRun) -> NDArray[Any]:
    """All starts so far; a run with a warm-up keeps them."""
    return run.world.machines.rows[: run.world.clock[0]["rows"]]


def _spans(run: JobsRun, rows: NDArray[Any]) -> tuple[Floats, Floats]:
    """The beginnings and ends of what each start held of its machine after the warm-up."""
    begin = np.maximum(rows["start"], run.scenario.warmup_s)
    return begin, np.maximum(begin, np.minimum(rows["finish"], run.now))


def held_s(run: JobsRun) -> Floats:
    """What jobs submitted after the warm-up held of all machines, times how long."""
    rows = _rows(run)
    rows = rows[rows["task"] >= first_task(run)]
    begin, end = _spans(run, rows)
    held: Floats = (rows["count"] * (end - begin)) @ run.world.tasks.demand[rows["task"]]
    return held


def used_s(run: JobsRun) -> Floats:
    """How long each machine has had something to run after the warm-up."""
    rows = _rows(run)
    if len(rows) == 0:
        return np.zeros(len(run.world.occupants))
    begin, end = _spans(run, rows)
    count, machines = len(rows), len(run.world.occupants)
    order = np.lexsort((begin, rows["machine"]))
    machine, begin, end = rows["machine"][order], begin[order], end[order]
    ends = np.argsort(end, kind="stable")
    place = np.empty(count, np.int64)
    place[ends] = np.arange(count)
    # Machines lie one behind the other on one line, so the latest end so far is the machine's own.
    latest = np.maximum.accumulate(count * machine.astype(np.int64) + place)[:-1]
    before = np.full(count, -np.inf)
    before[1:] = np.where(latest // count == machine[1:], end[ends[latest % count]], -np.inf)
    used = np.zeros(machines)
    np.add.at(used, machine, np.maximum(0.0, end - np.maximum(begin, before)))
    return used


def losses(run: JobsRun) -> tuple[int, float]:
    """The instances that were lost after the warm-up, and all of their work."""
    rows = _rows(run)
    lost = rows[(rows["state"] == RowState.LOST) & (rows["finish"] > run.scenario.warmup_s)]
    return int(lost["count"].sum()), float(lost["count"] @ (lost["finish"] - lost["start"]))


def instances_finished(run: JobsRun) -> int:
    """The instances of jobs submitted after the warm-up that have finished."""
    return int(run.world.tasks.finished[first_task(run) :].sum())


def instance_waits(run: JobsRun) -> tuple[float, int, bool]:
    """How long instances waited before their last start, how many; whether one still waits."""
    world, rows, ready = run.world, _rows(run), run.world.progress.ready_time
    rows = rows[rows["state"] != RowState.LOST]
    waits = np.flatnonzero(np.isfinite(ready) & (world.tasks.waiting > 0))
    task = np.concatenate((rows["task"], waits))
    counts = np.concatenate((rows["count"], world.tasks.waiting[waits]))
    start = np.concatenate((rows["start"], np.full(len(waits), np.inf)))
    is_later = task >= first_task(run)
    total = int(counts[is_later].sum())
    counted = np.flatnonzero(is_later | (start > run.scenario.warmup_s))
    lasted = np.minimum(start, run.now) - ready[task]
    order = counted[np.lexsort((lasted[counted], np.isinf(start[counted])))[::-1]]
    before = np.cumsum(counts[order]) - counts[order]
    taken = np.clip(total - before, 0, counts[order])
    return float(taken @ lasted[order]), total, bool((taken * np.isinf(start[order])).any())
