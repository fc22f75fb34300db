"""Servers worked out on paper: boots, leases and what they cost."""

from __future__ import annotations

import pytest

from .clusters import HOUR_OPERATIONS, chain, column, flow, fn, leases, play, rows, server, toy


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
