"""Traffic equations and open Jackson networks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import jackson, mm1, mmc, traffic

from . import reference


def test_traffic_by_hand():
    # Half of what leaves station 0 goes to 1, half of what leaves 1 goes back: 4/3 and 2/3.
    assert traffic([1, 0], [[0, 0.5], [0.5, 0]]) == pytest.approx([4 / 3, 2 / 3], rel=1e-14)
    # A station that repeats a quarter: 1 / (1 - 1/4).
    assert traffic([3], [[0.25]]) == pytest.approx([4], rel=1e-14)
    # One network, several loads.
    assert traffic([[1], [2]], [[0.5]]) == pytest.approx(np.array([[2], [4]]), rel=1e-14)


def test_a_tandem_is_a_sum_of_queues():
    network = jackson([2, 0, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [3, 5, 1.5], [1, 1, 2])
    assert network.flows == pytest.approx([2, 2, 2])
    assert network.visits == pytest.approx([1, 1, 1])
    times = mm1(2, 3).response_s + mm1(2, 5).response_s + mmc(2, 1.5, 2).response_s
    assert network.response_s == pytest.approx(times, rel=1e-12)
    assert network.in_system == pytest.approx(2 * times, rel=1e-12)


def test_product_form_is_the_stationary_distribution_of_the_markov_chain():
    # Two stations with feedback, cut off at 40 requests each, which at these loads never happens.
    external, routing = np.array([0.5, 0.3]), np.array([[0.1, 0.4], [0.3, 0.0]])
    service, most = np.array([2.0, 1.6]), 40
    states = [(a, b) for a in range(most) for b in range(most)]
    place = {state: index for index, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    leaves = 1 - routing.sum(axis=1)
    for state in states:
        moves = []
        for i in range(2):
            unit = np.eye(2, dtype=int)[i]
            moves.append((unit, external[i]))
            if state[i]:
                moves.append((-unit, service[i] * leaves[i]))
                moves += [
                    (np.eye(2, dtype=int)[j] - unit, service[i] * routing[i, j])
                    for j in range(2)
                    if j != i
                ]
        for move, rate in moves:
            target = tuple(np.array(state) + move)
            if target in place:
                rates[place[state], place[target]] += rate
    network = jackson(external, routing, service)
    loads = network.flows / service
    product = np.array([np.prod((1 - loads) * loads ** np.array(state)) for state in states])
    generator = rates - np.diag(rates.sum(axis=1))
    inner = [place[s] for s in states if max(s) < most - 1]
    assert np.abs(product @ generator)[inner].max() < 1e-14
    numbers = product @ np.array(states)
    assert network.stations.in_system == pytest.approx(numbers, rel=1e-6)
    assert network.response_s == pytest.approx(numbers.sum() / external.sum(), rel=1e-6)


def test_a_small_network_solved_as_a_linear_system():
    # One station that repeats with probability 1/2 is M/M/1 of half the service rate: numbers in
    # M/M/1 with room for 60 and load 0.5 are those of the open queue to 1e-15.
    distribution = reference.birth_death(1, 2, 1, 60)
    network = jackson([1], [[0.5]], [4])
    assert network.in_system == pytest.approx(distribution @ np.arange(61), rel=1e-9)
    assert network.visits == pytest.approx([2])


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_what_comes_in_goes_out(stations, seed):
    rng = np.random.default_rng(seed)
    external = rng.uniform(0.1, 5, stations)
    routing = rng.uniform(0, 1, (stations, stations))
    routing *= rng.uniform(0, 0.95, (stations, 1)) / routing.sum(axis=1, keepdims=True)
    flows = traffic(external, routing)
    assert flows == pytest.approx(external + flows @ routing, rel=1e-9)
    assert flows @ (1 - routing.sum(axis=1)) == pytest.approx(external.sum(), rel=1e-9)
    network = jackson(external, routing, flows * 2)
    # Little's law, inside and outside.
    assert network.response_s == pytest.approx(
        network.visits @ network.stations.response_s, rel=1e-9
    )


def test_an_overloaded_station_makes_the_response_infinite():
    network = jackson([1, 0], [[0, 1], [0, 0]], [2, 1])
    assert network.response_s == np.inf
    assert network.stations.response_s[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: traffic([1, -1], np.zeros((2, 2))), r"external\[1\]: -1 is not allowed"),
        (lambda: traffic([1], [[1.5]]), r"routing\[0, 0\]: 1.5 is not allowed: from 0 to 1"),
        (lambda: traffic([1, 0], [[0.6, 0.6], [0, 0]]), r"routing\[0\]: the sum 1.2 is not"),
        (lambda: traffic([1, 1], [[0, 0.1]]), r"routing: the shape \(1, 2\) is not allowed: 2 x 2"),
        (lambda: traffic([1], [[1]]), "station 0 never leave the network"),
        (lambda: traffic([1, 0, 0], [[0, 0.5, 0], [0, 0, 1], [0, 1, 0]]), r"routing\[1\]: .*leave"),
        (lambda: jackson([0], [[0]], [1]), "external: 0 is not allowed: a rate of more than 0"),
        (lambda: jackson([1], [[0]], [0]), r"service_rate\[0\]: 0 is not allowed"),
        (lambda: jackson([1], [[0]], [1], [0]), r"servers\[0\]: 0 is not allowed"),
        (lambda: jackson([[1], [2]], [[0]], [1]), "external: the shape .* one rate a station"),
        (lambda: jackson([1, 1], np.zeros((2, 2)), [1, 2, 3]), "service_rate: the shape"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
