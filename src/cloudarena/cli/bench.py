"""The command ``cloudarena bench``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.cli.options import Json, print_json, show_warnings, stderr, stdout

if TYPE_CHECKING:
    from cloudarena.bench.case import Absent, Measured
    from cloudarena.bench.result import Change


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks; all by default.")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier result on this machine; exit 1 if slower."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Writes the result there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Speed beside the peers that are installed, as ratios in one run.

    Example: cloudarena bench environments --out before.json
    """
    import json

    from cloudarena.base.errors import check_choice
    from cloudarena.base.files import check_writable, write_text
    from cloudarena.bench.case import Absent
    from cloudarena.bench.cases import CASES
    from cloudarena.bench.result import changes, read_ratios, summary

    show_warnings()
    for name in names or ():
        check_choice("NAME", name, dict.fromkeys(case.name for case in CASES))
    before = None if compare is None else read_ratios(compare)
    if out is not None:
        check_writable(out.parent)
    found: list[Measured] = []
    absent: list[Absent] = []
    for case in CASES:
        if names and case.name not in names:
            continue
        if not case.is_there():
            absent.append(Absent(case.name, case.peer, case.install))
            continue
        if stderr().is_terminal:
            stderr().print(f"{case.name}, {case.peer} …", style="dim")
        found += case.run()
    result = summary(found, absent)
    changed = [] if before is None else changes(found, before)
    if before is not None:
        result["changes"] = [{**one._asdict(), "slower": one.is_slower} for one in changed]
    if out is not None:
        write_text(out, json.dumps(result, indent=2) + "\n")
    if as_json:
        print_json(result)
    else:
        _show(found, absent, changed)
    if any(one.is_slower for one in changed):
        raise typer.Exit(1)


def _show(found: list[Measured], absent: list[Absent], changed: list[Change]) -> None:
    """Prints the ratios, the peers that are not there, and what became slower."""
    from rich.table import Table

    table = Table("benchmark", "peer", "what", box=None, pad_edge=False)
    for name in ("ours", "peer's", "times as fast"):
        table.add_column(name, justify="right")
    for one in found:
        numbers = (f"{one.ours:,.4g} {one.unit}", f"{one.theirs:,.4g}", f"{one.ratio:,.3g}")
        table.add_row(one.name, one.peer, one.what, *numbers)
    if found:
        stdout().print(table, highlight=False, markup=False)
    for gone in absent:
        line = f"{gone.name}: {gone.peer} is not installed: {gone.install}"
        stdout().print(line, highlight=False, markup=False)
    for change in changed:
        mark = "SLOWER" if change.is_slower else "as before"
        line = f"{change.name}, {change.peer}, {change.what}: {change.before:.3g} -> "
        stdout().print(f"{line}{change.after:.3g}: {mark}", highlight=False, markup=False)
