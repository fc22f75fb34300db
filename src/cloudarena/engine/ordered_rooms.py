"""Entries in the order of a key, each with the room that it has: the first with enough of it.

What ranks machines by a key and takes the first that fits needs no scan: the order is kept in
blocks of at most ``BLOCK`` entries, and a segment tree over the blocks holds the most room in each.
A search skips all blocks in which one amount falls short, a change touches one or two blocks, so
the cost of both grows with the logarithm of the number of entries.

Room is four amounts. Who asks may ask for all of them, or for one of two pairs, which are then for
two classes of who asks; an entry that is closed to a class has ``LOWEST`` there. Entries with equal
keys are in the order of their numbers. Where the order never changes (``PLAIN``), the leaves of the
tree are the entries themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline, jit_uncounted
from cloudarena.engine.prefetch import FEW, prefetch, prefetch_at
from cloudarena.engine.segment_tree import LOWEST, make_segment_tree, update_above

BLOCK = 64
ENTRIES_PER_LINE = 8
"""Members of a block that lie in one line of a cache."""
ASKED_EVERY = 4
"""The key of each so many-th member is asked for before a search by halves."""
FEWEST = BLOCK // 2
"""Two blocks next to each other have more entries together than this, or they become one."""
PLAIN, ORDERED = range(2)
"""Entries are in the order of their numbers, or in the order of their keys."""
KEYS, AMOUNTS = 2, 4


class OrderedRooms(NamedTuple):
    """The blocks and the tree over them. A block's number is fixed, its place in the order not."""

    mode: NDArray[np.int64]  # (2,): PLAIN or ORDERED; how many blocks there are
    nodes: NDArray[np.int64]  # (2 * leaves, AMOUNTS): as those of a SegmentTree
    keys: NDArray[np.float64]  # (entries, KEYS)
    rooms: NDArray[np.int64]  # (entries, AMOUNTS)
    block_of: NDArray[np.int64]  # (entries,)
    members: NDArray[np.int64]  # (blocks, BLOCK): entries in order
    sizes: NDArray[np.int64]  # (blocks,)
    order: NDArray[np.int64]  # (blocks,): those in use in their order, then the free ones
    place: NDArray[np.int64]  # (blocks,): where a block stands in `order`
    least_key: NDArray[np.float64]  # (blocks, KEYS): by place; nothing below belongs there
    least_entry: NDArray[np.int64]  # (blocks,)


