"""The pictures of comparisons and optimisations: ``comparison.plot.metric("cost_usd")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.base.plots import Mark, Picture, draw
from cloudarena.contract.pictures import picture_over_time, plot_named

if TYPE_CHECKING:
    from cloudarena.experiments.comparison import Comparison
    from cloudarena.experiments.optimization import Optimization


class ComparisonPlots:
    """What ``comparison.plot`` offers: each is a figure of Plotly, or of Matplotlib."""

    def __init__(self, comparison: Comparison):
        self._comparison = comparison

    def metric(self, name: str | None = None) -> Any:
        """The mean of a metric with its interval, policy by policy."""
        comparison = self._comparison
        metric = name or comparison.headline
        check_choice("metric", metric, comparison.values)
        marks = []
        for policy in comparison.policies:
            mean, low, high = comparison.estimate(policy, metric)
            marks.append(Mark(policy, [mean], [policy], "points", ([mean - low], [high - mean])))
        return draw(Picture(f"{metric}: {comparison.scenario.name}", metric, "", marks))

    def trade_off(self, x: str, y: str) -> Any:
        """The means of two metrics against each other: a point for each policy."""
        comparison = self._comparison
        for name in (x, y):
            check_choice("metric", name, comparison.values)
        marks = [
            Mark(
                policy,
                [comparison.estimate(policy, x).mean],
                [comparison.estimate(policy, y).mean],
                "points",
            )
            for policy in comparison.policies
        ]
        return draw(Picture(comparison.scenario.name, x, y, marks))

    def over_time(self, title: str | None = None) -> Any:
        """A plot of the report by its title: the first replication, a line for each policy."""
        plot = plot_named(self._comparison.scenario, title)
        return draw(picture_over_time(plot, self._comparison.samples))


class OptimizationPlots:
    """What ``optimization.plot`` offers: each is a figure of Plotly, or of Matplotlib."""

    def __init__(self, optimization: Optimization):
        self._optimization = optimization

    def _objective(self, name: str | None) -> str:
        names = [one.name for one in self._optimization.selection.objectives]
        if name is not None:
            check_choice("objective", name, names)
        return name or names[0]

    def designs(self, objective: str | None = None, most: int = 20) -> Any:
        """The designs with the best means of an objective, with their intervals, the best first."""
        name = self._objective(objective)
        known = next(one for one in self._optimization.selection.objectives if one.name == name)
        rows = [row for row in self._optimization.table().to_pylist() if row[name] is not None]
        rows = sorted(rows, key=lambda row: row[name] * known.sign)[:most]
        marks = [
            Mark(
                "chosen" if row["chosen"] else "",
                [row[name]],
                [row["text"]],
                "points",
                ([row[name] - row[f"low_{name}"]], [row[f"high_{name}"] - row[name]]),
            )
            for row in rows
        ]
        return draw(Picture(f"{name} of {len(rows)} designs", name, "", marks))

    def trade_off(self, x: str | None = None, y: str | None = None) -> Any:
        """Two objectives of all designs against each other, those on the front apart."""
        names = [one.name for one in self._optimization.selection.objectives]
        if len(names) < 2:
            raise CloudarenaError("plot: a trade-off needs two objectives")
        across, up = self._objective(x or names[0]), self._objective(y or names[1])
        rows = [
            row
            for row in self._optimization.table().to_pylist()
            if row[across] is not None and row[up] is not None
        ]
        marks = []
        for words, is_front in (("others", False), ("front", True)):
            part = [row for row in rows if row["front"] == is_front]
            marks.append(Mark(words, [r[across] for r in part], [r[up] for r in part], "points"))
        return draw(Picture(f"{up} against {across}", across, up, marks))
