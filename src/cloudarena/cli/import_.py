"""The command ``cloudarena import``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import Json, print_json, stderr, stdout

if TYPE_CHECKING:
    from cloudarena.importing.run import Import


def import_command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="What another tool exported.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="What is made of it: vm, jobs, tiers, faas or carbon.",
            autocompletion=complete.import_kinds,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="The tool that wrote it; --presets lists them.", autocompletion=complete.presets
        ),
    ] = None,
    mapping: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN[:UNIT],...",
            help="Which column is what, as in start=launched_at,cores=vcpus,memory=ram_mb:MB.",
        ),
    ] = "",
    zone: Annotated[
        str, typer.Option(help="The zone of times that name none, such as Europe/Berlin.")
    ] = "UTC",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Does not ask.")] = False,
    presets: Annotated[
        bool, typer.Option("--presets", help="Lists the presets and what they read.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Writes trace and spec there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a trace and a spec of what another tool exported.

    Example: cloudarena import vms.csv --out my-cloud
    """
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.base.files import check_writable

    if presets:
        _list_presets()
        return
    if not files:
        raise CloudarenaError("import needs a FILE; cloudarena import --presets lists the formats")
    if out is None:
        raise CloudarenaError("import needs --out DIR, where trace and spec are written")
    from cloudarena.importing.run import import_files

    check_writable(out)
    made = import_files(files, kind, preset, mapping, zone)
    if not as_json:
        _show(made)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not yes and not as_json:
        if not is_terminal:
            raise CloudarenaError(
                "import asks only on a terminal: --yes writes what is shown above"
            )
        if not typer.confirm("Is that right?", default=True):
            raise CloudarenaError(
                "nothing was written: --kind, --map and --preset say what the columns are"
            )
    names = made.save(out)
    if as_json:
        print_json(_summary(made, out, names))
        return
    console = stdout()
    console.print(f"wrote {', '.join(f'{out}/{name}' for name in names)}", highlight=False)
    for question in made.draft.questions:
        print(f"next: {question.replace('spec.yaml', f'{out}/spec.yaml')}")


def _list_presets() -> None:
    from rich.table import Table

    from cloudarena.importing.presets import PRESETS

    table = Table("preset", "reads", box=None, pad_edge=False)
    for name, module in PRESETS.items():
        table.add_row(name, module.DESCRIPTION)
    stdout().print(table, highlight=False)


def _show(made: Import) -> None:
    """Shows what the files were taken for, the first rows, and what is to be said of them."""
    from rich.table import Table

    from cloudarena.importing.sheet import filled

    found, draft = made.found, made.draft
    console = stdout()
    about = "; ".join(found.sheet.remarks)
    console.print(
        f"{found.sheet.path}: {made.preset} → {draft.kind}{f' ({about})' if about else ''}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    roles = Table("role", "column", box=None, pad_edge=False)
    for role, column in found.mapping.items():
        roles.add_row(role, str(column))
    unused = [
        name for name in found.sheet.names if name not in _used(made) and filled(found.sheet, name)
    ]
    if unused:
        more = f" and {len(unused) - 8} more" if len(unused) > 8 else ""
        roles.add_row("not used", f"{', '.join(unused[:8])}{more}")
    console.print(roles, markup=False, highlight=False)
    console.print()
    if draft.preview:
        rows = Table(*draft.preview[0], box=None, pad_edge=False)
        for row in draft.preview:
            rows.add_row(*("" if value is None else f"{value}" for value in row.values()))
        console.print(rows, markup=False, highlight=False)
        console.print()
    counts = ", ".join(
        f"{name.replace('_', ' ')} {value:,}" for name, value in draft.counts.items()
    )
    console.print(counts, highlight=False)
    for reason, count in _reasons(made)[:8]:
        console.print(
            f"  rejected {count:,}: {reason}", markup=False, highlight=False, soft_wrap=True
        )
    for note in draft.notes:
        stderr().print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)


def _used(made: Import) -> set[str]:
    used = {column.source for column in made.found.mapping.values() if not column.is_value}
    return used | made.found.sheet.extra.get("used", frozenset())


def _reasons(made: Import) -> list[tuple[str, int]]:
    """Why rows were rejected, and how many for each reason, the most frequent first."""
    counts: dict[str, int] = {}
    reasons = [one.reason for one in made.found.sheet.bad] + [one.reason for one in made.rejected]
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return sorted(counts.items(), key=lambda pair: -pair[1])


def _summary(made: Import, out: Path, names: list[str]) -> dict[str, object]:
    return {
        "preset": made.preset,
        "kind": made.draft.kind,
        "mapping": {role: str(column) for role, column in made.found.mapping.items()},
        **made.draft.counts,
        "notes": list(made.draft.notes),
        "files": names,
        "out": str(out),
    }
