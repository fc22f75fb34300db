"""An indexed heap: a time for each of many entries, and which comes first.

A tournament tree of the earliest times, so any entry can be moved in logarithmic time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline, jit_uncounted

LARGEST = np.int64(2**63 - 1)

MATCH = np.dtype(
    [
        ("time", np.float64),  # the earliest of the entries below
        ("entry", np.int64),  # which it is; of several the lowest
    ]
)


class IndexedHeap(NamedTuple):
    """The tree: node 1 is the root, the children of node k are 2k and 2k + 1, entries come last."""

    tree: NDArray[np.void]  # (2 * leaves,) of MATCH


def make_indexed_heap(count: int) -> IndexedHeap:
    """Returns a heap of entries that have no time yet: all are at infinity."""
    leaves = 1
    while leaves < max(count, 1):
        leaves *= 2
    return _built(np.full(leaves, np.inf))


def with_entries(heap: IndexedHeap, count: int) -> IndexedHeap:
    """Returns the same heap with room for more entries."""
    times, before = entry_times(make_indexed_heap(count)), entry_times(heap)
    times[: len(before)] = before
    return _built(times)


def _built(times: NDArray[np.float64]) -> IndexedHeap:
    """Returns the heap of some times; their count is a power of two."""
    tree, level = np.zeros(2 * len(times), MATCH), len(times)
    tree["time"][level:], tree["entry"][level:] = times, np.arange(level)
    while level > 1:
        left, right = tree[level : 2 * level : 2], tree[level + 1 : 2 * level : 2]
        tree[level // 2 : level] = np.where(right["time"] < left["time"], right, left)
        level //= 2
    return IndexedHeap(tree)


def entry_times(heap: IndexedHeap) -> NDArray[np.float64]:
    """Returns the time of each entry, and infinity for those to come."""
    times: NDArray[np.float64] = heap.tree["time"][len(heap.tree) // 2 :]
    return times


@jit_inline
def _rank(time: float) -> np.int64:
    """A whole number for a time, in the same order; -0.0 would come before 0.0."""
    bits = np.float64(time).view(np.int64)
    return bits ^ ((bits >> 63) & LARGEST)


@jit_inline
def _time(rank: np.int64) -> float:
    """The time of a rank."""
    return np.int64(rank ^ ((rank >> 63) & LARGEST)).view(np.float64)


@jit_uncounted
def set_time(heap: IndexedHeap, entry: int, time: float) -> None:
    """Moves an entry to a time; infinity takes it out."""
    tree = heap.tree
    node = len(tree) // 2 + entry
    rank = _rank(time + 0.0)
    tree[node].time = _time(rank)
    while node > 1:
        # Which of two is earlier cannot be foretold: select, do not branch. A processor does that
        # with whole numbers at once, and not with times. Of equals the left.
        other = tree[node ^ 1]
        other_rank, other_entry = _rank(other.time), other.entry
        wins = other_rank < rank + (node & 1)
        rank = other_rank if wins else rank
        entry = other_entry if wins else entry
        node >>= 1
        match = tree[node]
        if match.entry == entry and _rank(match.time) == rank:
            return
        match.time = _time(rank)
        match.entry = entry


@jit_uncounted
def time_of(heap: IndexedHeap, entry: int) -> float:
    """Returns the time of an entry; infinity if it has none."""
    return heap.tree[len(heap.tree) // 2 + entry].time


@jit_uncounted
def earliest_time(heap: IndexedHeap) -> float:
    """Returns the earliest time; infinity if no entry has one."""
    return heap.tree[1].time


@jit_uncounted
def earliest_entry(heap: IndexedHeap) -> int:
    """Returns the entry with the earliest time; of several the lowest."""
    return heap.tree[1].entry
