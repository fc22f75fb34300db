"""An index over vectors: which is the first, from a place on, that is at least as large as asked?

A segment tree of component-wise maxima. A search skips every part whose maximum falls short in some
component, so its cost grows with the logarithm of the length as long as one component decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled, lean

LOWEST = -(1 << 62)
"""Less than anything that is asked for: the value of a place that is empty."""


class Index(NamedTuple):
    """The tree: node 1 is the root, the children of node k are 2k and 2k + 1, leaves come last."""

    nodes: NDArray[np.int64]  # (2 * leaves, components)


def make_index(length: int, components: int) -> Index:
    """An index of empty places."""
    leaves = 1
    while leaves < max(length, 1):
        leaves *= 2
    return Index(np.full((2 * leaves, components), LOWEST, np.int64))


@lean
def put(index: Index, place: int, values: NDArray[np.int64], sign: int) -> None:
    """Sets the vector of a place, times a sign: with -1 the index finds the first at most."""
    nodes = index.nodes
    node = len(nodes) // 2 + place
    for c in range(nodes.shape[1]):
        nodes[node, c] = sign * values[c]
    _mend(nodes, node)


@lean
def put_number(index: Index, place: int, value: int) -> None:
    """Sets the number of a place, in an index of one component."""
    nodes = index.nodes
    node = len(nodes) // 2 + place
    nodes[node, 0] = value
    _mend(nodes, node)


@lean
def clear(index: Index, place: int) -> None:
    """Empties a place."""
    nodes = index.nodes
    node = len(nodes) // 2 + place
    for c in range(nodes.shape[1]):
        nodes[node, c] = LOWEST
    _mend(nodes, node)


@lean
def _mend(nodes: NDArray[np.int64], node: int) -> None:
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


@lean
def largest(index: Index) -> int:
    """The largest number of an index of one component; LOWEST if all places are empty."""
    return index.nodes[1, 0]


@compiled
def largest_vector(index: Index) -> NDArray[np.int64]:
    """The largest value of each component over all places."""
    return index.nodes[1]


@lean
def first_number(index: Index, wanted: int) -> int:
    """The first place with a number of at least ``wanted``, in an index of one component; or -1."""
    nodes = index.nodes
    if nodes[1, 0] < wanted:
        return -1
    leaves = len(nodes) // 2
    node = 1
    while node < leaves:
        node *= 2
        if nodes[node, 0] < wanted:
            node += 1
    return node - leaves


@lean
def first_at_least(index: Index, wanted: NDArray[np.int64], sign: int, start: int) -> int:
    """The first place, from ``start`` on, with every component at least sign * wanted; or -1."""
    nodes = index.nodes
    leaves = len(nodes) // 2
    if start >= leaves:
        return -1
    node = 1 if start == 0 else leaves + start
    while True:
        enough = True
        for c in range(nodes.shape[1]):
            enough &= nodes[node, c] >= sign * wanted[c]
        if enough:
            if node >= leaves:
                return node - leaves
            node *= 2
            continue
        while node % 2 == 1:  # a right child: its parent's part is done
            node //= 2
        if node == 0:
            return -1
        node += 1
