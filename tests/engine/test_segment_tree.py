"""The segment tree against a search from the first to the last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.segment_tree import (
    LOWEST,
    clear_entry,
    first_at_least,
    first_value_at_least,
    largest,
    make_segment_tree,
    set_value,
    set_vector,
)

NUMBERS = st.integers(-3, 3)


@st.composite
def steps_of(
    draw: st.DrawFn, components: int
) -> tuple[int, list[tuple[int, list[int] | None]], list[list[int]]]:
    """A length, what is put where (None empties the place), and what is asked for."""
    length = draw(st.integers(1, 20))
    vectors = st.lists(NUMBERS, min_size=components, max_size=components)
    step = st.tuples(st.integers(0, length - 1), st.one_of(vectors, vectors, st.none()))
    return (
        length,
        draw(st.lists(step, max_size=40)),
        draw(st.lists(vectors, min_size=1, max_size=4)),
    )


def search(places: list[list[int] | None], wanted: list[int], sign: int, start: int) -> int:
    """The first place from a start on that is at least, or at most, as large."""
    for index in range(start, len(places)):
        values = places[index]
        if values is not None and all(
            sign * v >= sign * w for v, w in zip(values, wanted, strict=True)
        ):
            return index
    return -1


@pytest.mark.parametrize("components", [1, 2, 4])
@pytest.mark.parametrize("sign", [1, -1])
@given(data=st.data())
def test_it_finds_what_a_search_finds(components: int, sign: int, data: st.DataObject) -> None:
    length, steps, questions = data.draw(steps_of(components))
    tree, places = make_segment_tree(length, components), [None] * length
    for index, values in steps:
        if values is None:
            clear_entry(tree, index)
        else:
            set_vector(tree, index, np.array(values), sign)
        places[index] = values
    for wanted in questions:
        for start in range(length + 1):
            found = first_at_least(tree, np.array(wanted), sign, start)
            assert found == search(places, wanted, sign, start)


@given(case=steps_of(1))
def test_an_index_of_numbers(
    case: tuple[int, list[tuple[int, list[int] | None]], list[list[int]]],
) -> None:
    length, steps, questions = case
    tree, places = make_segment_tree(length, 1), [None] * length
    assert largest(tree) == LOWEST
    for index, values in steps:
        if values is None:
            clear_entry(tree, index)
        else:
            set_value(tree, index, values[0])
        places[index] = values
        there = [it[0] for it in places if it is not None]
        assert largest(tree) == max(there, default=LOWEST)
        for wanted in questions:
            assert first_value_at_least(tree, wanted[0]) == search(places, wanted, 1, 0)


def test_one_component_may_hide_what_another_lacks() -> None:
    # The maxima of the two halves are (5, 5), but only the last place has both.
    tree = make_segment_tree(4, 2)
    for index, values in enumerate([(5, 0), (0, 5), (5, 1), (5, 5)]):
        set_vector(tree, index, np.array(values), 1)
    assert first_at_least(tree, np.array([5, 5]), 1, 0) == 3
    clear_entry(tree, 3)
    assert first_at_least(tree, np.array([5, 5]), 1, 0) == -1


def test_beyond_the_end_there_is_nothing() -> None:
    tree = make_segment_tree(5, 1)
    for index in range(5):
        set_value(tree, index, 1)
    assert first_at_least(tree, np.array([1]), 1, 4) == 4
    for start in (5, 7, 8, 100):
        assert first_at_least(tree, np.array([1]), 1, start) == -1
