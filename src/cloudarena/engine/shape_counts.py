"""How many entries fit each of a few shapes, and which is the n-th of them.

Whoever takes any fitting machine with the same chance must know how many fit. Requests of a cloud
come in few shapes: each shape that was asked for has a slot, with a tree of counts over the
entries, so that a count is read and the n-th entry found in logarithmic time. A change of an entry
is compared with all shapes in use. A shape without a slot takes that of the shape that has had its
own for longest, and its counts are made by a scan, as they would be without all this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline

SLOTS, WIDTH = 48, 4
"""Shapes that are counted at a time, fewer than a number has bits; the numbers of a shape."""
LEAF = 32
"""Entries that a leaf of the tree counts together."""


class ShapeCounts(NamedTuple):
    """The shapes and their counts; slots are used in turn."""

    state: NDArray[np.int64]  # (2,): how many slots are in use; the next to be given
    shapes: NDArray[np.int64]  # (SLOTS, WIDTH)
    fitting: NDArray[np.int64]  # (entries,): bit k tells whether the shape of slot k fits
    counts: NDArray[np.int32]  # (SLOTS, 2 * leaves): node 1 is the root


def make_shape_counts(entries: int) -> ShapeCounts:
    """Counts of no shape yet."""
    leaves = 1
    while leaves * LEAF < entries:
        leaves *= 2
    return ShapeCounts(
        np.zeros(2, np.int64),
        np.zeros((SLOTS, WIDTH), np.int64),
        np.zeros(entries, np.int64),
        np.zeros((SLOTS, 2 * leaves), np.int32),
    )


@jit_inline
def slot_of(index: ShapeCounts, a: int, b: int, c: int, d: int) -> int:
    """The slot of a shape; -1 if it has none."""
    shapes = index.shapes
    for slot in range(index.state[0]):
        if (
            shapes[slot, 0] == a
            and shapes[slot, 1] == b
            and shapes[slot, 2] == c
            and shapes[slot, 3] == d
        ):
            return slot
    return -1


@jit_inline
def give_slot(index: ShapeCounts, a: int, b: int, c: int, d: int) -> int:
    """Gives a shape a slot, whose counts are still to be made: ``note`` and ``count_above``."""
    slot = index.state[1]
    index.state[0] = max(index.state[0], slot + 1)
    index.state[1] = (slot + 1) % SLOTS
    shapes = index.shapes
    shapes[slot, 0], shapes[slot, 1], shapes[slot, 2], shapes[slot, 3] = a, b, c, d
    index.counts[slot, :] = 0
    return slot


@jit_inline
def note(index: ShapeCounts, slot: int, entry: int, fits: bool) -> None:
    """Notes whether an entry fits a new shape, without what is above its leaf."""
    bit = 1 << slot
    if fits:
        index.fitting[entry] |= bit
        index.counts[slot, index.counts.shape[1] // 2 + entry // LEAF] += 1
    else:
        index.fitting[entry] &= ~bit


@jit_inline
def count_above(index: ShapeCounts, slot: int) -> None:
    """Adds up the counts of a new shape."""
    counts = index.counts[slot]
    for node in range(len(counts) // 2 - 1, 0, -1):
        counts[node] = counts[2 * node] + counts[2 * node + 1]


@jit_call
def put_fitting(index: ShapeCounts, entry: int, fitting: int) -> None:
    """Takes note which shapes, a bit each, an entry fits now."""
    changed = index.fitting[entry] ^ fitting
    if changed == 0:
        return
    index.fitting[entry] = fitting
    for slot in range(index.state[0]):
        if changed >> slot & 1:
            change = 1 if fitting >> slot & 1 else -1
            node = index.counts.shape[1] // 2 + entry // LEAF
            while node >= 1:
                index.counts[slot, node] += change
                node //= 2


@jit_inline
def how_many(index: ShapeCounts, slot: int) -> int:
    """How many entries fit a shape."""
    return index.counts[slot, 1]


@jit_call
def nth_fitting(index: ShapeCounts, slot: int, n: int) -> int:
    """The n-th entry, from 0, that fits a shape; there must be more than n."""
    counts = index.counts[slot]
    leaves = len(counts) // 2
    node = 1
    while node < leaves:
        node *= 2
        if counts[node] <= n:
            n -= counts[node]
            node += 1
    entry = (node - leaves) * LEAF - 1
    while n >= 0:
        entry += 1
        n -= index.fitting[entry] >> slot & 1
    return entry
