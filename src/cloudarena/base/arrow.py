"""PyArrow, imported when it is first used: to describe a scenario needs no tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.lazy import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
else:
    pa = lazy_module("pyarrow")
    pc = lazy_module("pyarrow.compute")
    pa_csv = lazy_module("pyarrow.csv")
    pq = lazy_module("pyarrow.parquet")

__all__ = ["pa", "pa_csv", "pc", "pq"]
