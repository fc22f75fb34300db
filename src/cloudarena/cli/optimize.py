"""The command ``cloudarena optimize``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli import complete
from cloudarena.cli.method_options import OptimizeCommand
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
    print_json,
    say_how_to_go_on,
    show_warnings,
    stderr,
    stdout,
    writable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cloudarena.optimizers import Problem, Progress


def optimize(
    ctx: typer.Context,
    spec: Spec,
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="How; --method M --help shows its options.",
            autocompletion=complete.method,
        ),
    ] = "auto",
    objectives: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Metrics, the most important first.",
            autocompletion=complete.metrics,
        ),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="Runs in all.", show_default="20 for each design")
    ] = None,
    confidence: Annotated[float, typer.Option(help="The probability to reach.")] = 0.95,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="What a metric must keep, such as 'cost_usd <= 7'.",
            autocompletion=complete.metric,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="M,M",
            help="Further methods, with as many evaluations.",
            autocompletion=complete.methods,
        ),
    ] = None,
    macro_replications: Annotated[
        int, typer.Option(metavar="N", help="Plays all methods N times: progress curves, areas.")
    ] = 0,
    post_replications: Annotated[
        int, typer.Option(metavar="N", help="Replications by which those designs are judged.")
    ] = 50,
    input_traces: Annotated[
        int,
        typer.Option(metavar="N", help="Draws the trace N times: its share of the variance."),
    ] = 0,
    seed: Seed = 0,
    overrides: Overrides = None,
    metrics: Metrics = None,
    workers: Workers = -1,
    cluster: Cluster = None,
    executor: ExecutorName = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keeps every evaluation; a study that was stopped goes on in it.",
            show_default="OUT/store with --out",
            callback=writable,
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """The best of a space of designs, and how sure that is.

    A design is a policy with its parameters and keys of the spec.

    Example: cloudarena optimize tiers/rubis-hour --method los --evaluations 2000 --out results

    Example: cloudarena optimize tiers/rubis-hour --objectives total_cost_usd --within 1%

    Example: cloudarena optimize my.yaml --compare optuna,nsga2 --macro-replications 30

    Example: cloudarena optimize tiers/toy --objectives cost_usd --where 'unserved_share <= 1%'
    """
    from cloudarena.base.errors import Ended
    from cloudarena.experiments.optimize import optimize as choose

    show_warnings()
    home = store or _usual_store(spec, list(overrides or ()), out)
    try:
        with on_cluster(workers, cluster, executor) as pool, _progress() as watcher:
            found = choose(
                spec,
                method=method,
                objectives=listed(objectives),
                evaluations=evaluations,
                confidence=confidence,
                compare=listed(compare),
                seed=seed,
                workers=workers,
                overrides=list(overrides or ()),
                watcher=watcher,
                executor=pool,
                where=list(where or ()),
                metrics=list(metrics or ()),
                store=home,
                macro_replications=macro_replications,
                post_replications=post_replications,
                input_traces=input_traces,
                **ctx.obj,
            )
    except (KeyboardInterrupt, Ended):
        if home is not None:
            say_how_to_go_on(home, "evaluations")
        raise
    if out is not None:
        found.save(out)
    if as_json:
        print_json(found.summary())
        return
    from cloudarena.report.terminal.optimization import optimization_tables

    for part in optimization_tables(found):
        stdout().print(part, highlight=False)
    if found.study.note:
        stdout().print(found.study.note, highlight=False)
    if out is not None:
        stdout().print(f"wrote {out}/report.html and {out}/winner.yaml", highlight=False)


def _usual_store(spec: str, overrides: list[str], out: Path | None) -> Path | None:
    """The folder that keeps evaluations when nobody says: within that of the results.

    A closed-form model keeps none.
    """
    from cloudarena.experiments.study import ScenarioStudy, read_study

    if out is None or not isinstance(read_study(spec, overrides), ScenarioStudy):
        return None
    return out / "store"


@contextmanager
def _progress() -> Iterator[Callable[[str, Progress, Problem], None] | None]:
    """A bar with the best design so far, on a terminal; None in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from cloudarena.experiments.designs import design_text

    console = stderr()
    if not console.is_terminal:
        yield None
        return
    best = TextColumn("{task.fields[best]}", style="dim")
    columns = ("{task.description}", BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, best, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def watch(method: str, progress: Progress, problem: Problem) -> None:
            if method not in tasks:
                tasks[method] = bar.add_task(method, best="")
            words = "" if progress.best is None else design_text(problem.design(progress.best))
            bar.update(
                tasks[method],
                completed=progress.evaluations,
                total=progress.expected,
                best=f"best: {words}" if words else "",
            )

        yield watch


optimize.command_class = OptimizeCommand  # type: ignore[attr-defined]
