"""What cannot be is refused: specs, actions and files of placements, each with the reason."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError, InvalidAction, SpecError
from cloudarena.scenarios.workflow import (
    POLICIES,
    Function,
    Nodes,
    WorkflowRun,
)

from .clusters import chain, column, flow, fn, play, scripted, server, spec_of, toy

FUNCTION, EDGES = "workload[0].functions[0]", "workload[0].edges"
SERVER, NUMA_NODES = "cluster.servers[0]", "cluster.servers[0].numa_nodes"
NAN, INFINITY = float("nan"), float("inf")


def refusal(path: str, value: Any) -> str:
    """The message for a good spec with one thing wrong."""
    spec = spec_of(chain(fn(2585, 512), fn(10), size=5))
    with pytest.raises(CloudarenaError) as caught:
        cloudarena.load(spec, {path: value}).start()
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{FUNCTION}.computation", 0, "computation: 0 is not allowed: at least 1"),
        (f"{FUNCTION}.computation", -5, "computation: -5 is not allowed: at least 1"),
        (f"{FUNCTION}.computation", 1.5, "computation: 1.5 is not allowed: a whole number"),
        (f"{FUNCTION}.computation", "x", "computation: 'x' is not allowed: a whole number"),
        (f"{FUNCTION}.computation", None, "computation: None is not allowed: a whole number"),
        (f"{FUNCTION}.computation", NAN, "computation: nan is not allowed: a finite number"),
        (f"{FUNCTION}.computation", 2**53 + 1, "computation: 9007199254740993 is not allowed"),
        (f"{FUNCTION}.memory_req", 0, "memory_req: 0 is not allowed: at least 1"),
        (f"{FUNCTION}.parallelism", 0, "parallelism: 0 is not allowed: at least 1"),
        (f"{FUNCTION}.memory", 3, "unknown key 'memory'. Did you mean 'memory_req'?"),
        (FUNCTION, {"memory_req": 1}, "functions[0].computation: is required"),
        ("workload[0].functions", [], "functions: [] is not allowed: at least 1"),
        ("workload[0].arrival", -1, "arrival: -1 is not allowed: at least 0"),
        ("workload[0].arrival", INFINITY, "arrival: inf is not allowed: a finite number"),
        ("workload[0].arrival", 1e300, "arrival: 1e+300 is not allowed: at most"),
        (EDGES, [[0, 1, 5], [1, 0, 5]], "its functions wait for each other in a circle: 0, 1, 0"),
        (EDGES, [[0, 0, 5]], "edges[0]: [0, 0, 5] is not allowed: a function cannot wait for"),
        (EDGES, [[0, 1, 5], [0, 1, 6]], "edges[1]: [0, 1, 6] is not allowed: this edge is a"),
        (EDGES, [[0, 2, 5]], "edges[0]: [0, 2, 5] is not allowed: functions are from 0 to 1"),
        (EDGES, [[0, 1, -5]], "edges[0][2]: -5 is not allowed: at least 0"),
        (EDGES, [[0, 1]], "edges[0][2]: is required"),
        ("workload", [], "[] is not allowed: at least 1 entries"),
        ("workload", 5, "workload: 5 is not allowed"),
        ("workload", None, "workload: None is not allowed"),
        ("workload", "no.json", "no.json: does not exist"),
        ("workload", {"source": "inlin"}, "Did you mean 'inline'?"),
    ],
)
def test_a_workload_that_cannot_be(path: str, value: Any, words: str) -> None:
    assert words in refusal(path, value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("cluster.numa_bandwidth", 400, "memory_bandwidth 400, numa_bandwidth 400, network_band"),
        ("cluster.network_bandwidth", 200, "each must be more than the next"),
        ("cluster.memory_bandwidth", 50, "each must be more than the next"),
        ("cluster.network_bandwidth", 0, "network_bandwidth: 0 is not allowed: at least 1"),
        ("cluster.single_core_speed", 0, "single_core_speed: 0 is not allowed: at least 1"),
        ("cluster.single_core_speed", 10**13, "single_core_speed: 10000000000000 is not allowed"),
        ("cluster.servers", [], "servers: [] is not allowed: at least 1 entries"),
        ("cluster.servers", [server(), server()], "servers[1].name: 's' is not allowed"),
        (f"{SERVER}.count", 0, "servers: at least one server is needed"),
        (f"{SERVER}.count", -1, "servers[0].count: -1 is not allowed: at least 0"),
        (f"{SERVER}.hourly_rate", 0, "servers[0].hourly_rate: 0 is not allowed: more than 0"),
        (f"{SERVER}.cold_start_latency", -1, "cold_start_latency: -1 is not allowed: at least 0"),
        (f"{SERVER}.cpus", 3, "servers[0]: unknown key 'cpus'. Allowed: name, count"),
        (f"{NUMA_NODES}.cpu", 0, "numa_nodes.cpu: 0 is not allowed: at least 1"),
        (f"{NUMA_NODES}.memory", 0, "numa_nodes.memory: 0 is not allowed: at least 1"),
        (f"{NUMA_NODES}.count", 0, "numa_nodes.count: 0 is not allowed: at least 1"),
        ("cluster.memory_bandwith", 3, "Did you mean 'memory_bandwidth'?"),
        ("cluster", "no.yaml", "no.yaml: does not exist"),
        ("cluster", {}, "cluster.servers: is required"),
    ],
)
def test_a_cluster_that_cannot_be(path: str, value: Any, words: str) -> None:
    assert words in refusal(path, value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("wrok", "real", "unknown key 'wrok'. Did you mean 'work'?"),
        ("work", "float", "work: 'float' is not allowed: one of 'integer' or 'real'"),
        ("transfer", "max", "transfer: 'max' is not allowed: one of 'sum' or 'parallel'"),
        ("admission", "fifo", "admission: 'fifo' is not allowed: one of 'bypass', 'strict'"),
        ("memory_options", [], "memory_options: [] is not allowed: at least 1 entries"),
        ("memory_options", [2, 1], "memory_options: [2, 1] is not allowed: rising numbers"),
        ("memory_options", [1, 1], "memory_options: [1, 1] is not allowed: rising numbers"),
        ("memory_options", [0], "memory_options[0]: 0 is not allowed: at least 1"),
        ("objective.weight", 2, "objective.weight: 2 is not allowed: at most 1"),
        ("objective.rent_scale", -1, "objective.rent_scale: -1 is not allowed: at least 0"),
    ],
)
def test_rules_that_cannot_be(path: str, value: Any, words: str) -> None:
    assert words in refusal(path, value)


def test_speeds_that_do_not_fit_whole_numbers_are_refused() -> None:
    spec = spec_of(
        flow(fn(1, 10**9, 10**6)),
        servers=[server(cpu=10**5, memory=10**8)],
        cluster={"single_core_speed": 10**12},
    )
    with pytest.raises(SpecError, match="single_core_speed: 1000000000000 is not allowed"):
        cloudarena.load(spec).start()


ONE = {"functions": [fn(1000)]}


@pytest.mark.parametrize(
    ("workload", "path"),
    [
        ([ONE], "workload[0].functions[0].computation"),
        (
            {"source": "inline", "workflows": [ONE]},
            "workload.workflows[0].functions[0].computation",
        ),
        (
            {"templates": [ONE], "arrivals": [0]},
            "workload.templates[0].functions[0].computation",
        ),
        ({"source": "shapes", "functions": 3, "workflows": 1}, "workload.templates"),
    ],
)
def test_the_path_of_an_error_is_as_the_user_wrote_it(workload: Any, path: str) -> None:
    scenario = {**spec_of(), "workload": copy.deepcopy(workload)}
    with pytest.raises(SpecError) as raised:
        cloudarena.load(scenario, {path: 0})
    assert str(raised.value).startswith(f"{path}: 0 is not allowed: at least 1")


def test_server_types_without_servers_are_left_out() -> None:
    scenario = toy(flow(fn(1000)), servers=[server("none", count=0), server("some", count=2)])
    assert len(scenario.start().decision.nodes.server) == 2
    assert column(play(scenario, 1), "server_type") == ["some"]


@pytest.mark.parametrize(
    ("bandwidth", "work", "function"),
    [(1e-300, "integer", fn(1000)), (100, "real", fn(2**53, 10**9))],
)
def test_no_rent_is_negative(bandwidth: float, work: str, function: dict[str, int]) -> None:
    """Either so long a time is refused, or its rent is right."""
    try:
        scenario = toy(
            chain(function, fn(1000), size=5),
            servers=[server(count=2)],
            cluster={
                "memory_bandwidth": 3 * bandwidth,
                "numa_bandwidth": 2 * bandwidth,
                "network_bandwidth": bandwidth,
                "single_core_speed": 1,
            },
            work=work,
        )
        result = play(scenario, 0, 1)
    except (SpecError, InvalidAction):
        return
    assert result.metrics["rent_usd"] > 0


# Actions


def shown(run: WorkflowRun) -> Any:
    """All that a run shows."""
    decision = run.decision
    nodes = None
    if decision is not None:
        arrays = [part for part in decision.nodes if isinstance(part, np.ndarray)]
        forecasts = (decision.first_completion, decision.last_completion)
        nodes = [values.tolist() for values in (*arrays, *forecasts)]
    function = None if decision is None else decision.function
    return run.now, function, nodes, run.metrics(), run.result().tables


def busy_run() -> WorkflowRun:
    """At the third decision one container runs on node 0, one is on its way to node 1."""
    scenario = toy(
        flow(fn(5000), fn(1000)),
        flow(fn(1000, 4000, 2), arrival=1),
        servers=[server("a", memory=8), server("b", memory=16, latency=3)],
    )
    run = scenario.start()
    run.apply((0, 4))
    run.apply((1, 2))
    return run


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ((2, 1), "node 2 is not allowed: 0 to 1"),
        ((-1, 1), "node -1 is not allowed: 0 to 1"),
        ((10**12, 1), "node 1000000000000 is not allowed: 0 to 1"),
        ((0, 9), "memory 9 is not allowed: 1 to 8 MB"),
        ((1, 17), "memory 17 is not allowed: 1 to 16 MB"),
        ((0, 0), "memory 0 is not allowed: 1 to 8 MB"),
        ((0, -1), "memory -1 is not allowed: 1 to 8 MB"),
        ((0, 1), "the function would take more than"),
        ((0, 1.5), "not allowed"),
        ((0, 2.0), "not allowed"),
        ((0, "2"), "not allowed"),
        ((0, None), "not allowed"),
        ((0, True), "not allowed"),
        ((True, 1), "not allowed"),
        ((0, 10**30), "not allowed"),
        ((10**30, 1), "not allowed"),
        ((0,), "not allowed"),
        ((0, 1, 2), "not allowed"),
        (0, "not allowed"),
        (None, "not allowed"),
        ("ab", "not allowed"),
        ({0: 1, 1: 2}, "not allowed"),
    ],
)
def test_a_wrong_action_says_why_and_changes_nothing(action: Any, words: str) -> None:
    run = busy_run()
    before = shown(run)
    with pytest.raises(InvalidAction, match=re.escape(words)):
        run.apply(action)
    assert shown(run) == before
    run.apply((1, 16))
    good = busy_run()
    good.apply((1, 16))
    assert shown(run) == shown(good)


@pytest.mark.parametrize(
    "action", [(1, 16), [1, 16], (np.int64(1), np.int32(16)), tuple(np.array([1, 16]))]
)
def test_an_action_may_be_any_pair_of_whole_numbers(action: Any) -> None:
    run, good = busy_run(), busy_run()
    run.apply(action)
    good.apply((1, 16))
    assert shown(run) == shown(good)


def test_after_the_end_no_action_is_allowed() -> None:
    run = busy_run()
    run.apply((1, 16))
    assert run.decision is None
    before = shown(run)
    with pytest.raises(InvalidAction, match="ended"):
        run.apply((1, 16))
    assert shown(run) == before
    run.play(POLICIES.resolve("random"))
    assert shown(run) == before


def beyond(nodes: Nodes, function: Function, rng: np.random.Generator) -> tuple[int, int]:
    return len(nodes.server), 1


def greedy(nodes: Nodes, function: Function, rng: np.random.Generator) -> tuple[int, int]:
    return 0, nodes.memory[0] + 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [(beyond, "node 2 is not allowed: 0 to 1"), (greedy, "memory 9 is not allowed: 1 to 8 MB")],
)
@pytest.mark.parametrize("looked", [False, True])
def test_a_wrong_action_of_a_compiled_policy_changes_nothing(
    wrong: Any, words: str, looked: bool
) -> None:
    run = busy_run()
    before = shown(run) if looked else None
    with pytest.raises(InvalidAction, match=words):
        run.play(POLICIES.resolve(wrong))
    assert before is None or shown(run) == before
    run.apply((1, 16))
    good = busy_run()
    good.apply((1, 16))
    assert shown(run) == shown(good)


def test_a_speed_that_is_rounded_down_to_nothing_is_refused() -> None:
    # One operation a second on one core: two threads would do half of one each.
    slow = {"single_core_speed": 1}
    for work in (flow(fn(3), fn(2)), flow(fn(3, 1, 2))):
        run = toy(work, servers=[server(cpu=1)], cluster=slow).start()
        if len(work["functions"]) == 2:
            run.apply((0, 1))
        with pytest.raises(InvalidAction, match="the function would take more than"):
            run.apply((0, 1))
    # Without rounding they share it.
    scenario = toy(flow(fn(3), fn(2)), servers=[server(cpu=1)], cluster=slow, work="real")
    assert column(play(scenario, 0, 0), "completion") == [5, 4]
    # On two cores both do one.
    scenario = toy(flow(fn(3), fn(2)), servers=[server(cpu=2)], cluster=slow)
    assert column(play(scenario, 0, 0), "completion") == [3, 2]


def test_one_who_stands_still_beside_others_goes_on_after_them() -> None:
    # Alone the first does 1 operation a second with its 1 of 1000 MB; beside another, half.
    scenario = toy(flow(fn(3, 1000), fn(3000)), servers=[server(cpu=1, memory=8)])
    result = play(scenario, (0, 1), (0, 1))
    assert column(result, "completion") == [9, 6]
    assert column(result, "cpu_utilisation", "nodes") == [0.5, 0.001]


def test_the_arrays_of_a_decision_are_read_only() -> None:
    decision = busy_run().decision
    arrays = [part for part in decision.nodes if isinstance(part, np.ndarray)]
    arrays += [part for part in decision.nodes.sharing if isinstance(part, np.ndarray)]
    assert len(arrays) > 20
    for values in (*arrays, decision.valid, decision.first_completion, decision.last_completion):
        assert not values.flags.writeable or values.base is None


def test_a_policy_in_python_may_ask_for_forecasts() -> None:
    assert toy(flow(fn(1000))).start().decision.finish_forecast(0, 1) == 1


# Placements from files

HEADER = "workflow,function,server_type,server,numa_node,memory\n"


def two_servers() -> Any:
    return toy(
        chain(fn(1000), fn(1000), size=100), flow(fn(500)), servers=[server(count=2, nodes=2)]
    )


def mixed_result() -> Any:
    """A run whose placements are all different, of workflows that are not in order of arrival."""
    scenario = toy(
        chain(fn(1000), fn(1000), size=100, arrival=3),
        flow(fn(500), fn(700, 30)),
        servers=[server(count=2, nodes=2), server("t", latency=1)],
    )
    return scenario, cloudarena.simulate(scenario, scripted((3, 9), (4, 8), (0, 1), (2, 77)))


@pytest.mark.parametrize("table", ["decisions", "functions"])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_replay_of_a_run_gives_the_same_result(table: str, form: str, tmp_path: Path) -> None:
    scenario, played = mixed_result()
    file = tmp_path / f"{table}.{form}"
    write = pq.write_table if form == "parquet" else pacsv.write_csv
    write(played.tables[table], file)
    replayed = cloudarena.simulate(scenario, f"replay:{file}")
    assert replayed.metrics == played.metrics
    assert replayed.tables == played.tables


@pytest.mark.parametrize("name", ["random", "heft", "earliest-finish"])
def test_a_saved_run_can_be_replayed(name: str, tmp_path: Path) -> None:
    scenario = cloudarena.load("workflow/demo", {"workload.workflows": 5})
    played = cloudarena.simulate(scenario, name, seed=3)
    played.save(tmp_path)
    replayed = cloudarena.simulate(scenario, f"replay:{tmp_path / 'decisions.parquet'}", seed=3)
    assert replayed.metrics == played.metrics
    assert replayed.tables == played.tables


def test_a_replay_may_be_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "placements.csv"
    path.write_text(
        "memory,numa_node,server,server_type,function,workflow\n"
        "3,1,1,s,1,0\n2,0,0,s,0,1\n1,1,0,s,0,0\n"
    )
    result = cloudarena.simulate(two_servers(), f"replay:{path}")
    assert column(result, "memory") == [1, 3, 2]
    assert column(result, "server") == [0, 1, 0]
    assert column(result, "numa_node") == [1, 1, 0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("0,0,s,0,0,1\n0,1,s,1,1,1\n", "has no placement for function 0 of workflow 1"),
        ("0,0,s,0,0,1\n0,0,s,0,0,2\n", "line 3: function: 0 is a duplicate"),
        ("0,0,s,0,0,1\n2,0,s,0,0,1\n", "line 3: workflow: '2' is not in the workload"),
        ("a,0,s,0,0,1\n", "line 2: workflow: 'a' is not in the workload"),
        ("0,0,t,0,0,1\n", "line 2: server_type 't', server 0, numa_node 0 is not in the cluster"),
        ("0,0,s,2,0,1\n", "line 2: server_type 's', server 2, numa_node 0 is not in the cluster"),
        ("0,0,s,-1,0,1\n", "line 2: server_type 's', server -1, numa_node 0 is not in the cluster"),
        ("0,0,s,0,2,1\n", "line 2: server_type 's', server 0, numa_node 2 is not in the cluster"),
        ("0,0,s,0,0,1.5\n", "line 2: memory: '1.5' is not allowed: a whole number"),
        ("0,0,s,0,0,x\n", "line 2: memory: 'x' is not allowed: a whole number"),
        ("0,0,s,0,0,99999999999999999999\n", "line 2: memory: '99999999999999999999' is not"),
        ("0,x,s,0,0,1\n", "line 2: function: 'x' is not allowed: a whole number"),
        ("0,0,s,0,0\n", "line 2: has 5 columns: 6 are needed"),
        ("", "has no placement for function 0 of workflow 0"),
    ],
)  # fmt: skip
def test_a_replay_that_does_not_fit_names_file_and_line(
    tmp_path: Path, lines: str, words: str
) -> None:
    path = tmp_path / "placements.csv"
    path.write_text(HEADER + lines)
    with pytest.raises(CloudarenaError) as caught:
        cloudarena.simulate(two_servers(), f"replay:{path}")
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)


REST = "0,1,s,0,0,1\n1,0,s,0,0,1\n"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param(
            "0,0,s,0,0,9000\n" + REST,
            "line 2: memory: 9000 is not allowed",
        ),
        pytest.param(
            "0,0,s,0,0,0\n" + REST,
            "line 2: memory: 0 is not allowed",
        ),
        pytest.param(
            "0,0,s,0,0,\n" + REST,
            "line 2: memory",
        ),
        pytest.param(
            "0,0,s,0,0,1\n" + REST + "0,2,s,0,0,1\n",
            "line 5: function: 2 is not in the workload",
        ),
    ],
)
def test_a_replay_with_wrong_memory_or_function_names_file_and_line(
    tmp_path: Path, lines: str, words: str
) -> None:
    path = tmp_path / "placements.csv"
    path.write_text(HEADER + lines)
    message = ""
    try:
        cloudarena.simulate(two_servers(), f"replay:{path}")
    except CloudarenaError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert words in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (b"\x00\x01\x02", "cannot be read"),
        (b"workflow,function\n0,0\n", "column 'server_type' is missing"),
        (HEADER.encode() + b"0,0,\xe9,0,0,1\n", "placements"),
        (HEADER.replace("memory", "memory,why").encode() + b"0,0,s,0,0,1,x\n", "column 'why'"),
    ],
)
def test_a_replay_that_is_no_table(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "placements.csv"
    path.write_bytes(content)
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.simulate(two_servers(), f"replay:{path}")


def test_a_replay_from_nowhere(tmp_path: Path) -> None:
    with pytest.raises(CloudarenaError, match="does not exist"):
        cloudarena.simulate(two_servers(), f"replay:{tmp_path / 'no.csv'}")
    with pytest.raises(CloudarenaError, match="is a folder"):
        cloudarena.simulate(two_servers(), f"replay:{tmp_path}")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1nonsense")
    with pytest.raises(CloudarenaError, match=r"bad\.parquet"):
        cloudarena.simulate(two_servers(), f"replay:{tmp_path / 'bad.parquet'}")


def test_a_replay_of_parquet_with_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "placements.parquet"
    columns = {
        "workflow": [0, 0, None],
        "function": [0, 1, 0],
        "server_type": ["s", "s", "s"],
        "server": [0, 1, 0],
        "numa_node": [0, 1, 0],
        "memory": [1, 1, 1],
    }
    pq.write_table(pa.table(columns), path)
    with pytest.raises(CloudarenaError, match=r"placements\.parquet"):
        cloudarena.simulate(two_servers(), f"replay:{path}")


@pytest.mark.parametrize("name", ["workload.yaml", "workload.json"])
def test_a_workload_by_file_is_that_of_the_spec(name: str, tmp_path: Path) -> None:
    workflows = [chain(fn(2585, 512), fn(10), size=5), flow(fn(1000), arrival=0.5)]
    (tmp_path / name).write_text(json.dumps(workflows))  # which is YAML as well
    (tmp_path / "cluster.yaml").write_text(json.dumps(spec_of()["cluster"]))
    (tmp_path / "spec.yaml").write_text(
        json.dumps({**spec_of(), "cluster": "cluster.yaml", "workload": name})
    )
    by_file = cloudarena.simulate(str(tmp_path / "spec.yaml"), "round-robin")
    assert by_file.metrics == cloudarena.simulate(toy(*workflows), "round-robin").metrics


@pytest.mark.parametrize("form", ["list", "templates"])
def test_a_circle_that_stands_in_the_spec_is_refused_when_it_is_loaded(form: str) -> None:
    circle = {"functions": [fn(10), fn(10)], "edges": [[0, 1, 5], [1, 0, 5]]}
    workload = [circle] if form == "list" else {"templates": [circle], "arrivals": [0]}
    with pytest.raises(CloudarenaError, match="wait for each other in a circle"):
        cloudarena.load(spec_of(), {"workload": workload})


@pytest.mark.parametrize(
    ("arrivals", "words"),
    [
        ([-1], "workload.arrivals[0]: -1 is not allowed: at least 0"),
        ("often", "workload.arrivals: 'often' is not allowed: one of 'even', 'poisson'"),
        (3, "workload.arrivals: 3 is not allowed: one of 'even', 'poisson'"),
    ],
)
def test_arrivals_of_templates_that_cannot_be(arrivals: Any, words: str) -> None:
    workload = {"templates": [{"functions": [fn(10)]}], "arrivals": arrivals, "workflows": 1}
    with pytest.raises(SpecError) as caught:
        cloudarena.load(spec_of(), {"workload": workload})
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workload.templates": 2**31}, "templates: 2,147,483,648 of each shape with"),
        ({"workload.templates": 10**12}, "templates: 1,000,000,000,000 of each shape with"),
        ({"workload.rate": 1e-300, "workload.arrivals": "bursty"}, "rate: 1e-300 is not allowed"),
        ({"workload": "x" * 4000}, "a name of 4,000 characters is not allowed: at most 255"),
        ({"workload.functions": 2**62}, "functions: 4611686018427387904 is not allowed"),
        ({"cluster.servers[0].hourly_rate": 1e300}, "hourly_rate: 1e+300 is not allowed"),
    ],
)
def test_numbers_that_no_run_could_hold_are_refused_at_once(changes, words) -> None:
    data = cloudarena.load("workflow/demo").model_dump(mode="json")
    for key, value in changes.items():
        if key == "workload":
            data[key] = value
    rest = {key: value for key, value in changes.items() if key != "workload"}
    with pytest.raises(CloudarenaError) as caught:
        cloudarena.simulate(cloudarena.load(data, rest))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
