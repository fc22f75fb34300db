"""Cases worked out on paper: sharing, memory, servers and leases, data, order."""

from __future__ import annotations

from typing import Any

import pytest

import cloudarena
from cloudarena.contract import Result
from cloudarena.scenarios.workflow import WorkflowSimulation

from .clusters import (
    HOUR_OPERATIONS,
    chain,
    column,
    flow,
    fn,
    leases,
    play,
    rows,
    scripted,
    server,
    toy,
)

A, B = fn(2585, 512, 1), fn(7171, 1024, 2)
C, D = fn(1142, 1024, 4), fn(4200, 2048, 2)
MEMORY = ((0, 512), (0, 1536), (0, 1024), (0, 1536))


def seed_example(latency: float = 0) -> Result:
    """The example that defines the container: A and B at 0, C a second later, D another one."""
    late = latency
    scenario = toy(
        flow(A),
        flow(B),
        flow(C, arrival=late + 1),
        flow(D, arrival=late + 2),
        servers=[server(latency=latency)],
    )
    return play(scenario, *MEMORY)


def test_the_example_of_the_model() -> None:
    result = seed_example()
    assert column(result, "completion") == [3.0, 4.0, 1.5, 5.0]
    shown = ("start", "end", "cpu_utilisation", "memory_utilisation")
    assert rows(result, "nodes", *shown, "load", "parallelism", "free_memory") == [
        (0.0, 1.0, 0.75, 0.25, 0.75, 3, 6144),
        (1.0, 1.5, 0.99925, 0.375, 1.75, 7, 5120),
        (1.5, 2.0, 0.75, 0.25, 0.75, 3, 6144),
        (2.0, 3.0, 0.9, 0.4375, 1.25, 5, 4608),
        (3.0, 4.0, 0.875, 0.375, 1.0, 4, 5120),
        (4.0, 5.0, 0.375, 0.1875, 0.5, 2, 6656),
    ]
    assert leases(result) == [(0, 0.0, 0.0, 3600.0, 1, 1.5)]


def test_the_example_after_a_second_of_boot() -> None:
    result = seed_example(latency=1)
    assert column(result, "completion") == [4.0, 5.0, 2.5, 6.0]
    assert column(result, "start", "nodes") == [0, 1, 2, 2.5, 3, 4, 5]
    assert column(result, "parallelism", "nodes") == [0, 3, 7, 3, 5, 4, 2]
    free = [8192, 6144, 5120, 6144, 4608, 5120, 6656]
    assert column(result, "free_memory", "nodes") == free
    assert column(result, "end", "nodes")[-1] == 6.0


def test_the_metrics_of_the_example() -> None:
    metrics = seed_example().metrics
    # Makespans 3, 4, 0.5, 3; critical paths 2.585, 3.5855, 0.2855, 2.1.
    assert metrics["workflows"] == metrics["functions"] == 4
    assert metrics["makespan_sum_s"] == 10.5
    assert metrics["makespan_mean_s"] == 2.625
    assert metrics["makespan_p50_s"] == 3.0
    assert metrics["makespan_p95_s"] == pytest.approx(3.85, rel=1e-14)
    slowdown = (3 / 2.585 + 4 / 3.5855 + 0.5 / 0.2855 + 3 / 2.1) / 4
    assert metrics["slowdown_mean"] == pytest.approx(slowdown, rel=1e-14)
    assert metrics["rent_usd"] == 1.5
    assert metrics["weighted_cost"] == 0.5 * 10.5 + 0.5 * 10 * 1.5
    mean = (0.75 + 0.5 * 0.99925 + 0.5 * 0.75 + 0.9 + 0.875 + 0.375) / 5
    assert metrics["mean_cpu_utilisation"] == pytest.approx(mean, rel=1e-14)
    assert metrics["memory_wait_s"] == metrics["transfer_s"] == 0
    assert metrics["cold_starts"] == 1


