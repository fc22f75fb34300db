"""Writes an import: the trace as Parquet, the spec, and the rows that cannot be used."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from cloudarena.base.arrow import pq
from cloudarena.base.files import written_folder
from cloudarena.base.yaml import parse_yaml
from cloudarena.importing.draft import SPEC_FILE, Draft
from cloudarena.importing.rows import Rejected
from cloudarena.importing.sheet import Sheet
from cloudarena.scenarios import kind_named

REJECTED_FILE = "rejected.csv"


def rejected_text(sheet: Sheet, rejected: Sequence[Rejected]) -> str:
    """The rows that are not in the trace, as CSV: line, reason, and what stands there."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["line", "reason", *sheet.names])
    lines = [(one.line, [one.line, one.reason, one.text]) for one in sheet.bad]
    columns = list(sheet.columns.values())
    for one in rejected:
        cells = [column[one.row].as_py() or "" for column in columns]
        line = sheet.line(one.row)
        lines.append((line, [line, one.reason, *cells]))
    writer.writerows(row for _, row in sorted(lines, key=lambda pair: pair[0]))
    return out.getvalue()


def write(draft: Draft, sheet: Sheet, rejected: Sequence[Rejected], folder: Path) -> list[str]:
    """Writes everything into a folder, and checks that the spec loads; returns the files."""
    files = {f"{name}.parquet": table for name, table in draft.tables.items()}
    texts = {SPEC_FILE: draft.spec} if draft.spec else {}
    if rejected or sheet.bad:
        texts[REJECTED_FILE] = rejected_text(sheet, rejected)
    with written_folder(folder) as place:
        for name, table in files.items():
            pq.write_table(table, place / name, compression="zstd")
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
        if draft.spec:
            kind_named(draft.kind).scenario.parse(parse_yaml(draft.spec), SPEC_FILE, place)
    return [*files, *texts]
