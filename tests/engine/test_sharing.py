"""Processor sharing, by hand and against sharing in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.indexed_heap import earliest_entry, earliest_time, entry_times
from cloudarena.engine.sharing import (
    NONE,
    Extra,
    Sharing,
    container_speed,
    forecast,
    forecast_with,
    join,
    leave,
    link,
    make_sharing,
    thread_speed,
    unlink,
    with_slots,
    work_in,
    working_time,
)


class Container(NamedTuple):
    """Work, threads, memory allocated and required."""

    work: int
    threads: int = 1
    allocated: int = 1
    required: int = 1


def node_of(cores: int = 4, speed: int = 1000, whole: bool = True, slots: int = 16) -> Sharing:
    """One node without containers."""
    return make_sharing(np.array([cores]), speed, whole, slots)


def fill(sharing: Sharing, slot: int, container: Container) -> None:
    """Puts a container into a slot, before it starts."""
    sharing.slot_left[slot] = container.work
    sharing.slot_threads[slot] = container.threads
    sharing.slot_allocated[slot] = container.allocated
    sharing.slot_required[slot] = container.required


def start(sharing: Sharing, slot: int, time: float, container: Container, node: int = 0) -> None:
    fill(sharing, slot, container)
    join(sharing, node, slot, time)


def speed_of(sharing: Sharing, threads: int) -> float:
    """The speed of the first container beside so many threads in all."""
    return container_speed(sharing, 0, thread_speed(sharing, 0, threads))


def work_between(sharing: Sharing, speed: float, begin: float, end: float) -> float:
    return work_in(sharing, speed, working_time(sharing, begin, end))


def run_out(sharing: Sharing) -> list[tuple[float, int]]:
    """Lets all containers finish: when which does."""
    finished = []
    while (time := earliest_time(sharing.finishes)) < math.inf:
        node = earliest_entry(sharing.finishes)
        slot = int(sharing.finishing[node])
        leave(sharing, node, slot, time)
        finished.append((time, slot))
    return finished


def test_the_example_of_the_model() -> None:
    sharing = node_of()
    start(sharing, 0, 0.0, Container(2585, 1, 512, 512))
    start(sharing, 1, 0.0, Container(7171, 2, 1536, 1024))
    assert sharing.slot_speed[:2].tolist() == [1000, 2000]
    start(sharing, 2, 1.0, Container(1142, 4))
    assert sharing.slot_speed[:3].tolist() == [571, 1142, 2284]
    assert sharing.slot_left[:3].tolist() == [1585, 5171, 1142]
    assert earliest_time(sharing.finishes) == 1.5
    leave(sharing, 0, 2, 1.5)
    assert sharing.slot_left[:2].tolist() == [1300, 4600]
    start(sharing, 3, 2.0, Container(4200, 2, 1536, 2048))
    assert sharing.slot_left[[0, 1, 3]].tolist() == [800, 3600, 4200]
    assert sharing.slot_speed[[0, 1, 3]].tolist() == [800, 1600, 1200]
    assert sharing.speed[0] == 3600
    assert run_out(sharing) == [(3.0, 0), (4.0, 1), (5.0, 3)]
    assert sharing.threads[0] == sharing.speed[0] == 0
    assert sharing.head[0] == sharing.finishing[0] == NONE


@pytest.mark.parametrize(
    ("container", "threads", "whole", "speed"),
    [
        (Container(1), 1, True, 1000),
        (Container(1), 4, True, 1000),  # as many threads as cores
        (Container(1), 5, True, 800),
        (Container(1), 7, True, 571),
        (Container(1), 7, False, 4000 / 7),
        (Container(1, 4), 7, True, 2284),  # 4 floor(571.4), not floor(2285.7)
        (Container(1, 2, 1536, 2048), 5, True, 1200),
        (Container(1, 1, 9, 1), 1, True, 1000),  # more memory is of no use
        (Container(1, 1, 1, 3), 1, True, 333),
        (Container(1, 1, 1, 3), 1, False, 1000 / 3),
        (Container(1, 1, 1, 1001), 1, True, 0),
        (Container(1), 4001, True, 0),
        (Container(1, 3, 7, 9), 7, True, 1332),  # floor(7/9 * 1713)
    ],
)
def test_speeds(container: Container, threads: int, whole: bool, speed: float) -> None:
    sharing = node_of(whole=whole)
    fill(sharing, 0, container)
    assert speed_of(sharing, threads) == pytest.approx(speed, rel=1e-15)


@pytest.mark.parametrize(("allocated", "required"), [(1, 3), (7, 9), (333, 1000), (999, 1000)])
def test_speeds_are_exact_where_floats_are_not(allocated: int, required: int) -> None:
    # In floats 7 / 9 * 9000 is less than 7000.
    for speed in (9, 9000, 10**9, 3 * 10**9, 10**12):
        sharing = node_of(speed=speed)
        fill(sharing, 0, Container(1, 4, allocated, required))
        assert speed_of(sharing, 4) == allocated * 4 * speed // required


@given(
    speed=st.integers(1, 10**6),
    begin=st.integers(0, 10**8),
    milliseconds=st.integers(0, 10**7),
)
def test_whole_operations_are_not_lost(speed: int, begin: int, milliseconds: int) -> None:
    """Between times in milliseconds: whole operations are floors of exact products."""
    done = work_between(node_of(), float(speed), begin / 1000, (begin + milliseconds) / 1000)
    assert done == speed * milliseconds // 1000


@given(speed=st.floats(1, 1e9), begin=st.floats(0, 1e5), length=st.floats(0, 1e4))
def test_no_more_work_is_done_than_there_is_time_for(
    speed: float, begin: float, length: float
) -> None:
    end = begin + length
    exact = Fraction(speed) * (Fraction(end) - Fraction(begin))
    rounding = Fraction(speed) * Fraction(8 * math.ulp(end))
    assert work_between(node_of(), speed, begin, end) <= exact + rounding
    assert work_between(node_of(), speed, begin, end) > exact - 1 - rounding
    in_parts = work_between(node_of(whole=False), speed, begin, end)
    assert in_parts == pytest.approx(float(exact), rel=1e-12)


def test_the_work_of_a_node_is_the_integral_of_its_speed() -> None:
    # 1000 from 1 to 2, 1500 to 3, 2000 from then on: 1750 until 2.5, 3500 until 3.5.
    sharing = node_of(cores=9)
    start(sharing, 0, 1.0, Container(10**6))
    start(sharing, 1, 2.0, Container(10**6, 1, 1, 2))
    start(sharing, 2, 2.5, Container(10**6, 1, 1, 10**6))
    assert sharing.work[0] == 1750
    leave(sharing, 0, 2, 3.0)
    start(sharing, 2, 3.0, Container(10**6, 1, 1, 2))
    leave(sharing, 0, 2, 3.5)
    assert sharing.work[0] == 1750 + 750 + 1000


def test_an_event_on_one_node_leaves_the_others_alone() -> None:
    sharing = make_sharing(np.array([1, 1]), 1000, True, 4)
    start(sharing, 0, 0.0, Container(1000), node=0)
    start(sharing, 1, 1 / 3, Container(1000), node=1)
    start(sharing, 2, 0.5, Container(1), node=1)
    assert sharing.clock.tolist() == [0, 0.5]
    assert sharing.slot_left[0] == 1000
    assert earliest_time(sharing.finishes) == entry_times(sharing.finishes)[-1]


def test_those_that_stand_still_go_on_when_they_can() -> None:
    sharing = node_of(cores=1, speed=1)
    start(sharing, 0, 0.0, Container(3))
    start(sharing, 1, 1.0, Container(2))  # half an operation each, that is none
    assert earliest_time(sharing.finishes) == math.inf
    assert sharing.finishing[0] == NONE
    assert forecast(sharing, 0, NONE, np.zeros(16)) == math.inf
    leave(sharing, 0, 1, 5.0)
    assert run_out(sharing) == [(7.0, 0)]


def test_more_slots_keep_what_runs() -> None:
    sharing = node_of(slots=2)
    start(sharing, 0, 0.0, Container(2000, 3))
    start(sharing, 1, 0.0, Container(1000, 3))
    grown = with_slots(sharing, 5)
    assert (len(grown.slot_left), len(grown.trial_left)) == (5, 6)
    start(grown, 4, 0.5, Container(500))
    finished = run_out(grown)
    straight = node_of()
    start(straight, 0, 0.0, Container(2000, 3))
    start(straight, 1, 0.0, Container(1000, 3))
    start(straight, 4, 0.5, Container(500))
    assert run_out(straight) == finished


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=40))
def test_lists_of_containers(steps: list[tuple[int, int]]) -> None:
    """Two lists share the slots: a step puts a slot into one of them, or takes it out."""
    sharing = make_sharing(np.array([1, 1]), 1, True, 8)
    heads = np.full(2, NONE)
    lists: list[list[int]] = [[], []]
    for slot, node in steps:
        holder = next((k for k in (0, 1) if slot in lists[k]), None)
        if holder is None:
            link(sharing, heads, node, slot)
            lists[node].insert(0, slot)
        else:
            unlink(sharing, heads, holder, slot)
            lists[holder].remove(slot)
        for k in (0, 1):
            found, here = [], int(heads[k])
            while here != NONE:
                found.append(here)
                here = int(sharing.slot_links[here]["next"])
            assert found == lists[k]


class Plan(NamedTuple):
    """Containers and when they start on a node."""

    cores: int
    speed: int
    whole: bool
    starts: list[tuple[int, Container]]  # in tenths of a second, rising


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to eight containers, of which some start together."""
    speed = draw(st.sampled_from([7, 100, 1000, 997]))
    containers = st.builds(
        Container,
        st.integers(1, 20 * speed),
        st.integers(1, 4),
        st.integers(3, 6),
        st.integers(1, 6),
    )
    times = st.one_of(st.integers(0, 5), st.integers(0, 300))
    starts = draw(st.lists(st.tuples(times, containers), min_size=1, max_size=8))
    starts.sort(key=lambda it: it[0])
    return Plan(draw(st.integers(6, 9)), speed, draw(st.booleans()), starts)