def _empty(mode: int, entries: int, blocks: int, leaves: int) -> OrderedRooms:
    return OrderedRooms(
        np.array([mode, 0], np.int64),
        make_segment_tree(leaves, AMOUNTS).nodes,
        np.zeros((entries, KEYS)),
        np.full((entries, AMOUNTS), LOWEST, np.int64),
        np.zeros(entries, np.int64),
        np.zeros((blocks, BLOCK), np.int64),
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
    made.keys[:], made.rooms[:] = keys, rooms
    sorted_ = np.lexsort((np.arange(entries), keys[:, 1], keys[:, 0]))
    used = max(1, -(-entries // FEWEST))
    made.mode[1] = used
    leaves = len(made.nodes) // 2
    for block in range(used):
        here = sorted_[block * FEWEST : (block + 1) * FEWEST]
        made.members[block, : len(here)] = here
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
        if _has_all(nodes, node, wanted):
            if node < leaves:
                node *= 2
                continue
            block = index.order[node - leaves]
            for k in range(index.sizes[block]):
                entry = index.members[block, k]
                if _has_all(index.rooms, entry, wanted):
                    return entry
        while node % 2 == 1:  # a right child: its parent's part is done
            node //= 2
        if node == 0:
            return -1
        node += 1


@jit_inline
def _has_all(amounts: NDArray[np.int64], row: int, wanted: NDArray[np.int64]) -> bool:
    """Whether a row has at least so much of each amount."""
    has = True
    for c in range(AMOUNTS):
        has &= amounts[row, c] >= wanted[c]
    return has


@jit_inline
def enough(index: OrderedRooms, entry: int, c: int, first: int, second: int) -> bool:
    """Whether an entry has so much of amounts c and c + 1."""
    return index.rooms[entry, c] >= first and index.rooms[entry, c + 1] >= second


@jit_inline
def ask_for_entry(index: OrderedRooms, entry: int) -> None:
    """Asks the memory for what an entry has."""
    if index.mode[0] == PLAIN:
        prefetch(index.nodes, len(index.nodes) // 2 + entry)
    else:
        prefetch(index.keys, entry)
        prefetch(index.rooms, entry)
        prefetch(index.block_of, entry)


@jit_inline
def ask_for_block(index: OrderedRooms, entry: int) -> None:
    """Asks the memory for the block of an entry, which is read when its key changes."""
    if index.mode[0] != PLAIN:
        block = index.block_of[entry]
        prefetch(index.sizes, block)
        prefetch(index.place, block)
        for line in range(0, BLOCK, ENTRIES_PER_LINE):
            prefetch_at(index.members, block, line)


@jit_inline
def _set_node(nodes: NDArray[np.int64], node: int, a: int, b: int, c: int, d: int) -> None:
    nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3] = a, b, c, d
    update_above(nodes, node)


@jit_inline
def _precedes(index: OrderedRooms, first: float, second: float, entry: int, other: int) -> bool:
    """Whether a key comes before that of another entry; equal keys by their numbers."""
    if first != index.keys[other, 0]:
        return first < index.keys[other, 0]
    if second != index.keys[other, 1]:
        return second < index.keys[other, 1]
    return entry < other


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
    nodes, leaf = index.nodes, len(index.nodes) // 2 + index.place[block]
    for c in range(AMOUNTS):
        nodes[leaf, c] = LOWEST
    for k in range(index.sizes[block]):
        entry = index.members[block, k]
        for c in range(AMOUNTS):
            nodes[leaf, c] = max(nodes[leaf, c], index.rooms[entry, c])


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
        entry = index.members[block, k]
        index.members[fresh, k - half] = entry
        index.block_of[entry] = fresh
    index.sizes[block], index.sizes[fresh] = half, BLOCK - half
    first = index.members[fresh, 0]
    for c in range(KEYS):
        index.least_key[place + 1, c] = index.keys[first, c]
    index.least_entry[place + 1] = first
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
        entry = index.members[emptied, k]
        index.members[block, index.sizes[block]] = entry
        index.sizes[block] += 1
        index.block_of[entry] = block
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
def _take_out(index: OrderedRooms, entry: int) -> None:
    """Takes an entry out of its block, and joins blocks that have become small."""
    block = index.block_of[entry]
    size, at = index.sizes[block], 0
    while index.members[block, at] != entry:
        at += 1
    for k in range(at, size - 1):
        index.members[block, k] = index.members[block, k + 1]
    index.sizes[block] = size - 1
    place, count = index.place[block], index.mode[1]
    if place + 1 < count and size - 1 + index.sizes[index.order[place + 1]] <= FEWEST:
        _join(index, place)
    elif place > 0 and size - 1 + index.sizes[index.order[place - 1]] <= FEWEST:
        _join(index, place - 1)
    else:
        _lower(index, block, entry)


@jit_inline
def _lower(index: OrderedRooms, block: int, entry: int) -> None:
    """Brings the leaf of a block up to date after an entry has left it.

    Where many have the same room, one of the first ones has the most that the leaf tells: then
    nothing has changed, and the others, each a miss of the cache, are not looked at.
    """
    nodes, rooms, node = index.nodes, index.rooms, len(index.nodes) // 2 + index.place[block]
    missing = 0
    for c in range(AMOUNTS):
        if rooms[entry, c] == nodes[node, c] and nodes[node, c] != LOWEST:
            missing |= 1 << c
    k = 0
    while missing != 0 and k < index.sizes[block]:
        other = index.members[block, k]
        for c in range(AMOUNTS):
            if rooms[other, c] == nodes[node, c]:
                missing &= ~(1 << c)
        k += 1
    if missing != 0:
        _write_leaf(index, block)
        update_above(nodes, node)


@jit_inline
def _insert(index: OrderedRooms, entry: int) -> None:
    """Puts an entry with a new key into its block."""
    first, second = index.keys[entry, 0], index.keys[entry, 1]
    place = _place_of(index, first, second, entry)
    if index.sizes[index.order[place]] == BLOCK:
        _split(index, place)
        place = _place_of(index, first, second, entry)
    block = index.order[place]
    low, high = 0, index.sizes[block]
    if len(index.keys) > FEW:
        for k in range(0, high, ASKED_EVERY):
            prefetch(index.keys, index.members[block, k])
    while low < high:  # by halves: each key that is looked at is a miss of the cache
        middle = (low + high) // 2
        if _precedes(index, first, second, entry, index.members[block, middle]):
            high = middle
        else:
            low = middle + 1
    for k in range(index.sizes[block], low, -1):
        index.members[block, k] = index.members[block, k - 1]
    index.members[block, low] = entry
    index.sizes[block] += 1
    index.block_of[entry] = block


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
    moves = index.keys[entry, 0] != first or index.keys[entry, 1] != second
    if moves:
        _take_out(index, entry)
        index.keys[entry, 0], index.keys[entry, 1] = first, second
    room = index.rooms[entry]
    room[0], room[1], room[2], room[3] = a, b, c, d
    if moves:
        _insert(index, entry)
        block = index.block_of[entry]
        node = len(index.nodes) // 2 + index.place[block]
        for k in range(AMOUNTS):
            index.nodes[node, k] = max(index.nodes[node, k], room[k])
        update_above(index.nodes, node)
    else:
        block = index.block_of[entry]
        _write_leaf(index, block)
        update_above(index.nodes, len(index.nodes) // 2 + index.place[block])
