"""The scenario's plots over time, thinned so that the page stays small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Plot, Scenario
from cloudarena.report.charts import Chart, Series

if TYPE_CHECKING:
    import pyarrow as pa

MAX_POINTS = 1000
MAX_MARKS = 400
"""Vertical lines of a policy; of more, every n-th is drawn."""
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


def time_charts(scenario: Scenario, samples: Mapping[str, Mapping[str, pa.Table]]) -> list[Chart]:
    """A chart for each plot of the kind that somebody recorded, with a line for each policy."""
    policies = list(samples)
    drawn = (_chart(scenario, plot, samples, policies) for plot in scenario.kind.plots)
    return [chart for chart in drawn if chart is not None]


def thin(values: NDArray[np.float64], limit: int = MAX_POINTS) -> NDArray[np.float64]:
    """At most ``limit`` values, each the mean of as many neighbours."""
    return _group_means(values, group_size(len(values), limit))


def group_size(points: int, limit: int = MAX_POINTS) -> int:
    """How many neighbours one drawn point stands for."""
    return max(1, -(-points // limit))


def _chart(
    scenario: Scenario,
    plot: Plot,
    samples: Mapping[str, Mapping[str, pa.Table]],
    policies: list[str],
) -> Chart | None:
    columns = {}
    for policy, tables in samples.items():
        table = tables.get(plot.table)
        if table is None or table.num_rows == 0 or not {plot.x, plot.y} <= set(table.column_names):
            continue
        columns[policy] = (_floats(table, plot.x), _floats(table, plot.y))
    points = max((len(x) for x, _ in columns.values()), default=0)
    if points < 2:
        return None
    seconds = _seconds_per_step(scenario, plot.x)
    unit, size = plot.x, 1.0
    if seconds is not None:
        span = max(float(np.ptp(x)) * seconds for x, _ in columns.values())
        unit, divisor = next((u for u in _UNITS if span >= 3 * u[1]), _UNITS[-1])
        size = seconds / divisor
    is_whole = group_size(points) == 1
    series, marked = [], 0
    for policy, (x, y) in columns.items():
        marks = _marks(plot, samples[policy]) * size
        marked += len(marks)
        series.append(
            Series(
                policy,
                thin(x) * size,
                thin(y),
                "steps" if is_whole else "line",
                colour=policies.index(policy),
                marks=marks.tolist(),
            )
        )
    hints = [plot.unit]
    if not is_whole:
        hints.append(f"{points:,} points, drawn as means of {group_size(points)}")
    if marked:
        hints.append(f"{marked:,} vertical lines")
    return Chart(plot.title, "; ".join(hints), unit, plot.unit, series, over_time=True, height=300)


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
