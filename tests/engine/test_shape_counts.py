"""Counts of what fits a shape are those of a scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.engine import shape_counts
from cloudarena.engine.compiled import jit
from cloudarena.engine.shape_counts import (
    SLOTS,
    ShapeCounts,
    count_above,
    give_slot,
    how_many,
    make_shape_counts,
    note,
    nth_fitting,
    put_fitting,
    slot_of,
)


@jit
def put(index: ShapeCounts, rooms: np.ndarray, entry: int, room: int) -> None:
    """Gives an entry a room."""
    rooms[entry] = room
    fitting = 0
    for slot in range(index.state[0]):
        fitting |= (index.shapes[slot, 0] <= room) << slot
    put_fitting(index, entry, fitting)


@jit
def found(index: ShapeCounts, rooms: np.ndarray, size: int, n: int) -> tuple[int, int]:
    """How many entries have room for a size, and the n-th of them, counted from the end round."""
    slot = slot_of(index, size, 7, 7, 7)
    if slot < 0:
        slot = give_slot(index, size, 7, 7, 7)
        for entry in range(len(rooms)):
            note(index, slot, entry, size <= rooms[entry])
        count_above(index, slot)
    count = how_many(index, slot)
    return count, nth_fitting(index, slot, n % count) if count else -1


@settings(max_examples=60, deadline=None)
@given(
    entries=st.sampled_from([1, 31, 32, 33, 200]),
    steps=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 70), st.integers(1, 70)), max_size=150
    ),
)
def test_counts_and_entries_are_those_of_a_scan(entries, steps):
    """Sizes are more than slots, so that slots are given again."""
    assert shape_counts.SLOTS < 63
    index, rooms = make_shape_counts(entries), np.zeros(entries, np.int64)
    for n, room, size in steps:
        put(index, rooms, n % entries, room)
        fitting = np.flatnonzero(rooms >= size)
        count, entry = found(index, rooms, size, n)
        assert count == len(fitting)
        assert entry == (fitting[n % count] if count else -1)


def test_a_shape_without_a_slot_takes_the_oldest():
    index, rooms = make_shape_counts(100), np.arange(100)
    for size in range(SLOTS + 1):
        assert found(index, rooms, size, 0) == (100 - size, size)
    assert index.state.tolist() == [SLOTS, 1]
    assert index.shapes[0, 0] == SLOTS
    assert found(index, rooms, 0, 3) == (100, 3)


@pytest.mark.parametrize("entries", [0, 5])
def test_nothing_fits_what_has_no_room(entries):
    assert found(make_shape_counts(entries), np.zeros(entries, np.int64), 1, 0) == (0, -1)
