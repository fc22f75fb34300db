"""Google's Borg trace of 2019 (version 3): its InstanceEvents as JSON lines.

One event in a line, as BigQuery exports the table (numbers may be text), in any order; the file
may be gzipped. Used are time (microseconds), type, collection_id, instance_index, collection_type
and resource_request.cpus and .memory (shares of the largest machine).

- A job is a collection. Each of its instances is a task of one instance, since each has a
  duration of its own.
- An instance runs from its last SCHEDULE to the EVICT, FAIL, FINISH, KILL or LOST after it: its
  last attempt. Instances whose last attempt has no end within the trace, no length or no
  resource request are skipped, and counted.
- It holds what its last event with a resource_request asks for.
- A job is submitted at the first event of the instances that are kept.
- Alloc sets and their instances are left out (collection_type 1, ALLOC_SET); that an instance
  runs within an alloc is not used. Neither are priorities, constraints and machines.
- An event at time 0 happened before the trace and is taken to be at its begin; one at the last
  possible time happened after the trace and is left out.
"""

from __future__ import annotations

import gzip
import json
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.columns import not_allowed
from cloudarena.workloads.jobs.columns import JobWorkload, assemble
from cloudarena.workloads.jobs.source import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = (
    "SUBMIT",
    "QUEUE",
    "ENABLE",
    "SCHEDULE",
    "EVICT",
    "FAIL",
    "FINISH",
    "KILL",
    "LOST",
    "UPDATE_PENDING",
    "UPDATE_RUNNING",
)
SCHEDULE = TYPES.index("SCHEDULE")
FIRST_END, LAST_END = TYPES.index("EVICT"), TYPES.index("LOST")
COLLECTIONS = ("JOB", "ALLOC_SET")
AFTER_THE_TRACE = 2**62
"""Times from here on, in microseconds, stand for "after the end of the trace"."""
NEEDED = ("time", "type", "collection_id", "instance_index")


class Reading(NamedTuple):
    """What became of a file of events."""

    jobs: int
    tasks: int
    events: int
    alloc_events: int
    skipped_instances: int


class _Events(NamedTuple):
    """Events as columns; the collection of each instance, and its number there."""

    instance: NDArray[np.int64]
    time: NDArray[np.int64]
    kind: NDArray[np.int64]
    request: NDArray[np.float64]
    collection: NDArray[np.int64]
    number: NDArray[np.int64]