def test_the_forecasts_of_the_example() -> None:
    run = toy(flow(A), flow(B), flow(C, arrival=1), flow(D, arrival=2)).start()
    run.apply(MEMORY[0])
    run.apply(MEMORY[1])
    assert run.now == 1  # before C: A ends at 2.585, B at 3.5855
    assert run.decision.first_completion.tolist() == [2.585]
    assert run.decision.last_completion.tolist() == pytest.approx([3.5855], rel=1e-15)
    run.apply(MEMORY[2])
    assert run.now == 2  # C is done; A ends at 2.8, B at 3.8
    assert run.decision.first_completion.tolist() == [2.8]
    assert run.decision.last_completion.tolist() == [3.8]
    assert run.decision.nodes.free_memory.tolist() == [6144]
    assert run.decision.nodes.parallelism.tolist() == [3]


def test_the_example_of_the_catalogue_is_this_one() -> None:
    result = cloudarena.simulate("workflow/sharing-example", scripted(*MEMORY))
    assert column(result, "completion") == [3.0, 4.0, 1.5, 5.0]


def test_without_rounding_the_example_ends_earlier() -> None:
    # From 1.0 threads do 4000/7. C ends at 1 + 1142 / (16000/7) = 1.499625. A has 1299.5 left at
    # 1.499625 + 1e-15, B 4600: A does 1299.5 - 500.375 = 799.125 by 2.0 and the rest at 800.
    scenario = toy(flow(A), flow(B), flow(C, arrival=1), flow(D, arrival=2), work="real")
    result = play(scenario, *MEMORY)
    c = 1 + 1142 * 7 / 16000
    a_left = 1585 - 1142 / 4 - 1000 * (2 - c)
    a = 2 + a_left / 800
    assert column(result, "completion")[:3:2] == pytest.approx([a, c], rel=1e-14)
    assert column(result, "cpu_utilisation", "nodes")[1] == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(
    ("memory", "work", "completion"),
    [
        (2048, "integer", 1.0),  # all it needs
        (8192, "integer", 1.0),  # more is of no use
        (1024, "integer", 2.0),  # half
        (1536, "integer", 2000 / 1500),
        (683, "integer", 2000 / 666),  # floor(2000 * 683 / 2048 = 666.99)
        (683, "real", 2000 / (2000 * 683 / 2048)),
        (2, "integer", 2000.0),  # floor(1.95)
    ],
)
def test_too_little_memory_slows_a_container_down(
    memory: int, work: str, completion: float
) -> None:
    result = play(toy(flow(fn(2000, 2048, 2)), work=work), (0, memory))
    assert column(result, "completion") == pytest.approx([completion], rel=1e-14)


def test_what_memory_slows_down_is_no_gain_for_others() -> None:
    # Both have 4 threads on 4 cores: 500 each thread. The first has half its memory.
    result = play(toy(flow(fn(1000, 2, 4), fn(2000, 2, 4))), (0, 1), (0, 2))
    # 1000 and 2000 operations a second: both end at 1.
    assert column(result, "completion") == [1.0, 1.0]
    assert column(result, "cpu_utilisation", "nodes") == [0.75]


def test_as_many_threads_as_cores_run_at_full_speed_and_one_more_does_not() -> None:
    assert column(play(toy(flow(*[fn(1000)] * 4)), 0, 0, 0, 0), "completion") == [1.0] * 4
    five = play(toy(flow(*[fn(1000)] * 5)), 0, 0, 0, 0, 0)
    assert column(five, "completion") == [1.25] * 5
    assert column(five, "load", "nodes") == [1.25]


def test_two_containers_that_contend() -> None:
    # Six threads on four cores: floor(4000 / 6) = 666, so 1998 each. The second ends at 2000/1998;
    # the first has then done exactly 2000 operations, none of which may be lost.
    result = play(toy(flow(fn(4000, 1, 3), fn(2000, 1, 3))), 0, 0)
    second = 2000 / 1998
    assert column(result, "completion") == pytest.approx([second + 2 / 3, second], rel=1e-15)
    utilisation = column(result, "cpu_utilisation", "nodes")
    assert utilisation == pytest.approx([2 * 1998 / 4000, 0.75], rel=1e-15)


