"""Columns of Arrow as arrays of NumPy, and ids as numbers: what readers of all kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudarena.base.arrow import pa, pc
from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plain(ids: pa.Array) -> pa.Array:
    """Ids without dictionaries, small integers and other ways to store the same."""
    kind = ids.type
    if pa.types.is_dictionary(kind):
        return plain(ids.cast(kind.value_type))
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return ids.cast(pa.int64())
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return ids.cast(pa.string())
    return ids


def codes(values: pa.Array) -> NDArray[np.int64]:
    """Numbers values from 0 in order of appearance."""
    return np.array(pc.dictionary_encode(values).indices.to_numpy(), np.int64)


class Numbering:
    """Numbers values from 0 in order of appearance, over several arrays."""

    def __init__(self) -> None:
        self._number: dict[object, int] = {}

    def codes(self, values: pa.Array) -> NDArray[np.int64]:
        """The numbers of the next values."""
        encoded = pc.dictionary_encode(values)
        known = [
            self._number.setdefault(value, len(self._number))
            for value in encoded.dictionary.to_pylist()
        ]
        return np.array(known, np.int64)[encoded.indices.to_numpy()]


def first_of_each(ids: pa.Array) -> NDArray[np.bool_]:
    """True where an id stands for the first time."""
    _, first = np.unique(codes(ids), return_index=True)
    is_first = np.zeros(len(ids), bool)
    is_first[first] = True
    return is_first


def writable(column: pa.ChunkedArray | pa.Array) -> NDArray[Any]:
    """A NumPy array of its own: compiled code takes no read-only ones."""
    return np.array(column.to_numpy(zero_copy_only=False))
