"""What holds in every run of workflow."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.contract import InvalidAction, Metric, Result
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.workflow import KIND, POLICIES, WorkflowDecision, WorkflowScenario
from cloudarena.testing import check_policy, check_scenario

from .cases import Case, cases
from .clusters import chain, flow, fn, play, server, toy

CONTENDED = {
    "scenario": "workflow",
    "cluster": {
        "network_bandwidth": 1e6,
        "numa_bandwidth": 5e6,
        "memory_bandwidth": 1e7,
        "servers": [
            server("small", count=2, cpu=2, memory=2048, rate=0.085, latency=40),
            server("large", nodes=3, cpu=4, memory=1536, rate=0.68, latency=90),
        ],
    },
    "workload": {
        "source": "shapes",
        "shapes": ["layered", "cybershake"],
        "functions": 25,
        "workflows": 8,
        "templates": 2,
        "arrivals": "bursty",
        "rate": 0.002,
        "runtime_scale": 20,
    },
    "record": "full",
}
NAMES = list(POLICIES)


def contended(**changes: Any) -> WorkflowScenario:
    """A few workflows in bursts on too few servers: memory is waited for, leases end."""
    return cloudarena.load({**CONTENDED, **changes})


@cache
def contended_result(name: str = "earliest-finish", seed: int = 0, **changes: Any) -> Result:
    """A run of it."""
    return cloudarena.simulate(contended(**changes), name, seed)


def assert_same(one: Result, other: Result) -> None:
    """Equal to the last bit."""
    assert one.metrics == other.metrics
    assert one.tables.keys() == other.tables.keys()
    for name, table in one.tables.items():
        assert table.equals(other.tables[name]), name


def anywhere(seed: int) -> Any:
    """A policy that places at random, with any memory that is not next to nothing."""
    rng = random.Random(seed)

    def decide(decision: WorkflowDecision) -> tuple[int, int]:
        node = rng.randrange(len(decision.nodes.server))
        most = int(decision.nodes.memory[node])
        return node, rng.randint(max(1, min(most, decision.function.memory_req // 2)), most)

    return decide


def step_through(scenario: WorkflowScenario, decide: Any, seed: int = 0) -> Result:
    """Plays a run decision by decision."""
    run = scenario.start(seed)
    while (decision := run.decision) is not None:
        run.apply(decide(decision))
    return run.result()


def check_physics(scenario: WorkflowScenario, result: Result, seed: int = 0) -> None:
    """All that must hold of the tables of any run, whoever placed the functions."""
    workload = scenario.load_workload(seed)
    speed = scenario.cluster.single_core_speed
    table = result.tables["functions"].to_pylist()
    ids = workload.workflow_ids.to_pylist()
    flows = {row["workflow"]: row for row in result.tables["workflows"].to_pylist()}
    kinds = {kind.name: kind for kind in scenario.cluster.servers}
    assert len(table) == len(workload.computation) == result.metrics["functions"]
    assert len(flows) == len(workload.arrival) == result.metrics["workflows"]
    now_ish = 1e-11 * max(row["completion"] for row in table) + 2e-9

    held: dict[tuple[Any, ...], list[tuple[float, int, int]]] = defaultdict(list)
    needed: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    number = 0
    for w, workflow in enumerate(ids):
        first, end = workload.first_function[w : w + 2]
        mine = table[first:end]
        arrival = float(workload.arrival[w])
        for k, row in enumerate(mine):
            assert (row["workflow"], row["function"]) == (workflow, k)
            parents = workload.parents[
                workload.first_parent[number] : workload.first_parent[number + 1]
            ]
            done = [table[parent]["completion"] for parent in parents]
            assert row["submission"] == max(done, default=arrival)
            assert row["submission"] + row["cold_start"] <= row["creation"] + now_ish
            assert row["creation"] >= row["submission"] + row["data_transfer"] - now_ish
            assert row["submission"] <= row["creation"] <= row["start"] < row["completion"]
            least = workload.computation[number] / (workload.parallelism[number] * speed)
            short = min(1.0, row["memory"] / workload.memory_req[number])
            assert row["completion"] - row["start"] >= least / short * (1 - 1e-9) - now_ish
            place = (row["server_type"], row["server"], row["numa_node"])
            assert 1 <= row["memory"] <= kinds[row["server_type"]].numa_nodes.memory
            held[place] += [
                (row["start"], 1, row["memory"]),
                (row["completion"], 0, -row["memory"]),
            ]
            needed[place[:2]].append((row["submission"], row["completion"]))
            number += 1
        completion = max(row["completion"] for row in mine)
        assert flows[workflow]["arrival"] == arrival
        assert flows[workflow]["completion"] == completion
        assert flows[workflow]["makespan"] == completion - arrival
        assert completion - arrival >= flows[workflow]["critical_path"] * (1 - 1e-9) - now_ish

    for place, changes in held.items():
        used = 0
        for _, _, memory in sorted(changes):
            used += memory
            assert used <= kinds[place[0]].numa_nodes.memory, place
        assert used == 0
    check_leases(scenario, result, needed, now_ish)


def check_leases(
    scenario: WorkflowScenario,
    result: Result,
    needed: dict[tuple[Any, ...], list[tuple[float, float]]],
    now_ish: float,
) -> None:
    """Leases do not overlap, cover all that runs, comes or waits, and cost what is paid."""
    rates = {kind.name: kind.hourly_rate for kind in scenario.cluster.servers}
    rented: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    rent = 0.0
    for row in result.tables["leases"].to_pylist():
        assert row["hours"] >= 1
        assert row["expiry"] == row["start"] + 3600 * row["hours"]
        assert row["rent"] == row["hours"] * rates[row["server_type"]]
        assert row["rented"] <= row["start"]
        mine = rented[row["server_type"], row["server"]]
        if mine and mine[-1][1] == row["start"]:
            mine[-1] = (mine[-1][0], row["expiry"])
        else:
            assert not mine or mine[-1][1] < row["start"] == row["rented"]
            mine.append((row["start"], row["expiry"]))
        rent += row["rent"]
    assert result.metrics["rent_usd"] == pytest.approx(rent, rel=1e-12)
    assert rented.keys() == needed.keys()
    for place, spans in needed.items():
        for begin, end in spans:
            assert any(a <= begin and end <= b + now_ish for a, b in rented[place]), (place, begin)


def check_tables(scenario: WorkflowScenario, result: Result) -> None:
    """The tables say the same as each other and as the metrics."""
    metrics, tables = result.metrics, result.tables
    functions = tables["functions"].to_pydict()
    waits = np.array(functions["start"]) - np.array(functions["creation"])
    assert metrics["memory_wait_s"] == pytest.approx(waits.sum(), rel=1e-9, abs=1e-9)
    assert metrics["transfer_s"] == pytest.approx(sum(functions["data_transfer"]), rel=1e-12)
    makespans = np.array(tables["workflows"]["makespan"].to_pylist())
    paths = np.array(tables["workflows"]["critical_path"].to_pylist())
    assert metrics["makespan_sum_s"] == pytest.approx(makespans.sum(), rel=1e-12)
    assert metrics["makespan_mean_s"] == pytest.approx(makespans.mean(), rel=1e-12)
    assert metrics["makespan_p50_s"] == pytest.approx(np.quantile(makespans, 0.5), rel=1e-12)
    assert metrics["makespan_p95_s"] == pytest.approx(np.quantile(makespans, 0.95), rel=1e-12)
    assert metrics["slowdown_mean"] == pytest.approx((makespans / paths).mean(), rel=1e-12)
    cores = {kind.name: kind.numa_nodes.cpu for kind in scenario.cluster.servers}
    end = max(functions["completion"])
    busy = 0.0
    for row in tables["nodes"].to_pylist():
        assert row["free_memory"] >= 0
        assert 0 <= row["cpu_utilisation"] <= 1 + 1e-12
        assert row["load"] == row["parallelism"] / cores[row["server_type"]]
        busy += (row["end"] - row["start"]) * row["cpu_utilisation"] * cores[row["server_type"]]
    every = sum(kind.count * kind.numa_nodes.count * kind.numa_nodes.cpu
                for kind in scenario.cluster.servers)  # fmt: skip
    assert metrics["mean_cpu_utilisation"] == pytest.approx(busy / (every * end), rel=1e-9)
    series = tables["series"].to_pydict()
    assert series["workflows"][-1] == series["parallelism"][-1] == series["memory_mb"][-1] == 0
    assert series["rent_usd"][-1] == pytest.approx(metrics["rent_usd"], rel=1e-12)
    times = [*series["time_s"], end]
    spans = np.diff(times)
    assert (spans >= 0).all()
    active = float(spans @ np.array(series["workflows"]))
    assert active == pytest.approx(metrics["makespan_sum_s"], rel=1e-9)


def test_the_contended_cluster_is_contended() -> None:
    """The tests below say little unless all of this happens in it."""
    result = contended_result("round-robin")
    assert result.metrics["memory_wait_s"] > 100
    assert result.metrics["transfer_s"] > 100
    assert result.metrics["cold_starts"] > 3
    assert len(result.tables["leases"]) > result.metrics["cold_starts"]
    assert max(result.tables["nodes"]["load"].to_pylist()) > 1
    assert result.metrics["functions"] == 200


@pytest.mark.parametrize("name", NAMES)
def test_every_run_obeys_the_laws(name: str) -> None:
    for seed in (0, 1):
        result = contended_result(name, seed)
        check_physics(contended(), result, seed)
        check_tables(contended(), result)


@pytest.mark.parametrize("rule", [{"work": "real"}, {"admission": "strict"},
                                  {"admission": "backfill"}, {"transfer": "parallel"}])  # fmt: skip
def test_every_run_obeys_the_laws_under_other_rules(rule: dict[str, str]) -> None:
    result = contended_result("round-robin", **rule)
    check_physics(contended(**rule), result)
    check_tables(contended(**rule), result)
    assert result.metrics != contended_result("round-robin").metrics


@given(case=cases(), seed=st.integers(0, 999))
def test_every_placement_obeys_the_laws(case: Case, seed: int) -> None:
    scenario = case.load()
    result = step_through(scenario, anywhere(seed))
    check_physics(scenario, result)
    check_tables(scenario, result)


@pytest.mark.parametrize("name", NAMES)
def test_policies_pass_the_public_checks(name: str) -> None:
    assert check_policy(name, contended(record="summary"))


@pytest.mark.parametrize("rule", [{}, {"work": "real", "admission": "strict"}])
def test_scenarios_pass_the_public_checks(rule: dict[str, str]) -> None:
    assert check_scenario(contended(**rule))


@pytest.mark.parametrize("name", POLICIES.array_names())
def test_compiled_and_stepped_runs_are_equal_to_the_last_bit(name: str) -> None:
    assert_same(contended_result(name, 1), step_through(contended(), POLICIES.resolve(name), 1))


@pytest.mark.parametrize("name", ["random", "heft"])
def test_what_is_recorded_does_not_change_what_is_measured(name: str) -> None:
    full = contended_result(name)
    none = cloudarena.simulate(contended(), name, record="none")
    summary = cloudarena.simulate(contended(), name, record="summary")
    assert none.metrics == summary.metrics == full.metrics
    assert none.tables == {}
    for table in summary.tables:
        assert summary.tables[table].equals(full.tables[table])


@pytest.mark.parametrize("steps", [1, 60, 150])
def test_a_run_that_is_stepped_half_way_and_then_played_equals_a_straight_one(steps: int) -> None:
    for name in ("random", "round-robin", "weighted"):
        run, built_in = contended().start(), POLICIES.resolve(name)
        for _ in range(steps):
            run.apply(built_in(run.decision))
        run.play(built_in)
        assert_same(run.result(), contended_result(name))


def test_looking_at_a_run_does_not_change_it() -> None:
    run, built_in = contended().start(), POLICIES.resolve("random")
    while run.decision is not None:
        run.metrics()
        run.result()
        run.decision.first_completion, run.decision.last_completion, run.decision.valid  # noqa: B018
        run.apply(built_in(run.decision))
    assert_same(run.result(), contended_result("random"))


def test_two_runs_of_one_scenario_do_not_touch_each_other() -> None:
    scenario, built_in = contended(), POLICIES.resolve("random")
    one, other = scenario.start(), scenario.start()
    while one.decision is not None or other.decision is not None:
        for run in (one, other):
            if run.decision is not None:
                run.apply(built_in(run.decision))
    assert_same(one.result(), contended_result("random"))
    assert_same(other.result(), contended_result("random"))


def test_all_policies_see_the_same_workload() -> None:
    columns = ["workflow", "template", "functions", "arrival", "critical_path"]
    first = contended_result("cheapest").tables["workflows"].select(columns)
    for name in ("random", "heft"):
        assert contended_result(name).tables["workflows"].select(columns).equals(first)
    other = contended_result("cheapest", 1).tables["workflows"].select(columns)
    assert not other.equals(first)


def test_the_hash_seed_of_python_changes_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, json, cloudarena\n"
        "spec = json.loads(sys.argv[1])\n"
        "cloudarena.simulate(spec, 'heft', seed=7).save(sys.argv[2])\n"
    )
    saved = []
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(CONTENDED), str(folder)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        saved.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert "metrics.json" in saved[0]
    assert saved[0] == saved[1]


def test_an_unused_server_costs_nothing_and_changes_nothing() -> None:
    work = (chain(fn(1000), fn(2000), size=50), flow(fn(700)))
    without = play(toy(*work), 0, 0, 0)
    beside = play(toy(*work, servers=[server(), server("spare", count=3, cpu=5)]), 0, 0, 0)
    for name, value in without.metrics.items():
        if name != "mean_cpu_utilisation":
            assert beside.metrics[name] == value, name
    cores = beside.metrics["mean_cpu_utilisation"] * (4 + 15)
    assert cores == pytest.approx(without.metrics["mean_cpu_utilisation"] * 4, rel=1e-12)


def test_dearer_hours_scale_the_rent_and_nothing_else() -> None:
    dear = {**CONTENDED["cluster"]}
    dear["servers"] = [{**kind, "hourly_rate": 3 * kind["hourly_rate"]} for kind in dear["servers"]]
    one, three = (
        contended_result("round-robin"),
        cloudarena.simulate(contended(cluster=dear), "round-robin"),
    )
    assert three.metrics["rent_usd"] == pytest.approx(3 * one.metrics["rent_usd"], rel=1e-12)
    assert three.tables["functions"].equals(one.tables["functions"])


def test_a_faster_clock_shortens_every_time() -> None:
    """All speeds doubled, all times halved; whole operations lost are the same."""
    fast, slow = (
        toy(
            flow(fn(1001), fn(777, 1, 3), fn(50), edges=[(0, 2, 60)], arrival=arrival),
            flow(fn(1234, 1, 4)),
            servers=[server(latency=latency)],
            cluster={
                "single_core_speed": speed,
                "memory_bandwidth": 0.4 * speed,
                "numa_bandwidth": 0.2 * speed,
                "network_bandwidth": 0.1 * speed,
            },
            work="real",
        )
        for speed, arrival, latency in ((2000, 0.25, 0.5), (1000, 0.5, 1))
    )
    columns = ["submission", "creation", "start", "completion"]
    for name in columns:
        times = [play(it, 0, 0, 0, 0).tables["functions"][name].to_numpy() for it in (fast, slow)]
        assert 2 * times[0] == pytest.approx(times[1], rel=1e-12)


# Learning


def masked_episode(env: Any, seed: int) -> tuple[list[float], dict[str, Any]]:
    """A masked random episode: the rewards and the last info."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        choice = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, ended, truncated, info = env.step(choice)
        assert env.observation_space.contains(observation)
        assert not truncated
        rewards.append(reward)
    return rewards, info