class Borg2019(Trace):
    """InstanceEvents of Google's Borg trace of 2019, JSON lines."""

    example = "instance_events.json.gz --out borg"

    source: Literal["borg-2019"]

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the first event."""
        try:
            first = json.loads(next(iter(beginning.text.splitlines()), ""))
        except ValueError:
            return False
        return isinstance(first, dict) and "collection_id" in first

    def read(self) -> tuple[JobWorkload, Reading]:
        """All jobs of the file, and what was left out."""
        return scan_borg(self.path)


def load_borg(path: Path) -> JobWorkload:
    """Reads events of instances as jobs."""
    return scan_borg(path)[0]


def scan_borg(path: Path) -> tuple[JobWorkload, Reading]:
    """Reads events of instances as jobs, and says what was left out."""
    events, alloc_events = _read(path)
    order = np.lexsort((events.kind, events.time, events.instance))
    instance, time, kind = events.instance[order], events.time[order], events.kind[order]
    instances = len(events.number)
    # Of several values for one index the last stays: here the last event, or the first.
    request = np.full((instances, 2), np.nan)
    asking = ~np.isnan(events.request[order, 0])
    request[instance[asking]] = events.request[order][asking]
    first = np.zeros(instances, np.int64)
    first[instance[::-1]] = time[::-1]

    running = (kind == SCHEDULE) | ((kind >= FIRST_END) & (kind <= LAST_END))
    instance, time, kind = instance[running], time[running], kind[running]
    last_start = np.full(instances, -1)
    starts = np.flatnonzero(kind == SCHEDULE)
    last_start[instance[starts]] = starts
    after = np.minimum(last_start + 1, max(len(kind) - 1, 0))
    usable = (last_start >= 0) & ~np.isnan(request[:, 0])
    duration = np.zeros(instances)
    if len(kind):
        ended = (after > last_start) & (instance[after] == np.arange(instances))
        usable &= ended & (kind[after] != SCHEDULE) & (time[after] > time[last_start])
        duration[usable] = (time[after] - time[last_start])[usable] / 1e6
    by_name = np.lexsort((events.number, events.collection))
    rows = by_name[usable[by_name]]
    if len(rows) == 0:
        raise TraceError(f"{path}: has no instances that were scheduled and ended")

    collections, job = np.unique(events.collection[rows], return_inverse=True)
    submit = np.full(len(collections), np.inf)
    np.minimum.at(submit, job, first[rows] / 1e6)
    demand = np.zeros((len(rows), 4))
    demand[:, :2] = request[rows]
    workload = assemble(
        job_ids=pa.array(collections),
        submit=submit,
        job=job,
        task_ids=pa.array(events.number[rows]),
        instances=np.ones(len(rows), np.int64),
        demand=demand,
        duration=duration[rows],
        source=str(path),
    )
    counts = (len(events.time), alloc_events, instances - len(rows))
    return workload, Reading(len(collections), len(rows), *counts)


def _read(path: Path) -> tuple[_Events, int]:
    """The events of instances of jobs, and how many were of alloc sets."""
    if not path.is_file():
        raise TraceError(f"{path}: " + ("is a folder" if path.is_dir() else "does not exist"))
    opener = gzip.open if path.suffix == ".gz" else open
    instance, time, kind, request = array("q"), array("q"), array("b"), array("d")
    known: dict[tuple[int, int], int] = {}
    alloc_events = line = 0
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                where = f"{path}, line {line}"
                event = _object(where, text)
                if _code(where, event, "collection_type", COLLECTIONS) == 1:
                    alloc_events += 1
                    continue
                when = _whole(where, event, "time")
                if when >= AFTER_THE_TRACE:
                    continue
                key = _whole(where, event, "collection_id"), _whole(where, event, "instance_index")
                instance.append(known.setdefault(key, len(known)))
                time.append(when)
                kind.append(_code(where, event, "type", TYPES))
                request.extend(_request(where, event))
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise TraceError(f"{path}, line {line + 1}: cannot be read: {error}") from None
    names = np.array(list(known), np.int64).reshape(-1, 2)
    return _Events(
        instance=np.array(instance, np.int64),
        time=np.array(time, np.int64),
        kind=np.array(kind, np.int64),
        request=np.array(request).reshape(-1, 2),
        collection=names[:, 0],
        number=names[:, 1],
    ), alloc_events


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except ValueError as error:
        raise TraceError(f"{where}: is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise TraceError(f"{where}: is not a JSON object: {text.strip()[:60]}")
    for name in NEEDED:
        if event.get(name) is None:
            raise TraceError(f"{where}: {name!r} is missing: needed are {', '.join(NEEDED)}")
    return event


def _whole(where: str, event: dict[str, Any], name: str) -> int:
    """A whole number that may be text, at least 0."""
    value = event[name]
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise not_allowed(where, name, event[name], "a whole number, at least 0")
    return value


def _code(where: str, event: dict[str, Any], name: str, words: tuple[str, ...]) -> int:
    """A kind, as its number or its word; one that is not given is the first."""
    value = event.get(name)
    if value is None:
        return 0
    if value in words:
        return words.index(value)
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or not 0 <= number < len(words):
        raise not_allowed(where, name, value, f"one of {', '.join(words)}, or its number from 0")
    return number


def _request(where: str, event: dict[str, Any]) -> tuple[float, float]:
    """The cpus and memory that an event asks for; NaN when it does not say."""
    request = event.get("resource_request")
    if request is None:
        return np.nan, np.nan
    if not isinstance(request, dict):
        raise not_allowed(where, "resource_request", request, "an object with cpus and memory")
    amounts = []
    for name in ("cpus", "memory"):
        value = request.get(name)
        try:
            amount = 0.0 if value is None else float(value)
        except (TypeError, ValueError):
            amount = np.nan
        if not 0 <= amount < np.inf:
            raise not_allowed(where, f"resource_request.{name}", value, "a number, at least 0")
        amounts.append(amount)
    return amounts[0], amounts[1]
