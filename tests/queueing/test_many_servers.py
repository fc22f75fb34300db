"""Erlang's formulas, M/M/c and M/M/c/K: tables, fractions by hand, and Markov chains."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import erlang_b, erlang_c, mm1, mm1c, mmc, mmck

from . import reference

# Erlang B tables give the load, in erlangs, that so many lines carry at a blocking probability.
# The line of 15 and 1 % is the worked example of erlang.com's calculator.
TABLE = [
    (1, 0.01, 0.0101), (5, 0.01, 1.36), (10, 0.01, 4.46), (15, 0.01, 8.108), (20, 0.01, 12.0),
    (50, 0.01, 37.9), (100, 0.01, 84.1), (10, 0.02, 5.08), (50, 0.02, 40.3), (10, 0.05, 6.22),
    (100, 0.05, 95.2), (10, 0.001, 3.09),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "blocking", "load"), TABLE)
def test_erlang_b_is_that_of_the_tables(lines, blocking, load):
    # The last digit of the table is rounded: the blocking lies between those of its neighbours.
    digits = len(str(load).partition(".")[2])
    half = 0.5 * 10.0**-digits
    assert erlang_b(lines, load - half) <= blocking <= erlang_b(lines, load + half)


def test_erlang_by_hand():
    # B(2, 1) = (1/2) / (1 + 1 + 1/2) = 1/5; C(2, 1) = (1/2 * 2) / (1 + 1 + 1/2 * 2) = 1/3.
    # B(3, 2) = (8/6) / (1 + 2 + 2 + 8/6) = 4/19; C(3, 2) = 4 / (1 + 2 + 2 + 4) = 4/9.
    assert erlang_b(2, 1) == pytest.approx(1 / 5, rel=1e-15)
    assert erlang_c(2, 1) == pytest.approx(1 / 3, rel=1e-15)
    assert erlang_b(3, 2) == pytest.approx(4 / 19, rel=1e-15)
    assert erlang_c(3, 2) == pytest.approx(4 / 9, rel=1e-15)
    # C(2, 3/2) = (9/8 * 4) / (1 + 3/2 + 9/8 * 4) = 9/14.
    assert erlang_c(2, 1.5) == pytest.approx(9 / 14, rel=1e-15)


def test_erlang_at_the_ends():
    assert erlang_b([0, 0, 3], [0, 2, 0]).tolist() == [1, 1, 0]
    assert erlang_c([1, 3, 3], [0, 3, 9]).tolist() == [0, 1, 1]
    assert erlang_c(1, 0.7) == pytest.approx(0.7, rel=1e-15)


@given(st.integers(1, 150), st.floats(1e-3, 300))
def test_erlang_b_is_its_sum(servers, load):
    logs = [k * math.log(load) - math.lgamma(k + 1) for k in range(servers + 1)]
    largest = max(logs)
    total = sum(math.exp(x - largest) for x in logs)
    assert erlang_b(servers, load) == pytest.approx(math.exp(logs[-1] - largest) / total, rel=1e-9)


@given(st.integers(1, 300), st.floats(1e-3, 300))
def test_who_must_wait_is_more_than_who_would_be_lost(servers, load):
    assert erlang_b(servers, load) <= erlang_c(servers, load) * (1 + 1e-12)
    assert erlang_b(servers + 1, load) <= erlang_b(servers, load)
    assert erlang_c(servers + 1, load) <= erlang_c(servers, load)


def test_mmc_by_hand():
    # 2 servers of 1 a second, 1 arrives: C = 1/3, wait (1/3) / (2 - 1), L = 1 * (1/3 + 1).
    queue = mmc(1, 1, 2)
    assert queue.wait_s == pytest.approx(1 / 3, rel=1e-15)
    assert queue.response_s == pytest.approx(4 / 3, rel=1e-15)
    assert queue.in_system == pytest.approx(4 / 3, rel=1e-15)
    assert queue.utilisation == 0.5


def test_one_server_is_mm1_and_overload_is_infinite():
    arrival = [0, 1, 2.9, 3, 4]
    assert np.array(mmc(arrival, 3, 1)) == pytest.approx(np.array(mm1(arrival, 3)), rel=1e-14)
    assert mmc(8, 2, 4).response_s == np.inf
    assert mmc(8, 2, 4).utilisation == 1


@pytest.mark.parametrize(("servers", "room"), [(1, 1), (1, 6), (2, 2), (3, 4), (4, 20), (7, 12)])
@pytest.mark.parametrize("load", [0.1, 0.7, 1.0, 1.00001, 1.8, 5.0])
def test_mmck_is_the_stationary_distribution_of_its_markov_chain(servers, room, load):
    service = 2.0
    arrival = load * servers * service
    distribution = reference.birth_death(arrival, service, servers, room)
    number = distribution @ np.arange(room + 1)
    busy = distribution @ np.minimum(np.arange(room + 1), servers)
    queue = mmck(arrival, service, servers, room)
    assert queue.blocked == pytest.approx(distribution[-1], rel=1e-9)
    assert queue.in_system == pytest.approx(number, rel=1e-9)
    assert queue.utilisation == pytest.approx(busy / servers, rel=1e-9)
    assert queue.throughput == pytest.approx(busy * service, rel=1e-9)
    assert queue.response_s == pytest.approx(number / (busy * service), rel=1e-9)
    assert queue.wait_s == pytest.approx((number - busy) / (busy * service), rel=1e-9, abs=1e-12)


@given(st.floats(0, 1e3), st.floats(1e-2, 1e3), st.integers(1, 500))
def test_one_server_with_room_is_mm1c(arrival, service, room):
    assert mmck(arrival, service, 1, room) == pytest.approx(
        mm1c(arrival, service, room), rel=1e-9, abs=1e-12
    )


@given(st.floats(1e-2, 1e3), st.floats(1e-2, 1e2), st.integers(1, 60))
def test_no_queue_is_erlang_b_and_a_long_one_mmc(arrival, service, servers):
    assert mmck(arrival, service, servers, servers).blocked == pytest.approx(
        erlang_b(servers, arrival / service), rel=1e-12
    )
    assert mmck(arrival, service, servers, servers).wait_s == 0
    if arrival < 0.99 * servers * service:
        ours = mmck(arrival, service, servers, 10**6)
        assert ours == pytest.approx(mmc(arrival, service, servers), rel=1e-9, abs=1e-12)


@given(st.floats(1e-2, 1e6), st.floats(1e-2, 1e2), st.integers(1, 50), st.integers(0, 300))
def test_littles_law(arrival, service, servers, queue_length):
    queue = mmck(arrival, service, servers, servers + queue_length)
    assert queue.in_system == pytest.approx(queue.throughput * queue.response_s, rel=1e-9)
    assert queue.throughput == pytest.approx(queue.utilisation * servers * service, rel=1e-9)
    assert queue.throughput <= min(arrival, servers * service) * (1 + 1e-9)
    assert queue.in_system <= (servers + queue_length) * (1 + 1e-9)


def test_heavy_overload_keeps_its_digits():
    queue = mmck(1e14, 1, 3, 200)
    assert queue.throughput == pytest.approx(3, rel=1e-12)
    assert queue.in_system == pytest.approx(200, rel=1e-12)
    assert queue.response_s == pytest.approx(200 / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: erlang_b(-1, 2), "servers: -1 is not allowed: a whole number from 0"),
        (lambda: erlang_b(1, -2), "load: -2 is not allowed: a finite number, at least 0"),
        (lambda: erlang_c(0, 2), "servers: 0 is not allowed: a whole number from 1"),
        (lambda: erlang_c([2, 1.5], 2), r"servers\[1\]: 1.5 is not allowed"),
        (lambda: mmc(1, 0, 2), "service_rate: 0 is not allowed"),
        (lambda: mmc(1, 1, 10**7), "servers: 1e.07 is not allowed: .* to 1,000,000"),
        (lambda: mmck(1, 1, 3, [5, 2]), "room: 2 is not allowed: at least as many as servers, 3"),
        (lambda: mmck(-1, 1, 3, 5), "arrival_rate: -1 is not allowed"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
