"""The pictures of a run: ``result.plot.over_time()``, ``result.plot.machines()``, and a Gantt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.base.numpy import np
from cloudarena.base.plots import Bars, Heat, Mark, Picture, draw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cloudarena.contract.plot import Plot
    from cloudarena.contract.result import Result
    from cloudarena.contract.scenario import Scenario

MOST_BARS = 2000
"""Bars of a Gantt chart: of more, nothing could be seen."""


def plot_named(scenario: Scenario | None, title: str | None) -> Plot:
    """The plot of a kind by its title, or the first one."""
    plots = {one.title: one for one in scenario.kind.plots} if scenario is not None else {}
    if not plots:
        raise CloudarenaError("plot: this kind records nothing over time")
    if title is not None:
        check_choice("title", title, plots)
    return plots[title] if title is not None else next(iter(plots.values()))


def picture_over_time(plot: Plot, tables: Mapping[str, Mapping[str, Any]]) -> Picture:
    """A line for each policy that has recorded what a plot shows."""
    marks = [
        Mark(name, found[plot.table][plot.x].to_numpy(), found[plot.table][plot.y].to_numpy())
        for name, found in tables.items()
        if plot.table in found
    ]
    if not marks:
        raise CloudarenaError(
            f"plot: {plot.title!r} was not recorded: run with record='summary' or 'full'"
        )
    return Picture(plot.title, plot.x, plot.unit, marks)


def in_lanes(places: list[str], begins: list[float], ends: list[float]) -> list[str]:
    """The place of each, with a number behind where a place has several at once."""
    free: dict[str, list[float]] = {}
    found = []
    for place, begin, end in zip(places, begins, ends, strict=True):
        lanes = free.setdefault(place, [])
        lane = next((k for k, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[lane : lane + 1] = [end]
        found.append(place if lane == 0 else f"{place} ({lane + 1})")
    return found


class ResultPlots:
    """What ``result.plot`` offers: each is a figure of Plotly, or of Matplotlib."""

    def __init__(self, result: Result):
        self._result = result

    def over_time(self, title: str | None = None) -> Any:
        """A plot of the report by its title, such as ``Cores in use``; the first by default."""
        result = self._result
        plot = plot_named(result.spec, title)
        return draw(picture_over_time(plot, {result.policy: result.tables}))

    def heatmap(self, name: str = "machines", attribute: str | None = None) -> Any:
        """What each machine, or other member, does over time; record='full' keeps it."""
        table = self._result.series(name)
        time, member, *others = table.column_names
        if f"{name}_series" not in self._result.tables:
            raise CloudarenaError(f"plot: {name!r} has one row for each time: plot.over_time")
        column = attribute or next(one for one in others if one != "time_s")
        check_choice("attribute", column, others)
        times, columns = np.unique(table[time].to_numpy(), return_inverse=True)
        labels = table[member].to_pylist()
        rows = list(dict.fromkeys(labels))
        index = {label: k for k, label in enumerate(rows)}
        values = np.full((len(rows), len(times)), np.nan)
        values[[index[label] for label in labels], columns] = table[column].to_numpy()
        title = f"{column} of {name} under {self._result.policy}"
        return draw(
            Heat(title, time, member, times.tolist(), [str(row) for row in rows], values, column)
        )

    def gantt(self) -> Any:
        """What ran where, from when to when."""
        spec = self._result.spec
        slices = spec.kind.slices if spec is not None else None
        if slices is None or slices.table not in self._result.tables:
            raise CloudarenaError("plot: this run recorded nothing that begins and ends")
        rows = [
            row
            for row in self._result.tables[slices.table].to_pylist()
            if row[slices.begin] is not None and row[slices.end] is not None
        ]
        rows = sorted(rows, key=lambda row: row[slices.begin])[:MOST_BARS]
        if not rows:
            raise CloudarenaError("plot: nothing of this run began and ended")

        def words(row: dict[str, Any], names: tuple[str, ...]) -> str:
            return " ".join(f"{name} {row[name]}" for name in names)

        places = [words(row, slices.places) for row in rows]
        begins = [float(row[slices.begin]) for row in rows]
        ends = [float(row[slices.end]) for row in rows]
        return draw(
            Bars(
                f"{slices.table} under {self._result.policy}",
                slices.begin,
                in_lanes(places, begins, ends),
                begins,
                ends,
                [words(row, slices.names) for row in rows],
            )
        )
