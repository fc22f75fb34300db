"""The command ``cloudarena reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.cli.options import Json, print_json, show_warnings, stderr, stdout

if TYPE_CHECKING:
    from cloudarena.reproduce.entry import Reproduced


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Entries; all by default.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="With all replications: minutes, not seconds.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of data that may not be shipped."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Writes a page in Markdown.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Published tables, run again, with ours beside them.

    Example: cloudarena reproduce theory numa
    """
    from cloudarena.base.errors import SpecError
    from cloudarena.base.files import check_writable, write_text
    from cloudarena.reproduce import NAMES, entry_of
    from cloudarena.reproduce.entry import Reproduced, Settings

    show_warnings()
    if data is not None and not data.is_dir():
        raise SpecError(f"--data: {str(data)!r} is not allowed: a folder that exists")
    if out is not None:
        check_writable(out.parent)
    entries = [entry_of(name) for name in names or NAMES]
    found = []
    for entry in entries:
        if stderr().is_terminal:
            stderr().print(f"{entry.name} …", style="dim")
        one = Reproduced(entry, entry.run(Settings(full, data)))
        found.append(one)
        if not as_json:
            _show(one)
        elif one.findings.missing:
            stderr().print(
                f"{entry.name}: not run; download: {one.findings.missing}", highlight=False
            )
    if out is not None:
        from cloudarena.reproduce.page import page

        words = [*(names or ()), *(["--full"] if full else []), *(["--data DIR"] if data else [])]
        write_text(out, page(found, "".join(f"{word} " for word in words)))
    if as_json:
        print_json([one.summary() for one in found])
    elif out is not None:
        stdout().print(f"wrote {out}", highlight=False)


def _show(one: Reproduced) -> None:
    """Prints an entry."""
    from rich.table import Table

    from cloudarena.reproduce.entry import shown

    entry, findings = one
    console = stdout()
    console.print(f"{entry.name}: {entry.title}", style="bold", highlight=False, markup=False)
    console.print(
        f"Source: {entry.source}\n{entry.protocol}", style="dim", highlight=False, markup=False
    )
    if findings.missing:
        console.print(f"Not run. Download: {findings.missing}\n", highlight=False, markup=False)
        return
    table = Table("cell", box=None, pad_edge=False)
    for name in ("published", "ours", "from", "to"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row in findings.rows:
        style = "yellow" if row.verdict in ("differs", "worse") else ""
        table.add_row(row.cell, *(shown(value) for value in row[1:5]), row.verdict, style=style)
    console.print(table, highlight=False, markup=False)
    for line in findings.why:
        console.print(f"- {line}", highlight=False, markup=False)
    console.print()
