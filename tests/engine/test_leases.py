"""How many whole periods are rented."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.leases import HOUR_S, clock_error, periods_needed


@pytest.mark.parametrize(
    ("start", "until", "hours"),
    [
        (100, 5000, 2),  # 4900 s
        (200, 4000, 2),  # 3800 s
        (0, 3960, 2),  # 1.1 hours
        (0, 1, 1),
        (0, 3600, 1),
        (0, 3600.001, 2),
        (3600, 7200, 1),
        (3600, 7200.000001, 2),
        (0, 36_000_000, 10_000),
        (0.1, 3600.1, 1),  # in binary floats 3600.1 - 0.1 may be more
        (0.3, 0.3 + 0.3 + 3599.7, 1),
        (1e9 + 0.1, 1e9 + 3600.1, 1),
    ],
)
def test_by_hand(start: float, until: float, hours: int) -> None:
    assert periods_needed(float(start), float(until), HOUR_S) == hours


@given(
    start=st.integers(0, 10**7),
    hours=st.integers(0, 100),
    more=st.one_of(st.just(0), st.integers(1, 3_599_999)),
    parts=st.lists(st.integers(1, 10**6), max_size=4),
)
def test_rounding_is_no_period_and_a_millisecond_is_one(
    start: int, hours: int, more: int, parts: list[int]
) -> None:
    """Times in milliseconds; what is rented until is a sum of floats, added up in some order."""
    total = hours * 3_600_000 + more
    until = start / 1000
    for part in parts:
        if part < total:
            until += part / 1000
            total -= part
    until += total / 1000
    needed = math.ceil(Fraction(hours * 3_600_000 + more, 3_600_000))
    assert periods_needed(start / 1000, until, HOUR_S) == needed


@given(
    start=st.floats(0, 1e7),
    length=st.floats(1e-3, 1e6),
    period=st.sampled_from([1.0, 60.0, 3600.0, 86400.0]),
)
def test_periods_cover_the_time_and_one_less_does_not(
    start: float, length: float, period: float
) -> None:
    until = start + length
    periods = periods_needed(start, until, period)
    error = 2 * clock_error(until)
    assert periods >= 0
    assert start + periods * period >= until - error
    assert start + (periods - 1) * period < until + error


@pytest.mark.parametrize("time", [0.0, 1.0, 3600.0, 1e5, 1e7, 1e10])
def test_the_error_of_a_clock_is_little_and_more_than_its_rounding(time: float) -> None:
    assert math.ulp(time) < clock_error(time) <= max(1e-10, 16 * math.ulp(time))
