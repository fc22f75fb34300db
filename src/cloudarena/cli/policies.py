"""The command ``cloudarena policies``."""

from __future__ import annotations

from cloudarena.cli.options import Json, print_json, stdout
from cloudarena.cli.spec import Kind


def policies(
    kind: Kind,
    as_json: Json = False,
) -> None:
    """The policies of a kind of scenario, with a line each.

    Example: cloudarena policies vm
    """
    from cloudarena.contract.learned import described
    from cloudarena.scenarios import kind_named

    chosen = kind_named(kind.partition("/")[0])
    entries = {name: chosen.policies.describe(name) for name in chosen.policies}
    entries |= described(chosen.name)
    if as_json:
        print_json(entries)
        return
    from rich.table import Table

    table = Table("policy", "what it chooses", box=None, pad_edge=False)
    for name, description in entries.items():
        table.add_row(f"[bold]{name}[/]", description)
    stdout().print(table)
