"""Cases worked out on paper: sharing, data, order."""

from __future__ import annotations

from typing import Any

import pytest

import cloudarena
from cloudarena.contract import Result
from cloudarena.scenarios.workflow import WorkflowRun

from .clusters import chain, column, flow, fn, leases, play, rows, scripted, server, toy

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


def asked(run: WorkflowRun) -> list[tuple[Any, ...]]:
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
