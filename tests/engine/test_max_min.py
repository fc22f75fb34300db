"""Max-min fair flows, by hand and against filling in fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.engine.flows import Flows, make_flows, with_slots
from cloudarena.engine.max_min import (
    NONE,
    bytes_through,
    finishing,
    join,
    leave,
    left_of,
    next_finish,
    rate_of,
)

Routes = Sequence[Sequence[int]]


def network(capacity: Sequence[float], routes: Routes, slots: int = 64) -> Flows:
    """Links and routes without flows."""
    begin = np.cumsum([0, *map(len, routes)])
    return make_flows(capacity, begin, [link for route in routes for link in route], slots)


def run_out(flows: Flows) -> list[tuple[float, int]]:
    """Lets all flows finish: when which does."""
    finished = []
    while (time := next_finish(flows)) < math.inf:
        slot = finishing(flows)
        assert leave(flows, slot, time) == pytest.approx(0.0, abs=1e-3)
        finished.append((time, slot))
    return finished


def max_min(capacity: Sequence[int], routes: Routes) -> list[Fraction]:
    """The rate of one flow on each route: all rise together, until a link of theirs is full."""
    rates = [Fraction(0)] * len(routes)
    rising = set(range(len(routes)))
    while rising:
        rises = []
        for link, size in enumerate(capacity):
            users = [k for k in rising if link in routes[k]]
            if users:
                used = sum(rates[k] for k, route in enumerate(routes) if link in route)
                rises.append((Fraction(size) - used) / len(users))
        for k in rising:
            rates[k] += min(rises)
        full = {
            link
            for link, size in enumerate(capacity)
            if sum(rates[k] for k, route in enumerate(routes) if link in route) == size
        }
        rising = {k for k in rising if not full.intersection(routes[k])}
    return rates


@pytest.mark.parametrize(
    ("capacity", "routes", "rates"),
    [
        ([100], [[0]], [100]),
        ([100, 10], [[0], [0, 1]], [90, 10]),
        ([100, 30], [[0], [0, 1], [1]], [85, 15, 15]),
        ([60, 50, 200], [[0], [0, 1], [1], [2], [0, 2]], [20, 20, 30, 180, 20]),
        ([100, 100], [[0], [1]], [100, 100]),
    ],
)
def test_worked_examples(capacity: list[float], routes: Routes, rates: list[float]) -> None:
    flows = network(capacity, routes)
    slots = [join(flows, route, 1e6, 0.0) for route in range(len(routes))]
    assert [rate_of(flows, slot) for slot in slots] == rates
    assert max_min(capacity, routes) == rates


def test_a_late_joiner_takes_half() -> None:
    flows = network([100.0], [[0]])
    join(flows, 0, 100.0, 0.0)
    late = join(flows, 0, 100.0, 0.4)
    assert left_of(flows, 0, 0.4) == 60.0
    assert left_of(flows, late, 1.0) == 70.0
    assert bytes_through(flows, 0, 1.0) == 100.0
    assert [time for time, _ in run_out(flows)] == pytest.approx([1.6, 2.0])  # 1.6 s each
    assert bytes_through(flows, 0, 9.0) == pytest.approx(200.0)


def test_flows_of_one_route_finish_by_their_bytes_then_in_order() -> None:
    flows = network([10.0], [[0]])
    for amount in (30.0, 10.0, 20.0, 10.0, 0.0):
        join(flows, 0, amount, 0.0)
    assert [slot for _, slot in run_out(flows)] == [4, 1, 3, 2, 0]


def test_who_leaves_early_frees_the_link() -> None:
    flows = network([100.0, 40.0], [[0], [0, 1]])
    first, second = join(flows, 0, 1000.0, 0.0), join(flows, 1, 1000.0, 0.0)
    assert (rate_of(flows, first), rate_of(flows, second)) == (60.0, 40.0)
    assert leave(flows, second, 5.0) == 800.0
    assert rate_of(flows, first) == 100.0
    assert next_finish(flows) == 12.0


def test_slots_are_used_again_and_can_be_more() -> None:
    flows = network([1.0], [[0]], slots=2)
    assert (join(flows, 0, 1.0, 0.0), join(flows, 0, 2.0, 0.0)) == (0, 1)
    assert join(flows, 0, 3.0, 0.0) == NONE
    flows = with_slots(flows, 4)
    assert {join(flows, 0, 3.0, 0.0), join(flows, 0, 4.0, 0.0)} == {2, 3}
    assert join(flows, 0, 5.0, 0.0) == NONE
    leave(flows, 1, 1.0)
    assert join(flows, 0, 6.0, 1.0) == 1
    assert len(run_out(flows)) == 4


def test_a_route_without_links_takes_no_time() -> None:
    flows = network([1.0], [[0], []])
    slot = join(flows, 1, 1e9, 3.0)
    assert (next_finish(flows), finishing(flows), left_of(flows, slot, 3.0)) == (3.0, slot, 0.0)
    leave(flows, slot, 3.0)
    assert next_finish(flows) == math.inf


def test_a_flow_that_is_not_felt_changes_nothing() -> None:
    # Both cross the wide link, and neither is held up by it.
    flows = network([1000.0, 10.0, 10.0], [[0, 1], [0, 2]])
    join(flows, 0, 100.0, 0.0)
    join(flows, 1, 100.0, 0.7)
    assert flows.routes["clock"][0] == 0.0
    assert flows.links["rate"].tolist() == [20.0, 10.0, 10.0]


def test_a_link_that_would_carry_too_much_is_found() -> None:
    # When the second leaves, the first could have 90: link 2 has only 50 left for it.
    flows = network([100.0, 90.0, 70.0], [[1, 2], [1], [2]])
    for route in range(3):
        join(flows, route, 1e6, 0.0)
    assert flows.routes["rate"].tolist() == [35.0, 55.0, 35.0]
    leave(flows, 1, 1.0)
    assert flows.routes["rate"].tolist() == [35.0, 0.0, 35.0]
    leave(flows, 2, 2.0)
    assert flows.routes["rate"].tolist() == [70.0, 0.0, 0.0]


def test_links_without_capacity_are_refused() -> None:
    with pytest.raises(SpecError, match="capacity must be a number more than 0"):
        network([1.0, 0.0], [[0]])


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    capacity = draw(st.lists(st.integers(1, 60), min_size=1, max_size=6))
    links = st.integers(0, len(capacity) - 1)
    route = st.lists(links, min_size=1, max_size=4, unique=True)
    return capacity, draw(st.lists(route, min_size=1, max_size=7))


CHANGES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 400)), min_size=1, max_size=25)


@settings(deadline=None, max_examples=150)
@given(networks(), CHANGES)
def test_rates_are_max_min_after_each_change(
    graph: tuple[list[int], list[list[int]]], changes: list[tuple[int, int]]
) -> None:
    capacity, routes = graph
    flows = network(capacity, routes)
    present: dict[int, int] = {}
    for number, (choice, amount) in enumerate(changes):
        time = 0.25 * number
        if present and choice % 3 == 0:
            slot = sorted(present)[choice % len(present)]
            leave(flows, slot, time)
            del present[slot]
        else:
            route = choice % len(routes)
            present[join(flows, route, 1e9 + amount, time)] = route
        slots = sorted(present)
        expected = max_min(capacity, [routes[present[slot]] for slot in slots])
        rates = [rate_of(flows, slot) for slot in slots]
        assert rates == pytest.approx([float(rate) for rate in expected], rel=1e-9)
        carried = np.zeros(len(capacity))
        for slot, rate in zip(slots, rates, strict=True):
            carried[routes[present[slot]]] += rate
        assert (carried <= np.array(capacity) * (1 + 1e-9)).all()
        assert flows.links["rate"] == pytest.approx(carried, rel=1e-9, abs=1e-9)


def finishes(
    capacity: Sequence[int], routes: Routes, arrivals: Sequence[tuple[Fraction, int, int]]
) -> list[Fraction]:
    """When each flow (begin, route, bytes) finishes, in fractions."""
    finish = [Fraction(0)] * len(arrivals)
    left = {}
    waiting = sorted(range(len(arrivals)), key=lambda k: arrivals[k][0])
    time = Fraction(0)
    while waiting or left:
        order = sorted(left)
        rates = dict(
            zip(order, max_min(capacity, [routes[arrivals[k][1]] for k in order]), strict=True)
        )
        events = [time + left[k] / rates[k] for k in order]
        event = min([*events, *(arrivals[k][0] for k in waiting[:1])])
        for k in order:
            left[k] -= rates[k] * (event - time)
            if left[k] == 0:
                finish[k] = event
                del left[k]
        time = event
        while waiting and arrivals[waiting[0]][0] == time:
            k = waiting.pop(0)
            left[k] = Fraction(arrivals[k][2])
    return finish


@settings(deadline=None, max_examples=100)
@given(networks(), CHANGES)
def test_flows_finish_as_in_fractions_and_deliver_what_was_asked(
    graph: tuple[list[int], list[list[int]]], changes: list[tuple[int, int]]
) -> None:
    capacity, routes = graph
    arrivals = [
        (Fraction(k, 2), choice % len(routes), amount + 1)
        for k, (choice, amount) in enumerate(changes)
    ]
    flows = network(capacity, routes, slots=len(arrivals))
    flow_of: dict[int, int] = {}
    finish = [math.nan] * len(arrivals)

    def finish_next() -> None:
        time, slot = next_finish(flows), finishing(flows)
        leave(flows, slot, time)
        finish[flow_of.pop(slot)] = time

    for k, (begin, route, amount) in enumerate(arrivals):
        while next_finish(flows) <= float(begin):
            finish_next()
        flow_of[join(flows, route, float(amount), float(begin))] = k
    while flow_of:
        finish_next()
    expected = finishes(capacity, routes, arrivals)
    assert finish == pytest.approx([float(time) for time in expected], rel=1e-9, abs=1e-9)
    asked = np.zeros(len(capacity))
    for _, route, amount in arrivals:
        asked[routes[route]] += amount
    carried = [bytes_through(flows, link, 1e9) for link in range(len(capacity))]
    assert carried == pytest.approx(asked, rel=1e-9)
    assert not flows.links["rate"].any()
    assert (flows.links["head"] == NONE).all()
