"""The command ``cloudarena metrics``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cloudarena.cli.options import Json, Out, Seed, listed, print_json, stdout
from cloudarena.cli.usage import Group

if TYPE_CHECKING:
    from rich.table import Table

    from cloudarena.experiments.metric_table import MetricReduction

app = typer.Typer(cls=Group, help="Which of many metrics need be measured.", add_completion=False)


@app.callback()
def metrics() -> None:
    """Which of many metrics need be measured."""


@app.command("reduce")
def reduce(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="Strategies x metrics: CSV, Parquet, or a results folder."
        ),
    ],
    keep: Annotated[
        int | None, typer.Option(help="How many metrics.", show_default="as few as reach --ap")
    ] = None,
    ap: Annotated[
        float | None, typer.Option(help="The alignment probability to reach.", show_default="0.95")
    ] = None,
    s: Annotated[
        int | None,
        typer.Option("--s", help="Strategies selected by prediction.", show_default="15"),
    ] = None,
    g: Annotated[
        int | None, typer.Option("--g", help="Strategies that count as good.", show_default="15")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Good ones wanted among the selected.", show_default="10"),
    ] = None,
    lower: Annotated[
        str | None, typer.Option(metavar="A,B", help="Metrics of which lower is better.")
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that are no metrics.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Averages rows that have the same there.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Weights of metrics in the score: columns metric and weight, or a table of how "
            "many times as important each is as each other (AHP).",
            show_default="all alike",
        ),
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of strategies for the check.")] = 0.25,
    method: Annotated[
        str, typer.Option(help="stepwise, f-tests, exhaustive or ecga.")
    ] = "stepwise",
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """A few metrics from which the score of a strategy follows, checked on held-out strategies.

    Example: cloudarena metrics reduce table.csv --keep 10 --out results

    Example: cloudarena metrics reduce table.csv --ap 0.95 --s 15 --g 15 --k 10
    """
    from cloudarena.base.errors import SpecError
    from cloudarena.experiments.metric_table import read_metric_table, read_weights, reduce_table

    if keep is not None and ap is not None:
        raise SpecError("--ap: is not allowed together with --keep")
    values = read_metric_table(table, by).without(listed(ignore)).with_lower(listed(lower))
    done = reduce_table(
        values,
        keep,
        0.95 if ap is None else ap,
        s,
        g,
        k,
        holdout,
        cast("Any", method),
        seed,
        None if weights is None else read_weights(weights, values),
    )
    if out is not None:
        done.save(out)
    if as_json:
        print_json(done.summary())
        return
    stdout().print(_table(done), highlight=False)
    stdout().print(done.conclusion(), style="bold", highlight=False)
    if out is not None:
        stdout().print(f"wrote {out}/report.html", highlight=False)


def _table(done: MetricReduction) -> Table:
    """The curve for people; the chosen row stands out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = f"{done.table.source}: {len(done.table.values):,} strategies, "
    title += f"{len(done.table.names):,} metrics"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in ("metrics", "residual sd", "information, bits", "alignment"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("measured", overflow="fold")
    for number, step in enumerate(done.reduction.steps, start=1):
        style = "bold green" if step is done.reduction.step else ""
        names = ", ".join(done.table.names[column] for column in step.fit.metrics)
        cells = (f"{step.residual_sd:.3f}", f"{step.information_bits:.2f}", f"{step.alignment:.3f}")
        table.add_row(*(Text(cell, style) for cell in (str(number), *cells, names)))
    return table
