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
    "size": "size:size",
    "map": "map:map_command",
    "sweep": "sweep:sweep",
    "results": "results:results",
    "optimize": "optimize:optimize",
    "train": "train:train",
    "metrics": "metrics:app",
    "power": "power:app",
    "import": "import_:import_command",
    "k8s": "k8s:app",
    "trace": "trace:app",
    "spec": "spec:spec",
    "schema": "spec:schema",
    "reproduce": "reproduce:reproduce",
    "bench": "bench:bench",
    "warm": "warm:warm",
    "new": "new:app",
}
"""Where each command is; it is imported when it is called."""

app = typer.Typer(
    name="cloudarena",
    help="Which policy should run my cloud, and what will it cost?",
    epilog="Start with: cloudarena compare vm/azure-like-10k --policies best-fit,random",
    cls=Group,
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
    """Tells which policy should run a cloud, and what it will cost."""


def command() -> Any:
    """The whole command line."""
    group: Any = get_command(app)
    for option in group.params:  # Typer's own words take five lines of the screen
        if option.name == "install_completion":
            option.help = "Teaches your shell to complete."
        elif option.name == "show_completion":
            option.hidden = True
    group.commands = Commands(lambda: {name: of_module(path) for name, path in COMMANDS.items()})
    return group
