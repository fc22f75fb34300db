"""The command ``cloudarena sweep``."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import (
    Cluster,
    ExecutorName,
    Json,
    Workers,
    print_json,
    say_how_to_go_on,
    show_warnings,
    stderr,
    stdout,
    writable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cloudarena.experiments.sweep.dispatch import Progress
    from cloudarena.experiments.sweep.plan import Plan
    from cloudarena.experiments.sweep.run import SweepOutcome

FAILED = 1
"""The exit code when a run has failed."""


def sweep(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="A YAML file: spec, policies, set, ...")
    ],
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The store; a sweep that was stopped goes on in it.",
            show_default="EXPERIMENT without .yaml, in results/",
            callback=writable,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Prints the plan only.")] = False,
    workers: Workers = -1,
    cluster: Cluster = None,
    executor: ExecutorName = None,
    retry: Annotated[
        str | None, typer.Option(metavar="failed", help="Runs again what has failed before.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="S", help="A run that takes longer has failed.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="4GB", help="A run that takes more has failed.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="RULE", help='Stops cells early, as in "ci(profit_usd) < 1%".'),
    ] = None,
    as_json: Json = False,
) -> None:
    """Many runs: scenarios x policies x settings x seeds, in a store.

    Example: cloudarena sweep experiment.yaml --store results/oversubscription

    Example: cloudarena sweep experiment.yaml --cluster dask://head:8786 --timeout 600
    """
    from cloudarena.base.errors import CloudarenaError, Ended
    from cloudarena.experiments.sweep.plan import make_plan

    if retry not in (None, "failed"):
        raise CloudarenaError(f"--retry: {retry!r} is not allowed: failed")
    show_warnings()
    plan = make_plan(experiment)
    if dry_run:
        plan.check()
        if as_json:
            print_json(plan.summary())
        else:
            stdout().print(_plan_text(plan), highlight=False)
        return
    from cloudarena.experiments.sweep.run import sweep as run_sweep

    home = store or Path("results") / Path(experiment).stem
    stderr().print(_plan_text(plan), highlight=False)
    try:
        with _progress() as watcher:
            outcome = run_sweep(
                plan,
                home,
                executor=executor,
                workers=workers,
                cluster=cluster,
                retry=retry is not None,
                timeout_s=timeout,
                memory=memory,
                until=until,
                watcher=watcher,
            )
    except (KeyboardInterrupt, Ended):
        say_how_to_go_on(home, "runs")
        raise
    _tell(outcome, as_json)
    if outcome.failed:
        sys.exit(FAILED)


def _plan_text(plan: Plan) -> str:
    """What will be run, in a few lines."""
    said = plan.summary()
    lines = [f"{name}: {said['experiment']}" for name in ("experiment",) if said["experiment"]]
    lines.append(f"scenarios: {_short(said['scenarios'])}")
    if said["cases"]:
        lines.append(f"cases: {_short(said['cases'])}")
    lines.append(f"policies: {_short(said['policies'])}")
    if said["keys"]:
        lines.append(f"varied: {_short(said['keys'])} ({said['design']})")
    lines.append(
        f"{said['cells']:,} cells x {said['replications']:,} replications = {said['runs']:,} runs"
    )
    return "\n".join(lines)


def _short(words: list[str]) -> str:
    more = f" and {len(words) - 8} more" if len(words) > 8 else ""
    return ", ".join(words[:8]) + more


def _tell(outcome: SweepOutcome, as_json: bool) -> None:
    from cloudarena.experiments.sweep.results import open_results
    from cloudarena.experiments.sweep.statistics import conclusions

    found = open_results(outcome.store)
    if as_json:
        print_json({**outcome.summary(), "conclusions": conclusions(found)})
        return
    words = [f"{outcome.ran:,} runs"]
    if outcome.found:
        words.append(f"{outcome.found:,} were there already")
    if outcome.saved:
        words.append(f"{outcome.saved:,} of {outcome.plan.runs:,} were not needed")
    out = stdout()
    out.print(f"{'; '.join(words)}.", highlight=False)
    for line in conclusions(found):
        out.print(line, highlight=False)
    if outcome.failed:
        _tell_failures(found, outcome)
    page = found.to_html(Path(outcome.store) / "report.html")
    out.print(f"wrote {page}; cloudarena results {outcome.store} shows more", highlight=False)


def _tell_failures(found: Any, outcome: SweepOutcome) -> None:
    rows = found.failures().to_pylist()
    failed = {row["key"]: row["error"] for row in rows}  # those of other sweeps too
    errors = Counter(failed[run.key] for run in outcome.plan.all_runs() if run.key in failed)
    stderr().print(f"{outcome.failed:,} runs failed:", style="red", highlight=False)
    for error, times in errors.most_common(5):
        stderr().print(f"  {times:,} x {error}", highlight=False, soft_wrap=True, markup=False)
    stderr().print("run them again with --retry failed", highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal; in a pipe one line, when it is known how long it takes."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = stderr()
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    failed = TextColumn("{task.fields[failed]}", style="red")
    told = False
    with Bar(
        *columns, failed, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("runs", failed="")

        def watch(progress: Progress) -> None:
            nonlocal told
            words = f"{progress.failed:,} failed" if progress.failed else ""
            bar.update(task, completed=progress.finished, total=progress.total, failed=words)
            left = progress.seconds_left
            if not told and left is not None and progress.can_tell:
                told = True
                if left > 10:
                    console.print(f"about {_time(left)} left", highlight=False)

        yield watch


def _time(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