@pytest.mark.parametrize("arrivals", [(0.1, 0.7), (1.1, 2.2), (3600.3, 3600.4), (99999.1, 99999.7)])
@pytest.mark.parametrize("speed", [1000, 10**6])
def test_no_whole_operation_is_lost_to_the_rounding_of_times(
    arrivals: tuple[float, float], speed: int
) -> None:
    # The difference of the arrivals is so many tenths of a second: a whole number of operations.
    one, two = arrivals
    scenario = toy(
        flow(fn(2 * speed), arrival=one),
        flow(fn(speed), arrival=two),
        cluster={"single_core_speed": speed},
    )
    result = play(scenario, 0, 0)
    expected = [one + 2, two + 1]
    assert column(result, "completion") == pytest.approx(expected, rel=1e-14)


def test_a_part_of_an_operation_is_lost_at_each_event() -> None:
    # A would end at 10. At 1/3, 2/3 and so on others start, for an operation each.
    others = [flow(fn(1, 1, 1), arrival=k + 1 / 3) for k in range(5)]
    result = play(toy(flow(fn(10_000)), *others), *[0] * 6)
    # 333.33, 1, then 999 ... each start loses a third, each finish 1/1000 s later nothing or more:
    # floor(333.33) + 5 floor(1.0) + 4 floor(999.0) = 333 + 5 + 3996, at 4 1/3 + 0.001.
    done = 333 + 5 + 4 * 999
    assert column(result, "completion")[0] == pytest.approx(
        4 + 1 / 3 + 0.001 + (10_000 - done) / 1000, rel=1e-12
    )
    real = play(toy(flow(fn(10_000)), *others, work="real"), *[0] * 6)
    assert column(real, "completion")[0] == pytest.approx(10, rel=1e-12)


# Memory


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


# Servers and leases


def test_a_lease_begins_at_the_submission_and_covers_boot_and_transfer() -> None:
    result = play(toy(flow(fn(1000), arrival=7), servers=[server(latency=5)]), 0)
    assert leases(result) == [(0, 7, 7, 3607, 1, 1.5)]
    assert rows(result, "functions", "cold_start", "creation", "completion") == [(5, 12, 13)]
    assert result.metrics["cold_starts"] == 1


def test_a_second_node_of_a_rented_server_costs_nothing() -> None:
    scenario = toy(flow(fn(1000), fn(2000)), servers=[server(nodes=2)])
    result = play(scenario, 0, 1)
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5)]
    assert column(result, "completion") == [1, 2]


def test_a_boot_delays_every_node_of_the_server_and_no_other_server() -> None:
    one, two = flow(fn(1000)), flow(fn(1000), fn(1000), arrival=4)
    scenario = toy(one, two, servers=[server(nodes=2, latency=10, count=2)])
    result = play(scenario, 0, 1, 2)
    assert column(result, "cold_start") == [10, 0, 10]
    assert column(result, "creation") == [10, 10, 14]
    assert result.metrics["cold_starts"] == 2


def test_data_moves_after_the_boot() -> None:
    # Server 1 boots from 6 to 11; then the data takes 0.4 s.
    scenario = toy(chain(fn(6000), fn(1000), size=40), servers=[server(count=2, latency=5)])
    result = play(scenario, 0, 1)
    assert column(result, "completion")[0] == 11
    assert rows(result, "functions", "submission", "cold_start", "data_transfer", "creation")[
        1
    ] == (pytest.approx((11, 5, 0.4, 16.4)))


