"""Hands runs to an executor, and notes in the store what comes back.

The ledger is the truth, not the futures: whoever is lost, his runs are put back. A chunk that takes
its worker along is halved until the run that does it is alone; that one has failed.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrow import pa
from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments.sweep.chunks import Chunker
from cloudarena.experiments.sweep.ledger import DONE, Outcome
from cloudarena.experiments.sweep.limits import Limits
from cloudarena.experiments.sweep.plan import Plan, Run
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.statistics import CellRows
from cloudarena.experiments.sweep.store import Store, cannot_write, write_part
from cloudarena.experiments.sweep.work import (
    Chunk,
    Description,
    Receipt,
    Task,
    pickled,
    run_chunk,
)

AHEAD = 2
"""Chunks for each worker that are handed over at a time: enough that none is idle."""
BEAT_S = 5.0
"""How often a sweep says that it is alive."""
OTHERS_S = 0.5
"""How long it waits before it looks again at what another sweep is at."""
TRIES = 2
"""A run that takes its worker along so often has failed."""
LOST = 12
"""Chunks in a row that come back without a word, for each worker, and there are none
left."""
LOST_IN_TRANSIT = ("FutureCancelledError", "CommClosedError", "RaySystemError")
"""What Dask and Ray say of calls whose fate they do not know."""
TIMED_PER_SLOT = 3
"""Runs of each worker after which it is said how long a sweep takes."""


class Progress(NamedTuple):
    """How far a sweep is."""

    finished: int
    """Runs that are done or have failed, those found in the store included."""
    total: int
    failed: int
    seconds_per_run: float | None
    """How long one run takes."""
    slots: int
    """How many run at a time."""
    timed: int = 0
    """Runs of this sweep of which one knows how long they took."""

    @property
    def can_tell(self) -> bool:
        """Whether the first runs, in which each worker begins, are few of those that are known."""
        return self.timed >= TIMED_PER_SLOT * self.slots

    @property
    def seconds_left(self) -> float | None:
        """About how long it takes from now on."""
        if self.seconds_per_run is None:
            return None
        return (self.total - self.finished) * self.seconds_per_run / self.slots


class Dispatcher:
    """Hands runs to an executor and notes what comes back."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        executor: Executor,
        limits: Limits,
        slots: int,
        watcher: Callable[[Progress], None] | None,
        retry: bool,
    ) -> None:
        self.plan, self.store, self.executor = plan, store, executor
        self.limits, self.slots, self.watcher = limits, slots, watcher
        self._done = store.ledger.keys(DONE)
        self._tries_before = store.ledger.failed_tries()
        self._failed_before = set() if retry else set(self._tries_before)
        self.failed: set[str] = set()
        self.found = self.ran = 0
        self._finished = self._total = 0
        self._deaths: Counter[str] = Counter()
        self._again: deque[list[Run]] = deque()
        self._lost = 0

    def run(self, runs: Iterable[Run], total: int) -> None:
        """Runs all that are not in the store yet; returns when all are done or have failed."""
        self._total += total
        left = list(self._missing(runs))
        chunker = Chunker(left, len(left), self.slots)
        running: dict[Future[Receipt], list[Run]] = {}
        elsewhere: list[Run] = []
        self._tell(chunker)
        try:
            while True:
                while len(running) < AHEAD * self.slots:
                    chunk = self._again.popleft() if self._again else chunker.take()
                    if not chunk:
                        break
                    mine, others = self._claimed(chunk)
                    elsewhere += others
                    if mine:
                        running[self._submitted(mine)] = mine
                if not running and not elsewhere:
                    return
                if not running:
                    self._look_elsewhere(elsewhere, chunker)
                    continue
                done, _ = wait(running, timeout=BEAT_S, return_when=FIRST_COMPLETED)
                self.store.ledger.beat()
                if not done:
                    self._check_cluster()
                for future in done:
                    self._take(future, running.pop(future), chunker)
                self._tell(chunker)
        finally:
            for future in running:
                future.cancel()

    def _check_cluster(self) -> None:
        """Raises if the executor says that its cluster is gone: then futures may wait for ever."""
        is_alive: Callable[[], bool] | None = getattr(self.executor, "is_alive", None)
        if is_alive is not None and not is_alive():
            raise self._gone(ConnectionError("the cluster does not answer"))

    def cells(self, counts: Sequence[int]) -> dict[int, CellRows]:
        """What there is of each cell, by its number in the plan, if there is any.

        Args:
            counts: how many replications of each cell are looked at, the first ones.
        """
        found, seed = open_results(self.store.folder), self.plan.experiment.seed
        cells: dict[int, CellRows] = {}
        for kind in found.kinds:
            names = found.metrics(kind)
            table = found.arrow(kind, columns=["key", *names, "at_least"])
            row_of = {key: row for row, key in enumerate(table["key"].to_pylist())}
            columns = {name: np.asarray(table[name].to_numpy(), np.float64) for name in names}
            bounds = table["at_least"].to_pylist()
            rows: dict[int, list[tuple[int, int]]] = {}
            for key, cell, replication in self.plan.all_runs(0, max(counts)):
                if replication < counts[cell] and key in row_of:
                    rows.setdefault(cell, []).append((seed + replication, row_of[key]))
            for cell, pairs in rows.items():
                seeds, at = np.array(sorted(pairs)).T
                values = {name: column[at] for name, column in columns.items()}
                said = tuple(bounds[row] for row in at.tolist())
                cells[cell] = CellRows(cell, kind, "", "", str(cell), {}, seeds, values, said, ())
        return cells

    def _missing(self, runs: Iterable[Run]) -> Iterable[Run]:
        """The runs that are not in the store; each once, whoever asks for it twice."""
        seen: set[str] = set()
        for run in runs:
            if run.key in self._done or run.key in self._failed_before:
                self.found += 1
                self._finished += 1
                if run.key not in self._done:
                    self.failed.add(run.key)
            elif run.key in seen:
                self._total -= 1
            else:
                seen.add(run.key)
                yield run

    def _claimed(self, chunk: list[Run]) -> tuple[list[Run], list[Run]]:
        """Runs that are ours, and those that another sweep is at."""
        mine, others = map(set, self.store.ledger.claim([run.key for run in chunk]))
        gone = [run for run in chunk if run.key not in mine and run.key not in others]
        self._finished += len(gone)  # another sweep has done them meanwhile
        self.found += len(gone)
        self._done.update(run.key for run in gone)
        return [run for run in chunk if run.key in mine], [r for r in chunk if r.key in others]

    def _look_elsewhere(self, elsewhere: list[Run], chunker: Chunker) -> None:
        """Waits a little for another sweep; what it has failed at, failed."""
        time.sleep(OTHERS_S)
        self.store.ledger.beat()
        tries = self.store.ledger.failed_tries()
        # A failure from before this sweep is not the outcome of the try that it waits for.
        failed = {key for key in tries if tries[key] > self._tries_before.get(key, 0)}
        for run in [run for run in elsewhere if run.key in failed]:
            elsewhere.remove(run)
            self.failed.add(run.key)
            self._finished += 1
        chunker.put_back(elsewhere)
        elsewhere.clear()
        self._tell(chunker)

    def _submitted(self, runs: list[Run]) -> Future[Receipt]:
        payload = pickled(self._chunk(runs))
        try:
            return self.executor.submit(run_chunk, payload)
        except Exception as error:
            raise self._gone(error) from None

    def _chunk(self, runs: list[Run]) -> Chunk:
        specs: dict[int, int] = {}
        descriptions: list[Description] = []
        tasks: list[Task] = []
        seed = self.plan.experiment.seed
        for run in runs:
            cell = self.plan.cell(run.cell)
            if run.cell not in specs:
                specs[run.cell] = len(descriptions)
                base = cell.base
                descriptions.append(
                    Description(
                        cell.data, base.name, str(base.folder or ""), base.kind.name, cell.metrics
                    )
                )
            place = specs[run.cell]
            tasks.append(Task(run.key, place, cell.policy, seed + run.replication, cell.row()))
        folder = str(self.store.folder)
        return Chunk(tuple(descriptions), tuple(tasks), folder, self.store.token, self.limits)

    def _take(self, future: Future[Receipt], runs: list[Run], chunker: Chunker) -> None:
        """Notes what became of a chunk."""
        try:
            receipt = future.result()
        except (Exception, CancelledError) as error:
            self._lose(runs, error)
            return
        if receipt.fault:
            raise CloudarenaError(f"{receipt.fault}. {self._stored_words()}")
        self._lost = 0
        parts = list(receipt.parts)
        try:
            for name, stream in receipt.tables:
                table = pa.ipc.open_stream(stream).read_all()
                write_part(self.store.runs, name, table)
                parts.append((name, table.num_rows))
        except OSError as error:
            words = cannot_write(self.store.folder, error)
            raise CloudarenaError(f"{words}. {self._stored_words()}") from None
        outcomes = list(receipt.outcomes)
        for number, (name, rows) in enumerate(parts or [("", 0)]):
            self.store.note(outcomes if number == 0 else [], name, rows)
        chunker.learn(one.seconds for one in outcomes)
        self._count(outcomes)

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        self.ran += len(outcomes)
        self._finished += len(outcomes)
        self._done.update(one.key for one in outcomes if not one.error)
        self.failed.update(one.key for one in outcomes if one.error)

    def _lose(self, runs: list[Run], error: BaseException) -> None:
        """Puts runs back whose worker is gone; halves them, to find the one that did it."""
        self._lost += 1
        if self._lost > LOST * self.slots:
            raise self._gone(error)
        if isinstance(error, CancelledError | OSError) or type(error).__name__ in LOST_IN_TRANSIT:
            self._again.append(runs)  # the cluster has lost it, which is nobody's fault
            return
        if len(runs) > 1:
            half = len(runs) // 2
            self._again.extend((runs[:half], runs[half:]))
            return
        (run,) = runs
        self._deaths[run.key] += 1
        if self._deaths[run.key] < TRIES:
            self._again.append(runs)
            return
        cell = self.plan.cell(run.cell)
        words = json.dumps(dict(cell.row()), sort_keys=True, default=str)
        why = (
            f"the worker process ended while it ran, {TRIES} times, most likely since memory ran "
            f"out ({type(error).__name__})"
        )
        seed = self.plan.experiment.seed + run.replication
        outcome = Outcome(run.key, why, 0.0, words, seed)
        self.store.note([outcome], "", 0)
        self._count([outcome])
        self._lost = 0

    def _gone(self, error: BaseException) -> CloudarenaError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return CloudarenaError(f"the workers are gone: {reason}. {self._stored_words()}")

    def _stored_words(self) -> str:
        return f"{len(self._done):,} runs are in {self.store.folder}: the same sweep goes on"

    def _tell(self, chunker: Chunker) -> None:
        if self.watcher is not None:
            self.watcher(
                Progress(
                    self._finished,
                    self._total,
                    len(self.failed),
                    chunker.seconds_per_run,
                    self.slots,
                    chunker.timed,
                )
            )
