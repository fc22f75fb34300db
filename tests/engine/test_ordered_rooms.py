"""The index finds what a scan over all entries finds, however often keys and rooms change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.ordered_rooms import (
    BLOCK,
    PLAIN,
    enough,
    first_leaf,
    ordered_rooms,
    plain_rooms,
    put_entry,
)
from cloudarena.engine.segment_tree import LOWEST


@jit_uncounted
def find(index, c, first, second):
    """The first entry with room."""
    leaf = first_leaf(index, c, first, second, 0)
    while leaf >= 0:
        if index.mode[0] == PLAIN:
            return leaf
        block = index.order[leaf]
        for k in range(index.sizes[block]):
            if enough(index, index.members[block, k], c, first, second):
                return index.members[block, k]
        leaf = first_leaf(index, c, first, second, leaf + 1)
    return -1


@jit_uncounted
def put(index, entry, key, room):
    """Gives an entry a key and a room."""
    put_entry(index, entry, key[0], key[1], room[0], room[1], room[2], room[3])


def by_scan(keys, rooms, c, wanted):
    """The lowest key with room, and of equal ones the lowest number."""
    fits = [n for n, room in enumerate(rooms) if room[c] >= wanted[0] and room[c + 1] >= wanted[1]]
    return min(fits, key=lambda n: (keys[n][0], keys[n][1], n), default=-1)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    entries=st.sampled_from([1, 2, 31, 33, 200, 500]),
    levels=st.sampled_from([1, 3, 50, 10**6]),
)
def test_it_finds_what_a_scan_finds(seed, entries, levels):
    rng = np.random.default_rng(seed)

    def room():
        amounts = rng.integers(0, 20, 4)
        amounts[[[], [0, 1], [2, 3]][rng.integers(0, 3)]] = LOWEST
        return amounts

    def key(at):
        return np.array([rng.integers(0, levels) + at, rng.integers(0, 3)], float)

    keys, rooms = (
        np.array([key(0) for _ in range(entries)]),
        np.array([room() for _ in range(entries)]),
    )
    indexes = {"ordered": ordered_rooms(keys, rooms), "plain": plain_rooms(rooms)}
    for step in range(400):
        entry = int(rng.integers(0, entries))
        # Drifting keys empty the blocks at one end and fill those at the other.
        new = keys[entry] if rng.random() < 0.2 else key(step * levels // 200)
        keys[entry], rooms[entry] = new, room()
        for index in indexes.values():
            put(index, entry, keys[entry], rooms[entry])
        c, wanted = 2 * int(rng.integers(0, 2)), rng.integers(0, 24, 2)
        assert find(indexes["ordered"], c, *wanted) == by_scan(keys, rooms, c, wanted)
        same = np.zeros_like(keys)
        assert find(indexes["plain"], c, *wanted) == by_scan(same, rooms, c, wanted)
    index = indexes["ordered"]
    held = np.concatenate(
        [index.members[block, : index.sizes[block]] for block in index.order[: index.mode[1]]]
    )
    assert held.tolist() == sorted(range(entries), key=lambda n: (*keys[n], n))


@pytest.mark.parametrize("turn", [1, -1])
def test_blocks_are_split_and_joined(turn):
    entries = 20 * BLOCK
    keys, rooms = np.zeros((entries, 2)), np.zeros((entries, 4), np.int64)
    index = ordered_rooms(keys, rooms)
    for entry in range(entries)[::turn]:
        put(index, entry, np.array([-float(entry), 0.0]), np.array([entry, 1, 1, 1]))
    assert index.mode[1] <= len(index.sizes)
    assert find(index, 0, entries - 5, 1) == entries - 1
    for entry in range(entries)[::-turn]:
        put(index, entry, np.array([1.0, 0.0]), np.array([1, 1, 1, 1]))
    assert index.mode[1] <= 4 * entries // BLOCK + 4
    assert find(index, 0, 1, 1) == 0
