"""The indexed heap: which entry comes first."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.indexed_heap import (
    earliest_entry,
    earliest_time,
    make_indexed_heap,
    set_time,
)

TIMES = st.one_of(
    st.integers(0, 3).map(float),  # many ties
    st.floats(-1e9, 1e9),
    st.just(math.inf),
)


@st.composite
def settings_of(draw: st.DrawFn) -> tuple[int, list[tuple[int, float]]]:
    """How many entries there are, and how they are set one after the other."""
    count = draw(st.integers(1, 20))
    return count, draw(st.lists(st.tuples(st.integers(0, count - 1), TIMES), max_size=60))


@given(settings_of())
def test_the_first_is_the_earliest_and_of_equals_the_lowest(
    case: tuple[int, list[tuple[int, float]]],
) -> None:
    count, steps = case
    heap, times = make_indexed_heap(count), [math.inf] * count
    assert earliest_time(heap) == math.inf
    for number, time in steps:
        set_time(heap, number, time)
        times[number] = time
        assert earliest_time(heap) == min(times)
        if min(times) < math.inf:
            assert earliest_entry(heap) == times.index(min(times))


def test_an_entry_can_be_put_off_and_taken_out() -> None:
    heap = make_indexed_heap(3)
    set_time(heap, 2, 1.0)
    set_time(heap, 0, 2.0)
    assert (earliest_time(heap), earliest_entry(heap)) == (1.0, 2)
    set_time(heap, 2, 3.0)
    assert (earliest_time(heap), earliest_entry(heap)) == (2.0, 0)
    set_time(heap, 0, math.inf)
    assert (earliest_time(heap), earliest_entry(heap)) == (3.0, 2)
    set_time(heap, 2, math.inf)
    assert earliest_time(heap) == math.inf


@pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 1000])
def test_any_number_of_entries(count: int) -> None:
    heap = make_indexed_heap(count)
    assert earliest_time(heap) == math.inf
    for number in reversed(range(count)):
        set_time(heap, number, 5.0)
        assert earliest_entry(heap) == number
