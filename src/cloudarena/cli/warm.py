"""The command ``cloudarena warm``."""

from __future__ import annotations

from typing import Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import Json, print_json, stderr, stdout


def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND",
            help="Kinds of scenario.",
            show_default="all",
            autocompletion=complete.kind_names,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compiles kinds ahead, so that their first run starts at once.

    Example: cloudarena warm vm jobs
    """
    import time

    from cloudarena.base.errors import check_choice
    from cloudarena.experiments.warm import warm_kind
    from cloudarena.scenarios import kinds

    seconds: dict[str, float] = {}
    for name in names or kinds():
        check_choice("KIND", name, kinds())
    for name in names or kinds():
        stderr().print(f"compiling {name} ...", highlight=False)
        before = time.process_time()
        warm_kind(kinds()[name])
        seconds[name] = round(time.process_time() - before, 1)
    if as_json:
        print_json(seconds)
        return
    for name, took in seconds.items():
        stdout().print(f"{name}: ready after {took:g} CPU s", highlight=False)