def test_a_server_that_is_there_takes_containers_after_their_transfer() -> None:
    # Server 0 is up at 5; submission 6.0 and transfer 0.4: creation 6.4.
    scenario = toy(
        flow(fn(100)),
        chain(fn(1000), fn(1000), size=40),
        servers=[server("a", latency=5), server("b", latency=5)],
    )
    result = play(scenario, 0, 1, 0)
    assert column(result, "completion")[1] == 6
    assert column(result, "creation")[2] == pytest.approx(6.4)


@pytest.mark.parametrize(("arrival", "cold"), [(3599.9, 0), (3600, 5), (3650, 5)])
def test_a_submission_at_or_after_the_end_of_the_lease_is_cold(arrival: float, cold: float) -> None:
    result = play(
        toy(flow(fn(1000)), flow(fn(2000), arrival=arrival), servers=[server(latency=5)]), 0, 0
    )
    assert column(result, "cold_start") == [5, cold]
    assert column(result, "completion")[1] == arrival + cold + 2
    start = max(arrival, 3600)
    assert leases(result)[1] == (0, arrival, start, start + 3600, 1, 1.5)


def test_a_lease_after_the_end_of_the_last_begins_anew() -> None:
    result = play(toy(flow(fn(1000)), flow(fn(2000), arrival=3650)), 0, 0)
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 3650, 3650, 7250, 1, 1.5)]
    assert column(result, "completion")[1] == 3652


@pytest.mark.parametrize(
    ("operations", "hours"),
    [
        (1, 1),
        (HOUR_OPERATIONS - 1, 1),
        (HOUR_OPERATIONS, 1),
        (HOUR_OPERATIONS + 1, 2),
        (2 * HOUR_OPERATIONS, 2),
        (HOUR_OPERATIONS * 11 // 10, 2),
    ],
)
@pytest.mark.parametrize("arrival", [0, 0.1, 7.3])
def test_whole_hours_are_rented(operations: int, hours: int, arrival: float) -> None:
    result = play(toy(flow(fn(operations), arrival=arrival)), 0)
    expiry = pytest.approx(arrival + 3600 * hours, rel=1e-15)
    assert leases(result) == [(0, arrival, arrival, expiry, hours, 1.5 * hours)]


def test_boot_and_transfer_count_toward_the_hour() -> None:
    # 0.3 + 0.3 + 3599.4 s are an hour, in binary floats a little more.
    for operations, hours in ((3_599_400, 1), (3_599_401, 2)):
        scenario = toy(
            chain(fn(1000), fn(operations), size=30),
            servers=[server("a"), server("b", latency=0.3)],
        )
        assert leases(play(scenario, 0, 1))[1][4] == hours


def test_an_extension_is_contiguous() -> None:
    # 3590 s are rented as an hour; at 50 two hours' work comes: until 7250, two hours more.
    result = play(toy(flow(fn(3_590_000)), flow(fn(2 * HOUR_OPERATIONS), arrival=50)), 0, 0)
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 50, 3600, 10800, 2, 3.0)]


def test_a_decision_that_slows_others_down_renews_their_lease() -> None:
    # Alone it would take 3600 s; from 0 on two share a core.
    result = play(
        toy(flow(fn(HOUR_OPERATIONS), fn(HOUR_OPERATIONS)), servers=[server(cpu=1)]), 0, 0
    )
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 0, 3600, 7200, 1, 1.5)]
    assert column(result, "completion") == [7200, 7200]


def test_there_is_no_refund_for_what_ends_early() -> None:
    # X is forecast beside Y, which gets there at 2 and then has to wait for memory.
    x, y = flow(fn(3_599_000)), chain(fn(500), fn(HOUR_OPERATIONS), size=150)
    scenario = toy(x, y, servers=[server("a", cpu=1), server("b")])
    result = play(scenario, (0, 8192), 1, (0, 1))
    # At 0.5: X has 3598.5 s left, Y starts at 2 and needs 3600 s. They share one core until
    # 2 + 2 * 3597 = 7196, then Y runs alone for 3 s: 7199. Two hours.
    mine = [lease for lease in leases(result) if lease[1] == 0.5]
    assert mine == [(0, 0.5, 3600, 7200, 1, 1.5)]
    assert column(result, "completion") == [3599, 0.5, 7199]
    assert result.metrics["rent_usd"] == 4.5


