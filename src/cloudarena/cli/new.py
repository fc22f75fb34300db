"""The command ``cloudarena new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloudarena.cli.options import stdout
from cloudarena.cli.usage import Group

app = typer.Typer(
    help="Begin something of your own.",
    epilog="Example: cloudarena new scenario my_queue",
    cls=Group,
    add_completion=False,
)


@app.callback()
def group() -> None:
    """Begin something of your own."""


@app.command()
def scenario(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name such as my_queue.")],
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where the package is made.")
    ] = Path(),
) -> None:
    """A package with a kind of scenario of your own: the queue of the examples, under your name.

    Example: cloudarena new scenario my_queue
    """
    from cloudarena.experiments.template import write_scenario

    made = write_scenario(name, folder)
    lines = (
        f"wrote {made}: a package {name} with its rooms, its catalogue and its test",
        f"check it with: python -m pytest {made}",
        f"install it with: pip install -e {made}",
        f"then: cloudarena run {name.replace('_', '-')}/toy",
    )
    for line in lines:
        stdout().print(line, highlight=False)
