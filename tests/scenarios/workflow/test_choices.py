"""What each built-in policy chooses, on clusters small enough to choose by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.contract import Result
from cloudarena.engine.streams import stream
from cloudarena.scenarios.workflow import POLICIES, WorkflowScenario

from .clusters import HOUR_OPERATIONS, chain, column, flow, fn, rows, server, toy


def places(scenario: WorkflowScenario, name: str) -> list[int]:
    """The nodes, numbered through, to which a policy sends the functions in their order."""
    return nodes_of(scenario, cloudarena.simulate(scenario, name))


def nodes_of(scenario: WorkflowScenario, result: Result) -> list[int]:
    numbers: dict[tuple[Any, ...], int] = {}
    for kind, number in scenario.servers:
        for node in range(kind.numa_nodes.count):
            numbers[kind.name, number, node] = len(numbers)
    found = rows(result, "decisions", "server_type", "server", "numa_node")
    return [numbers[place] for place in found]


def test_all_policies_are_tested_here() -> None:
    assert list(POLICIES) == [
        "random",
        "round-robin",
        "least-loaded",
        "first-fit",
        "best-fit",
        "data-local",
        "earliest-finish",
        "cheapest",
        "weighted",
        "critical-path-first",
        "heft",
    ]


@pytest.mark.parametrize("name", POLICIES.array_names())
def test_the_smallest_option_that_is_enough_is_allocated(name: str) -> None:
    needs = (1, 128, 129, 256, 1000, 1024, 1025, 8192)
    scenario = toy(flow(*(fn(1000, need) for need in needs)))
    result = cloudarena.simulate(scenario, name)
    assert column(result, "memory") == [128, 128, 256, 256, 1024, 1024, 1024, 1024]
    small = toy(flow(fn(1000, 1000), fn(1000, 100)), servers=[server(memory=200)])
    assert column(cloudarena.simulate(small, name), "memory") == [200, 128]


def test_random_draws_every_node_from_the_stream_of_the_policy() -> None:
    scenario = toy(flow(*[fn(1000)] * 40), servers=[server(count=2, nodes=2), server("t")])
    rng = stream(5, "policy")
    drawn = [int(rng.integers(0, 5)) for _ in range(40)]
    assert set(drawn) == set(range(5))
    assert nodes_of(scenario, cloudarena.simulate(scenario, "random", seed=5)) == drawn


def test_round_robin_goes_in_a_circle_over_all_workflows() -> None:
    servers = [server(nodes=2), server("t")]
    scenario = toy(chain(fn(1000), fn(1000)), flow(fn(1), fn(1), fn(1)), servers=servers)
    assert places(scenario, "round-robin") == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("latency", [0, 10])
def test_least_loaded_counts_the_threads_for_a_core(latency: float) -> None:
    # Four cores and two: loads 0 0, 1/4 0, 1/4 1/2, 2/4 1/2, 3/4 1/2, 3/4 1.
    servers = [server("a", latency=latency), server("b", cpu=2, latency=latency)]
    scenario = toy(flow(*[fn(1000)] * 6), servers=servers)
    assert places(scenario, "least-loaded") == [0, 1, 0, 0, 1, 0]
    wide = toy(flow(fn(1000, 1, 3), *[fn(1000)] * 4), servers=servers)
    # 0 0, 3/4 0, 3/4 1/2, 3/4 1, 1 1
    assert places(wide, "least-loaded") == [0, 1, 1, 0, 0]


def test_least_loaded_counts_what_waits_for_memory() -> None:
    servers = [server("a", memory=128), server("b", cpu=1, memory=128)]
    scenario = toy(flow(*[fn(1000)] * 6), servers=servers)
    # 0 0, 1/4 0, 1/4 1, 2/4 1, 3/4 1, 1 1
    assert places(scenario, "least-loaded") == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("latency", [0, 10])
def test_first_fit_takes_the_first_node_with_memory_left(latency: float) -> None:
    servers = [server(nodes=2, memory=1024, latency=latency)]
    scenario = toy(flow(*[fn(1000, 512)] * 6), servers=servers, memory_options=[512])
    # After four both are full: then the least loaded, 2/4 2/4 and 3/4 2/4.
    assert places(scenario, "first-fit") == [0, 0, 1, 1, 0, 1]


def test_first_fit_keeps_room_for_those_that_wait() -> None:
    # Two of 600 MB run; the third waits at node 0, where 400 MB are free and spoken for.
    scenario = toy(
        flow(*(fn(1000, need) for need in (600, 600, 600, 300))),
        servers=[server(nodes=2, memory=1000)],
        memory_options=[300, 600],
    )
    assert places(scenario, "first-fit") == [0, 1, 0, 1]


def test_best_fit_leaves_the_least_memory() -> None:
    servers = [server("a", memory=2048), server("b", memory=1024)]
    scenario = toy(flow(*[fn(1000, 512)] * 7), servers=servers, memory_options=[512])
    # Two fill node 1 to the last MB, four node 0; then the least loaded: 4/4 and 2/4.
    assert places(scenario, "best-fit") == [1, 1, 0, 0, 0, 0, 1]


def test_data_local_goes_where_the_data_is() -> None:
    # Sources anywhere: the least loaded. A child of 0 and 1 goes to where more bytes are.
    servers = [server(count=2, nodes=2)]
    for edges, place in (
        ([(0, 3, 100), (1, 3, 10)], 0),
        ([(0, 3, 10), (1, 3, 100)], 1),
        ([(2, 3, 1), (1, 3, 1)], 1),  # 1/400 + 1/100 and 1/100 + 1/400: both idle, the lower
        ([(0, 3, 5), (1, 3, 5), (2, 3, 8)], 0),  # 5/400 + 5/200 + 8/100 < 10/100 + 8/400
        ([(0, 3, 5), (1, 3, 5), (2, 3, 20)], 2),
    ):
        scenario = toy(flow(*[fn(1000)] * 4, edges=edges), servers=servers)
        assert places(scenario, "data-local") == [0, 1, 2, place]


def test_data_local_without_data_is_least_loaded() -> None:
    scenario = toy(flow(*[fn(1000)] * 6), servers=[server("a"), server("b", cpu=2)])
    assert places(scenario, "data-local") == [0, 1, 0, 0, 1, 0]


def test_earliest_finish_forecasts_sharing_and_boots() -> None:
    # Node 0 has one core, node 1 four that take 5 s to boot. Four threads and 4000 operations:
    # alone on node 0 4 s; a second one there 8 s, but 5 + 1 s on node 1. A third: 8 s, or with
    # the second on node 1 5 + 2 s. A fourth: 8 s on both, so the lower number.
    servers = [server("a", cpu=1), server("b", cpu=4, latency=5)]
    scenario = toy(flow(*[fn(4000, 1, 4)] * 4), servers=servers)
    assert places(scenario, "earliest-finish") == [0, 1, 1, 0]


@pytest.mark.parametrize(("size", "place"), [(100, 1), (200, 0)])
def test_earliest_finish_counts_transfers(size: int, place: int) -> None:
    # At 1 a long one goes to node 0; then the child of what ran there, a second of work. On node 0
    # it shares the core: 1/4 + 2 s for 100 bytes, 1/2 + 2 s for 200. On node 1 it is alone after
    # a transfer by network: 1 + 1 s or 2 + 1 s.
    servers = [server("a", cpu=1), server("b", cpu=1)]
    scenario = toy(flow(fn(9000), arrival=1), chain(fn(1000), fn(1000), size=size), servers=servers)
    assert places(scenario, "earliest-finish") == [0, 0, place]


def test_earliest_finish_takes_nodes_with_memory_left_first() -> None:
    # Node 0 would be done at 1, by the forecast, but its memory is held for an hour.
    servers = [server("a", memory=512), server("b", cpu=1, latency=60)]
    work = [fn(HOUR_OPERATIONS, 512), fn(1000, 512)]
    assert places(toy(flow(*work), servers=servers), "earliest-finish") == [0, 1]
    roomy = [server("a", memory=1024), servers[1]]
    assert places(toy(flow(*work), servers=roomy), "earliest-finish") == [0, 0]


@pytest.mark.parametrize(
    "policy", ["earliest-finish", "cheapest", "weighted", "critical-path-first"]
)
def test_full_nodes_are_taken_by_load(policy: str) -> None:
    # One fills each node; a forecast would send all others to the lower number, to wait there.
    servers = [server("a", cpu=4, memory=512), server("b", cpu=2, memory=512)]
    scenario = toy(flow(*[fn(1000, 512)] * 5), servers=servers, memory_options=[512])
    assert places(scenario, policy) == [0, 1, 0, 0, 1]  # 1/4 and 1/2, 2/4 and 1/2, 3/4 and 1/2


def test_cheapest_rents_the_cheap_server_and_stays() -> None:
    servers = [server("dear", rate=2), server("cheap", rate=1, latency=60)]
    # First the cheap one, for an hour. There the second costs nothing, nor does the third, at the
    # price of time. The fourth lasts two hours more: 2 $, as it does on node 0 for 4 $.
    work = [fn(1000), fn(1000), fn(1000, 1, 4), fn(2 * HOUR_OPERATIONS)]
    assert places(toy(flow(*work), servers=servers), "cheapest") == [1, 1, 1, 1]
    # Three hours on the cheap one or one and a half, with more cores, on the dear one.
    wide = [server("dear", rate=1.2, cpu=4), server("cheap", rate=1, cpu=1)]
    scenario = toy(flow(fn(3 * HOUR_OPERATIONS, 1, 4)), servers=wide)
    assert places(scenario, "cheapest") == [0]


def test_cheapest_takes_the_earliest_of_equals() -> None:
    servers = [server("a", latency=3), server("b", latency=2), server("c", latency=2)]
    assert places(toy(flow(fn(1000)), servers=servers), "cheapest") == [1]


@pytest.mark.parametrize(
    ("objective", "place"),
    [
        ({"weight": 1}, 1),
        ({"weight": 0}, 0),
        ({"weight": 0.5, "rent_scale": 10}, 0),  # 1 or 0.5 + 7.5
        ({"weight": 0.5, "rent_scale": 0.67}, 0),  # 1 or 0.5 + 0.5025
        ({"weight": 0.5, "rent_scale": 0.66}, 1),  # 1 or 0.5 + 0.495
        ({"weight": 0.5, "rent_scale": 0}, 1),
    ],
)
def test_weighted_weighs_time_and_rent(objective: dict[str, float], place: int) -> None:
    # Node 0 is rented and busy: a second of work takes 2 s there. On node 1 it takes 1 s, and
    # $1.50 for an hour.
    servers = [server("a", cpu=1), server("b", cpu=1)]
    scenario = toy(flow(fn(28_000)), flow(fn(1000)), servers=servers, objective=objective)
    assert places(scenario, "weighted") == [0, place]


def test_critical_path_first_hurries_those_without_slack() -> None:
    # Node 0 is cheap and boots in 5 s; node 1 is dear and there at once.
    servers = [server("cheap", rate=1, latency=5), server("dear", rate=2)]
    # The short one has 9 s of slack: cheap. The long one has none: it completes first on node 1.
    scenario = toy(flow(fn(1000), fn(10_000)), servers=servers)
    assert places(scenario, "critical-path-first") == [0, 1]
    # The other way round, the short one costs nothing on the rented node 1.
    scenario = toy(flow(fn(10_000), fn(1000)), servers=servers)
    assert places(scenario, "critical-path-first") == [1, 1]


def test_critical_path_first_hurries_those_that_have_become_late() -> None:
    # The first has half a second of slack and goes to the cheap server, which boots for more than
    # an hour. Then its child has none: it goes where it takes half a second, for $10 more.
    servers = [server("cheap", rate=1, latency=4000, cpu=1), server("dear", rate=10)]
    work = flow(fn(1000), fn(2000), fn(1000, 1, 2), edges=[(0, 2, 0)])
    assert places(toy(work, servers=servers), "critical-path-first") == [0, 1, 1]
    assert places(toy(work, servers=servers), "cheapest") == [0, 0, 0]


def test_heft_places_by_rank_and_not_by_number() -> None:
    # Function 0 feeds 1 (4 s) and 2 (5 s) with 100 bytes: 1/4 s on the node, 1 s over the network.
    # 2 has the higher rank: it stays on node 0 until 6.25. 1 would end there at 10.25, on node 1 at
    # 2 + 4 = 6.
    servers = [server("a", cpu=1), server("b", cpu=1)]
    edges = [(0, 1, 100), (0, 2, 100)]
    scenario = toy(flow(fn(1000), fn(4000), fn(5000), edges=edges), servers=servers)
    assert places(scenario, "heft") == [0, 1, 0]
    greedy = toy(flow(fn(1000), fn(4000), fn(5000), edges=edges), servers=servers)
    assert places(greedy, "earliest-finish") == [0, 0, 1]


def test_heft_keeps_the_data_where_it_is_if_that_is_sooner() -> None:
    # 1 has to come 100 s over the network, or wait 5 s for the core.
    servers = [server("a", cpu=1), server("b", cpu=1)]
    edges = [(0, 1, 10_000), (0, 2, 10_000)]
    scenario = toy(flow(fn(1000), fn(4000), fn(5000), edges=edges), servers=servers)
    assert places(scenario, "heft") == [0, 0, 0]


def test_heft_plans_around_other_workflows() -> None:
    servers = [server("a", cpu=1), server("b", cpu=1)]
    scenario = toy(flow(fn(5000)), flow(fn(4000)), flow(fn(1000), arrival=1), servers=servers)
    # The third: node 0 is planned until 5, node 1 until 4.
    assert places(scenario, "heft") == [0, 1, 1]


def test_heft_gives_a_function_as_many_cores_as_it_has_threads() -> None:
    # Three threads hold three of four cores of node 0 until 3: one thread fits beside them, two
    # do not and go to node 1.
    servers = [server("a", cpu=4), server("b", cpu=2)]
    scenario = toy(flow(fn(9000, 1, 3)), flow(fn(2000)), flow(fn(2000, 1, 2)), servers=servers)
    assert places(scenario, "heft") == [0, 0, 1]


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_takes_what_there_is_on_one_node(name: str) -> None:
    scenario = toy(chain(fn(1000, 5000, 9), fn(1000)), flow(fn(500)))
    result = cloudarena.simulate(scenario, name)
    assert nodes_of(scenario, result) == [0, 0, 0]
    assert result.metrics["workflows"] == 2
    assert np.isfinite(list(result.metrics.values())).all()
