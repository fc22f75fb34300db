"""``cloudarena optimize``"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.method_options import OptimizeCommand
from cloudarena.cli.options import (
    Json,
    Out,
    Overrides,
    Seed,
    Spec,
    listed,
    notices,
    people,
    print_json,
    show_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cloudarena.optimizers import Problem, Progress


def optimize(
    ctx: typer.Context,
    spec: Spec,
    method: Annotated[
        str, typer.Option(metavar="M", help="How; --method M --help shows its options.")
    ] = "auto",
    objectives: Annotated[
        str | None, typer.Option(metavar="A,B", help="Metrics, the most important first.")
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="Runs in all.", show_default="20 for each design")
    ] = None,
    confidence: Annotated[float, typer.Option(help="The probability to reach.")] = 0.95,
    compare: Annotated[
        str | None, typer.Option(metavar="M,M", help="Further methods, with as many evaluations.")
    ] = None,
    seed: Seed = 0,
    overrides: Overrides = None,
    workers: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """The best policy, parameters or spec keys of a space of designs, and how sure that is.

    Example: cloudarena optimize tiers/rubis-hour --method los --evaluations 2000 --out results

    Example: cloudarena optimize tiers/rubis-hour --objectives total_cost_usd --within 1%
    """
    from cloudarena.experiments.optimize import optimize as choose

    show_warnings()
    with _progress() as watcher:
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
            **ctx.obj,
        )
    if out is not None:
        found.save(out)
    if as_json:
        print_json(found.summary())
        return
    from cloudarena.report.terminal import optimization_tables

    for part in optimization_tables(found):
        people().print(part, highlight=False)
    if found.study.note:
        people().print(found.study.note, highlight=False)
    if out is not None:
        people().print(f"wrote {out}/report.html and {out}/winner.yaml", highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[str, Progress, Problem], None] | None]:
    """A bar with the best design so far, on a terminal; None in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from cloudarena.experiments.designs import design_text

    console = notices()
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
