"""What several commands share: arguments with their help, and consoles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Spec = Annotated[
    str, typer.Argument(metavar="SPEC", help="A name of the catalogue, or a YAML file.")
]
Seed = Annotated[int, typer.Option(help="Decides everything that is random.")]
NOT_IN_FILE = "not_in_file"
"""The key of what ``trace describe`` shows and a trace does not tell: figures, and why."""
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
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.policies.parse import load_function

    found = []
    for name in names or ():
        path, separator, metric = name.rpartition(":")
        if not separator or not path.endswith(".py"):
            raise CloudarenaError(f"--metric: {name!r} is not allowed: FILE.py:NAME")
        found.append(load_function(Path(path), metric))
    return found


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


def listed(text: str | None) -> list[str]:
    """The names of an option such as ``a,b``."""
    return [name.strip() for name in text.split(",")] if text else []


def print_json(value: Any) -> None:
    """Prints one JSON object on standard output."""
    print(json.dumps(value, indent=2))


def people() -> Console:
    """Standard output for people; as wide as the terminal, or 120 columns in a pipe."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=120)


def notices() -> Console:
    """Standard error, for progress and notes."""
    from rich.console import Console

    return Console(stderr=True)


def show_warnings() -> None:
    """Prints warnings of the package as one plain line on standard error."""
    import warnings

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        notices().print(f"note: {message}", style="yellow", highlight=False, soft_wrap=True)

    warnings.showwarning = show
