"""Memory and its queues worked out on paper: who starts when, by each rule of admission."""

from __future__ import annotations

from typing import Any

import pytest

import cloudarena

from .clusters import chain, column, flow, fn, play, rows, server, toy


def test_a_container_that_does_not_fit_waits_for_a_completion() -> None:
    result = play(toy(flow(fn(5000, 4096, 2), fn(3000, 8192, 2))), (0, 4096), (0, 8192))
    assert column(result, "creation") == [0, 0]
    assert column(result, "start") == [0, 2.5]
    assert column(result, "completion") == [2.5, 4.0]
    assert result.metrics["memory_wait_s"] == 2.5


def test_containers_that_fit_exactly_fit() -> None:
    full = play(toy(flow(fn(1000), fn(1000), fn(1000))), (0, 4096), (0, 4095), (0, 1))
    assert column(full, "start") == [0, 0, 0]
    assert column(full, "free_memory", "nodes") == [0]
    assert column(full, "memory_utilisation", "nodes") == [1.0]
    over = play(toy(flow(fn(1000), fn(1000), fn(1000))), (0, 4096), (0, 4096), (0, 1))
    assert column(over, "start") == [0, 0, 1]


def test_memory_counts_as_allocated_and_not_as_required() -> None:
    result = play(toy(flow(fn(1000, 8192), fn(1000, 1))), (0, 4096), (0, 4096))
    assert column(result, "start") == [0, 0]
    result = play(toy(flow(fn(1000, 1), fn(1000, 1))), (0, 4097), (0, 4096))
    assert column(result, "start") == [0, 1]


def test_memory_is_looked_at_when_the_data_is_there() -> None:
    # Y is sent off at 0 and gets there at 2; X holds all memory from 0 to 3. Z, sent off at 2.5,
    # fits nowhere either. At 3 Y starts, with it Z.
    x, y, z = flow(fn(3000)), chain(fn(500), fn(1000), size=150), flow(fn(1000), arrival=2.5)
    scenario = toy(x, y, z, servers=[server(count=2)])
    result = play(scenario, (0, 8192), 1, (0, 100), (0, 100))
    y_row = rows(result, "functions", "submission", "data_transfer", "creation", "start")[2]
    assert y_row == (0.5, 1.5, 2.0, 3.0)
    assert column(result, "start")[3] == 3.0


def test_what_is_on_its_way_holds_no_memory() -> None:
    # Y is sent off at 0.5 and there at 2. X takes all memory from 1 to 1.5.
    x, y = flow(fn(500), arrival=1), chain(fn(500), fn(1000), size=150)
    result = play(toy(y, x, servers=[server(count=2)]), 1, (0, 8192), (0, 8192))
    assert column(result, "start") == [0, 2.0, 1.0]
    assert column(result, "completion") == [0.5, 3.0, 1.5]


QUEUE = (fn(2000), fn(4000), fn(1000), fn(1000))
"""The first two run with 4096 MB each; the third wants 6000, the fourth 2000."""


def admitted(admission: str, *more: dict[str, Any], actions: tuple[Any, ...] = ()) -> list[float]:
    """When functions start: two that fill the node at 0, and what comes after them."""
    scenario = toy(flow(*QUEUE), *more, admission=admission)
    memory = ((0, 4096), (0, 4096), (0, 6000), (0, 2000), *actions)
    return column(play(scenario, *memory), "start")


@pytest.mark.parametrize(
    ("admission", "starts"),
    [("bypass", [0, 0, 4, 4]), ("strict", [0, 0, 4, 4]), ("backfill", [0, 0, 4, 2])],
)
def test_the_queue_stops_at_the_first_that_does_not_fit(
    admission: str, starts: list[float]
) -> None:
    # At 2 there are 4096 MB: not enough for the third, but for the fourth. At 4 both fit.
    assert admitted(admission) == starts


