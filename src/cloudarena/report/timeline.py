"""The scenario's plots over time, thinned so that the page stays small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Plot, Scenario

if TYPE_CHECKING:
    import pyarrow as pa

MAX_POINTS = 1000
MAX_MARKS = 400
"""Vertical lines of a policy; of more, every n-th is drawn."""
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


def timelines(
    scenario: Scenario, samples: Mapping[str, Mapping[str, pa.Table]]
) -> list[dict[str, Any]]:
    """Each plot as plain values for JSON, with a line for each policy that recorded it."""
    drawn = (_timeline(scenario, plot, samples) for plot in scenario.kind.plots)
    return [timeline for timeline in drawn if timeline["lines"]]


def thin(values: NDArray[np.float64], limit: int = MAX_POINTS) -> NDArray[np.float64]:
    """At most ``limit`` values, each the mean of as many neighbours."""
    return _group_means(values, group_size(len(values), limit))


def group_size(points: int, limit: int = MAX_POINTS) -> int:
    """How many neighbours one drawn point stands for."""
    return max(1, -(-points // limit))


def _timeline(
    scenario: Scenario, plot: Plot, samples: Mapping[str, Mapping[str, pa.Table]]
) -> dict[str, Any]:
    columns = {}
    for policy, tables in samples.items():
        table = tables.get(plot.table)
        if table is None or table.num_rows == 0 or not {plot.x, plot.y} <= set(table.column_names):
            continue
        columns[policy] = (_floats(table, plot.x), _floats(table, plot.y))
    seconds = _seconds_per_step(scenario, plot.x)
    unit, size = plot.x, 1.0
    if seconds is not None:
        span = max((float(np.ptp(x)) * seconds for x, _ in columns.values()), default=0.0)
        unit, divisor = next((u for u in _UNITS if span >= 3 * u[1]), _UNITS[-1])
        size = seconds / divisor
    points = max((len(x) for x, _ in columns.values()), default=0)
    lines = []
    for policy, (x, y) in columns.items():
        line = {"policy": policy, "x": _short(thin(x) * size), "y": _short(thin(y))}
        marks = _marks(plot, samples[policy])
        if len(marks):
            line["marks"] = _short(marks * size)
        lines.append(line)
    return {
        "title": plot.title,
        "table": plot.table,
        "y": plot.y,
        "unit": plot.unit,
        "x_unit": unit,
        "points": points,
        "mean_of": group_size(points),
        "lines": _shared(lines),
    }


def _marks(plot: Plot, tables: Mapping[str, pa.Table]) -> NDArray[np.float64]:
    """The times of a policy's vertical lines."""
    table = None if plot.marks is None else tables.get(plot.marks[0])
    if plot.marks is None or table is None:
        return np.empty(0)
    times = _floats(table, plot.marks[1])
    return times[:: group_size(len(times), MAX_MARKS)]


def _seconds_per_step(scenario: Scenario, x: str) -> float | None:
    """Seconds in one unit of the column, when it is a time: a tick, or a name that ends in _s."""
    if x == "tick":
        return getattr(scenario, "tick_seconds", None)
    return 1.0 if x.endswith("_s") else None


def _floats(table: pa.Table, column: str) -> NDArray[np.float64]:
    return np.asarray(table[column].to_numpy(), dtype=np.float64)


def _group_means(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    if size == 1:
        return values
    starts = np.arange(0, len(values), size)
    counts = np.diff(np.append(starts, len(values)))
    return np.asarray(np.add.reduceat(values, starts) / counts, dtype=np.float64)


def _short(values: NDArray[np.float64]) -> list[float | int | None]:
    """Six significant digits, which are more than a screen shows; null where there is none."""
    short: list[float | int | None] = []
    for value in values:
        number = float(f"{value:.6g}")
        if not np.isfinite(number):
            short.append(None)
        else:
            short.append(int(number) if number == int(number) else number)
    return short


def _shared(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines, of which those with the x of the first line leave theirs out."""
    return [
        {key: value for key, value in line.items() if key != "x" or value != lines[0]["x"]}
        if number
        else line
        for number, line in enumerate(lines)
    ]
