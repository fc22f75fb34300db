"""What several commands share: arguments with their help, and consoles."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli import complete

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from rich.console import Console


Spec = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A name of the catalogue, or a YAML file.",
        autocompletion=complete.specs,
    ),
]
Seed = Annotated[int, typer.Option(help="Decides everything that is random.")]
NOT_IN_FILE = "not_in_file"
"""The key of what ``trace describe`` shows and a trace does not tell: figures, and why."""
SHOWN_FEATURES = 12
"""Features of a learned policy that are printed, the most important ones."""
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Changes the spec, as in buffer.budget_ticks=6."
    ),
]


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", metavar="FILE.py:NAME", help="A metric of your own, under @cloudarena.metric()."
    ),
]


def own_metrics(names: list[str] | None) -> list[Any]:
    """The metrics of ``--metric``."""
    from cloudarena.contract.own_metrics import load_metric

    return [load_metric(name, "--metric") for name in names or ()]


def writable(folder: Path | None) -> Path | None:
    """The folder of ``--out``, if it can be written: looked at before anything is computed."""
    from cloudarena.base.files import check_writable

    return None if folder is None else check_writable(folder)


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Writes the results there.", callback=writable),
]
TraceFolder = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Writes the trace there.", callback=writable),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


wants_traceback = False
"""Whether the user asked for the traceback of an error."""


def _note_traceback(wanted: bool) -> None:
    global wants_traceback
    wants_traceback = wanted


def traceback_option() -> Any:
    """The option of all commands that shows the traceback of an error besides its line."""
    from typer.main import get_command

    bare = typer.Typer(add_completion=False)

    @bare.command()
    def _command(
        traceback: Annotated[
            bool,
            typer.Option(
                "--traceback",
                callback=_note_traceback,
                expose_value=False,
                help="Shows where an error comes from, such as one in a policy of yours.",
            ),
        ] = False,
    ) -> None: ...

    return next(option for option in get_command(bare).params if option.name == "traceback")


Workers = Annotated[int, typer.Option(help="Processes; -1 is one per core.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Runs there: dask://HOST:PORT, local-dask, ray://HOST:PORT, ray, slurm or mpi.",
    ),
]
ExecutorName = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="MODULE:FACTORY",
        help="Runs on the concurrent.futures.Executor that a function of yours makes.",
    ),
]


@contextmanager
def on_cluster(
    workers: int, cluster: str | None, executor: str | None
) -> Iterator[Executor | None]:
    """The executor that a user names; None for processes of this machine."""
    if cluster is None and executor in (None, "local"):
        yield None
        return
    from cloudarena.experiments.sweep.executors import opened

    with opened(workers, cluster, executor) as pool:
        yield pool


def listed(text: str | None) -> list[str]:
    """The names of an option such as ``a,b``."""
    return [name.strip() for name in text.split(",")] if text else []


def print_json(value: Any) -> None:
    """Prints one JSON object on standard output; what is not known is null."""
    print(json.dumps(known(value), indent=2, allow_nan=False))


def known(value: Any) -> Any:
    """A value without numbers that JSON has not."""
    if isinstance(value, Mapping):
        return {key: known(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [known(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say_how_to_go_on(home: Path, what: str) -> None:
    """Tells who stopped a command how much is kept, and how the rest is done."""
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.experiments.sweep.results import open_results

    try:
        done = len(open_results(home))
    except CloudarenaError:
        return
    words = " ".join(["cloudarena", *sys.argv[1:]])
    stderr().print(
        f"stopped: {done:,} {what} are in {home}. Go on with: {words}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )


def stdout() -> Console:
    """Standard output for people; as wide as the terminal, or 120 columns in a pipe."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=120)


def show_importance(rows: list[list[str]]) -> None:
    """Prints which features of a learned policy decide."""
    from rich.table import Table

    table = Table("feature", "of", "weight", "changed", box=None, pad_edge=False)
    for row in rows[:SHOWN_FEATURES]:
        table.add_row(*row)
    stdout().print(table)
    stdout().print(
        "changed: the share of decisions that come out otherwise when the feature is shuffled",
        highlight=False,
    )


def stderr() -> Console:
    """Standard error, for progress and notes."""
    from rich.console import Console

    return Console(stderr=True)


def show_warnings() -> None:
    """Prints warnings of the package as one plain line on standard error."""
    import warnings

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        stderr().print(f"note: {message}", style="yellow", highlight=False, soft_wrap=True)

    warnings.showwarning = show
