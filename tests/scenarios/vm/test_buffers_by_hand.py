"""Requests that wait, worked by hand: buffers, postponement, and who comes first."""

from __future__ import annotations

import pytest

from cloudarena.scenarios.vm import REFUSE, postpone

from .clouds import cloud, column, outcomes, play, vm


@pytest.mark.parametrize(
    ("budget", "delay", "fails_at", "waited"),
    [
        (0, 1, 1, 0),  # fails at once
        (3, 1, 4, 3),  # tries at 1, 2, 3, 4 with 3, 2, 1, 0 left
        (4, 2, 5, 4),  # tries at 1, 3, 5 with 4, 2, 0 left
        (5, 2, 5, 4),  # tries at 1, 3, 5 with 5, 3, 1 left: 1 is less than a delay
        (1, 2, 1, 0),  # less than a delay from the beginning
    ],
)
def test_a_request_fails_when_its_buffer_is_used_up(
    budget: int, delay: int, fails_at: int, waited: int
) -> None:
    scenario = cloud(
        vm(0, 20, cores=4),
        vm(1, 1),
        ticks=10,
        buffer={"budget_ticks": budget, "delay_ticks": delay},
    )
    result = play(scenario)
    assert outcomes(result) == ["running", "failed"]
    assert column(result, "end")[1] == fails_at
    assert column(result, "delay") == [0, waited]
    assert result.metrics["delay_ticks"] == waited
    assert result.metrics["failed"] == 1
    assert column(result, "waiting", "series")[1:fails_at] == [1] * (fails_at - 1)
    assert len(result.tables["decisions"]) == 1  # nobody was asked about the full machine


def test_a_waiting_request_takes_the_first_free_place() -> None:
    # The machine is free at tick 3. With delays of 2 the request looks at 1, 3.
    scenario = cloud(vm(0, 3, cores=4), vm(1, 1), buffer={"budget_ticks": 9, "delay_ticks": 2})
    result = play(scenario)
    assert column(result, "start") == [0, 3]
    assert result.metrics["delay_ticks"] == 2


def test_a_policy_puts_a_request_off_by_as_many_delays_as_it_says() -> None:
    # Delays of 2 ticks, 10 in the buffer: 3 delays are 6 ticks, 4 are left.
    scenario = cloud(vm(0, 1), ticks=12, buffer={"budget_ticks": 10, "delay_ticks": 2})
    run = scenario.start()
    assert run.decision.request.buffer_ticks == 10
    run.apply(postpone(3))
    assert run.decision.request.tick == 6
    assert run.decision.request.buffer_ticks == 4
    run.apply(postpone(1))  # 4 - 2 is still a delay
    assert run.decision.request.tick == 8
    assert run.decision.request.buffer_ticks == 2
    run.apply(0)
    assert run.decision is None
    result = run.result()
    assert column(result, "start") == [8]
    assert result.metrics["delay_ticks"] == 8
    assert column(result, "delays", "decisions") == [3, 1, None]
    assert column(result, "action", "decisions") == ["postpone", "postpone", "place"]


@pytest.mark.parametrize(("delays", "fails"), [(1, False), (2, True), (3, True)])
def test_a_postponement_must_leave_a_delay_in_the_buffer(delays: int, fails: bool) -> None:
    # 4 ticks in the buffer, delays of 2: 4 - 2 >= 2, but 4 - 4 < 2.
    scenario = cloud(vm(0, 1), buffer={"budget_ticks": 4, "delay_ticks": 2})
    run = scenario.start()
    run.apply(postpone(delays))
    assert (run.decision is None) == fails
    assert run.metrics()["failed"] == fails
    assert run.metrics()["delay_ticks"] == (0 if fails else 2 * delays)


@pytest.mark.parametrize(("delays", "fails"), [(1, False), (2, False), (3, True)])
def test_where_no_machine_is_valid_the_whole_buffer_may_be_used(delays: int, fails: bool) -> None:
    # 4 ticks in the buffer, delays of 2: 4 - 4 >= 0, but 4 - 6 < 0.
    scenario = cloud(
        vm(0, 9, cores=4),
        vm(0, 1),
        ticks=8,
        buffer={"budget_ticks": 4, "delay_ticks": 2},
        decide_when_full=True,
    )
    run = scenario.start()
    run.apply(0)
    assert not run.decision.valid.any()
    run.apply(postpone(delays))
    assert (run.decision is None) == fails
    assert run.metrics()["failed"] == fails


def test_a_request_put_off_beyond_the_end_is_waiting_at_the_end() -> None:
    scenario = cloud(vm(0, 1), ticks=3, buffer={"budget_ticks": 9, "delay_ticks": 1})
    result = play(scenario, postpone(5))
    assert outcomes(result) == ["waiting"]
    assert result.metrics["waiting_at_end"] == 1
    assert column(result, "end") == [None]


def test_a_full_cloud_asks_only_if_the_spec_says_so() -> None:
    full = (vm(0, 9, cores=4), vm(1, 1))
    silent = play(cloud(*full))
    assert silent.metrics["failed"] == 1
    assert len(silent.tables["decisions"]) == 1
    asked = play(cloud(*full, decide_when_full=True), 0, REFUSE)
    assert asked.metrics["refused"] == 1
    assert column(asked, "valid_machines", "decisions") == [1, 0]


def test_requests_that_waited_come_before_new_ones() -> None:
    # One place, free at tick 2. B waits since 1; C arrives at 2.
    scenario = cloud(
        vm(0, 2, cores=4), vm(1, 9, cores=4), vm(2, 9, cores=4), buffer={"budget_ticks": 9}
    )
    result = play(scenario)
    assert column(result, "start") == [0, 2, None]
    assert outcomes(result) == ["completed", "running", "waiting"]


def test_requests_that_waited_come_in_the_order_in_which_they_were_put_off() -> None:
    # B is put off at 0 by 2 delays, A before it by 3; C at 1 by 1. At 2 come B, then C, then D.
    scenario = cloud(vm(0, 1), vm(0, 1), vm(1, 1), vm(2, 1), ticks=5, buffer={"budget_ticks": 9})
    run = scenario.start()
    asked = []
    for action in (postpone(3), postpone(2), postpone(1), 0, 0, 0, 0):
        asked.append((run.decision.request.tick, run.decision.request.vm))
        run.apply(action)
    assert asked == [(0, 1), (0, 2), (1, 3), (2, 2), (2, 3), (2, 4), (3, 1)]
    assert run.decision is None
