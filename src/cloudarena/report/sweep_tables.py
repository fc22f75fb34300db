"""The tables of a sweep in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from cloudarena.experiments.sweep.results import Results
from cloudarena.experiments.sweep.sensitivity import Sensitivity
from cloudarena.experiments.sweep.statistics import cells_of, metric_of
from cloudarena.report.numbers import format_estimate, format_number
from cloudarena.scenarios import kind_named

SHOWN_CELLS = 40
SHOWN_METRICS = 4


def cell_tables(found: Results, metric: str | None = None) -> Iterator[Table]:
    """A table of cells for each kind: the mean of the most important metrics."""
    for kind in found.kinds:
        judged = metric_of(kind, metric)
        highlights = [judged.name, *kind_named(kind).highlights]
        names = list(dict.fromkeys(highlights))[:SHOWN_METRICS]
        cells = cells_of(found, kind)
        title = Text(f"{kind}: {len(cells):,} cells, {sum(len(c.seeds) for c in cells):,} runs")
        table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        table.add_column("cell", justify="right")
        table.add_column("scenario")
        table.add_column("what", overflow="fold")
        table.add_column("runs", justify="right")
        for name in names:
            table.add_column(name, justify="right")
        for cell in cells[:SHOWN_CELLS]:
            estimates = [format_estimate(cell.estimate(name)) for name in names]
            table.add_row(
                str(cell.number),
                Text(cell.scenario),
                Text(cell.text),
                str(len(cell.seeds)),
                *estimates,
            )
        if len(cells) > SHOWN_CELLS:
            table.caption = f"{len(cells) - SHOWN_CELLS:,} more cells: --json has all"
            table.caption_justify = "left"
        yield table


def sensitivity_table(one: Sensitivity) -> Table:
    """How much keys matter."""
    title = Text(f"{one.title}: {one.metric} ({one.method})")
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for head in one.heads:
        table.add_column(head, justify="left" if head == "key" else "right")
    for row in one.rows:
        table.add_row(*(format_number(v) if isinstance(v, float) else str(v) for v in row))
    return table
