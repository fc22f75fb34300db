"""The command ``cloudarena size``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import (
    Json,
    Out,
    Overrides,
    Seed,
    Spec,
    Workers,
    known,
    print_json,
    show_warnings,
    stderr,
    stdout,
)

if TYPE_CHECKING:
    from cloudarena.experiments.size import Size


def size(
    spec: Spec,
    where: Annotated[
        list[str],
        typer.Option(
            metavar="LIMIT",
            help="What every replication must keep, as in 'wait_p95_s<=600'.",
            autocompletion=complete.metric,
        ),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Under which policy; that of the spec by default.",
            autocompletion=complete.policy,
        ),
    ] = None,
    machines: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The type whose number is asked for; all by default."),
    ] = None,
    replications: Annotated[int, typer.Option(help="Runs of each number of machines.")] = 5,
    seed: Seed = 0,
    overrides: Overrides = None,
    workers: Workers = -1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """The fewest machines that keep limits.

    Example: cloudarena size my-cloud/spec.yaml --where 'unserved_share<=0.001'
    """
    from rich.table import Table

    from cloudarena.experiments.size import Tried
    from cloudarena.experiments.size import size as find_size
    from cloudarena.report.numbers import format_number

    show_warnings()
    console = stderr()

    def tell(tried: Tried) -> None:
        if console.is_terminal:
            console.print(
                f"{'+'.join(map(str, tried.counts))} machines: {tried.kept} of {tried.runs}",
                style="dim", highlight=False,
            )  # fmt: skip

    found = find_size(
        spec, where, policy, machines, replications, seed, list(overrides or ()), workers, tell
    )
    if out is not None:
        _save(found, out)
    if as_json:
        print_json(found.summary())
        return
    table = Table(*(group.name for group in found.groups), "kept", box=None, pad_edge=False)
    for limit in found.limits:
        table.add_column(f"{limit.metric}, worst", justify="right")
    table.add_column("cost_usd", justify="right")
    for tried in found.curve:
        mark = "bold" if tried == found.best else ""
        values = [*(format_number(value) for value in tried.worst), format_number(tried.cost_usd)]
        kept = f"{tried.kept} of {tried.runs}"
        table.add_row(*map(str, tried.counts), kept, *values, style=mark)
    stdout().print(table, highlight=False)
    stdout().print(found.conclusion(), style="bold", highlight=False, markup=False)
    if out is not None:
        stdout().print(f"wrote {out}/size.json, {out}/curve.csv", highlight=False)


def _save(found: Size, out: Path) -> None:
    """Writes the answer, and the curve as a table."""
    import csv
    import io
    import json

    from cloudarena.base.files import written_folder

    summary = found.summary()
    rows = io.StringIO()
    names = [group.name for group in found.groups]
    metrics = [limit.metric for limit in found.limits]
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow([*names, "kept", "runs", *metrics, "cost_usd"])
    for one in found.curve:
        writer.writerow([*one.counts, one.kept, one.runs, *one.worst, one.cost_usd])
    with written_folder(out) as draft:
        (draft / "size.json").write_text(json.dumps(known(summary), indent=2), encoding="utf-8")
        (draft / "curve.csv").write_text(rows.getvalue(), encoding="utf-8")
