"""``cloudarena compare``"""

from __future__ import annotations

from typing import Annotated

import typer

from cloudarena.cli.options import (
    Json,
    Metrics,
    Out,
    Overrides,
    Seed,
    Spec,
    listed,
    notices,
    own_metrics,
    people,
    print_json,
    show_warnings,
)


def compare(
    spec: Spec,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Which policies; all built-in ones that are fast by default."
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="Runs of each policy.")] = 10,
    seed: Seed = 0,
    overrides: Overrides = None,
    metrics: Metrics = None,
    workers: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    every_metric: Annotated[bool, typer.Option("--all", help="Shows every metric.")] = False,
    ignore_service: Annotated[
        bool,
        typer.Option(
            "--ignore-service", help="Lets a policy win that leaves more work undone than another."
        ),
    ] = False,
    service_margin: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Lets a policy win that leaves so much more undone, as in 0.001."
        ),
    ] = 0.0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Policies side by side on the same work, with a verdict.

    Example: cloudarena compare vm/azure-like-10k --policies best-fit,random --out results
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from cloudarena.catalogue import load
    from cloudarena.experiments.compare import compare as run_comparison
    from cloudarena.report.terminal import comparison_tables

    show_warnings()
    scenario = load(spec, list(overrides or ())).measuring(*own_metrics(metrics))
    names = listed(policies) or None
    console = notices()
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("replications", total=replications)
        comparison = run_comparison(
            scenario,
            names,
            replications,
            seed,
            workers,
            progress=lambda done, _: bar.update(task, completed=done),
            ignore_service=ignore_service,
            service_margin=service_margin,
        )
    if out is not None:
        comparison.save(out)
    if as_json:
        print_json(comparison.summary())
        return
    for table in comparison_tables(comparison, every_metric=every_metric):
        people().print(table)
    if out is not None:
        people().print(f"wrote {out}/report.html", highlight=False)
