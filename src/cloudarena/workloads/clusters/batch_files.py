"""Batches of tasks from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cloudarena.base.errors import TraceError, nearest
from cloudarena.workloads.clusters.batches import MOST_SECONDS, MOST_TASKS, Batches
from cloudarena.workloads.columns import NUMBER, TEXT, WHOLE, place, read_columns


def read_batches(path: Path, names: list[str]) -> Batches:
    """Batches from a file with the columns time_s, class and tasks.

    Rows of one time are one batch; a class without a row has no tasks in it.
    """
    table = read_columns(path, {"time_s": NUMBER, "class": TEXT, "tasks": WHOLE})
    times, tasks = table["time_s"].to_numpy(), table["tasks"].to_numpy()
    if not len(times):
        raise TraceError(f"{path}: has no rows: at least one batch")
    number = {name: c for c, name in enumerate(names)}
    classes = table["class"].to_pylist()
    for row, name in enumerate(classes):
        if name not in number:
            raise TraceError(
                f"{place(path, row)}: class: {name!r} is not in the scenario.{nearest(name, names)}"
            )
        if not 0 <= times[row] <= MOST_SECONDS:
            raise TraceError(
                f"{place(path, row)}: time_s: {times[row]:g} is not allowed: from 0 to "
                f"{MOST_SECONDS:g}"
            )
        if not 0 <= tasks[row] <= MOST_TASKS:
            raise TraceError(
                f"{place(path, row)}: tasks: {tasks[row]} is not allowed: 0 to {MOST_TASKS:,}"
            )
    moments, batch = np.unique(times, return_inverse=True)
    counts = np.zeros((len(moments), len(names)), np.int64)
    np.add.at(counts, (batch, np.array([number[name] for name in classes])), tasks)
    filled = counts.sum(axis=1) > 0
    if not filled.any():
        raise TraceError(f"{path}: has no tasks: at least one")
    return Batches(moments[filled], counts[filled])
