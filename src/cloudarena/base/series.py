"""The recorded history of machines, nodes or the whole, resampled to a grid of times.

A history of members has a row per time and member: its first column is the time (a tick, or
``time_s``), its second the member. Some have a row for every member at every time, others only when
a member changes. At a time of the grid each member has its last row up to then; members that have
none yet are left out.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 100_000_000
"""A grid with more rows than this is refused: nobody meant it, and memory would not hold it."""


TIMES = ("tick", "time_s", "begin_s")
"""The columns that say when, in histories of the whole; one of the first two."""


def history_of_the_whole(table: pa.Table | None) -> pa.Table | None:
    """A table with one row for each time, its time first; None if it is not such a table."""
    import numpy as np

    if table is None:
        return None
    names = table.column_names
    time = next((name for name in names[:2] if name in TIMES), None)
    if time is None or (np.diff(table[time].to_numpy()) <= 0).any():
        return None
    return table.select([time, *(name for name in names if name != time)])


def resampled(
    table: pa.Table,
    every: int | None,
    every_s: float | None,
    tick_seconds: float | None,
    has_members: bool = True,
) -> pa.Table:
    """The history at each n-th recorded time, or every so many seconds.

    The schema's metadata say what was kept, under ``kept``.

    Args:
        table: the history, in the order of its times.
        every: keeps each n-th of the recorded times, from the first on.
        every_s: keeps the times 0, ``every_s``, 2 ``every_s``, ... up to the last recorded one;
            the column ``time_s`` holds them.
        tick_seconds: the length of a tick, where the times are ticks.
        has_members: whether the second column is the member; else there is a row for each time.
    """
    import numpy as np

    _check(every, every_s)
    name, member = table.column_names[:2]
    time = table[name].to_numpy()
    members = table[member].to_numpy(zero_copy_only=False) if has_members else np.zeros(len(time))
    recorded, first_row = np.unique(time, return_index=True)
    if every is None and every_s is None:
        return _told(table, f"all {len(recorded):,} recorded times")
    if len(recorded) == 0:
        nothing = table if every_s is None else _with_column(table, "time_s", np.empty(0))
        return _told(nothing, "nothing: no time was recorded")
    if every_s is None:
        assert every is not None
        grid, seconds = recorded[::every], None
        kept = (
            f"{len(grid):,} of {len(recorded):,} recorded times, each {_ordinal(every)}, "
            f"{_range(name, grid)}"
        )
    else:
        at = _seconds(table, name, recorded, first_row, tick_seconds)
        # A time of the grid that differs from a recorded one by rounding is that one.
        slack = 1e-9 * every_s + 1e-12 * float(at[-1])
        steps = (float(at[-1]) + slack) / every_s
        _check_rows(steps, len(np.unique(members)), every_s)
        seconds = np.arange(math.floor(steps) + 1) * float(every_s)
        last = np.searchsorted(at, seconds + slack, side="right") - 1
        seconds, last = seconds[last >= 0], last[last >= 0]
        grid = recorded[last]
        kept = f"{len(grid):,} times, every {every_s:g} s, of {len(recorded):,} recorded times"
    rows, points = _last_rows(members, time, grid)
    result = table.take(rows)
    if seconds is not None:
        result = _with_column(result, "time_s", seconds[points])
    else:
        result = result.set_column(0, name, [grid[points]])
    return _told(result, f"{kept}; {result.num_rows:,} rows from {table.num_rows:,}")


def _check(every: int | None, every_s: float | None) -> None:
    if every is not None and every_s is not None:
        raise CloudarenaError("every and every_s are not allowed together: one of them")
    if every is not None and not (_is_number(every, Integral) and every >= 1):
        raise CloudarenaError(f"every: {every} is not allowed: a whole number, at least 1")
    if every_s is not None and not (_is_number(every_s, Real) and every_s > 0):
        raise CloudarenaError(f"every_s: {every_s} is not allowed: a number of seconds above 0")


def _is_number(value: Any, kind: type) -> bool:
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and math.isfinite(float(value))


def _check_rows(times: float, members: int, every_s: float) -> None:
    if times * members > MOST_ROWS:
        raise CloudarenaError(
            f"every_s: {every_s:g} is not allowed: {times:.4g} times of {members:,} members are "
            f"more than {MOST_ROWS:,} rows"
        )


def _seconds(
    table: pa.Table, name: str, recorded: Any, first_row: Any, tick_seconds: float | None
) -> Any:
    """The recorded times in seconds."""
    if name in ("time_s", "begin_s"):
        return recorded
    if "time_s" in table.column_names:
        return table["time_s"].to_numpy()[first_row]
    if tick_seconds is None:
        raise CloudarenaError(f"every_s is not allowed: how long a {name} is was not recorded")
    return recorded * tick_seconds


def _last_rows(members: Any, time: Any, grid: Any) -> tuple[Any, Any]:
    """Finds the last row of each member up to each time of the grid; rows and grid points."""
    import numpy as np

    names, member = np.unique(members, return_inverse=True)
    order = np.lexsort((time, member))
    by_member = np.searchsorted(member[order], np.arange(len(names) + 1))
    rows, points = [], []
    for k in range(len(names)):
        own = order[by_member[k] : by_member[k + 1]]
        last = np.searchsorted(time[own], grid, side="right") - 1
        there = np.flatnonzero(last >= 0)
        rows.append(own[last[there]])
        points.append(there)
    all_rows, all_points = np.concatenate(rows), np.concatenate(points)
    in_order = np.lexsort((member[all_rows], all_points))
    return all_rows[in_order], all_points[in_order]


def _with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with a column set, or put first if it is new."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, [values])
    return table.add_column(0, name, [values])


def _told(table: pa.Table, kept: str) -> pa.Table:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), "kept": kept})


def _range(name: str, grid: Any) -> str:
    """The times of a grid: ``tick 0 to 480 in steps of 60``."""
    import numpy as np

    steps = np.unique(np.diff(grid))
    even = f" in steps of {steps[0]:g}" if len(steps) == 1 else ""
    return f"{name} {grid[0]:g} to {grid[-1]:g}{even}"


def _ordinal(number: int) -> str:
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