def test_what_waits_for_memory_is_rented_when_it_starts() -> None:
    result = play(toy(flow(fn(3_590_000), fn(15_000))), (0, 8192), (0, 512))
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 3590, 3600, 7200, 1, 1.5)]
    assert column(result, "start") == [0, 3590]
    assert column(result, "completion") == [3590, 3605]


def test_a_queue_starts_at_the_very_end_of_a_lease_without_a_boot() -> None:
    scenario = toy(flow(fn(3_595_000), fn(1000)), servers=[server(latency=5)])
    result = play(scenario, (0, 8192), (0, 1))
    # The boot is over at 5, the first ends at 3600, the very end of the lease.
    assert column(result, "completion") == [3600, 3601]
    # The second was on its way during the boot, when both were forecast to end by 3600.
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 3600, 3600, 7200, 1, 1.5)]
    assert result.metrics["cold_starts"] == 1


def test_one_that_comes_at_the_end_of_a_lease_comes_after_the_queue_renewed_it() -> None:
    # At 3600 the queue starts and the lease is renewed; so the submission at 3600 is warm.
    scenario = toy(
        flow(fn(3_595_000), fn(1000)), flow(fn(1000), arrival=3600), servers=[server(latency=5)]
    )
    result = play(scenario, (0, 8192), (0, 1), (0, 1))
    assert column(result, "cold_start") == [5, 0, 0]
    assert column(result, "start")[2] == 3600


def test_a_successor_at_the_end_of_the_lease_boots_the_server_again() -> None:
    scenario = toy(chain(fn(3_595_000), fn(1000)), servers=[server(latency=5)])
    result = play(scenario, 0, 0)
    assert column(result, "cold_start") == [5, 5]
    assert column(result, "creation") == [5, 3605]
    assert leases(result) == [(0, 0, 0, 3600, 1, 1.5), (0, 3600, 3600, 7200, 1, 1.5)]
    assert result.metrics["cold_starts"] == 2


def test_a_successor_at_the_end_of_a_lease_that_is_no_binary_number_boots_it_as_well() -> None:
    # 0.3 + 0.3 + 3599.7 = 3600.3, in binary floats a little less.
    scenario = toy(chain(fn(3_599_700), fn(1000), arrival=0.3), servers=[server(latency=0.3)])
    assert column(play(scenario, 0, 0), "cold_start") == [0.3, 0.3]


def test_each_server_has_a_lease_of_its_own() -> None:
    scenario = toy(
        flow(fn(1000), fn(2 * HOUR_OPERATIONS)),
        servers=[server("a", count=2, rate=1), server("b", rate=0.25)],
    )
    result = play(scenario, 1, 2)
    assert rows(result, "leases", "server_type", "server", "hours", "rent") == [
        ("a", 1, 1, 1.0),
        ("b", 0, 2, 0.5),
    ]


def test_a_boot_of_no_time_is_a_cold_start() -> None:
    result = play(toy(flow(fn(1000))), 0)
    assert column(result, "cold_start") == [0]
    assert result.metrics["cold_starts"] == 1


