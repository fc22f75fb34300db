"""Alarms: which rings first?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.alarms import first_ring, first_ringing, make_alarms, set_alarm

TIMES = st.one_of(
    st.integers(0, 3).map(float),  # many ties
    st.floats(-1e9, 1e9),
    st.just(math.inf),
)


@st.composite
def settings_of(draw: st.DrawFn) -> tuple[int, list[tuple[int, float]]]:
    """How many alarms there are, and how they are set one after the other."""
    count = draw(st.integers(1, 20))
    return count, draw(st.lists(st.tuples(st.integers(0, count - 1), TIMES), max_size=60))


@given(settings_of())
def test_the_first_is_the_earliest_and_of_equals_the_lowest(
    case: tuple[int, list[tuple[int, float]]],
) -> None:
    count, steps = case
    alarms, times = make_alarms(count), [math.inf] * count
    assert first_ring(alarms) == math.inf
    for number, time in steps:
        set_alarm(alarms, number, time)
        times[number] = time
        assert first_ring(alarms) == min(times)
        if min(times) < math.inf:
            assert first_ringing(alarms) == times.index(min(times))


def test_an_alarm_can_be_put_off_and_turned_off() -> None:
    alarms = make_alarms(3)
    set_alarm(alarms, 2, 1.0)
    set_alarm(alarms, 0, 2.0)
    assert (first_ring(alarms), first_ringing(alarms)) == (1.0, 2)
    set_alarm(alarms, 2, 3.0)
    assert (first_ring(alarms), first_ringing(alarms)) == (2.0, 0)
    set_alarm(alarms, 0, math.inf)
    assert (first_ring(alarms), first_ringing(alarms)) == (3.0, 2)
    set_alarm(alarms, 2, math.inf)
    assert first_ring(alarms) == math.inf


@pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 1000])
def test_any_number_of_alarms(count: int) -> None:
    alarms = make_alarms(count)
    assert first_ring(alarms) == math.inf
    for number in reversed(range(count)):
        set_alarm(alarms, number, 5.0)
        assert first_ringing(alarms) == number
