"""The command ``cloudarena train``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import (
    Cluster,
    ExecutorName,
    Json,
    Metrics,
    Overrides,
    Seed,
    Spec,
    listed,
    on_cluster,
    own_metrics,
    print_json,
    show_importance,
    show_warnings,
    stderr,
    stdout,
    writable,
)

if TYPE_CHECKING:
    from cloudarena.learn.train import Progress
    from cloudarena.learn.training import Training


def train(
    spec: Spec,
    algorithm: Annotated[
        str,
        typer.Option(
            help="cross-entropy, ppo, reinforce or imitate.",
            autocompletion=complete.words("cross-entropy", "ppo", "reinforce", "imitate"),
        ),
    ] = "cross-entropy",
    reward: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="The metric to earn, or several with weights, as in a=1,b=20.",
            autocompletion=complete.metrics,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Whole runs of cross-entropy, decisions of the others."),
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where the policy, checkpoints and results are written; training that was stopped "
            "goes on there.",
            callback=writable,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    cluster: Cluster = None,
    executor: ExecutorName = None,
    hidden: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="Units of hidden layers, as in 32,32; none is linear."),
    ] = None,
    activation: Annotated[str, typer.Option(help="Of hidden layers: tanh or relu.")] = "tanh",
    imitate: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="A policy that is learned by imitation at first.",
            autocompletion=complete.policy,
        ),
    ] = None,
    curriculum: Annotated[
        str | None,
        typer.Option(metavar="KEY=A:B", help="A key that moves meanwhile, as in load=0.5:1.2."),
    ] = None,
    window: Annotated[
        list[str] | None,
        typer.Option(metavar="UNIT=N", help="A part of the work for each run, as in jobs=256."),
    ] = None,
    decides: Annotated[
        str | None,
        typer.Option(metavar="D", help="What is learned, where a kind has several decisions."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--candidates", metavar="K", help="Candidates that are looked at.")
    ] = None,
    replications: Annotated[int, typer.Option(help="Runs of each policy in the test.")] = 20,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="An option of the algorithm."),
    ] = None,
    overrides: Overrides = None,
    metrics: Metrics = None,
    checkpoint_s: Annotated[
        float, typer.Option("--checkpoint", metavar="S", help="Seconds between checkpoints.")
    ] = 60.0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Prints which features decide.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learns a policy, and tests it on work that it never saw.

    Example: cloudarena train vm/azure-like-10k-16c --reward income_usd --steps 6000 --out learned

    Example: cloudarena train vm/azure-like-10k-16c --algorithm ppo --hidden 32 --imitate best-fit
    """
    from cloudarena.learn.train import train as learn

    show_warnings()
    with on_cluster(workers, cluster, executor) as pool, _progress() as watcher:
        training = learn(
            spec,
            algorithm,
            reward,
            steps,
            seed,
            out,
            workers,
            [_whole("--hidden", word) for word in listed(hidden)],
            activation,
            imitate,
            curriculum,
            {key: _number("--window", key, value) for key, value in _pairs("--window", window)},
            decides,
            most,
            replications,
            dict(_values(options)),
            list(overrides or ()),
            checkpoint_s,
            watcher,
            own_metrics(metrics),
            pool,
        )
    if as_json:
        print_json(training.summary())
        return
    _show(training, explain)
    if out is not None:
        words = f"wrote {out}/report.html; the policy is learned:{out}"
        stdout().print(words, highlight=False, soft_wrap=True)


def _show(training: Training, explain: bool) -> None:
    """Prints how each policy did, what decides, and the answer."""
    from rich.table import Table

    from cloudarena.report.pages.training import DUEL_HEADS, duel_rows, importance_rows
    from cloudarena.report.terminal.comparison import seeds_text

    comparison = training.comparison
    stdout().print(
        f"{comparison.scenario.name}: {training.reward.name}, {seeds_text(comparison)}",
        highlight=False,
    )
    table = Table(*DUEL_HEADS, box=None, pad_edge=False)
    for row in duel_rows(training):
        table.add_row(*row)
    stdout().print(table)
    if explain:
        show_importance(importance_rows(training.importance))
    stdout().print(training.sentences()[0], highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None] | None]:
    """A bar with the best score so far, on a terminal; None in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = stderr()
    if not console.is_terminal:
        yield None
        return
    words = TextColumn("{task.fields[words]}", style="dim")
    columns = ("{task.description}", BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, words, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def watch(progress: Progress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bar.add_task(progress.phase, words="")
            best = "" if progress.best is None else f"best {progress.best:.6g} "
            bar.update(
                tasks[progress.phase],
                completed=min(progress.steps, progress.all_steps),
                total=progress.all_steps,
                words=f"{best}(default policy {progress.reference:.6g}) {progress.note}",
            )

        yield watch


def _pairs(option: str, texts: list[str] | None) -> Iterator[tuple[str, str]]:
    """The keys and values of texts such as ``jobs=256``."""
    from cloudarena.base.errors import SpecError

    for text in texts or ():
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise SpecError(f"{option}: {text!r} is not allowed: KEY=VALUE")
        yield key, value


def _values(texts: list[str] | None) -> Iterator[tuple[str, Any]]:
    from cloudarena.base.errors import SpecError
    from cloudarena.base.yaml import parse_yaml

    for key, value in _pairs("--option", texts):
        try:
            yield key, parse_yaml(value)
        except ValueError:
            raise SpecError(f"--option: {key}={value} is not allowed: no YAML") from None


def _number(option: str, key: str, value: str) -> float:
    from cloudarena.base.errors import SpecError

    try:
        return float(value)
    except ValueError:
        raise SpecError(f"{option}: {key}={value} is not allowed: a number") from None


def _whole(option: str, word: str) -> int:
    from cloudarena.base.errors import SpecError

    try:
        return int(word)
    except ValueError:
        raise SpecError(f"{option}: {word!r} is not allowed: whole numbers, as in 32,32") from None
