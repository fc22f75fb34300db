"""The evaluations of a study in a store, a row each, so that a study that was stopped goes on.

The store is that of sweeps: Parquet files and a ledger. A row is found again by a key that hashes
all that decides the run, so the same folder may hold several studies, other methods and other
objectives, and what was run for one is not run again for another.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.files import check_writable
from cloudarena.contract import Metric, Run, Scenario
from cloudarena.experiments.sweep.ledger import Outcome
from cloudarena.experiments.sweep.rows import joined, kind_of, part_name, table_of
from cloudarena.experiments.sweep.run_key import BYTES, cell_digest, policy_digest, run_key
from cloudarena.experiments.sweep.store import LEDGER, Store, cannot_write, read_part, write_part

OBJECTIVE = "objective."
"""Begins the column of what an optimiser compares, where work left undone makes it another."""
MOST_FILES = 50
"""Files of a store beyond which they are merged when a study ends."""
UNWRITTEN_S = 0.5
"""Seconds after which rows are written, though more of the same request are to come."""
STUDY = "study"
"""The kind of rows of a simulator that is not one of cloudarena's."""


class Row(NamedTuple):
    """One evaluation that is kept."""

    key: str
    columns: Mapping[str, Any]
    """What is evaluated: ``cell``, ``scenario``, ``case``, ``policy`` and what was set."""
    seed: int
    values: Mapping[str, float]
    seconds: float


class Evaluations:
    """The rows of one kind of scenario in the store of a study.

    The folder is made when the first rows are written, so that a study with a mistake leaves none.

    Args:
        folder: where they are.
        kind: the kind of scenario, or ``study``.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = check_writable(folder)
        self._kind = kind
        self._store = Store(folder) if (folder / LEDGER).is_file() else None
        self._index: dict[str, int] = {}
        self._columns: dict[str, Floats] = {}
        if self._store is not None:
            self._read(self._store)
        self.found = len(self._index)
        """How many rows there were when the store was opened."""
        self._added: dict[str, Mapping[str, float]] = {}
        self._unwritten: list[Row] = []
        self._written_at = time.monotonic()

    def __len__(self) -> int:
        return self.found + len(self._added)

    def _read(self, store: Store) -> None:
        parts = [part for part in store.ledger.live_parts() if kind_of(part) == self._kind]
        if not parts:
            return
        table = joined([read_part(store.runs / part) for part in parts])
        self._index = {key: row for row, key in enumerate(table["key"].to_pylist())}
        self._columns = {
            name: table[name].to_numpy().astype(np.float64)
            for name in table.column_names
            if str(table[name].type) == "double"
        }

    def values(self, key: str) -> Mapping[str, float] | None:
        """What was measured in a run; None if it is not in the store."""
        if key in self._added:
            return self._added[key]
        row = self._index.get(key)
        if row is None:
            return None
        return {name: float(column[row]) for name, column in self._columns.items()}

    def add(self, rows: Sequence[Row]) -> None:
        """Keeps rows, and writes them if the last ones were written some time ago."""
        self._unwritten += rows
        self._added |= {row.key: row.values for row in rows}
        if time.monotonic() - self._written_at > UNWRITTEN_S:
            self.write()

    def write(self) -> None:
        """Writes all rows that are not in the store yet."""
        rows, self._unwritten = self._unwritten, []
        if rows:
            self._store = self._store or Store(self._folder)
            table = table_of([row[:4] for row in rows])
            name = part_name(self._kind, [row.key for row in rows])
            try:
                write_part(self._store.runs, name, table)
            except OSError as error:
                raise cannot_write(self._store.folder, error) from None
            outcomes = [Outcome(row.key, "", row.seconds, "", row.seed) for row in rows]
            self._store.note(outcomes, name, len(rows))
        self._written_at = time.monotonic()

    def close(self) -> None:
        """Writes what is not written, merges files if they are many, and closes the store."""
        try:
            self.write()
            if self._store is not None and len(self._store.ledger.live_parts()) > MOST_FILES:
                self._store.compact()
        finally:
            if self._store is not None:
                self._store.__exit__()


@contextmanager
def open_evaluations(folder: str | Path | None, kind: str) -> Iterator[Evaluations | None]:
    """The evaluations in a folder, which is made if it is not there; None without a folder."""
    if folder is None:
        yield None
        return
    kept = Evaluations(Path(folder), kind)
    try:
        yield kept
    finally:
        kept.close()


def design_digest(scenario: Scenario, policy: str) -> bytes:
    """A hash of all that the replications of a design have in common."""
    own = [policy_digest(metric.function) for metric in scenario.kind.own_metrics]
    return cell_digest(scenario.model_dump(), policy, None, (), {"evaluation": 1, "metrics": own})


def evaluation_key(digest: bytes, seed: int) -> str:
    """The key of one replication of a design."""
    return run_key(digest, seed)


def digest_of(text: str) -> bytes:
    """A hash of a text, such as what a design of a user's own simulator is."""
    return hashlib.blake2b(text.encode(), digest_size=BYTES).digest()


def measured(run: Run[Any]) -> dict[str, float]:
    """All metrics of a run that has ended, and what optimisers compare where that is not the same.

    What is compared is another where work was left undone.
    """
    kind = run.scenario.kind
    values = {metric.name: metric(run) for metric in kind.metrics}
    for metric in kind.metrics:
        if metric.better is not None:
            compared = metric.objective(run)
            if not _same(compared, values[metric.name]):
                values[f"{OBJECTIVE}{metric.name}"] = compared
    return values


def compared_value(values: Mapping[str, float], metric: Metric, is_own_way: bool) -> float:
    """What is compared of a row: the metric, or what it counts with work left undone."""
    if is_own_way:
        found = values.get(f"{OBJECTIVE}{metric.name}", np.nan)
        if not np.isnan(found):
            return float(found)
    return float(values.get(metric.name, np.nan))


def _same(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and np.isnan(other))