def test_gymnasium_accepts_the_environment() -> None:
    check_env(gymnasium.make("cloudarena/workflow-v0").unwrapped)


@pytest.mark.parametrize(
    "reward", ["weighted_cost", "makespan_sum_s", "makespan_mean_s", "rent_usd"]
)
def test_rewards_sum_to_the_metric_they_stand_for(reward: str) -> None:
    for seed in (0, 1):
        env = CloudEnv(contended(objective={"weight": 0.3, "rent_scale": 7.0}), reward=reward)
        rewards, info = masked_episode(env, seed)
        assert math.fsum(rewards) == pytest.approx(-info["metrics"][reward], rel=1e-12)
        assert info["metrics"][reward] > 0
        assert all(value <= 0 for value in rewards)
        assert len(rewards) == 200


@pytest.mark.parametrize("metric", [one for one in KIND.metrics if one.better])
def test_every_metric_with_a_direction_can_be_earned(metric: Metric) -> None:
    rewards, info = masked_episode(CloudEnv(contended(), reward=metric.name), 0)
    sign = 1 if metric.better == "higher" else -1
    assert np.isfinite(rewards).all()
    expected = sign * info["metrics"][metric.name]
    assert math.fsum(rewards) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=30)
@given(case=cases(), seed=st.integers(0, 999))
def test_rewards_sum_to_the_metric_on_any_cluster(case: Case, seed: int) -> None:
    for reward in ("weighted_cost", "makespan_sum_s"):
        scenario = case.load()
        try:
            rewards, info = masked_episode(CloudEnv(scenario, reward=reward), seed)
        except InvalidAction:
            continue  # less than an operation a second
        assert math.fsum(rewards) == pytest.approx(-info["metrics"][reward], rel=1e-10)


