"""The command ``cloudarena compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import (
    Cluster,
    ExecutorName,
    Json,
    Metrics,
    Out,
    Overrides,
    Seed,
    Spec,
    Workers,
    listed,
    on_cluster,
    own_metrics,
    print_json,
    show_warnings,
    stderr,
    stdout,
)


def compare(
    spec: Spec,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Which policies; all built-in ones that are fast by default.",
            autocompletion=complete.policies,
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="Runs of each policy.")] = 10,
    seed: Seed = 0,
    overrides: Overrides = None,
    metrics: Metrics = None,
    workers: Workers = -1,
    cluster: Cluster = None,
    executor: ExecutorName = None,
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
    by: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Ranks by this metric, as in cost_usd.",
            autocompletion=complete.metric,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="What every replication must keep, as in 'response_p95_s<=0.5'.",
            autocompletion=complete.metric,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Compares the others with this one.",
            autocompletion=complete.policy,
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=A,B",
            help="Compares once under each value, as in power.table=study,document.",
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Policies side by side on the same work, with a verdict.

    Example: cloudarena compare vm/azure-like-10k --policies best-fit,random --out results

    With a question: cloudarena compare SPEC --by cost_usd --where 'unserved_share<=0.001'

    Does the ranking depend on a choice? cloudarena compare SPEC --over power.table=study,document
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from cloudarena.catalogue import load, read_overrides
    from cloudarena.experiments.compare import Comparison
    from cloudarena.experiments.compare import compare as run_comparison
    from cloudarena.experiments.over import compare_over, parse_over
    from cloudarena.report.terminal.comparison import comparison_tables, over_tables

    show_warnings()
    key, values = parse_over(over) if over is not None else ("", [])
    changes = read_overrides(list(overrides or ()))
    measured = own_metrics(metrics)
    scenarios = {
        word: load(spec, changes | ({key: value} if key else {})).measuring(*measured)
        for word, value in values or [("", None)]
    }
    names = listed(policies) or None
    console = stderr()
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        on_cluster(workers, cluster, executor) as pool,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("replications", total=replications * len(scenarios))

        def compared(word: str) -> Comparison:
            before = list(scenarios).index(word) * replications
            return run_comparison(
                scenarios[word],
                names,
                replications,
                seed,
                workers,
                progress=lambda done, _: bar.update(task, completed=before + done),
                ignore_service=ignore_service,
                service_margin=service_margin,
                executor=pool,
                by=by,
                where=where or (),
                baseline=baseline,
            )

        if key:
            found = compare_over(key, list(scenarios), compared)
        else:
            comparison = compared("")
    if key:
        saved = found.save(out) if out is not None else []
        if as_json:
            print_json(found.summary())
            return
        for table in over_tables(found):
            stdout().print(table)
        for folder in saved:
            stdout().print(f"wrote {folder}/report.html", highlight=False)
        return
    if out is not None:
        comparison.save(out)
    if as_json:
        print_json(comparison.summary())
        return
    for table in comparison_tables(comparison, every_metric=every_metric):
        stdout().print(table)
    if out is not None:
        stdout().print(f"wrote {out}/report.html", highlight=False)
