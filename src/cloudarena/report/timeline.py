"""The scenario's plots over time, thinned so that the page stays small."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Plot, Scenario
from cloudarena.contract.metric import label_of_column
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
    drawn = (
        _named(plot, samples) if plot.labels else _chart(scenario, plot, samples, policies)
        for plot in scenario.kind.plots
    )
    return [chart for chart in drawn if chart is not None]


def _named(plot: Plot, samples: Mapping[str, Mapping[str, pa.Table]]) -> Chart | None:
    """Points with names, of one run alone; those without a value are left out."""
    tables = next(iter(samples.values()), {})
    if len(samples) != 1 or plot.table not in tables:
        return None
    rows = [
        row
        for row in tables[plot.table].to_pylist()
        if row[plot.x] is not None and row[plot.y] is not None
    ]
    if not rows:
        return None
    series = [
        Series(str(row[plot.labels]), [float(row[plot.x])], [float(row[plot.y])], "named")
        for row in rows
    ]
    return Chart(plot.title, plot.unit, label_of_column(plot.x), plot.unit, series, height=300)


def thin(values: NDArray[np.float64], limit: int = MAX_POINTS) -> NDArray[np.float64]:
    """Thins to at most ``limit`` values, each the mean of as many neighbours."""
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
        if plot.by and len(samples) > 1:
            return None
        for name, rows in _lines(plot, table, policy):
            columns[name] = (_floats(rows, plot.x), _floats(rows, plot.y))
    points = max((len(x) for x, _ in columns.values()), default=0)
    if points < 2:
        return None
    seconds = _seconds_per_step(scenario, plot.x)
    unit, size, dates = label_of_column(plot.x), 1.0, None
    if seconds is not None:
        span = max(float(np.ptp(x)) * seconds for x, _ in columns.values())
        unit, divisor = next((u for u in _UNITS if span >= 3 * u[1]), _UNITS[-1])
        size = seconds / divisor
        if scenario.start_date is not None:
            begin = scenario.start_date
            begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
            dates = (begin.timestamp() * 1000.0, divisor * 1000.0)
    is_whole = group_size(points) == 1
    series, marked = [], 0
    for policy, (x, y) in columns.items():
        marks = _marks(plot, samples.get(policy, {})) * size
        marked += len(marks)
        series.append(
            Series(
                policy,
                thin(x) * size,
                thin(y),
                "steps" if is_whole else "line",
                colour=(list(columns) if plot.by else policies).index(policy),
                marks=marks.tolist(),
            )
        )
    hints = [plot.unit]
    if plot.parts and len(columns) == 1:
        (policy,) = columns
        series = _stacked(plot, samples[policy][plot.table], series[0])
    if plot.beside and len(columns) == 1:
        (policy,) = columns
        series = _beside(plot, samples[policy][plot.table], series[0])
    if not is_whole:
        hints.append(f"{points:,} points, drawn as means of {group_size(points)}")
    if marked:
        hints.append(f"{marked:,} vertical lines")
    return Chart(
        plot.title,
        "; ".join(hints),
        unit,
        plot.unit,
        series,
        over_time=True,
        height=300,
        dates=dates,
        has_legend=bool(plot.by or (plot.beside and len(columns) == 1)),
    )


def _lines(plot: Plot, table: pa.Table, policy: str) -> list[tuple[str, pa.Table]]:
    """The rows of each line, by name: all of a policy, or those of each value of a column."""
    import pyarrow.compute as pc

    if not plot.by:
        return [(policy, table)]
    values = list(dict.fromkeys(table[plot.by].to_pylist()))
    return [(str(value), table.filter(pc.equal(table[plot.by], value))) for value in values]


def _beside(plot: Plot, table: pa.Table, whole: Series) -> list[Series]:
    """A column and those that it is compared with, a line each."""
    return [
        whole._replace(
            name=label_of_column(name, has_unit=False), y=thin(_floats(table, name)), colour=number
        )
        for number, name in enumerate((plot.y, *plot.beside))
    ]


def _stacked(plot: Plot, table: pa.Table, whole: Series) -> list[Series]:
    """The parts of a column on top of each other: each line is the sum of those up to its name."""
    lines, below = [], np.zeros(table.num_rows)
    for number, name in enumerate(plot.parts):
        below = below + _floats(table, name)
        label = label_of_column(name, has_unit=False)
        words = label if number == 0 else f"and {label[0].lower()}{label[1:]}"
        lines.append(whole._replace(name=words, y=thin(below), colour=number))
    return lines


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