def test_the_status_of_a_booting_server() -> None:
    # Up at 5. One of 2000 operations for node 0, one of 4000 for node 1, both sent at 0.
    scenario = toy(
        flow(fn(2000), fn(4000)),
        flow(fn(1000), arrival=3),
        flow(fn(1000), arrival=5),
        servers=[server(nodes=2, latency=5)],
    )
    run = scenario.start()
    assert run.decision.nodes.boot.tolist() == [5, 5]
    run.apply((0, 1024))
    run.apply((1, 1))
    nodes = run.decision.nodes
    assert run.now == 3
    assert nodes.boot.tolist() == [2, 2]
    assert nodes.coming.tolist() == [1, 1]
    assert nodes.coming_memory.tolist() == [1024, 1]
    assert nodes.free_memory.tolist() == [8192, 8192]
    assert nodes.parallelism.tolist() == [0, 0]
    assert nodes.assigned.tolist() == [1, 1]
    assert nodes.expiry.tolist() == [3600, 3600]
    assert run.decision.first_completion.tolist() == [float("inf")] * 2
    assert run.decision.last_completion.tolist() == [7, 9]
    run.apply((0, 1))
    nodes = run.decision.nodes
    assert run.now == 5
    assert nodes.boot.tolist() == [0, 0]
    assert nodes.free_memory.tolist() == [8192 - 1025, 8191]
    assert run.decision.first_completion.tolist() == [6, 9]
    assert run.decision.last_completion.tolist() == [7, 9]


def test_the_first_completion_is_of_the_shortest_and_the_last_of_the_longest() -> None:
    shortest = flow(fn(4000), fn(1000), fn(2500), fn(1), arrival=1)
    run = toy(shortest, servers=[server(nodes=2)]).start()
    for _ in range(3):
        run.apply((0, 1))
    assert run.decision.first_completion.tolist() == [2, float("inf")]
    assert run.decision.last_completion.tolist() == [5, float("-inf")]


# Data


@pytest.mark.parametrize(
    ("node", "total", "longest"),
    [
        # 400 bytes of b on node 0, 800 of c on node 1, both of server 0; 1200 of a on server 1.
        (0, 400 / 400 + 800 / 200 + 1200 / 100, 12),
        (1, 400 / 200 + 800 / 400 + 1200 / 100, 12),
        (2, 400 / 100 + 800 / 100 + 1200 / 400, 8),
        (3, 400 / 100 + 800 / 100 + 1200 / 200, 8),
    ],
)
def test_data_comes_from_memory_bus_and_network(node: int, total: float, longest: float) -> None:
    for transfer, seconds in (("sum", total), ("parallel", longest)):
        scenario = toy(
            flow(*[fn(1000)] * 4, edges=[(0, 3, 1200), (1, 3, 400), (2, 3, 800)]),
            servers=[server(count=2, nodes=2)],
            transfer=transfer,
        )
        run = scenario.start()
        for action in ((2, 1), (0, 1), (1, 1)):
            run.apply(action)
        assert run.decision.nodes.transfer[node] == seconds
        run.apply((node, 1))
        result = run.result()
        assert column(result, "data_transfer") == [0, 0, 0, seconds]
        assert column(result, "completion")[3] == 1 + seconds + 1
        assert result.metrics["transfer_s"] == seconds


@pytest.mark.parametrize(
    ("places", "times"),
    [
        # a on 0. b reads 200 bytes of a, c 400; d reads 400 of b and 200 of c. One second each.
        # All on one node: b from 1.5 to 2.5, c from 2 to 3, d after 1 + 0.5 s: 4.5 to 5.5.
        ((0, 0, 0, 0), (1, 2.5, 3, 5.5)),
        # b over the bus: 2 to 3; c over the network: 5 to 6; d on b's node: 1 + 2 s, 9 to 10.
        ((0, 1, 2, 1), (1, 3, 6, 10)),
        # d with c: 4 s from b and 0.5 s from c.
        ((0, 1, 2, 2), (1, 3, 6, 11.5)),
        # d beside c, on another server than b: 4 + 1.
        ((0, 1, 2, 3), (1, 3, 6, 12)),
    ],
)
def test_a_diamond(places: tuple[int, ...], times: tuple[float, ...]) -> None:
    edges = [(0, 1, 200), (0, 2, 400), (1, 3, 400), (2, 3, 200)]
    scenario = toy(flow(*[fn(1000)] * 4, edges=edges), servers=[server(count=2, nodes=2)])
    result = play(scenario, *places)
    assert column(result, "completion") == list(times)
    assert column(result, "submission") == [0, 1, 1, max(times[1:3])]
    assert column(result, "makespan", "workflows") == [times[3]]
    assert column(result, "critical_path", "workflows") == [3]


