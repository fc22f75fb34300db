"""PyArrow, imported when it is first used: to describe a scenario needs no tables.

``pa.array``, ``pa.table`` and ``to_numpy`` import pandas where it is installed, if only to find out
that what they are given is not of pandas. That takes a third of the time of a short run. So what
every run makes or reads is made and read by the functions here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudarena.base.lazy import lazy_module
from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
else:
    pa = lazy_module("pyarrow")
    pc = lazy_module("pyarrow.compute")
    pa_csv = lazy_module("pyarrow.csv")
    pq = lazy_module("pyarrow.parquet")

__all__ = ["arrow_column", "arrow_table", "pa", "pa_csv", "pc", "pq", "read_numbers"]

MANY = 100_000
"""More texts than these are left to Arrow, which lays them out more quickly."""


def arrow_column(values: Any, mask: Any = None) -> pa.Array:
    """Makes what ``pa.array`` does of an array of numbers or truth values, or of texts.

    Args:
        values: a NumPy array, which is not copied; or texts, of which some may be None.
        mask: True where there is no value.
    """
    if not isinstance(values, np.ndarray):
        values = np.array(values, object)
    if values.dtype.kind in "UO" and len(values) <= MANY:
        hidden = np.array([one is None for one in values], bool)
        return _texts(values, hidden if mask is None else hidden | mask)
    if values.dtype.kind not in "iufb":
        return pa.array(values, pa.string(), mask=mask)
    is_flag = values.dtype.kind == "b"
    data = np.packbits(values, bitorder="little") if is_flag else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_there(mask), pa.py_buffer(data)])


def arrow_table(columns: Mapping[str, Any]) -> pa.Table:
    """Makes what ``pa.table`` does of Arrow's columns and of what ``arrow_column`` takes."""
    kinds = (pa.Array, pa.ChunkedArray)
    made = [one if isinstance(one, kinds) else arrow_column(one) for one in columns.values()]
    return pa.Table.from_arrays(made, names=list(columns))


def read_numbers(column: pa.Array | pa.ChunkedArray) -> Any:
    """Reads as ``to_numpy`` does, from a column of numbers that are all there."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.from_dlpack(whole)


def _texts(values: Any, hidden: Any) -> pa.Array:
    texts = [b"" if gone else one.encode() for one, gone in zip(values, hidden, strict=True)]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    buffers = [_there(hidden), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _there(mask: Any) -> Any:
    """Arrow's bits for what is not hidden; None if nothing is."""
    if mask is None or not np.any(mask):
        return None
    return pa.py_buffer(np.packbits(~np.asarray(mask, bool), bitorder="little"))
