"""Bit sets against Python's sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloudarena.engine.bit_sets import NONE, add, discard, lowest, make_bit_sets
from cloudarena.engine.compiled import jit_uncounted

ROWS, MOST = 2, 150


@jit_uncounted
def change(sets: NDArray[np.uint64], row: int, number: int, is_added: bool) -> None:
    """Puts a number into a set, or takes it out."""
    if is_added:
        add(sets, row, number)
    else:
        discard(sets, row, number)


@jit_uncounted
def lowest_below(sets: NDArray[np.uint64], row: int, end: int) -> int:
    """The lowest number of a set below an end."""
    return lowest(sets, row, end)


STEP = st.tuples(
    st.integers(0, ROWS - 1), st.sampled_from([0, 1, 62, 63, 64, 127, 128, 149]), st.booleans()
)


@given(st.lists(STEP, max_size=30), st.integers(0, MOST))
def test_the_lowest_number_below_an_end(steps: list[tuple[int, int, bool]], end: int) -> None:
    sets, plain = make_bit_sets(ROWS, MOST), [set[int]() for _ in range(ROWS)]
    for row, number, is_added in steps:
        change(sets, row, number, is_added)
        if is_added:
            plain[row].add(number)
        else:
            plain[row].discard(number)
    for row in range(ROWS):
        below = [number for number in plain[row] if number < end]
        assert lowest_below(sets, row, end) == min(below, default=NONE)