def test_a_reward_is_the_time_of_unfinished_workflows_and_the_rent_until_the_next_decision() -> (
    None
):
    # Decisions at 0, 1 and 4. One workflow from 0 to 1, two from 1 to 3, then one until 5.
    work = (chain(fn(4000), fn(1000)), flow(fn(2000), arrival=1))
    env = CloudEnv(toy(*work, objective={"weight": 0.25, "rent_scale": 2}))
    env.reset(seed=0)
    rewards = [env.step(0)[1] for _ in range(3)]
    assert rewards == pytest.approx([-0.25 * 1 - 0.75 * 2 * 1.5, -0.25 * 5, -0.25 * 1], rel=1e-14)


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(SpecError, match="Did you mean 'rent_usd'"):
        CloudEnv("workflow/demo", reward="rent")


def test_the_mask_allows_the_options_that_a_node_has_at_all() -> None:
    scenario = toy(
        flow(fn(1000, 700)),
        servers=[server("a", memory=300), server("b", memory=100), server("c", memory=512)],
        memory_options=[128, 256, 512],
    )
    env = CloudEnv(scenario, observation="flat")
    _, info = env.reset(seed=0)
    assert info["action_mask"].reshape(3, 3).astype(int).tolist() == [
        [1, 1, 0],
        [0, 0, 0],
        [1, 1, 1],
    ]
    # Another action takes what the node has.
    for choice, memory in ((2, 300), (3, 100), (5, 100), (8, 512)):
        env.reset(seed=0)
        assert scenario.observer().action(env.run, choice) == (choice // 3, memory)
        assert env.step(choice)[2]


def test_the_mask_leaves_out_what_would_take_for_ever() -> None:
    # Two operations a second; floor(m / 1000 * 2) is 0 below 500 MB. Beside 8 threads on 4 cores a
    # thread does floor(8 / 9) = 0, with any memory.
    scenario = toy(
        flow(fn(100, 100, 8)),
        flow(fn(10, 1000)),
        servers=[server("a"), server("b"), server("c", memory=400)],
        cluster={"single_core_speed": 2},
        memory_options=[128, 512],
    )
    env = CloudEnv(scenario, observation="flat")
    env.reset(seed=0)
    info = env.step(1)[4]
    assert info["action_mask"].reshape(3, 2).astype(int).tolist() == [[0, 0], [0, 1], [0, 0]]
    # Another action takes what the node has, or what is allowed first.
    wanted = [(1, 512), (1, 512), (1, 8192), (1, 512), (1, 512), (1, 512)]
    assert [scenario.observer().action(env.run, choice) for choice in range(6)] == wanted
    for node, memory in itertools.product(range(3), (128, 512, 400, 8192)):
        run = scenario.start()
        run.apply((0, 512))
        allowed = run.decision.allows(np.array([[memory]]))[node, 0]
        if allowed:
            run.apply((node, memory))
        else:
            with pytest.raises(InvalidAction):
                run.apply((node, memory))


def test_observations_by_hand() -> None:
    # One second of work on one of two nodes, an hour's lease left on the first.
    scenario = toy(
        flow(fn(2000, 512, 2), arrival=0),
        chain(fn(3000, 2048), fn(1000), arrival=1),
        servers=[server("a", memory=4096), server("b", latency=4, cpu=8)],
    )
    env = CloudEnv(scenario, observation="flat")
    observation, _ = env.reset(seed=0)
    # Its time, 1 s, against its critical path, 1 s; nothing elapsed; all of its path remains; 2 of
    # 8 cores; 512 of 1024 MB; not more; one workflow, 1 / 11.
    assert observation[:7].tolist() == pytest.approx([0.5, 0, 1, 0.25, 0.5, 0, 1 / 11], rel=1e-6)
    assert observation[7:16].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert observation[16:25].tolist() == pytest.approx([1, 0, 0, 0, 0, 0.8, 0, 0, 0], rel=1e-6)
    observation = env.step(2)[0]  # node 0 with 512 MB, done at 1
    assert observation[:7].tolist() == pytest.approx([3 / 7, 0, 1, 0.125, 1, 1, 1 / 11], rel=1e-6)
    lease = (3599 / 3600) / (1 + 3599 / 3600)
    assert observation[7:16].tolist() == pytest.approx([1, 0, 0, 0, lease, 0, 0, 0, 0], rel=1e-6)
