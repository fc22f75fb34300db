"""Reading columns from Parquet or CSV, with errors that name the file and the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from cloudarena.errors import TraceError, nearest

WORDS = {pa.int64(): "a whole number", pa.float64(): "a number"}


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name."""
    return path.suffix == ".parquet"


def place(path: Path, row: int) -> str:
    """Names a row of a file: the line of a CSV (its header is line 1), the row of a Parquet."""
    return f"{path}, row {row + 1}" if is_parquet(path) else f"{path}, line {row + 2}"


def read_columns(
    path: Path,
    columns: Mapping[str, pa.DataType | None],
    optional: Mapping[str, pa.DataType | None] | None = None,
) -> pa.Table:
    """Reads the named columns, and no others but optional ones; a type of None is any type.

    Cells may be empty only if there are optional columns.
    """
    if not path.is_file():
        raise TraceError(f"{path}: does not exist")
    try:
        wanted = {**columns, **(optional or {})}
        table = pq.read_table(path) if is_parquet(path) else _read_csv(path, wanted)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    check_columns(path, table.column_names, list(columns), list(optional or ()))
    typed = {}
    for name in table.column_names:
        kind = wanted[name]
        values = table[name].combine_chunks()
        typed[name] = values if kind is None else _cast(path, name, values, kind)
        if typed[name].null_count and optional is None:
            row = pc.index(typed[name].is_null(), True).as_py()
            raise TraceError(f"{place(path, row)}: {name}: is empty")
    return pa.table(typed)


def check_columns(
    path: Path, found: Sequence[str], wanted: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Says which columns are missing, or are there and should not be."""
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in (*wanted, *optional)]
    if missing:
        raise TraceError(
            f"{path}: column {missing[0]!r} is missing: needed are {', '.join(wanted)}."
            + nearest(missing[0], extra)
        )
    if extra:
        raise TraceError(
            f"{path}: column {extra[0]!r} is not allowed: only {', '.join(wanted)}."
            + nearest(extra[0], wanted)
        )


def check(path: Path, name: str, values: np.ndarray, good: np.ndarray, allowed: str) -> None:
    """Raises for the first value that is not good."""
    if not good.all():
        row = int(np.argmin(good))
        value = values[row]
        shown = value.item() if isinstance(value, np.generic) else value
        raise TraceError(f"{place(path, row)}: {name}: {shown!r} is not allowed: {allowed}")


def _read_csv(path: Path, columns: Mapping[str, pa.DataType | None]) -> pa.Table:
    types = {name: kind for name, kind in columns.items() if kind is not None}
    try:
        return pacsv.read_csv(path, convert_options=pacsv.ConvertOptions(column_types=types))
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise
        # Arrow does not name the line: read as text, and the cast below will.
        text = {name: pa.string() for name in columns}
        return pacsv.read_csv(path, convert_options=pacsv.ConvertOptions(column_types=text))


def _cast(path: Path, name: str, values: Any, kind: pa.DataType) -> Any:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        for row, value in enumerate(values):
            try:
                value.cast(kind)
            except pa.ArrowInvalid:
                raise TraceError(
                    f"{place(path, row)}: {name}: {value.as_py()!r} is not allowed: "
                    f"{WORDS.get(kind, str(kind))}"
                ) from None
        raise
