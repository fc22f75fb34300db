"""An import from its files to what it is going to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from importlib import import_module
from inspect import signature
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.importing.draft import Draft
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import missing, needs_text, parse_map, proposed, said
from cloudarena.importing.presets import PRESETS
from cloudarena.importing.roles import NEEDS
from cloudarena.importing.rows import Rejected, Rows
from cloudarena.importing.write import write


@dataclass(frozen=True)
class Import:
    """What files were taken for, and what was made of them."""

    preset: str
    found: Found
    draft: Draft
    rejected: list[Rejected]

    def save(self, folder: Path) -> list[str]:
        """Writes the trace, the spec and the rejected rows; returns the names of the files."""
        return write(self.draft, self.found.sheet, self.rejected, folder)


def zone_named(name: str) -> tzinfo:
    """The time zone of a name."""
    if name.upper() in ("UTC", "Z", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CloudarenaError(
            f"--zone: {name!r} is not allowed: a name such as UTC or Europe/Berlin"
        ) from None


def import_files(
    paths: Sequence[Path],
    kind: str | None = None,
    preset: str | None = None,
    mapping: str = "",
    zone: str = "UTC",
) -> Import:
    """Looks at files and makes a trace and a spec of them.

    Args:
        paths: the files, of one form, or those that belong together, such as nodes and pods.
        kind: what is made of them; proposed by default.
        preset: the tool that wrote them; recognised by default.
        mapping: which column is what, as in ``start=launched_at,memory=ram_mb:MB``.
        zone: the time zone of times that name none.
    """
    if kind is not None:
        check_choice("--kind", kind, NEEDS)
    if preset is not None:
        check_choice("--preset", preset, PRESETS)
    where = zone_named(zone)
    given = parse_map(mapping) if mapping else {}
    files = [File(path) for path in paths]
    name = preset or _recognised(files)
    found = _read(name, files, kind, bool(given))
    mapped = dict(found.mapping)
    if kind is not None and kind != found.kind:
        found = found._replace(kind=kind)
        mapped = proposed(found.sheet, kind)
    mapped |= said(found.sheet, found.kind, given)
    lacking = missing(found.kind, mapped)
    if lacking:
        need = NEEDS[found.kind]
        raise CloudarenaError(
            f"{found.sheet.path}: for {found.kind} it is not known which column is "
            f"{' or '.join(lacking[0])}: say it by --map {lacking[0][0]}=COLUMN "
            f"({found.kind} needs {needs_text(need)}; columns: {', '.join(found.sheet.names)}"
            f"{'' if name == 'tabular' else f'; {PRESETS[name].DESCRIPTION}'})"
        )
    found = found._replace(mapping=mapped)
    found.sheet.known.clear()  # what was looked at to know the columns
    rows = Rows(found.sheet, found.kind, mapped, where)
    source = ", ".join(path.name for path in paths)
    module = import_module(f"cloudarena.importing.kinds.{found.kind}")
    takes_machines = "machines" in signature(module.draft).parameters
    draft: Draft = (
        module.draft(rows, source, found.machines) if takes_machines else module.draft(rows, source)
    )
    guesses = [column.guess for column in mapped.values() if column.guess]
    draft.notes[:] = dict.fromkeys([*found.notes, *guesses, *draft.notes])
    return Import(name, found, draft, rows.rejected)


def _recognised(files: Sequence[File]) -> str:
    """The preset that knows all files."""
    for name, preset in PRESETS.items():
        if all(preset.recognises(file) for file in files):
            return name
    return "tabular"


def _read(name: str, files: Sequence[File], kind: str | None, is_mapped: bool) -> Found:
    """The files by a preset; a table whose columns a user names may be any."""
    preset = PRESETS[name]
    try:
        if "kind" in signature(preset.read).parameters:
            return preset.read(files, kind)
        return preset.read(files)
    except CloudarenaError:
        if not (is_mapped and kind and name == "tabular"):
            raise
        return Found(files[0].sheet, kind, {})
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise CloudarenaError(
            f"{files[0].path}: is not what {name} writes: {type(error).__name__} {error}"
        ) from None
