"""Entries in the order of a key, each with the room that it has: the first with enough of it.

What ranks machines by a key and takes the first that fits needs no scan: the order is kept in
blocks of at most ``BLOCK`` entries, and a segment tree over the blocks holds the most room in each.
A search skips all blocks in which one amount falls short, a change touches one or two blocks, so
the cost of both grows with the logarithm of the number of entries.

Room is four amounts. Who asks may ask for all of them, or for one of two pairs, which are then for
two classes of who asks; an entry that is closed to a class has ``LOWEST`` there. Entries with equal
keys are in the order of their numbers. Where the order never changes (``PLAIN``), the leaves of the
tree are the entries themselves.

Keys and rooms lie in the blocks, one behind the other: who looks through a block reads memory in a
row, where a look at each entry by its number would be a miss of the caches for each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline, jit_uncounted
from cloudarena.engine.prefetch import prefetch
from cloudarena.engine.segment_tree import LOWEST, make_segment_tree, update_above

BLOCK = 64
FEWEST = BLOCK // 2
"""Two blocks next to each other have more entries together than this, or they become one."""
PLAIN, ORDERED = range(2)
"""Entries are in the order of their numbers, or in the order of their keys."""
KEYS, AMOUNTS = 2, 4


class OrderedRooms(NamedTuple):
    """The blocks and the tree over them. A block's number is fixed, its place in the order not."""

    mode: NDArray[np.int64]  # (2,): PLAIN or ORDERED; how many blocks there are
    nodes: NDArray[np.int64]  # (2 * leaves, AMOUNTS): as those of a SegmentTree
    block_of: NDArray[np.int64]  # (entries,)
    members: NDArray[np.int64]  # (blocks, BLOCK): entries in order
    keys: NDArray[np.float64]  # (blocks, BLOCK, KEYS): of the members
    rooms: NDArray[np.int64]  # (blocks, BLOCK, AMOUNTS): of the members
    sizes: NDArray[np.int64]  # (blocks,)
    order: NDArray[np.int64]  # (blocks,): those in use in their order, then the free ones
    place: NDArray[np.int64]  # (blocks,): where a block stands in `order`
    least_key: NDArray[np.float64]  # (blocks, KEYS): by place; nothing below belongs there
    least_entry: NDArray[np.int64]  # (blocks,)


def _empty(mode: int, entries: int, blocks: int, leaves: int) -> OrderedRooms:
    return OrderedRooms(
        np.array([mode, 0], np.int64),
        make_segment_tree(leaves, AMOUNTS).nodes,
        np.zeros(entries, np.int64),
        np.zeros((blocks, BLOCK), np.int64),
        np.zeros((blocks, BLOCK, KEYS)),
        np.zeros((blocks, BLOCK, AMOUNTS), np.int64),
        np.zeros(blocks, np.int64),
        np.arange(blocks),
        np.zeros(blocks, np.int64),
        np.zeros((blocks, KEYS)),
        np.zeros(blocks, np.int64),
    )


def plain_rooms(rooms: NDArray[np.int64]) -> OrderedRooms:
    """An index of entries in the order of their numbers, with the rooms given: (entries, 4)."""
    made = _empty(PLAIN, 0, 0, len(rooms))
    leaves = len(made.nodes) // 2
    made.nodes[leaves : leaves + len(rooms)] = rooms
    _build_above(made.nodes)
    return made


