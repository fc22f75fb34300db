"""M/M/1 and M/M/1/C: known values, limits, and Markov chains solved as linear systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import mm1, mm1c

from . import reference

RATES = st.floats(1e-3, 1e3)
ROOMS = st.integers(1, 3000)


def test_mm1_by_hand():
    # 3 of 4 requests a second: load 3/4, 3/4 / (1/4) = 3 in the system, 1 / (4 - 3) = 1 s, of
    # which 3/4 s before service.
    queue = mm1(3, 4)
    assert queue.utilisation == 0.75
    assert queue.in_system == pytest.approx(3)
    assert queue.response_s == 1
    assert queue.wait_s == 0.75
    assert queue.throughput == 3
    assert queue.blocked == 0


def test_mm1_without_and_with_too_much_load():
    queue = mm1([0, 4, 5], 4)
    assert queue.response_s.tolist() == [0.25, np.inf, np.inf]
    assert queue.wait_s.tolist() == [0, np.inf, np.inf]
    assert queue.in_system.tolist() == [0, np.inf, np.inf]
    assert queue.utilisation.tolist() == [0, 1, 1]
    assert queue.throughput.tolist() == [0, 4, 4]


def test_mm1c_by_hand():
    # Load 1/2, room 2: p = (4, 2, 1) / 7. Accepted 6/7 of 1 a second; L = (2 + 2) / 7 = 4/7;
    # response (4/7) / (6/7) = 2/3 s, of which 1/2 s is service.
    queue = mm1c(1, 2, 2)
    assert queue.blocked == pytest.approx(1 / 7, rel=1e-15)
    assert queue.utilisation == pytest.approx(3 / 7, rel=1e-15)
    assert queue.throughput == pytest.approx(6 / 7, rel=1e-15)
    assert queue.in_system == pytest.approx(4 / 7, rel=1e-15)
    assert queue.response_s == pytest.approx(2 / 3, rel=1e-15)
    assert queue.wait_s == pytest.approx(1 / 6, rel=1e-15)


@pytest.mark.parametrize("room", [1, 2, 7, 200, 10**6, 10**9])
def test_mm1c_at_load_1_has_all_numbers_equally_likely(room):
    queue = mm1c(3, 3, room)
    assert queue.blocked == pytest.approx(1 / (room + 1), rel=1e-15)
    assert queue.in_system == pytest.approx(room / 2, rel=1e-15)
    assert queue.response_s == pytest.approx((room + 1) / 6, rel=1e-15)


@pytest.mark.parametrize("room", [1, 5, 200, 10**5])
@pytest.mark.parametrize("distance", [1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
def test_mm1c_is_smooth_at_load_1(room, distance):
    # To first order in v = log(load): p[C] = (1 + v C / 2) / (C + 1), L = C / 2 + v C (C + 2) / 12.
    for sign in (-1, 1):
        load = 1 + sign * distance
        v = np.log1p(sign * distance)
        if abs(v) * room > 1e-3:
            continue
        queue = mm1c(load, 1, room)
        assert queue.blocked == pytest.approx((1 + v * room / 2) / (room + 1), rel=1e-6)
        number = room / 2 + v * room * (room + 2) / 12
        assert queue.in_system == pytest.approx(number, rel=1e-9)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9, 0.99])
def test_much_room_is_mm1(load):
    assert mm1c(load, 1, 10**6) == pytest.approx(mm1(load, 1), rel=1e-12)
    assert mm1c(load, 1, 10**9) == pytest.approx(mm1(load, 1), rel=1e-12)


def test_overload_fills_the_room():
    queue = mm1c([2, 1e3, 1e12, 1e300], 1, 50)
    assert queue.utilisation == pytest.approx(np.ones(4), abs=1e-14)
    assert queue.throughput == pytest.approx(np.ones(4), abs=1e-14)
    assert queue.blocked == pytest.approx([0.5, 0.999, 1, 1], rel=1e-12)
    assert queue.in_system == pytest.approx([49, 50 - 1 / 999, 50, 50], rel=1e-12)
    assert queue.response_s == pytest.approx([49, 50 - 1 / 999, 50, 50], rel=1e-12)


def test_nothing_arrives():
    queue = mm1c(0, 5, [1, 10])
    assert queue.response_s.tolist() == [0.2, 0.2]
    assert queue.throughput.tolist() == [0, 0]
    assert queue.blocked == pytest.approx([0, 0], abs=1e-300)


@pytest.mark.parametrize("room", [1, 2, 5, 30])
@pytest.mark.parametrize("load", [0.2, 0.9, 1.0, 1.000001, 1.5, 6.0])
def test_mm1c_is_the_stationary_distribution_of_its_markov_chain(load, room):
    distribution = reference.birth_death(3 * load, 3, 1, room)
    queue = mm1c(3 * load, 3, room)
    number = distribution @ np.arange(room + 1)
    assert queue.blocked == pytest.approx(distribution[-1], rel=1e-9)
    assert queue.utilisation == pytest.approx(1 - distribution[0], rel=1e-9)
    assert queue.in_system == pytest.approx(number, rel=1e-9)
    assert queue.response_s == pytest.approx(number / (3 * load * (1 - distribution[-1])), rel=1e-9)


@pytest.mark.parametrize("room", [1, 3, 40])
@pytest.mark.parametrize("load", [0.3, 0.8, 1.2, 3.0])
def test_mm1c_is_the_formula_of_the_thesis(load, room):
    service = 7
    arrival = load * service
    formula = 1 / (service - arrival) - room * load ** (room + 1) / (arrival * (1 - load**room))
    assert mm1c(arrival, service, room).response_s == pytest.approx(formula, rel=1e-12)


@given(RATES, RATES, ROOMS)
def test_littles_law_and_flow_conservation(arrival, service, room):
    queue = mm1c(arrival, service, room)
    assert queue.in_system == pytest.approx(queue.throughput * queue.response_s, rel=1e-9)
    assert queue.throughput == pytest.approx(arrival * (1 - queue.blocked), rel=1e-9, abs=1e-12)
    assert queue.response_s == pytest.approx(queue.wait_s + 1 / service, rel=1e-12)
    assert 0 <= queue.blocked <= 1
    assert 0 <= queue.utilisation <= 1
    assert 1 / service * (1 - 1e-12) <= queue.response_s <= room / service * (1 + 1e-12)


@given(RATES, RATES, ROOMS, st.floats(1.0, 3.0))
def test_more_arrivals_take_longer_and_lose_more(arrival, service, room, factor):
    less, more = mm1c(arrival, service, room), mm1c(arrival * factor, service, room)
    slack = 1 + 1e-12
    assert less.response_s <= more.response_s * slack
    assert less.blocked <= more.blocked * slack
    assert less.utilisation <= more.utilisation * slack
    assert less.throughput <= more.throughput * slack


@given(RATES, RATES, ROOMS)
def test_more_room_takes_longer_and_loses_less(arrival, service, room):
    small, large = mm1c(arrival, service, room), mm1c(arrival, service, room + 1)
    assert small.response_s <= large.response_s * (1 + 1e-12)
    assert small.blocked >= large.blocked * (1 - 1e-12)


@given(st.lists(st.tuples(RATES, RATES, ROOMS), min_size=1, max_size=5))
def test_arrays_are_their_elements(rows):
    arrival, service, room = np.array(rows).T
    together = mm1c(arrival, service, room)
    for index, row in enumerate(rows):
        alone = mm1c(*row)
        assert [values[index] for values in together] == pytest.approx(list(alone), rel=1e-14)


def test_shapes_are_broadcast():
    queue = mm1c(np.ones((4, 1)), [2.0, 3.0, 4.0], 5)
    assert all(values.shape == (4, 3) for values in queue)
    assert all(np.shape(values) == () for values in mm1(1, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mm1(-1, 2), "arrival_rate: -1 is not allowed: a finite number, at least 0"),
        (lambda: mm1(1, 0), "service_rate: 0 is not allowed: a finite number, more than 0"),
        (lambda: mm1(1, [2, np.nan]), r"service_rate\[1\]: nan is not allowed"),
        (lambda: mm1(np.inf, 2), "arrival_rate: inf is not allowed"),
        (lambda: mm1("many", 2), "arrival_rate: 'many' is not allowed: numbers only"),
        (lambda: mm1(True, 2), "arrival_rate: True is not allowed: numbers only"),
        (lambda: mm1([1, "2"], 3), r"arrival_rate: \[1, '2'\] is not allowed: numbers only"),
        (lambda: mm1([1, 2], [3, 4, 5]), r"arrival_rate \(2,\), service_rate \(3,\)"),
        (lambda: mm1c([1, 2], [3, 4, 5], 1), "shapes that do not go together are not allowed"),
        (lambda: mm1c(1, -2, 5), "service_rate: -2 is not allowed"),
        (lambda: mm1c(1, 2, 0), "room: 0 is not allowed: a whole number from 1"),
        (lambda: mm1c(1, 2, [[3, 2.5]]), r"room\[0, 1\]: 2.5 is not allowed: a whole number"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
