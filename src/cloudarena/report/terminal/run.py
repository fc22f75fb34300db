"""The metrics of one run as a table for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from cloudarena.contract import Metric, Result, Scenario
from cloudarena.report.numbers import format_number


def result_table(result: Result, scenario: Scenario) -> Table:
    """The metrics of one run, each with its direction and meaning."""
    title = f"{result.scenario}: {result.policy}, seed {result.seed}"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("meaning", style="dim")
    known = {metric.name: metric for metric in scenario.kind.metrics}
    for name, value in result.metrics.items():
        metric = known.get(name, Metric(name, ""))
        important = name in scenario.kind.highlights
        table.add_row(
            Text(name, "bold" if important else ""),
            Text(format_number(value), "bold" if important else ""),
            Text(metric.better or ""),
            Text(metric.description.replace("``", "")),
        )
    return table
