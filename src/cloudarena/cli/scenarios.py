"""The command ``cloudarena scenarios``."""

from __future__ import annotations

from cloudarena.cli.options import Json, print_json, stdout


def scenarios(as_json: Json = False) -> None:
    """The named scenarios of the catalogue, with a line each.

    Example: cloudarena scenarios
    """
    from cloudarena import catalogue

    entries = catalogue.descriptions()
    if as_json:
        print_json(entries)
        return
    from rich.table import Table

    table = Table("scenario", "what it is", box=None, pad_edge=False)
    for name, description in entries.items():
        table.add_row(f"[bold]{name}[/]", description)
    stdout().print(table)
