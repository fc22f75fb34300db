"""The commands together. Heavy imports wait inside the commands, so that help is quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from cloudarena import __version__
from cloudarena.cli import (
    compare,
    map,
    metrics,
    new,
    optimize,
    policies,
    run,
    scenarios,
    spec,
    trace,
    warm,
)
from cloudarena.cli.method_options import OptimizeCommand
from cloudarena.cli.options import traceback_option
from cloudarena.cli.usage import Group

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


app.command("scenarios")(scenarios.scenarios)
app.command("policies")(policies.policies)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("map")(map.map_command)
app.command("optimize", cls=OptimizeCommand)(optimize.optimize)
app.add_typer(metrics.app, name="metrics")
app.add_typer(trace.app, name="trace")
app.command("spec")(spec.spec)
app.command("schema")(spec.schema)
app.command("warm")(warm.warm)
app.add_typer(new.app, name="new")


def command() -> Any:
    """The command line with ``--traceback`` in every command."""
    whole = get_command(app)
    waiting = [whole]
    while waiting:
        group = getattr(waiting.pop(), "commands", {})
        for one in group.values():
            if not hasattr(one, "commands"):
                one.params.append(traceback_option())
            waiting.append(one)
    return whole
