"""Linked lists against Python's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.linked_list import (
    ENDS,
    LINKS,
    NONE,
    append,
    insert_between,
    put_first,
    take_out,
    without,
)

PUT_FIRST, APPEND, INSERT, TAKE_OUT = range(4)


@jit_uncounted
def step(items: NDArray[np.void], owners: NDArray[np.void], way: int, index: int, at: int) -> None:
    """One change of the list of the first owner, which keeps both of its ends."""
    ends = owners[0]
    if way == TAKE_OUT:
        take_out(items, ends, index)
        return
    if way == APPEND:
        append(items, ends, index)
    elif way == PUT_FIRST:
        insert_between(items, ends, index, NONE, ends.first)
    else:
        insert_between(items, ends, index, at, items[at].next)


@jit_uncounted
def head_only(items: NDArray[np.void], heads: NDArray[np.int64], way: int, index: int) -> None:
    """One change of a list of which only the first item is kept."""
    if way == PUT_FIRST:
        heads[0] = put_first(items, heads[0], index)
    else:
        heads[0] = without(items, heads[0], index)


def in_order(items: NDArray[np.void], first: int, way: str = "next") -> list[int]:
    """The items of a list from an end on."""
    found = []
    while first != NONE:
        found.append(int(first))
        first = items[first][way]
    return found


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 7)), max_size=40))
def test_lists_with_two_ends(steps: list[tuple[int, int, int]]) -> None:
    items = np.full(8, NONE, np.dtype(LINKS))
    owners = np.full(1, NONE, np.dtype(ENDS))
    expected: list[int] = []
    for way, index, at in steps:
        if index in expected:
            step(items, owners, TAKE_OUT, index, NONE)
            expected.remove(index)
        elif way == INSERT and expected:
            neighbour = expected[at % len(expected)]
            step(items, owners, INSERT, index, neighbour)
            expected.insert(expected.index(neighbour) + 1, index)
        else:
            step(items, owners, PUT_FIRST if way == PUT_FIRST else APPEND, index, NONE)
            expected.insert(0 if way == PUT_FIRST else len(expected), index)
        assert in_order(items, owners[0]["first"]) == expected
        assert in_order(items, owners[0]["last"], "before") == expected[::-1]


@given(st.lists(st.integers(0, 7), max_size=40))
def test_lists_with_a_first_item(steps: list[int]) -> None:
    items, heads = np.full(8, NONE, np.dtype(LINKS)), np.full(1, NONE)
    expected: list[int] = []
    for index in steps:
        if index in expected:
            head_only(items, heads, TAKE_OUT, index)
            expected.remove(index)
        else:
            head_only(items, heads, PUT_FIRST, index)
            expected.insert(0, index)
        assert in_order(items, heads[0]) == expected
