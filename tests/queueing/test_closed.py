"""Closed networks and layers: by hand, against Markov chains solved whole, and simulated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import closed, closed_classes, layered

from . import simulated
from .reference import stationary

DEMANDS = st.lists(st.floats(0.05, 2.0), min_size=1, max_size=3)


def by_states(demands, customers, think, servers):
    """Throughput and mean numbers of a round: stations in order, then thinking."""
    stations = len(demands)
    states = [
        state
        for state in itertools.product(range(customers + 1), repeat=stations + 1)
        if sum(state) == customers
    ]
    number = {state: k for k, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state, place in itertools.product(states, range(stations + 1)):
        if state[place]:
            if place == stations:
                speed = state[place] / think
            else:
                speed = min(state[place], servers[place]) / demands[place]
            after = list(state)
            after[place] -= 1
            after[(place + 1) % (stations + 1)] += 1
            rates[number[state], number[tuple(after)]] += speed
    shares = stationary(rates)
    present = np.array(states, float).T @ shares
    return present[-1] / think, present[:-1]


def test_by_hand():
    # Two equal stations and two customers: a round meets (2 + 1) / 2 customers each, itself
    # included: X = 2 / (1.5 * 2) = 2/3; with one customer, 1/2.
    network = closed([1, 1], 2)
    assert network.throughput == pytest.approx([1 / 2, 2 / 3], rel=1e-14)
    assert network.response_s == pytest.approx([2, 3], rel=1e-14)
    assert network.in_station[-1] == pytest.approx([1, 1], rel=1e-14)
    assert network.utilisation[-1] == pytest.approx([2 / 3, 2 / 3], rel=1e-14)
    # A server for each customer: nobody waits.
    assert closed([3], 5, 2, servers=5).throughput[-1] == pytest.approx(1, rel=1e-14)
    assert closed([0, 1], 4).in_station[-1] == pytest.approx([0, 4], rel=1e-14)


@given(st.integers(1, 60), st.integers(1, 6), st.floats(0.01, 10))
def test_balanced_networks_have_a_formula(customers, stations, demand):
    expected = customers / (customers + stations - 1) / demand
    found = closed([demand] * stations, customers).throughput[-1]
    assert found == pytest.approx(expected, rel=1e-11)


@settings(max_examples=25, deadline=None)
@given(DEMANDS, st.integers(1, 4), st.floats(0.1, 5), st.data())
def test_equals_the_markov_chain(demands, customers, think, data):
    servers = data.draw(st.lists(st.integers(1, 3), min_size=len(demands), max_size=len(demands)))
    throughput, present = by_states(demands, customers, think, servers)
    network = closed(demands, customers, think, servers)
    assert network.throughput[-1] == pytest.approx(throughput, rel=1e-8)
    assert network.in_station[-1] == pytest.approx(present, rel=1e-7, abs=1e-10)


@given(DEMANDS, st.integers(1, 40), st.floats(0, 5))
def test_bounds_and_little(demands, customers, think):
    network = closed(demands, customers, think)
    assert network.in_station.sum(axis=1) + network.throughput * think == pytest.approx(
        np.arange(1, customers + 1), rel=1e-9
    )
    assert network.throughput[-1] <= 1 / max(demands) * (1 + 1e-12)
    assert (np.diff(network.throughput) >= -1e-12 * network.throughput[:-1]).all()


def test_many_customers_and_servers_keep_their_digits():
    network = closed([1.0, 50.0], 600, 10.0, servers=[1, 200])
    assert network.throughput[-1] == pytest.approx(1, rel=1e-9)
    assert network.in_station[-1].sum() + 10 == pytest.approx(600, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(DEMANDS, st.integers(1, 12), st.floats(0.1, 5))
def test_classes_that_are_alike_are_one(demands, customers, think):
    first = customers // 2
    found = closed_classes([demands, demands], [first, customers - first], think)
    one = closed(demands, customers, think)
    assert found.throughput.sum() == pytest.approx(one.throughput[-1], rel=1e-10)
    assert found.in_station == pytest.approx(one.in_station[-1], rel=1e-9)


def test_classes_by_hand():
    # One of each class at one station: each finds the other there for D/(D + Z) of the time.
    # A alone: 1/2 at the station (D 1, Z 1); B alone: 2/(2 + 2) = 1/2 (D 2, Z 2).
    found = closed_classes([[1.0], [2.0]], [1, 1], [1.0, 2.0])
    assert found.response_s == pytest.approx([1.5, 3.0], rel=1e-14)
    assert found.throughput == pytest.approx([1 / 2.5, 1 / 5], rel=1e-14)
    assert found.utilisation == pytest.approx([0.8], rel=1e-14)
    nobody = closed_classes([[1.0], [2.0]], [1, 0], [1.0, 2.0])
    assert nobody.throughput.tolist() == [0.5, 0.0]
    assert math.isnan(nobody.response_s[1])


@given(DEMANDS, st.integers(1, 30), st.floats(0, 5))
def test_as_many_threads_as_customers_is_a_closed_network(demands, customers, think):
    whole, found = closed(demands, customers, think), layered(demands, customers, customers, think)
    assert found.throughput == pytest.approx(whole.throughput[-1], rel=1e-9)
    assert found.response_s == pytest.approx(whole.response_s[-1], rel=1e-8)
    assert found.wait_s == pytest.approx(0, abs=1e-8 * found.response_s)
    assert found.in_station == pytest.approx(whole.in_station[-1], rel=1e-8)


@given(st.floats(0.1, 2), st.integers(1, 20), st.floats(0.1, 5))
def test_one_thread_and_one_station_is_a_closed_queue(demand, customers, think):
    whole, found = closed([demand], customers, think), layered([demand], 1, customers, think)
    assert found.throughput == pytest.approx(whole.throughput[-1], rel=1e-9)
    assert found.threads_busy == pytest.approx(whole.utilisation[-1, 0], rel=1e-8)


@given(DEMANDS, st.integers(1, 20), st.integers(1, 8), st.floats(0, 5))
def test_threads_help_and_littles_law_holds_for_them(demands, customers, threads, think):
    found = layered(demands, threads, customers, think)
    assert found.throughput <= layered(demands, threads + 1, customers, think).throughput + 1e-12
    assert found.in_station.sum() == pytest.approx(found.threads_busy, rel=1e-8)
    held = found.threads_busy / found.throughput
    assert found.response_s == pytest.approx(found.wait_s + held, rel=1e-9)


@pytest.mark.parametrize(("threads", "customers"), [(2, 8), (4, 12)])
def test_layers_are_near_simulation(threads, customers):
    demands, servers, think = [0.3, 0.8], [1, 2], 3.0
    runs = np.array(
        [
            simulated.layered(demands, servers, threads, customers, think, 8_000, seed)
            for seed in range(4)
        ]
    )
    found = layered(demands, threads, customers, think, servers)
    assert found.throughput == pytest.approx(runs[:, 0].mean(), rel=0.03)
    assert found.wait_s == pytest.approx(runs[:, 1].mean(), rel=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closed([1], 0), "customers"),
        (lambda: closed([0, 0], 3), "demand_s"),
        (lambda: closed([1, 1], 3, servers=[1]), "servers"),
        (lambda: closed([1, -1], 3), "demand_s"),
        (lambda: closed_classes([[1, 1]], [1, 2]), "customers"),
        (lambda: closed_classes([[1], [1]], [1000, 1000]), "combinations"),
        (lambda: layered([1], 0, 3), "threads"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
