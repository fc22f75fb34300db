"""Reading columns from Parquet or CSV, with errors that name the file and the line."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pa, pa_csv, pc, pq
from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.files import UNREADABLE, written_folder
from cloudarena.base.numpy import np

WHOLE, NUMBER, TEXT, WORD = "int64", "float64", "string", "word"
"""Types of columns by name, so that a reader says what it wants without Arrow.

A column of type ``WORD`` has few different texts.
"""
WORDS = {"int64": "a whole number", "double": "a number"}
"""What is allowed in a column, by Arrow's name of its type."""

ColumnType = Any
"""One of the names of types, a type of Arrow, or None for any type."""

MOST_LISTED = 20
"""Columns that a message lists one by one."""
BATCH_ROWS = 2**18
BLOCK_BYTES = 2**22
"""How much of a file is in memory when it is read in batches; Arrow reads some blocks ahead."""


def arrow_type(kind: ColumnType) -> Any:
    """The type of Arrow that a name stands for."""
    if kind == WORD:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.type_for_alias(kind) if isinstance(kind, str) else kind


def write_table(
    table: pa.Table, folder: Path, name: str, texts: Mapping[str, str] | None = None
) -> None:
    """Writes a table as ``NAME.parquet`` into a folder, and texts beside it, by their names."""
    with written_folder(folder) as draft:
        for file, text in (texts or {}).items():
            (draft / file).write_text(text, encoding="utf-8")
        pq.write_table(table, draft / f"{name}.parquet", compression="zstd")


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name."""
    return path.suffix == ".parquet"


def column_names(path: Path) -> list[str]:
    """The names of the columns of a file."""
    _check_file(path)
    if not is_parquet(path):
        return next((row for _, row in _csv_rows(path)), [])
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError) as error:
        raise _explained(path, error, {}) from None


def location(path: Path, row: int, header: bool = True) -> str:
    """Names a row of a file: the line of a CSV, the row of a Parquet or of a binary file."""
    if is_parquet(path) or path.suffix == ".bin":
        return f"{path}, row {row + 1}"
    for index, (line, _) in enumerate(_csv_rows(path)):
        if index == row + header:
            return f"{path}, line {line}"
    return f"{path}, line {row + 1 + header}"


def read_columns(
    path: Path,
    columns: Mapping[str, ColumnType],
    optional: Mapping[str, ColumnType] | None = None,
) -> pa.Table:
    """Reads the named columns, and no others but optional ones; a type of None is any type.

    Cells may be empty only if there are optional columns.
    """
    _check_file(path)
    wanted = {**columns, **(optional or {})}
    try:
        if is_parquet(path):
            table = pq.read_table(path, partitioning=None)
        else:
            options = _convert_options(wanted, empty_cells=optional is not None)
            table = pa_csv.read_csv(path, convert_options=options)
        # Names are decoded only when they are asked for.
        check_columns(path, table.column_names, list(columns), list(optional or ()))
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise _explained(path, error, wanted) from None
    return _typed(path, table, wanted, empty_cells=optional is not None)


def read_batches(
    path: Path,
    columns: Mapping[str, ColumnType],
    names: Sequence[str] = (),
    empty_cells: bool = False,
) -> Iterator[tuple[int, pa.Table]]:
    """Reads columns a batch of rows at a time; yields the first row's index and the batch.

    Args:
        path: a Parquet or CSV file, which may be compressed (``.csv.gz``).
        columns: the columns that are wanted, with their types; None is any type.
        names: all columns of a CSV without header, of which some may not be wanted; a file with
            a header has the wanted columns and no others.
        empty_cells: whether cells may be empty.
    """
    _check_file(path)
    first_row = 0
    header = not names
    try:
        for table in _gathered(_open(path, columns, names, empty_cells)):
            yield first_row, _typed(path, table, columns, empty_cells, first_row, header)
            first_row += len(table)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise _explained(path, error, columns, names) from None


def check_columns(
    path: Path, found: Sequence[str], wanted: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Says which columns are missing, or are there and should not be."""
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in (*wanted, *optional)]
    if missing:
        raise TraceError(
            f"{path}: column {missing[0]!r} is missing: needed are {_listed(wanted)}."
            + nearest(missing[0], extra)
        )
    if extra:
        raise TraceError(
            f"{path}: column {extra[0]!r} is not allowed: only {_listed(wanted)}."
            + nearest(extra[0], wanted)
        )
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise TraceError(f"{path}: column {twice!r} is a duplicate")


