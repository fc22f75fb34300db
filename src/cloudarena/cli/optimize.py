"""``cloudarena optimize``"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    from pathlib import Path

    from cloudarena.experiments.tuning import Tuning
    from cloudarena.optimizers import Problem, Progress

METHODS = (
    "auto, monte-carlo, blind-pick, los, ocba, ocba-m, mocba, kim-nelson, successive-halving, nsga2"
)


def optimize(
    spec: Spec,
    method: Annotated[str, typer.Option(metavar="M", help=f"One of {METHODS}.")] = "auto",
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
    at_least: Annotated[
        int | None, typer.Option(help="Good designs among the selected.", show_default="1")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="1%", help="Good enough: what the best may be better by."),
    ] = None,
    rough: Annotated[
        int | None, typer.Option(help="Replications of the first look.", show_default="2 to 10")
    ] = None,
    replications: Annotated[
        int | None, typer.Option(help="Of a proper evaluation.", show_default="1000")
    ] = None,
    final_rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Of the front: knee or first_objective.",
            show_default="knee, if there are several objectives",
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(help="How many designs ocba-m finds.")] = None,
    indifference: Annotated[
        float | None, typer.Option(help="What does not matter to kim-nelson.")
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
    from cloudarena.experiments.tuning import tune

    show_warnings()
    given = {
        "at_least": at_least,
        "within": within,
        "rough": rough,
        "replications": replications,
        "final_rule": final_rule,
        "top": top,
        "indifference": indifference,
    }
    with _progress() as watcher:
        tuning = tune(
            spec,
            method,
            listed(objectives),
            evaluations,
            confidence,
            listed(compare),
            seed,
            workers,
            list(overrides or ()),
            watcher,
            **{name: value for name, value in given.items() if value is not None},
        )
    if out is not None:
        _save(tuning, out)
    if as_json:
        print_json(tuning.summary())
        return
    from cloudarena.report.tuning import tuning_tables

    for part in tuning_tables(tuning):
        people().print(part, highlight=False)
    if tuning.study.note:
        people().print(tuning.study.note, highlight=False)
    if out is not None:
        people().print(f"wrote {out}/report.html and {out}/winner.yaml", highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[str, Progress, Problem], None] | None]:
    """A bar with the best design so far, on a terminal; None in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from cloudarena.experiments.study import design_text

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


def _save(tuning: Tuning, out: Path) -> None:
    """Writes the report, all figures as JSON, every selected design, and the winner's spec."""
    import json

    import pyarrow.parquet as pq

    from cloudarena.base.files import written_folder
    from cloudarena.report.reproduce import spec_yaml
    from cloudarena.report.tuning import write_tuning_report

    with written_folder(out) as draft:
        write_tuning_report(tuning, draft / "report.html")
        (draft / "optimize.json").write_text(json.dumps(tuning.summary(), indent=2) + "\n")
        pq.write_table(tuning.table(), draft / "designs.parquet", compression="zstd")
        winner = spec_yaml(tuning.winning_scenario, absolute=True)
        (draft / "winner.yaml").write_text(winner, encoding="utf-8")
