"""What several presets share: sheets put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File
from cloudarena.importing.sheet import Sheet


def one_sheet(files: Sequence[File]) -> Sheet:
    """The rows of files of one form, one after the other."""
    sheets = [file.sheet for file in files]
    first = sheets[0]
    if len(sheets) == 1:
        return first
    for sheet in sheets[1:]:
        if sheet.names != first.names:
            raise TraceError(
                f"{sheet.path}: has other columns than {first.path}: {', '.join(sheet.names)}. "
                "Files that are imported together have the same"
            )
    columns = {
        name: pa.concat_arrays([sheet.columns[name] for sheet in sheets]) for name in first.names
    }
    lines = np.concatenate([[sheet.line(row) for row in range(len(sheet))] for sheet in sheets])
    return Sheet(
        first.path,
        columns,
        lines,
        tuple(one for sheet in sheets for one in sheet.bad),
        (*first.remarks, f"{len(sheets)} files, one after the other"),
    )


def replaced(sheet: Sheet, **columns: list[str | None]) -> Sheet:
    """A sheet with further columns, or others under the same names."""
    added = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return Sheet(
        sheet.path, {**sheet.columns, **added}, sheet.lines, sheet.bad, sheet.remarks, sheet.extra
    )
