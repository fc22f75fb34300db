"""The event calendar: earliest first, equal times in the order they came."""

from __future__ import annotations

import heapq
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.calendar import (
    heapify,
    make_calendar,
    next_time,
    pop,
    push,
    size,
    with_capacity,
)

TIMES = st.one_of(
    st.integers(0, 3).map(float),  # many ties
    st.floats(-1e9, 1e9),
    st.sampled_from([0.0, -0.0, math.inf, -math.inf]),
)


def drain(calendar: object) -> list[int]:
    return [pop(calendar) for _ in range(size(calendar))]


@given(st.lists(st.one_of(st.none(), TIMES), max_size=80))
def test_it_does_what_a_heap_with_sequence_numbers_does(steps: list[float | None]) -> None:
    """A time is an event to add; None takes the earliest one away."""
    calendar, heap = make_calendar(80), []
    for number, time in enumerate(steps):
        if time is not None:
            push(calendar, time, 1000 - number)
            heapq.heappush(heap, (time, number, 1000 - number))
        elif heap:
            assert pop(calendar) == heapq.heappop(heap)[2]
        assert size(calendar) == len(heap)
        assert next_time(calendar) == (heap[0][0] if heap else math.inf)
    assert drain(calendar) == [heapq.heappop(heap)[2] for _ in range(len(heap))]


def test_equal_times_leave_in_the_order_they_came() -> None:
    calendar = make_calendar(100)
    for payload in range(100):
        push(calendar, 7.0, payload)
    assert drain(calendar) == list(range(100))


def test_the_order_of_ties_outlives_departures() -> None:
    calendar = make_calendar(4)
    for time, payload in ((1.0, 10), (2.0, 20), (2.0, 21)):
        push(calendar, time, payload)
    assert pop(calendar) == 10
    push(calendar, 2.0, 22)
    push(calendar, 1.0, 11)
    assert drain(calendar) == [11, 20, 21, 22]


def test_an_event_more_does_not_change_the_order_of_the_others() -> None:
    events = [(3.0, 1), (1.0, 2), (3.0, 3), (1.0, 4), (2.0, 5)]
    plain, disturbed = make_calendar(9), make_calendar(9)
    for time, payload in events:
        push(plain, time, payload)
        push(disturbed, time, payload)
        if payload in (1, 4):
            push(disturbed, 1.0, 0)
    assert [payload for payload in drain(disturbed) if payload] == drain(plain)


def test_a_full_calendar_says_so_and_keeps_its_events() -> None:
    calendar = make_calendar(2)
    push(calendar, 2.0, 2)
    push(calendar, 1.0, 1)
    with pytest.raises(IndexError, match="the calendar is full"):
        push(calendar, 0.0, 0)
    assert drain(calendar) == [1, 2]


def test_a_full_calendar_goes_on_with_more_room() -> None:
    calendar = make_calendar(2)
    push(calendar, 1.0, 2)
    push(calendar, 1.0, 1)
    larger = with_capacity(calendar, 3)
    push(larger, 1.0, 0)
    assert drain(larger) == [2, 1, 0]


def test_an_empty_calendar_says_so() -> None:
    calendar = make_calendar(1)
    assert size(calendar) == 0
    assert next_time(calendar) == math.inf
    with pytest.raises(IndexError, match="the calendar is empty"):
        pop(calendar)
    push(calendar, 5.0, 3)
    assert next_time(calendar) == 5.0
    assert pop(calendar) == 3
    with pytest.raises(IndexError, match="the calendar is empty"):
        pop(calendar)
    assert size(calendar) == 0


def test_two_calendars_have_sequence_counters_of_their_own() -> None:
    one, other = make_calendar(2), make_calendar(2)
    push(one, 1.0, 1)
    push(other, 1.0, 1)
    assert one.counters.tolist() == other.counters.tolist() == [1, 1]


@given(st.lists(st.tuples(TIMES, st.booleans()), max_size=60))
def test_events_can_be_taken_out_by_hand(events: list[tuple[float, bool]]) -> None:
    """What is taken out leaves a hole that the last event fills, in no order any more."""
    calendar = make_calendar(60)
    for payload, (time, _) in enumerate(events):
        push(calendar, time, payload)
    times, sequence, payloads, counters = calendar
    place = 0
    while place < counters[0]:
        if events[payloads[place]][1]:
            place += 1
            continue
        counters[0] -= 1
        for values in (times, sequence, payloads):
            values[place] = values[counters[0]]
    heapify(calendar)
    kept = [(time, payload) for payload, (time, stays) in enumerate(events) if stays]
    assert size(calendar) == len(kept)
    assert next_time(calendar) == min((time for time, _ in kept), default=math.inf)
    assert drain(calendar) == [payload for _, payload in sorted(kept)]
