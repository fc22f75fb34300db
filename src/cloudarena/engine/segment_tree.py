"""A segment tree over vectors: the first, from an index on, that is at least as large as asked.

Its nodes are component-wise maxima. A search skips every part whose maximum falls short in some
component, so its cost grows with the logarithm of the length as long as one component decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit, jit_inline, jit_uncounted

LOWEST = -(1 << 62)
"""A value below all that is asked for: that of an empty entry."""
FEW = 8
"""Entries that are looked at one after the other, since they are so few."""


class SegmentTree(NamedTuple):
    """The tree: node 1 is the root, the children of node k are 2k and 2k + 1, leaves come last."""

    nodes: NDArray[np.int64]  # (2 * leaves, components)


def make_segment_tree(length: int, components: int) -> SegmentTree:
    """Returns a tree of empty entries."""
    leaves = 1
    while leaves < max(length, 1):
        leaves *= 2
    return SegmentTree(np.full((2 * leaves, components), LOWEST, np.int64))


def segment_tree_of(vectors: NDArray[np.int64]) -> SegmentTree:
    """Returns a tree of these entries, one a row."""
    tree = make_segment_tree(*vectors.shape)
    nodes, first = tree.nodes, len(tree.nodes) // 2
    nodes[first : first + len(vectors)] = vectors
    while first > 1:
        pairs = nodes[first : 2 * first].reshape(first // 2, 2, vectors.shape[1])
        first //= 2
        nodes[first : 2 * first] = pairs.max(axis=1)
    return tree


@jit_uncounted
def set_vector(tree: SegmentTree, index: int, values: NDArray[np.int64], sign: int) -> None:
    """Sets the vector of an entry, times a sign: with -1 the tree finds the first at most."""
    nodes = tree.nodes
    node = len(nodes) // 2 + index
    for c in range(nodes.shape[1]):
        nodes[node, c] = sign * values[c]
    update_above(nodes, node)


@jit_uncounted
def set_value(tree: SegmentTree, index: int, value: int) -> None:
    """Sets the value of an entry, in a tree of one component."""
    nodes = tree.nodes
    node = len(nodes) // 2 + index
    nodes[node, 0] = value
    update_above(nodes, node)


@jit_uncounted
def clear_entry(tree: SegmentTree, index: int) -> None:
    """Empties an entry."""
    nodes = tree.nodes
    node = len(nodes) // 2 + index
    for c in range(nodes.shape[1]):
        nodes[node, c] = LOWEST
    update_above(nodes, node)


@jit_uncounted
def update_above(nodes: NDArray[np.int64], node: int) -> None:
    """Brings the maxima above a leaf up to date."""
    node //= 2
    while node >= 1:
        changed = False
        for c in range(nodes.shape[1]):
            largest = max(nodes[2 * node, c], nodes[2 * node + 1, c])
            if largest != nodes[node, c]:
                nodes[node, c] = largest
                changed = True
        if not changed:
            return
        node //= 2


@jit_uncounted
def largest(tree: SegmentTree) -> int:
    """The largest value of a tree of one component; LOWEST if all entries are empty."""
    return tree.nodes[1, 0]


@jit
def largest_vector(tree: SegmentTree) -> NDArray[np.int64]:
    """The largest value of each component over all entries."""
    return tree.nodes[1]


@jit_uncounted
def first_value_at_least(tree: SegmentTree, wanted: int) -> int:
    """The first entry with a value of at least ``wanted``, in a tree of one component; or -1."""
    nodes = tree.nodes
    if nodes[1, 0] < wanted:
        return -1
    leaves = len(nodes) // 2
    node = 1
    while node < leaves:
        node *= 2
        if nodes[node, 0] < wanted:
            node += 1
    return node - leaves


@jit_inline
def is_enough(nodes: NDArray[np.int64], node: int, wanted: NDArray[np.int64], sign: int) -> bool:
    """Whether every component of a node is at least sign * wanted."""
    if nodes.shape[1] == 4:  # as machines have it; a loop of unknown length takes longer
        return (
            (nodes[node, 0] >= sign * wanted[0])
            & (nodes[node, 1] >= sign * wanted[1])
            & (nodes[node, 2] >= sign * wanted[2])
            & (nodes[node, 3] >= sign * wanted[3])
        )
    enough = True
    for c in range(nodes.shape[1]):
        enough &= nodes[node, c] >= sign * wanted[c]
    return enough


@jit_uncounted
def first_at_least(tree: SegmentTree, wanted: NDArray[np.int64], sign: int, start: int) -> int:
    """The first entry, from ``start`` on, with every component at least sign * wanted; or -1."""
    nodes = tree.nodes
    leaves = len(nodes) // 2
    if start >= leaves:
        return -1
    if leaves <= FEW:
        for leaf in range(start, leaves):
            if is_enough(nodes, leaves + leaf, wanted, sign):
                return leaf
        return -1
    node = 1 if start == 0 else leaves + start
    while True:
        if is_enough(nodes, node, wanted, sign):
            if node >= leaves:
                return node - leaves
            node *= 2
            continue
        while node % 2 == 1:  # a right child: its parent's part is done
            node //= 2
        if node == 0:
            return -1
        node += 1
