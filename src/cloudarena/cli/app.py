"""The commands together. Each is imported when it is called, so that all are quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from cloudarena import __version__
from cloudarena.cli.commands import Commands, of_module
from cloudarena.cli.usage import Group

COMMANDS = {
    "scenarios": "scenarios:scenarios",
    "policies": "policies:policies",
    "run": "run:run",
    "compare": "compare:compare",
    "map": "map:map_command",
    "optimize": "optimize:optimize",
    "metrics": "metrics:app",
    "trace": "trace:app",
    "spec": "spec:spec",
    "schema": "spec:schema",
    "warm": "warm:warm",
    "new": "new:app",
}
"""Where each command is; it is imported when it is called."""

app = typer.Typer(
    name="cloudarena",
    help="Which policy should run my cloud, and what will it cost?",
    epilog="Start with: cloudarena compare vm/azure-like-10k --policies best-fit,random",
    cls=Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"cloudarena {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    """Which policy should run my cloud, and what will it cost?"""


def command() -> Any:
    """The whole command line."""
    group: Any = get_command(app)
    group.commands = Commands(lambda: {name: of_module(path) for name, path in COMMANDS.items()})
    return group
