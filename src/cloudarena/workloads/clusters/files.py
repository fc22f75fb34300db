"""Batches from a file, the canonical format: a table with the columns time_s, class and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.clusters.batches import MOST_SECONDS, MOST_TASKS, Batches, Group
from cloudarena.workloads.clusters.source import BatchSource
from cloudarena.workloads.columns import NUMBER, TEXT, WHOLE, location, read_columns, write_table


class BatchFile(BatchSource):
    """Batches from a file with the columns time_s, class and tasks."""

    aliases = ("batches",)
    canonical: ClassVar[Mapping[str, str]] = {"path": "batches"}
    example = "--kind clusters my-batches.csv --out my-batches"

    source: Literal["file"]
    path: SpecPath
    """The table, CSV or Parquet."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return set(beginning.cells) == {"time_s", "class", "tasks"}

    def arrivals(
        self,
        seed: int,
        names: Sequence[str] = (),
        seconds: Sequence[float] = (),
        vms: int = 1,
        groups: Sequence[Group] = (),
    ) -> Batches:
        """The batches; the same for every seed."""
        return read_batches(self.path, names)


def write_batches(batches: Batches, folder: Path, texts: Mapping[str, str] | None = None) -> None:
    """Writes ``batches.parquet`` into a folder: a row for each class that a batch has tasks of."""
    batch, class_index = np.nonzero(batches.tasks)
    table = pa.table(
        {
            "time_s": batches.times[batch],
            "class": pa.array(batches.names).take(pa.array(class_index)),
            "tasks": batches.tasks[batch, class_index],
        }
    )
    write_table(table, folder, "batches", texts)


def read_batches(path: Path, names: Sequence[str] = ()) -> Batches:
    """Batches from a file; rows of one time are one batch, a class without a row has no tasks.

    Args:
        path: the table.
        names: the classes that may be there; those of the table, in its order, by default.
    """
    table = read_columns(path, {"time_s": NUMBER, "class": TEXT, "tasks": WHOLE})
    times, tasks = table["time_s"].to_numpy(), table["tasks"].to_numpy()
    if not len(times):
        raise TraceError(f"{path}: has no rows: at least one batch")
    classes = table["class"].to_pylist()
    names = tuple(names) or tuple(dict.fromkeys(classes))
    class_index = {name: c for c, name in enumerate(names)}
    for row, name in enumerate(classes):
        if name not in class_index:
            raise TraceError(
                f"{location(path, row)}: class: {name!r} is not in the scenario."
                f"{nearest(name, names)}"
            )
        if not 0 <= times[row] <= MOST_SECONDS:
            raise TraceError(
                f"{location(path, row)}: time_s: {times[row]:g} is not allowed: from 0 to "
                f"{MOST_SECONDS:g}"
            )
        if not 0 <= tasks[row] <= MOST_TASKS:
            raise TraceError(
                f"{location(path, row)}: tasks: {tasks[row]} is not allowed: 0 to {MOST_TASKS:,}"
            )
    moments, batch = np.unique(times, return_inverse=True)
    counts = np.zeros((len(moments), len(names)), np.int64)
    np.add.at(counts, (batch, np.array([class_index[name] for name in classes])), tasks)
    filled = counts.sum(axis=1) > 0
    if not filled.any():
        raise TraceError(f"{path}: has no tasks: at least one")
    return Batches(moments[filled], counts[filled], names)
