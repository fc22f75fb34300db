"""What a worker does: it runs some runs, writes their rows to the store, and returns a receipt."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle

from cloudarena.base.arrow import pa
from cloudarena.base.errors import CloudarenaError, Ended, elided
from cloudarena.contract import Policy, Scenario
from cloudarena.contract.own_metrics import load_metric
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.sweep.ledger import Outcome
from cloudarena.experiments.sweep.limits import Limits, limited
from cloudarena.experiments.sweep.rows import part_name, table_of
from cloudarena.experiments.sweep.store import RUNS, TOKEN, write_part
from cloudarena.policies import SteppedPolicyWarning
from cloudarena.scenarios import kind_named
from cloudarena.version import __version__

LONGEST_ERROR = 2000
"""Characters of an error that are kept."""


class Task(NamedTuple):
    """One run for a worker."""

    key: str
    spec: int
    """Which of the chunk's descriptions it is a run of."""
    policy: str | Policy
    seed: int
    columns: Mapping[str, Any]
    """What its row says of its cell."""


class Description(NamedTuple):
    """A scenario, not validated yet."""

    data: Mapping[str, Any]
    name: str
    folder: str
    kind: str
    metrics: tuple[str, ...]


class Chunk(NamedTuple):
    """Runs that a worker takes together."""

    specs: tuple[Description, ...]
    tasks: tuple[Task, ...]
    store: str
    token: str
    limits: Limits
    version: str = __version__


class Receipt(NamedTuple):
    """What became of a chunk. Its rows are in the store, unless the worker does not see it."""

    outcomes: tuple[Outcome, ...]
    parts: tuple[tuple[str, int], ...] = ()
    """The files with the rows, and how many there are in each."""
    tables: tuple[tuple[str, bytes], ...] = ()
    """Files that the worker could not write itself, as Arrow streams."""
    fault: str = ""
    """Why nothing could be stored, such as a full disk; then there are no outcomes."""


def run_chunk(payload: bytes) -> Receipt:
    """Runs a pickled chunk. All that goes wrong in a run is its outcome, not an exception."""
    if _asked_version(payload) != __version__:
        return Receipt(
            (), fault=f"a worker has cloudarena {__version__}, the sweep {_asked_version(payload)}"
        )
    chunk: Chunk = cloudpickle.loads(payload.partition(b"\n")[2])
    outcomes, rows = [], []
    keys = [pickle_key(spec) for spec in chunk.specs]
    with _quiet():
        for task in chunk.tasks:
            outcome, metrics = _outcome(chunk, task, keys[task.spec])
            outcomes.append(outcome)
            if metrics is not None:
                kind = chunk.specs[task.spec].kind
                rows.append((kind, (task.key, task.columns, task.seed, metrics)))
    tables = {
        kind: table_of([row for one, row in rows if one == kind])
        for kind in sorted({kind for kind, _ in rows})
    }
    try:
        return _stored(chunk, tuple(outcomes), tables)
    except OSError as error:
        return Receipt((), fault=f"{chunk.store}: cannot be written: {error.strerror or error}")


def pickled(chunk: Chunk) -> bytes:
    """A chunk for another process; the version comes first, and can be read by any other."""
    return chunk.version.encode() + b"\n" + cloudpickle.dumps(chunk)


def _asked_version(payload: bytes) -> str:
    return payload.partition(b"\n")[0].decode()


def _stored(chunk: Chunk, outcomes: tuple[Outcome, ...], tables: Mapping[str, pa.Table]) -> Receipt:
    """Writes the rows, or returns them where the worker does not see the store."""
    home = Path(chunk.store)
    names = {kind: part_name(kind, table["key"].to_pylist()) for kind, table in tables.items()}
    if not sees(home, chunk.token):
        streams = tuple((names[kind], _stream(table)) for kind, table in tables.items())
        return Receipt(outcomes, tables=streams)
    for kind, table in tables.items():
        write_part(home / RUNS, names[kind], table)
    return Receipt(outcomes, tuple((names[kind], table.num_rows) for kind, table in tables.items()))


def sees(store: Path, token: str) -> bool:
    """Whether this machine has the folder of the store."""
    with contextlib.suppress(OSError):
        return (store / TOKEN).read_text() == token
    return False


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _outcome(chunk: Chunk, task: Task, key: bytes) -> tuple[Outcome, dict[str, float] | None]:
    """One run: its outcome, and its metrics if it ended well; the key is that of its scenario."""
    begin = time.perf_counter()
    metrics, error = None, ""
    try:
        if any(chunk.limits):
            _prepare(chunk.specs[task.spec].kind)
        scenario = _scenario(key)
        with limited(chunk.limits):
            metrics = simulate(scenario, task.policy, task.seed, "none").metrics
    except KeyboardInterrupt:
        raise
    except Ended as ended:
        if not getattr(ended, "words", ""):
            raise
        error = str(ended.words)  # type: ignore[attr-defined]
    except MemoryError as short:
        error = f"memory does not suffice: {str(short) or 'it ran out'}{chunk.limits.memory_words}"
    except CloudarenaError as wrong:
        error = " ".join(str(wrong).split("\n"))
        if "MemoryError" in error:  # a policy's own, which the limit may have brought about
            error += chunk.limits.memory_words
    except BaseException as other:
        where = traceback.extract_tb(other.__traceback__)[-1]
        error = f"{type(other).__name__}: {other} ({Path(where.filename).name}:{where.lineno})"
    seconds = time.perf_counter() - begin
    cell = "" if not error else json.dumps(dict(task.columns), sort_keys=True, default=str)
    return Outcome(task.key, elided(error)[:LONGEST_ERROR], seconds, cell, task.seed), metrics


def pickle_key(spec: Description) -> bytes:
    """A description as bytes, which can be looked up."""
    found: bytes = cloudpickle.dumps(spec)
    return found


@lru_cache(maxsize=64)
def _scenario(pickled_spec: bytes) -> Scenario:
    """The scenario of a description, validated once for the runs of its cell."""
    spec: Description = cloudpickle.loads(pickled_spec)
    found = kind_named(spec.kind).scenario.parse(spec.data, spec.name, spec.folder)
    return found.measuring(*(load_metric(one) for one in spec.metrics))


@lru_cache(maxsize=64)
def _prepare(kind: str) -> None:
    """Imports what the runs of a kind need: modules that a limit cuts off cannot be used again."""
    found = kind_named(kind)
    simulate(found.toy, found.default_policy, 0, "none")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leaves out what the process that runs the sweep has told already."""
    import warnings

    if threading.current_thread() is not threading.main_thread():
        yield  # the filters are those of the whole process
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteppedPolicyWarning)
        yield
