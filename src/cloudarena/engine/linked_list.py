"""Doubly linked lists of items in arrays, from which any item is taken out at once.

Items are records with the fields ``next`` and ``before``: the indices of their neighbours in the
list, NONE at its ends. An item is in one list at a time. Who owns a list keeps the index of its
first item, and that of its last one if items are put there too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline

NONE = -1
LINKS = [("next", np.int64), ("before", np.int64)]
"""The fields of an item: its neighbours in the list."""
ENDS = [("first", np.int64), ("last", np.int64)]
"""The fields of an owner that keeps both ends of its list."""


@jit_inline
def insert(items: NDArray[np.void], index: int, before: int, after: int) -> None:
    """Links an item in between two neighbours, each of which may be NONE."""
    items[index].before, items[index].next = before, after
    if before != NONE:
        items[before].next = index
    if after != NONE:
        items[after].before = index


@jit_inline
def remove(items: NDArray[np.void], index: int) -> None:
    """Links the neighbours of an item to each other; the item itself keeps its links."""
    before, after = items[index].before, items[index].next
    if before != NONE:
        items[before].next = after
    if after != NONE:
        items[after].before = before


@jit_inline
def put_first(items: NDArray[np.void], first: int, index: int) -> int:
    """Puts an item before the first one of a list; returns the first one from now on."""
    insert(items, index, NONE, first)
    return index


@jit_inline
def without(items: NDArray[np.void], first: int, index: int) -> int:
    """Takes an item out of a list; returns the first one from now on."""
    remove(items, index)
    return items[index].next if first == index else first


@jit_inline
def insert_between(items: NDArray[np.void], ends: Any, index: int, before: int, after: int) -> None:
    """Links an item in between two neighbours of a list with two ends."""
    insert(items, index, before, after)
    if before == NONE:
        ends.first = index
    if after == NONE:
        ends.last = index


@jit_inline
def append(items: NDArray[np.void], ends: Any, index: int) -> None:
    """Puts an item at the end of a list with two ends."""
    insert_between(items, ends, index, ends.last, NONE)


@jit_inline
def take_out(items: NDArray[np.void], ends: Any, index: int) -> None:
    """Takes an item out of a list with two ends."""
    remove(items, index)
    if items[index].before == NONE:
        ends.first = items[index].next
    if items[index].next == NONE:
        ends.last = items[index].before