def test_servers_of_one_type_are_different_servers() -> None:
    scenario = toy(chain(fn(1000), fn(1000), size=100), servers=[server(count=2)])
    assert column(play(scenario, 0, 0), "data_transfer") == [0, 0.25]
    assert column(play(scenario, 0, 1), "data_transfer") == [0, 1]


def test_an_edge_without_bytes_is_an_order_and_no_transfer() -> None:
    scenario = toy(chain(fn(1000), fn(1000)), servers=[server(count=2)])
    assert column(play(scenario, 0, 1), "creation") == [0, 1]


# Order


def asked(run: WorkflowSimulation, tables: bool = True) -> list[tuple[Any, ...]]:
    """Who is asked for when, if all go to the first node."""
    while run.decision is not None:
        run.apply((0, 1))
    return rows(run.result(), "decisions", "time_s", "workflow", "function")


def test_decisions_come_by_time_then_workflow_then_function() -> None:
    # Workflow 0 arrives at 1, when the first function of workflow 1 is done.
    scenario = toy(
        flow(fn(1000), fn(1000), arrival=1),
        flow(fn(1000), fn(500), fn(1), fn(1), edges=[(0, 3, 0), (0, 2, 0)]),
        flow(fn(1), arrival=1),
    )
    assert asked(scenario.start()) == [
        (0, 1, 0),
        (0, 1, 1),
        (1, 0, 0),
        (1, 0, 1),
        (1, 1, 2),
        (1, 1, 3),
        (1, 2, 0),
    ]


def test_workflows_in_any_order_of_arrival_keep_their_numbers() -> None:
    scenario = toy(flow(fn(1), arrival=2), flow(fn(2)), flow(fn(3), arrival=1))
    run = scenario.start()
    assert run.decision.function.computation == 2
    assert asked(run) == [(0, 1, 0), (1, 2, 0), (2, 0, 0)]
    arrivals = dict(rows(run.result(), "workflows", "workflow", "arrival"))
    assert arrivals == {0: 2, 1: 0, 2: 1}


def test_a_decision_tells_the_number_of_the_workflow_that_the_tables_tell() -> None:
    run = toy(flow(fn(1), arrival=2), flow(fn(2)), flow(fn(3), arrival=1)).start()
    told = []
    while run.decision is not None:
        told.append(run.decision.function.workflow)
        run.apply((0, 1))
    assert told == column(run.result(), "workflow", "decisions") == [1, 2, 0]


def test_what_is_simultaneous_in_decimals_is_decided_by_number() -> None:
    # 0.1 + 0.2 s and 0.3 s.
    scenario = toy(chain(fn(100), fn(200), fn(1)), chain(fn(300), fn(2)), servers=[server(nodes=3)])
    run = scenario.start()
    for node in (0, 1, 2):
        run.apply((node, 1))
    assert run.decision.function.computation == 1


def test_a_decision_takes_effect_before_the_next() -> None:
    run = toy(flow(fn(1000, 4096), fn(1000, 4096), fn(1000, 4096))).start()
    free = []
    while run.decision is not None:
        nodes = run.decision.nodes
        free.append((int(nodes.free_memory[0]), int(nodes.waiting[0]), float(nodes.utilisation[0])))
        run.apply((0, 4096))
    assert free == [(8192, 0, 0.0), (4096, 0, 0.25), (0, 0, 0.5)]


def test_a_function_waits_for_all_its_parents() -> None:
    scenario = toy(
        flow(fn(1000), fn(3000), fn(2000), fn(1), edges=[(0, 3, 0), (1, 3, 0), (2, 3, 0)])
    )
    result = play(scenario, 0, 0, 0, 0)
    assert column(result, "submission") == [0, 0, 0, 3]