@pytest.mark.parametrize(
    ("admission", "start"), [("bypass", 2.5), ("strict", 4.0), ("backfill", 2.5)]
)
def test_a_newcomer_that_fits_may_or_may_not_overtake(admission: str, start: float) -> None:
    # At 2.5 a fifth comes and wants 192 MB; 4096 are free, or 2096 with backfill. At 4 the third
    # and fourth leave just so much.
    newcomer = flow(fn(100), arrival=2.5)
    assert admitted(admission, newcomer, actions=((0, 192),))[4] == start


def test_one_who_overtakes_may_keep_the_queue_waiting() -> None:
    # The newcomer of 2.5 wants 4096 MB for 10 s. With them gone, the third finds no 6000 MB at 4.
    newcomer = flow(fn(10_000), arrival=2.5)
    bypassing = admitted("bypass", newcomer, actions=((0, 4096),))
    assert bypassing == [0, 0, 12.5, 12.5, 2.5]
    assert admitted("strict", newcomer, actions=((0, 4096),)) == [0, 0, 4, 4, 5]
    # With backfill the fourth runs from 2 to 3 and leaves its memory to the newcomer.
    assert admitted("backfill", newcomer, actions=((0, 4096),)) == [0, 0, 13, 2, 3]


def test_strictness_is_by_node() -> None:
    # Somebody waits at node 0; node 1 of the same server is free.
    scenario = toy(
        flow(fn(2000), fn(1000), fn(1000)), admission="strict", servers=[server(nodes=2)]
    )
    assert column(play(scenario, (0, 8192), (0, 1), (1, 1)), "start") == [0, 2, 0]


def test_a_queue_is_first_in_first_out() -> None:
    result = play(toy(flow(*[fn(1000)] * 4)), *[(0, 8192)] * 4)
    assert column(result, "start") == [0, 1, 2, 3]
    assert result.metrics["memory_wait_s"] == 6


def test_all_completions_of_an_instant_come_before_the_queue() -> None:
    # Both that run end at 1. The queue wants 8192, then 1: with half of the memory nobody could
    # start but the last, by backfilling.
    scenario = toy(flow(*[fn(1000)] * 4), admission="backfill")
    result = play(scenario, (0, 4096), (0, 4096), (0, 8192), (0, 1))
    assert column(result, "start") == [0, 0, 1, 2]


def test_the_queue_comes_before_what_comes_in_and_that_before_decisions() -> None:
    # X holds all memory until 2. Q waits since 1. At 2 there gets Y (there since a transfer from
    # 0.5 on) and Z is submitted. Each wants all memory.
    x, q = flow(fn(2000)), flow(fn(1000), arrival=1)
    y, z = chain(fn(500), fn(1000), size=150), flow(fn(1000), arrival=2)
    scenario = toy(z, x, q, y, servers=[server(count=2)])
    result = play(scenario, (0, 8192), 1, (0, 8192), (0, 8192), (0, 8192))
    starts = {
        tuple(row[:2]): row[2] for row in rows(result, "functions", "workflow", "function", "start")
    }
    assert starts == {(1, 0): 0, (3, 0): 0, (2, 0): 2, (3, 1): 3, (0, 0): 4}


def test_ten_functions_two_at_a_time() -> None:
    # The default cluster's c5.large: 2 cores, 4096 MB; each takes 2048 MB and 0.1 s.
    tenth = fn(10**8, 2048)
    scenario = cloudarena.load(
        {
            "scenario": "workflow",
            "cluster": {"servers": [server("c5.large", cpu=2, memory=4096, latency=0.5)]},
            "workload": [flow(*[tenth] * 10)],
            "record": "full",
        }
    )
    result = play(scenario, *[(0, 2048)] * 10)
    starts = [0.5 + 0.1 * (k // 2) for k in range(10)]
    assert column(result, "start") == pytest.approx(starts, rel=1e-14)
    assert result.metrics["functions"] == 10
