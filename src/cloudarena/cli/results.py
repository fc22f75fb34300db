"""The command ``cloudarena results``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import Json, listed, print_json, show_warnings, stdout

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_ROWS = 40
SHOWN_METRICS = 5


def results(
    store: Annotated[str, typer.Argument(metavar="DIR", help="The store of a sweep.")],
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help='DuckDB\'s SQL over the views "runs" and "failures".'),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Shows the runs that fulfil it.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="What cells are judged by.", show_default="the headline")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Compares cells by their numbers in the table, or all of them."
        ),
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="How much each key matters.")
    ] = False,
    failures: Annotated[bool, typer.Option("--failures", help="Shows what failed.")] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merges the files into a few large ones.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Writes the page of the sweep.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What is in the store of a sweep.

    Example: cloudarena results results/sweep --where "policy = 'best-fit' and seed < 3"

    Example: cloudarena results results/sweep --sql "select policy, avg(profit_usd) from runs group
    by 1"
    """
    from cloudarena.experiments.sweep.results import open_results

    show_warnings()
    found = open_results(store)
    if compact:
        rows = found.compact()
        _say({"compacted": rows, "files": len(found.files)}, as_json)
    if report is not None:
        _say({"wrote": str(found.to_html(report, metric))}, as_json)
    if sql is not None or where is not None:
        table = found.sql(sql) if sql is not None else found.arrow(where=where)
        _show(table if sql is not None or as_json else _narrow(found, table), as_json)
    elif failures:
        _show(found.failures(), as_json)
    elif compare is not None:
        _compare(found, compare, metric, as_json)
    elif sensitivity:
        _sensitivity(found, metric, as_json)
    elif not compact and report is None:
        _overview(found, metric, as_json)


def _say(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    words = ", ".join(
        f"{key}: {value:,}" if isinstance(value, int) else f"{key} {value}"
        for key, value in values.items()
    )
    stdout().print(words, highlight=False)


def _show(table: pa.Table, as_json: bool) -> None:
    """Prints rows; for people the first ones."""
    from cloudarena.base.results import number_or_null

    if as_json:
        rows = [
            {key: number_or_null(v) if isinstance(v, float) else _json(v) for key, v in row.items()}
            for row in table.to_pylist()
        ]
        print_json({"rows": rows})
        return
    from rich import box
    from rich.table import Table

    from cloudarena.report.numbers import UNKNOWN, format_number

    shown = Table(box=box.SIMPLE_HEAD)
    for field in table.schema:
        number = str(field.type) in ("double", "int64", "int32", "float", "hugeint")
        shown.add_column(field.name, justify="right" if number else "left", overflow="fold")
    for row in table.slice(0, SHOWN_ROWS).to_pylist():
        shown.add_row(
            *(
                UNKNOWN
                if value is None
                else format_number(value)
                if isinstance(value, float)
                else str(value)
                for value in row.values()
            )
        )
    stdout().print(shown)
    if table.num_rows > SHOWN_ROWS:
        stdout().print(
            f"{table.num_rows - SHOWN_ROWS:,} more rows: --json has all", highlight=False
        )


def _narrow(found: Any, table: pa.Table) -> pa.Table:
    """The columns that people look at first: what was varied, and the highlights."""
    from cloudarena.scenarios import kind_named

    known = [kind_named(kind) for kind in found.kinds]
    metrics = [name for kind in known for name in (kind.headline, *kind.highlights)]
    settings = [name for kind in found.kinds for name in found.settings(kind)]
    fixed = ["scenario", *(["case"] if any(table["case"].to_pylist()) else []), "policy"]
    wanted = dict.fromkeys([*fixed, *settings, "seed", *metrics[:SHOWN_METRICS]])
    return table.select([name for name in wanted if name in table.column_names])


def _json(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | None) else str(value)


def _overview(found: Any, metric: str | None, as_json: bool) -> None:
    from cloudarena.experiments.sweep.statistics import cells_of, conclusions
    from cloudarena.report.sweep_tables import cell_tables

    if as_json:
        cells = {kind: [cell.plain() for cell in cells_of(found, kind)] for kind in found.kinds}
        print_json({**found.summary(), "cells": cells, "conclusions": conclusions(found, metric)})
        return
    for table in cell_tables(found, metric):
        stdout().print(table)
    for line in conclusions(found, metric):
        stdout().print(line, highlight=False)
    if outdated := found.counts["outdated"]:
        stdout().print(
            f"{outdated:,} runs are left out: the policy, the trace, the spec or the version that "
            'they are of has changed since (--sql "from outdated" shows them)',
            highlight=False,
        )
    failed = found.counts["failed"]
    if failed:
        stdout().print(f"{failed:,} runs failed: --failures shows them", highlight=False)


def _compare(found: Any, words: str, metric: str | None, as_json: bool) -> None:
    from cloudarena.experiments.sweep.statistics import compare_cells
    from cloudarena.report.terminal.comparison import comparison_tables

    numbers = None if words == "all" else listed(words)
    comparison = compare_cells(found, numbers, metric)
    if as_json:
        print_json(comparison.summary())
        return
    for table in comparison_tables(comparison):
        stdout().print(table)


def _sensitivity(found: Any, metric: str | None, as_json: bool) -> None:
    from cloudarena.experiments.sweep.sensitivity import sensitivities
    from cloudarena.report.sweep_tables import sensitivity_table

    some = sensitivities(found, metric)
    if as_json:
        print_json({"sensitivity": [one.plain() for one in some]})
        return
    for one in some:
        stdout().print(sensitivity_table(one))
