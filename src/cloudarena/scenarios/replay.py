"""What the policies that take their decisions from a file have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cloudarena.base.errors import PolicyError
from cloudarena.workloads.columns import location, read_columns


class DecisionFile:
    """A file of decisions; a scenario says which columns it has and what they mean.

    Args:
        path: a CSV or Parquet file.
        columns: the columns it must have, with their types; None is any type.
        optional: those it may have too.
    """

    def __init__(
        self,
        path: Path,
        columns: Mapping[str, pa.DataType | None],
        optional: Mapping[str, pa.DataType | None] | None = None,
    ) -> None:
        self.name = f"replay:{path}"
        self._path = path
        self._table = read_columns(path, columns, optional)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows, each with its number."""
        return enumerate(self._table.to_pylist())

    def _error(self, why: str, row: int | None = None) -> PolicyError:
        """What is wrong with the file, or with one row of it.

        Where the row stands is looked up only now: in a CSV that means reading up to it.
        """
        where = self._path if row is None else location(self._path, row)
        return PolicyError(f"{where}: {why}")