def _listed(names: Sequence[str]) -> str:
    """Names of columns for people, who do not want to read all of a thousand."""
    if len(names) <= MOST_LISTED:
        return ", ".join(names)
    first = ", ".join(names[: MOST_LISTED // 2])
    return f"{first} and {len(names) - MOST_LISTED // 2:,} more up to {names[-1]}"


def check(
    path: Path,
    name: str,
    values: np.ndarray,
    good: np.ndarray,
    allowed: str,
    header: bool = True,
    first_row: int = 0,
) -> None:
    """Raises for the first value that is not good; the values begin at a row of the file."""
    if not good.all():
        row = int(np.argmin(good))
        raise not_allowed(location(path, first_row + row, header), name, values[row], allowed)


def not_allowed(where: str, name: str, value: Any, allowed: str) -> TraceError:
    """The error that a value at a location is not allowed."""
    shown = value.item() if isinstance(value, np.generic) else value
    return TraceError(f"{where}: {name}: {shown!r} is not allowed: {allowed}")


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise TraceError(f"{path}: " + ("is a folder" if path.is_dir() else "does not exist"))


def _open(
    path: Path,
    columns: Mapping[str, ColumnType],
    names: Sequence[str],
    empty_cells: bool,
) -> Iterable[pa.RecordBatch]:
    if is_parquet(path):
        file = pq.ParquetFile(path)
        check_columns(path, file.schema_arrow.names, list(columns))
        # Group by group: over a whole file Arrow would keep what it has read.
        groups = range(file.num_row_groups)
        return chain.from_iterable(file.iter_batches(BATCH_ROWS, [group]) for group in groups)
    reader = pa_csv.open_csv(
        path,
        read_options=pa_csv.ReadOptions(column_names=list(names) or None, block_size=BLOCK_BYTES),
        convert_options=_convert_options(columns, empty_cells, only_these=bool(names)),
    )
    check_columns(path, reader.schema.names, list(columns))
    return reader


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Joins small batches into ones of about ``BATCH_ROWS`` rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= BATCH_ROWS:
            yield pa.Table.from_batches(held).unify_dictionaries()
            held = []
    if held:
        yield pa.Table.from_batches(held).unify_dictionaries()


def _convert_options(
    columns: Mapping[str, ColumnType], empty_cells: bool, only_these: bool = False
) -> pa_csv.ConvertOptions:
    options = pa_csv.ConvertOptions(
        column_types={name: arrow_type(kind) for name, kind in columns.items() if kind is not None},
        include_columns=list(columns) if only_these else None,
    )
    if not empty_cells:
        # Arrow takes words such as NaN for an empty cell: they deserve an error of their own.
        options.null_values = [""]
        options.strings_can_be_null = True
    return options


def check_filled(path: Path, table: pa.Table, columns: Iterable[str]) -> None:
    """Raises for the first cell of these columns that is empty or no number."""
    for name in columns:
        missing = table[name].is_null(nan_is_null=True)
        if pc.any(missing).as_py():
            raise TraceError(f"{location(path, pc.index(missing, True).as_py())}: {name}: is empty")


def _typed(
    path: Path,
    table: pa.Table,
    columns: Mapping[str, ColumnType],
    empty_cells: bool,
    first_row: int = 0,
    header: bool = True,
) -> pa.Table:
    """Casts the columns to the wanted types, and finds empty cells."""
    typed = {}
    for name in table.column_names:
        kind, values = columns[name], table[name]
        if kind is not None and values.type != arrow_type(kind):
            values = _cast(path, name, values, kind, first_row, header)
        if values.null_count and not empty_cells:
            row = first_row + pc.index(values.is_null(), True).as_py()
            raise TraceError(f"{location(path, row, header)}: {name}: is empty")
        typed[name] = values.combine_chunks()
    return pa.table(typed)


def _cast(
    path: Path, name: str, values: Any, kind: ColumnType, first_row: int, header: bool
) -> Any:
    wanted = arrow_type(kind)
    try:
        return values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(values, first_row):
            try:
                value.cast(wanted)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                where = location(path, row, header)
                allowed = WORDS.get(str(wanted), str(wanted))
                raise not_allowed(where, name, value.as_py(), allowed) from None
        raise


def _explained(
    path: Path,
    error: Exception,
    columns: Mapping[str, ColumnType],
    names: Sequence[str] = (),
) -> TraceError:
    """Finds the line of a CSV that Arrow could not read: Arrow does not name it."""
    generic = TraceError(f"{path}: cannot be read: {' '.join(str(error).split())}")
    if is_parquet(path) or not re.search("conversion error|parse error", str(error)):
        return generic
    fields = list(names)
    for line, row in _csv_rows(path):
        where = f"{path}, line {line}"
        if not fields:
            fields = row
            continue
        if len(row) != len(fields):
            return TraceError(f"{where}: has {len(row)} columns: {len(fields)} are needed")
        for name, text in zip(fields, row, strict=True):
            kind = arrow_type(columns.get(name))
            if str(kind) in WORDS and not _is_number(text, kind):
                return not_allowed(where, name, text, WORDS[str(kind)])
    return generic


def _is_number(text: str, kind: Any) -> bool:
    """Whether a cell of a CSV is a number of a type, or empty."""
    if not text:
        return True
    try:
        pa.scalar(text.strip(" \t")).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV and the line on which each begins. Slow: only errors need it."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = csv.reader(file)
            line = 1
            for row in rows:
                if row:
                    yield line, row
                line = rows.line_num + 1
    except (*UNREADABLE, csv.Error):
        return