def in_fractions(plan: Plan) -> list[Fraction]:
    """When each container of a plan finishes."""
    time, finishes = Fraction(0), [Fraction(0)] * len(plan.starts)
    left: dict[int, Fraction] = {}
    coming = {k: Fraction(tenths, 10) for k, (tenths, _) in enumerate(plan.starts)}

    def floor(value: Fraction) -> Fraction:
        return Fraction(math.floor(value)) if plan.whole else value

    while left or coming:
        threads = sum(plan.starts[k][1].threads for k in left)
        thread = Fraction(plan.speed)
        if threads > plan.cores:
            thread = floor(Fraction(plan.cores * plan.speed, threads))
        speeds = {}
        for k in left:
            it = plan.starts[k][1]
            speeds[k] = floor(
                min(Fraction(1), Fraction(it.allocated, it.required)) * thread * it.threads
            )
        ends = {k: time + left[k] / speeds[k] for k in left if speeds[k] > 0}
        event = min([*ends.values(), *coming.values()])
        left = {k: left[k] - floor(speeds[k] * (event - time)) for k in left}
        time = event
        for k in [k for k, end in ends.items() if end == event]:
            finishes[k] = event
            del left[k]
        for k in [k for k, begin in coming.items() if begin == event]:
            left[k] = Fraction(plan.starts[k][1].work)
            del coming[k]
    return finishes


