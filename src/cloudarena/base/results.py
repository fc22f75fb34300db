"""Folders of results: one writer and one reader for all that is measured.

Every folder has ``metrics.json`` with all figures, a Parquet file for each table and, as far as
there is something to say, ``report.html`` and ``spec.yaml``. In ``metrics.json``, ``result`` says
what the folder holds, such as a ``run``, and ``tables`` which tables; ``format`` is the version of
folders, which only the writer and the reader here know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.files import written_folder
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

METRICS = "metrics.json"
SPEC = "spec.yaml"
REPORT = "report.html"
STATE = "state.npz"
FORMAT = 1
"""The version of folders of results; it rises when a reader of the one before would go wrong."""


@dataclass(frozen=True)
class Contents:
    """What a folder of results holds."""

    summary: Mapping[str, Any]
    """The figures as plain values, with ``result`` and ``tables``; in JSON, NaN is null."""
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """Further files by name, such as ``spec.yaml``."""
    state: bytes = b""
    """What is needed to load it again and is in no other file; may be nothing."""

    def is_same(self, other: Contents) -> bool:
        """Whether all of it is the same; NaN is the same as NaN."""
        return (
            _json(self.summary) == _json(other.summary)
            and self.texts == other.texts
            and self.state == other.state
            and list(self.tables) == list(other.tables)
            and all(same_table(table, other.tables[name]) for name, table in self.tables.items())
        )


def write_results(folder: str | Path, contents: Contents) -> Path:
    """Writes all files of a folder of results, or, if that fails, none."""
    import pyarrow.parquet as pq

    with written_folder(folder) as draft:
        summary = {"format": FORMAT, **contents.summary}
        for name, content in {METRICS: _json(summary), **contents.texts}.items():
            (draft / name).write_text(content, encoding="utf-8", newline="\n")
        for name, table in contents.tables.items():
            pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        if contents.state:
            (draft / STATE).write_bytes(contents.state)
    return Path(folder)


def read_results(folder: str | Path, result: str) -> Contents:
    """Reads a folder of results; an error of one line says what is missing.

    Args:
        folder: where the results were saved.
        result: what it should hold, such as ``run``.
    """
    home = Path(folder)
    if not home.is_dir():
        reason = "is not a folder" if home.exists() else "does not exist"
        raise CloudarenaError(f"{home}: holds no results: it {reason}")
    summary = _summary(home)
    _check_format(home, summary.pop("format", FORMAT), summary.get("version"))
    if summary.get("result") != result:
        found = summary.get("result")
        what = f"holds the results of a {found}" if found else "is not of this version"
        raise CloudarenaError(f"{home}: {METRICS} {what}, not those of a {result}")
    names = [str(name) for name in summary.get("tables", ())]
    return Contents(
        summary,
        {name: _table(home / f"{name}.parquet") for name in names},
        {file.name: _text(file) for file in (home / SPEC,) if file.is_file()},
        (home / STATE).read_bytes() if (home / STATE).is_file() else b"",
    )


def needed(contents: Contents, folder_of: str, name: str) -> str:
    """One of the texts of a folder, or an error of one line."""
    if name not in contents.texts:
        raise CloudarenaError(f"the folder of a {folder_of} is not complete: {name} is missing")
    return contents.texts[name]


def number_or_null(value: float) -> float | None:
    """A number as JSON has it: null where it is not finite."""
    return float(value) if math.isfinite(value) else None


def same_table(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same columns with the same values; NaN is the same as NaN."""
    import numpy as np
    import pyarrow as pa

    if one.column_names != other.column_names or one.num_rows != other.num_rows:
        return False
    for x, y in zip(one.columns, other.columns, strict=True):
        if x.equals(y):
            continue
        if not (x.type == y.type and pa.types.is_floating(x.type) and x.is_null() == y.is_null()):
            return False
        if not np.array_equal(x.to_numpy(), y.to_numpy(), equal_nan=True):
            return False
    return True


def _json(summary: Mapping[str, Any]) -> str:
    return json.dumps(_finite(summary), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Plain values in which null stands for what is not finite."""
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return number_or_null(value) if isinstance(value, float) else value


def _summary(home: Path) -> dict[str, Any]:
    try:
        summary = json.loads((home / METRICS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CloudarenaError(f"{home}: holds no results: {METRICS} is missing") from None
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise CloudarenaError(f"{home / METRICS}: cannot be read: {reason}") from None
    if not isinstance(summary, dict):
        raise CloudarenaError(f"{home / METRICS}: cannot be read: it is no mapping")
    return summary


def _check_format(home: Path, found: Any, writer: Any) -> None:
    """Raises unless folders of a version can be read; those without one are of version 1."""
    if type(found) is not int or not 1 <= found <= FORMAT:
        wrote = f"; cloudarena {writer} wrote it" if isinstance(writer, str) and writer else ""
        raise CloudarenaError(
            f"{home / METRICS}: format: {found!r} is not allowed: a whole number of at most "
            f"{FORMAT}, which cloudarena {__version__} reads{wrote}"
        )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CloudarenaError(f"{file}: cannot be read: {error}") from None


def _table(file: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise CloudarenaError(f"{file.parent}: results are not complete: {file.name} is missing")
    try:
        return pq.read_table(file, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise CloudarenaError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from None