def ordered_rooms(keys: NDArray[np.float64], rooms: NDArray[np.int64]) -> OrderedRooms:
    """An index of entries in the order of their keys, (entries, 2), lowest first."""
    entries = len(keys)
    blocks = 4 * entries // BLOCK + 4  # two neighbours have more than FEWEST together
    made = _empty(ORDERED, entries, blocks, blocks)
    sorted_ = np.lexsort((np.arange(entries), keys[:, 1], keys[:, 0]))
    used = max(1, -(-entries // FEWEST))
    made.mode[1] = used
    leaves = len(made.nodes) // 2
    for block in range(used):
        here = sorted_[block * FEWEST : (block + 1) * FEWEST]
        made.members[block, : len(here)] = here
        made.keys[block, : len(here)] = keys[here]
        made.rooms[block, : len(here)] = rooms[here]
        made.sizes[block] = len(here)
        made.block_of[here] = block
        made.place[block] = block
        if block > 0:
            made.least_key[block], made.least_entry[block] = keys[here[0]], here[0]
        made.nodes[leaves + block] = rooms[here].max(axis=0, initial=LOWEST)
    made.least_key[0] = -np.inf
    made.least_entry[0] = -1
    _build_above(made.nodes)
    return made


@jit_uncounted
def _build_above(nodes: NDArray[np.int64]) -> None:
    """Makes all maxima above the leaves."""
    for node in range(len(nodes) // 2 - 1, 0, -1):
        for c in range(AMOUNTS):
            nodes[node, c] = max(nodes[2 * node, c], nodes[2 * node + 1, c])


@jit_inline
def first_leaf(index: OrderedRooms, c: int, first: int, second: int, start: int) -> int:
    """The first leaf, from ``start`` on, with at least so much of amounts c and c + 1; or -1."""
    nodes = index.nodes
    leaves = len(nodes) // 2
    if start >= leaves:
        return -1
    node = 1 if start == 0 else leaves + start
    while True:
        if nodes[node, c] >= first and nodes[node, c + 1] >= second:
            if node >= leaves:
                return node - leaves
            node *= 2
            continue
        while node % 2 == 1:  # a right child: its parent's part is done
            node //= 2
        if node == 0:
            return -1
        node += 1


@jit_call
def first_with_room(index: OrderedRooms, wanted: NDArray[np.int64]) -> int:
    """The first entry in order with at least so much of all four amounts; or -1."""
    nodes, leaves = index.nodes, len(index.nodes) // 2
    node = 1
    while True:
        has = True
        for c in range(AMOUNTS):
            has &= nodes[node, c] >= wanted[c]
        if has:
            if node < leaves:
                node *= 2
                continue
            block = index.order[node - leaves]
            for k in range(index.sizes[block]):
                has = True
                for c in range(AMOUNTS):
                    has &= index.rooms[block, k, c] >= wanted[c]
                if has:
                    return index.members[block, k]
        while node % 2 == 1:  # a right child: its parent's part is done
            node //= 2
        if node == 0:
            return -1
        node += 1


@jit_inline
def enough(index: OrderedRooms, block: int, k: int, c: int, first: int, second: int) -> bool:
    """Whether the k-th member of a block has so much of amounts c and c + 1."""
    return index.rooms[block, k, c] >= first and index.rooms[block, k, c + 1] >= second


@jit_inline
def ask_for_entry(index: OrderedRooms, entry: int) -> None:
    """Asks the memory for what is read when an entry gets another key or room."""
    if index.mode[0] == PLAIN:
        prefetch(index.nodes, len(index.nodes) // 2 + entry)
    else:
        prefetch(index.block_of, entry)


@jit_inline
def _set_node(nodes: NDArray[np.int64], node: int, a: int, b: int, c: int, d: int) -> None:
    nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3] = a, b, c, d
    update_above(nodes, node)


@jit_inline
def _precedes(
    index: OrderedRooms, first: float, second: float, entry: int, block: int, k: int
) -> bool:
    """Whether a key comes before that of a member of a block; equal keys by their numbers."""
    if first != index.keys[block, k, 0]:
        return first < index.keys[block, k, 0]
    if second != index.keys[block, k, 1]:
        return second < index.keys[block, k, 1]
    return entry < index.members[block, k]


@jit_inline
def _copy_member(index: OrderedRooms, block: int, k: int, to: int, at: int) -> None:
    """Copies a member of a block to a block."""
    index.members[to, at] = index.members[block, k]
    for c in range(KEYS):
        index.keys[to, at, c] = index.keys[block, k, c]
    for c in range(AMOUNTS):
        index.rooms[to, at, c] = index.rooms[block, k, c]


@jit_inline
def _place_of(index: OrderedRooms, first: float, second: float, entry: int) -> int:
    """The place in the order of the block to which a key belongs."""
    low, high = 0, index.mode[1]
    while high - low > 1:
        middle = (low + high) // 2
        if index.least_key[middle, 0] != first:
            before = first < index.least_key[middle, 0]
        elif index.least_key[middle, 1] != second:
            before = second < index.least_key[middle, 1]
        else:
            before = entry < index.least_entry[middle]
        if before:
            high = middle
        else:
            low = middle
    return low


@jit_call
def _write_leaf(index: OrderedRooms, block: int) -> None:
    """Brings the leaf of a block up to date, without what is above."""
    nodes, rooms, leaf = index.nodes, index.rooms, len(index.nodes) // 2 + index.place[block]
    a = b = c = d = LOWEST
    for k in range(index.sizes[block]):
        a, b = max(a, rooms[block, k, 0]), max(b, rooms[block, k, 1])
        c, d = max(c, rooms[block, k, 2]), max(d, rooms[block, k, 3])
    nodes[leaf, 0], nodes[leaf, 1], nodes[leaf, 2], nodes[leaf, 3] = a, b, c, d


@jit_inline
def _renew(index: OrderedRooms, start: int, end: int) -> None:
    """Brings places, and the tree above them, up to date where the order of blocks has changed."""
    for place in range(start, end):
        index.place[index.order[place]] = place
    nodes = index.nodes
    low, high = len(nodes) // 2 + start, len(nodes) // 2 + end - 1
    while low > 1:
        low //= 2
        high //= 2
        for node in range(low, high + 1):
            for c in range(AMOUNTS):
                nodes[node, c] = max(nodes[2 * node, c], nodes[2 * node + 1, c])


@jit_inline
def _copy_place(index: OrderedRooms, source: int, target: int) -> None:
    """Copies what is known of a place in the order of blocks to another."""
    nodes, leaves = index.nodes, len(index.nodes) // 2
    for c in range(AMOUNTS):
        nodes[leaves + target, c] = nodes[leaves + source, c]
    for c in range(KEYS):
        index.least_key[target, c] = index.least_key[source, c]
    index.least_entry[target] = index.least_entry[source]
    index.order[target] = index.order[source]


@jit_call
def _split(index: OrderedRooms, place: int) -> None:
    """Moves the upper half of a full block to a new one behind it."""
    count = index.mode[1]
    block, fresh = index.order[place], index.order[count]
    for k in range(count, place + 1, -1):
        _copy_place(index, k - 1, k)
    index.order[place + 1] = fresh
    half = BLOCK // 2
    for k in range(half, BLOCK):
        _copy_member(index, block, k, fresh, k - half)
        index.block_of[index.members[block, k]] = fresh
    index.sizes[block], index.sizes[fresh] = half, BLOCK - half
    for c in range(KEYS):
        index.least_key[place + 1, c] = index.keys[fresh, 0, c]
    index.least_entry[place + 1] = index.members[fresh, 0]
    index.mode[1] = count + 1
    index.place[fresh] = place + 1
    _write_leaf(index, block)
    _write_leaf(index, fresh)
    _renew(index, place, count + 1)


@jit_call
def _join(index: OrderedRooms, place: int) -> None:
    """Moves the entries of the block behind one into it."""
    count, leaves = index.mode[1], len(index.nodes) // 2
    block, emptied = index.order[place], index.order[place + 1]
    for k in range(index.sizes[emptied]):
        _copy_member(index, emptied, k, block, index.sizes[block])
        index.sizes[block] += 1
        index.block_of[index.members[emptied, k]] = block
    index.sizes[emptied] = 0
    for k in range(place + 1, count - 1):
        _copy_place(index, k + 1, k)
    index.order[count - 1] = emptied
    for c in range(AMOUNTS):
        index.nodes[leaves + count - 1, c] = LOWEST
    index.mode[1] = count - 1
    _write_leaf(index, block)
    _renew(index, place, count)


@jit_inline
def _take_out(index: OrderedRooms, block: int, at: int) -> None:
    """Takes a member out of its block, and joins blocks that have become small."""
    nodes, node = index.nodes, len(index.nodes) // 2 + index.place[block]
    told = 0
    for c in range(AMOUNTS):
        if index.rooms[block, at, c] == nodes[node, c] and nodes[node, c] != LOWEST:
            told |= 1 << c
    size = index.sizes[block]
    for k in range(at, size - 1):
        _copy_member(index, block, k + 1, block, k)
    index.sizes[block] = size - 1
    place, count = index.place[block], index.mode[1]
    if place + 1 < count and size - 1 + index.sizes[index.order[place + 1]] <= FEWEST:
        _join(index, place)
    elif place > 0 and size - 1 + index.sizes[index.order[place - 1]] <= FEWEST:
        _join(index, place - 1)
    elif told != 0:
        _lower(index, block, told)


@jit_inline
def _lower(index: OrderedRooms, block: int, told: int) -> None:
    """Brings the leaf of a block up to date after a member has left it.

    It had the amounts, a bit each of ``told``, that the leaf tells. Where many have the same room,
    one of the first ones has them too: then nothing has changed.
    """
    nodes, node = index.nodes, len(index.nodes) // 2 + index.place[block]
    k = 0
    while told != 0 and k < index.sizes[block]:
        for c in range(AMOUNTS):
            if index.rooms[block, k, c] == nodes[node, c]:
                told &= ~(1 << c)
        k += 1
    if told != 0:
        _write_leaf(index, block)
        update_above(nodes, node)


@jit_inline
def _insert(index: OrderedRooms, entry: int, first: float, second: float) -> int:
    """Makes room for an entry in the block of its key; its room is still to be written.

    Returns:
        where it stands in the block that ``block_of`` tells.
    """
    place = _place_of(index, first, second, entry)
    if index.sizes[index.order[place]] == BLOCK:
        _split(index, place)
        place = _place_of(index, first, second, entry)
    block = index.order[place]
    low, high = 0, index.sizes[block]
    while low < high:
        middle = (low + high) // 2
        if _precedes(index, first, second, entry, block, middle):
            high = middle
        else:
            low = middle + 1
    for k in range(index.sizes[block], low, -1):
        _copy_member(index, block, k - 1, block, k)
    index.members[block, low] = entry
    index.keys[block, low, 0], index.keys[block, low, 1] = first, second
    index.sizes[block] += 1
    index.block_of[entry] = block
    return low


@jit_call
def put_entry(
    index: OrderedRooms,
    entry: int,
    first: float,
    second: float,
    a: int,
    b: int,
    c: int,
    d: int,
) -> None:
    """Gives an entry a key and a room; keys are of use only where entries are in their order."""
    if index.mode[0] == PLAIN:
        _set_node(index.nodes, len(index.nodes) // 2 + entry, a, b, c, d)
        return
    block, at = index.block_of[entry], 0
    while index.members[block, at] != entry:
        at += 1
    moves = index.keys[block, at, 0] != first or index.keys[block, at, 1] != second
    if moves:
        _take_out(index, block, at)
        at = _insert(index, entry, first, second)
        block = index.block_of[entry]
    room = index.rooms[block, at]
    room[0], room[1], room[2], room[3] = a, b, c, d
    node = len(index.nodes) // 2 + index.place[block]
    if moves:
        for k in range(AMOUNTS):
            index.nodes[node, k] = max(index.nodes[node, k], room[k])
    else:
        _write_leaf(index, block)
    update_above(index.nodes, node)
