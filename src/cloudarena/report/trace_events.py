"""A run as trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing show.

Machines are processes, what runs on them are slices, and what is recorded over time are counters;
of tiers there are only these.
Slices of one thread may not overlap there, so those of a machine are laid on as few lanes as can
be: each begins on the lowest lane that is free. The format is the Trace Event Format of Chrome,
whose times are in microseconds.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.contract.kind import Kind
    from cloudarena.contract.plot import Slices
    from cloudarena.contract.result import Result

MICROSECONDS = 1e6
TIMES = ("time_s", "tick")
HISTORIES = ("series", "power", "periods")
"""Tables with one row for each time, of the whole."""
MEMBERS = ("machine", "node", "tier")
"""Columns of tables with one row for each time and member: which member it is."""
SHOWN = ("utilisation", "cpu_utilisation", "used_cores", "power_w", "fat", "thin")
"""Columns of these that become counters."""


def trace_events(result: Result, kind: Kind) -> str:
    """The JSON of a run; ``result`` has tables."""
    slices = kind.slices
    if slices is not None and slices.table not in result.tables:
        raise CloudarenaError(f"--trace: the run kept no table {slices.table!r}: record=summary")
    scale = MICROSECONDS * (result.tick_seconds or 1.0)
    events = [] if slices is None else [*_slices(result, slices, scale)]
    events += _counters(result, scale)
    if not events:
        raise CloudarenaError("--trace: the run kept nothing over time: record=summary")
    about = {"scenario": result.scenario, "policy": result.policy, "seed": result.seed}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": about})


def _slices(result: Result, slices: Slices, scale: float) -> Iterator[dict[str, Any]]:
    """The slices, after the names of the tracks; what has not ended lasts to the end of the run."""
    rows = [row for row in result.tables[slices.table].to_pylist() if row[slices.begin] is not None]
    rows.sort(key=lambda row: row[slices.begin])
    last = _end_of_run(result, slices)
    processes: dict[str, int] = {}
    lanes: dict[int, list[tuple[float, int]]] = {}
    free: dict[int, list[int]] = {}
    for row in rows:
        place = " ".join(str(row[name]) for name in slices.places) or slices.table
        if place not in processes:
            processes[place] = pid = len(processes) + 1
            words = " ".join(slices.places) or slices.table
            name = f"{words} {place}" if len(slices.places) == 1 else place
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        pid = processes[place]
        begin = row[slices.begin]
        end = last if row[slices.end] is None else row[slices.end]
        busy, spare = lanes.setdefault(pid, []), free.setdefault(pid, [])
        while busy and busy[0][0] <= begin:
            heapq.heappush(spare, heapq.heappop(busy)[1])
        lane = heapq.heappop(spare) if spare else len(busy) + 1
        heapq.heappush(busy, (end, lane))
        yield {
            "ph": "X",
            "name": "/".join(str(row[name]) for name in slices.names),
            "cat": slices.table,
            "pid": pid,
            "tid": lane,
            "ts": round(begin * scale, 3),
            "dur": round((end - begin) * scale, 3),
            "args": {key: value for key, value in row.items() if value is not None},
        }


def _end_of_run(result: Result, slices: Slices) -> float:
    """The last time in the tables, in their unit."""
    table = result.tables[slices.table]
    columns = [table[slices.begin], table[slices.end]]
    for name in HISTORIES:
        if name in result.tables:
            history = result.tables[name]
            columns += [history[time] for time in TIMES if time in history.column_names]
    times = [value for one in columns for value in one.to_pylist() if value is not None]
    return max(times, default=0.0)


def _counters(result: Result, scale: float) -> Iterator[dict[str, Any]]:
    """What is recorded over time: of the whole, and of each machine."""
    for name in HISTORIES:
        table = result.tables.get(name)
        if table is not None:
            time = next(one for one in TIMES if one in table.column_names)
            values = [one for one in _numbers(table) if one not in (*TIMES, "period")]
            yield from _counts(table, time, values, scale, None)
    for name, table in result.tables.items():
        moment, member = _first(TIMES, table), _first(MEMBERS, table)
        values = [one for one in SHOWN if one in table.column_names]
        if values and moment and member and name != "decisions":
            yield from _counts(table, moment, values, scale, member)


def _first(words: tuple[str, ...], table: pa.Table) -> str | None:
    """The first of some columns that a table has; None if it has none of them."""
    return next((one for one in words if one in table.column_names), None)


def _counts(
    table: pa.Table, time: str, values: Iterable[str], scale: float, member: str | None
) -> Iterator[dict[str, Any]]:
    """A counter for each column, at each time at which it changes."""
    size = scale if time == "tick" else MICROSECONDS
    members = table[member].to_pylist() if member else [None] * len(table)
    times = table[time].to_pylist()
    for name in values:
        before: dict[Any, Any] = {}
        for moment, who, value in zip(times, members, table[name].to_pylist(), strict=True):
            if value is None or before.get(who) == value:
                continue
            before[who] = value
            words = name if who is None else f"{name} of {member} {who}"
            event = {"ph": "C", "name": words, "pid": 0, "ts": round(moment * size, 3)}
            yield {**event, "args": {name: value}}


def _numbers(table: pa.Table) -> list[str]:
    """The columns of numbers."""
    import pyarrow as pa

    kinds = {field.name: field.type for field in table.schema}
    return [
        name
        for name, kind in kinds.items()
        if pa.types.is_integer(kind) or pa.types.is_floating(kind)
    ]