def play(plan: Plan) -> list[float]:
    """The same by the engine."""
    sharing = node_of(plan.cores, plan.speed, plan.whole)
    finishes = [0.0] * len(plan.starts)
    waiting = list(enumerate(plan.starts))
    while waiting or earliest_time(sharing.finishes) < math.inf:
        begin = waiting[0][1][0] / 10 if waiting else math.inf
        end = earliest_time(sharing.finishes)
        if end <= begin:
            slot = int(sharing.finishing[0])
            leave(sharing, 0, slot, end)
            finishes[slot] = end
        else:
            slot, (_, container) = waiting.pop(0)
            start(sharing, slot, begin, container)
    return finishes


def with_extra(
    sharing: Sharing, coming: int, begins: np.ndarray, container: Container, begin: float
) -> float:
    extra = Extra(
        container.threads, container.allocated, container.required, float(container.work), begin
    )
    return float(forecast_with(sharing, 0, coming, begins, extra))


@given(plans())
def test_containers_finish_when_they_finish_in_fractions(plan: Plan) -> None:
    exact = [float(finish) for finish in in_fractions(plan)]
    assert play(plan) == pytest.approx(exact, rel=1e-11)


@given(plan=plans(), seen=st.integers(0, 8))
def test_a_forecast_is_what_happens_if_nothing_else_comes(plan: Plan, seen: int) -> None:
    """The first few have started; the others are on their way, the last of them in no list."""
    sharing = node_of(plan.cores, plan.speed, plan.whole)
    begins = np.zeros(16)
    heads = np.full(1, NONE)
    # Only those that start together are sure to run still.
    first = [k for k, (tenths, _) in enumerate(plan.starts) if tenths == plan.starts[0][0]]
    running = first[: max(1, min(seen, len(first)))]
    for slot, (tenths, container) in enumerate(plan.starts):
        begins[slot] = tenths / 10
        if slot in running:
            start(sharing, slot, begins[slot], container)
        else:
            fill(sharing, slot, container)
    others = [slot for slot in range(len(plan.starts)) if slot not in running]
    for slot in others[:-1]:
        link(sharing, heads, 0, slot)
    extra = others[-1] if others else NONE
    exact = in_fractions(plan)
    before = [np.copy(values) for values in sharing if isinstance(values, np.ndarray)][:-6]
    found = (
        with_extra(sharing, int(heads[0]), begins, plan.starts[extra][1], begins[extra])
        if others
        else forecast(sharing, 0, int(heads[0]), begins)
    )
    assert found == pytest.approx(float(exact[extra] if others else max(exact)), rel=1e-11)
    if others:
        link(sharing, heads, 0, extra)
        everything = forecast(sharing, 0, int(heads[0]), begins)
        assert everything == pytest.approx(float(max(exact)), rel=1e-11)
        unlink(sharing, heads, 0, extra)
    after = [values for values in sharing if isinstance(values, np.ndarray)][:-6]
    for old, new in zip(before, after, strict=True):
        assert np.array_equal(old, new) or new is sharing.slot_links


def test_in_a_forecast_who_finishes_makes_room_for_who_begins_at_that_instant() -> None:
    """Were both there for an instant, two operations a second among three threads would be none."""
    sharing = node_of(cores=2, speed=1)
    start(sharing, 0, 0.0, Container(work=5))
    start(sharing, 1, 0.0, Container(work=2))
    extra = Container(work=6, threads=2)
    assert with_extra(sharing, NONE, np.zeros(16), extra, 5.0) == 8.0
