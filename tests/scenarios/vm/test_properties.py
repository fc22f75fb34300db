"""What holds in every run of vm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.contract import Result
from cloudarena.engine.streams import stream
from cloudarena.scenarios.vm import (
    POLICIES,
    REFUSE,
    Machines,
    Request,
    VmDecision,
    VmRun,
    VmScenario,
    postpone,
)

from .cases import Case, cases
from .clouds import batch, cloud, column, machine, outcomes, play, vm
from .test_reference import moody

TICKS = 700
AZURE_LIKE = {
    "scenario": "vm",
    "ticks": TICKS,
    "machines": [
        {"name": "large", "count": 8, "cores": 32, "memory_gb": 128},
        {
            "name": "small",
            "count": 8,
            "cores": 16,
            "memory_gb": 112,
            "power": {"idle_w": 60, "busy_w": 140, "r": 1.2},
        },
    ],
    "hierarchy": {"racks": 5},
    "oversubscription": {"cpu": 2.0, "memory": 2.0, "utilisation": 2.0},
    "overload": "kill",
    "buffer": {"budget_ticks": 6, "delay_ticks": 2},
    "workload": {
        "source": "azure-like",
        "vms": 400,
        "concurrent": 120,
        "cpu_percent": 50,
        "ticks": TICKS,
    },
    "record": "full",
}
OUTCOMES = {
    "completed": "completed",
    "failed": "failed",
    "refused": "refused",
    "killed": "killed",
    "running": "running_at_end",
    "waiting": "waiting_at_end",
}


def contended(**changes: Any) -> VmScenario:
    """A day or two of Azure on too few machines: requests wait and fail, machines overload."""
    return cloudarena.load({**AZURE_LIKE, **changes})


@cache
def contended_result(name: str = "best-fit", seed: int = 0) -> Result:
    """A run of it."""
    return cloudarena.simulate(contended(), name, seed)


def step_through(run: VmRun, decide: Any) -> Result:
    """Plays a run decision by decision."""
    while (decision := run.decision) is not None:
        run.apply(decide(decision))
    return run.result()


def assert_same(one: Result, other: Result) -> None:
    """Equal to the last bit."""
    assert one.metrics == other.metrics
    assert one.tables.keys() == other.tables.keys()
    for name, table in one.tables.items():
        assert table.equals(other.tables[name]), name


def test_the_contended_cloud_is_contended() -> None:
    """The tests below say little unless all of this happens in it."""
    metrics = contended_result().metrics
    for name in ("completed", "failed", "killed", "running_at_end", "delay_ticks"):
        assert metrics[name] > 0, name
    assert metrics["oversubscribed_machine_ticks"] > metrics["overloaded_machine_ticks"] > 0


@given(case=cases(), seed=st.integers(0, 99))
def test_every_request_ends_in_exactly_one_state(case: Case, seed: int) -> None:
    result = step_through(case.load().start(), moody(seed, 0.2, 0.1))
    # Who waits for a boot waits.
    counted = Counter("waiting" if it == "starting" else it for it in outcomes(result))
    assert set(counted) <= set(OUTCOMES)
    for outcome, metric in OUTCOMES.items():
        assert counted[outcome] == result.metrics[metric]
    assert counted.total() == result.metrics["requests"]
    arriving = sum(row["created"] < case.spec["ticks"] for row in case.rows)
    assert result.metrics["requests"] == arriving
    placed = sum(number is not None for number in column(result, "machine"))
    assert placed == result.metrics["allocated"]
    started = sum(result.metrics[key] for key in ("completed", "killed", "running_at_end"))
    assert placed == started + outcomes(result).count("starting")


@pytest.mark.parametrize("name", POLICIES.array_names())
def test_outcomes_add_up_for_every_policy(name: str) -> None:
    result = contended_result(name)
    counted = Counter(outcomes(result))
    assert {OUTCOMES[outcome]: count for outcome, count in counted.items()} == {
        metric: result.metrics[metric] for metric in OUTCOMES.values() if result.metrics[metric]
    }
    assert result.metrics["requests"] == 400
    for row in result.tables["vms"].to_pylist():
        if row["start"] is None:
            assert row["outcome"] in ("failed", "refused", "waiting")
            continue
        assert row["start"] == row["arrival"] + row["delay"]
        if row["outcome"] == "completed":
            assert row["end"] == row["start"] + row["lifetime"]
        if row["outcome"] == "killed":
            assert row["start"] < row["end"] <= row["start"] + row["lifetime"]
        if row["outcome"] == "running":
            assert row["end"] is None
            assert row["start"] + row["lifetime"] >= TICKS


@given(case=cases(), seed=st.integers(0, 99))
def test_no_more_is_allocated_than_is_allowed(case: Case, seed: int) -> None:
    scenario = case.load()
    rates = scenario.oversubscription
    run = scenario.start()
    decide = moody(seed, 0.1, 0.0)
    last = 0.0
    while (decision := run.decision) is not None:
        pms = decision.machines
        shared = pms.sharing == 1
        cores = np.where(shared, pms.cores * rates.cpu, pms.cores)
        memory = np.where(shared, pms.memory_gb * rates.memory, pms.memory_gb)
        assert np.all(pms.allocated_cores <= cores + 1e-9)
        assert np.all(pms.allocated_memory_gb <= memory + 1e-9)
        assert np.all(pms.free_cores + pms.allocated_cores == pytest.approx(pms.cores))
        assert np.all((pms.vms == 0) == (pms.sharing == 0))
        assert np.all(pms.allocated_cores[pms.vms == 0] == 0)
        assert np.all(pms.utilisation[pms.vms == 0] == 0)
        assert decision.now >= last
        last = decision.now
        run.apply(decide(decision))


@pytest.mark.parametrize("name", ["best-fit", "random"])
def test_energy_is_the_integral_of_the_power_curve_over_the_utilisation(name: str) -> None:
    result, scenario = contended_result(name), contended()
    curves = [kind.power for kind in scenario.machines for _ in range(kind.count)]
    history = result.series("machines", attributes=["utilisation", "power_w"])
    watts = np.zeros(len(curves))
    for number, u, power in zip(
        history["machine"].to_pylist(),
        history["utilisation"].to_pylist(),
        history["power_w"].to_pylist(),
        strict=True,
    ):
        curve, capped = curves[number], min(u, 1.0)
        expected = curve.idle_w + (curve.busy_w - curve.idle_w) * (2 * capped - capped**curve.r)
        assert power == pytest.approx(expected, rel=1e-12)
        watts[number] += expected
    energy_kwh = watts * scenario.tick_seconds / 3.6e6
    assert column(result, "energy_kwh", "machines") == pytest.approx(list(energy_kwh), rel=1e-12)
    total = result.metrics["energy_kwh"]
    assert energy_kwh.sum() == pytest.approx(total, rel=1e-12)
    series_watts = sum(column(result, "power_w", "series"))
    assert series_watts * scenario.tick_seconds / 3.6e6 == pytest.approx(total, rel=1e-12)


def test_tables_sum_to_the_metrics() -> None:
    result = contended_result()
    metrics, machines = result.metrics, result.tables["machines"].to_pydict()
    assert sum(machines["energy_kwh"]) == pytest.approx(metrics["energy_kwh"], rel=1e-12)
    assert sum(machines["overloaded_ticks"]) == metrics["overloaded_machine_ticks"]
    assert sum(machines["oversubscribed_ticks"]) == metrics["oversubscribed_machine_ticks"]
    cores = np.array(machines["cores"])
    used = np.array(machines["mean_cpu_utilisation"]) @ cores / cores.sum()
    assert used == pytest.approx(metrics["mean_cpu_utilisation"], rel=1e-12)
    assert sum(column(result, "delay")) == metrics["delay_ticks"]
    allocated = np.array(column(result, "allocated_cores", "series"))
    assert allocated.mean() / cores.sum() == pytest.approx(metrics["mean_allocation"], rel=1e-12)
    history = result.tables["machines_series"]
    overloaded = np.array(history["utilisation"].to_pylist()) > 1
    assert overloaded.sum() == metrics["overloaded_machine_ticks"]
    alive = np.array(history["vms"].to_pylist())
    assert alive[overloaded].sum() == metrics["overloaded_vm_ticks"]
    assert alive.reshape(TICKS, -1).sum(axis=1).tolist() == column(result, "live_vms", "series")


@pytest.mark.parametrize("name", POLICIES.array_names())
@pytest.mark.parametrize("full", [False, True], ids=["", "decide-when-full"])
def test_compiled_and_stepped_runs_are_equal_to_the_last_bit(name: str, full: bool) -> None:
    scenario, built_in = contended(decide_when_full=full), POLICIES.resolve(name)
    compiled = scenario.start(seed=3)
    compiled.play(built_in)
    assert_same(compiled.result(), step_through(scenario.start(seed=3), built_in))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_replay_of_a_runs_own_decisions_gives_the_same_result(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)

    def moods(decision: VmDecision) -> int:
        if rng.random() < 0.05:
            return REFUSE
        if rng.random() < 0.2 or not decision.valid.any():
            return postpone(int(rng.integers(1, 3)))
        return int(rng.choice(np.flatnonzero(decision.valid)))

    scenario = contended(decide_when_full=True)
    played = cloudarena.simulate(scenario, moods)
    assert set(column(played, "action", "decisions")) == {"place", "postpone", "refuse"}
    played.save(tmp_path)
    file = tmp_path / f"decisions.{form}"
    if form == "csv":
        pacsv.write_csv(played.tables["decisions"], file)
    assert_same(cloudarena.simulate(scenario, f"replay:{file}"), played)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        cloudarena.simulate(contended(), "random", seed=7).save(tmp_path / folder)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "metrics.json" in files
    assert "machines_series.parquet" in files
    for name in files:
        one, two = (tmp_path / folder / name for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), name


def test_another_seed_gives_another_workload_and_another_result() -> None:
    one, other = contended_result("best-fit", 0), contended_result("best-fit", 1)
    assert column(one, "arrival") != column(other, "arrival")
    assert one.metrics != other.metrics


def test_the_hash_seed_of_python_changes_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, json, cloudarena\n"
        "spec = json.loads(sys.argv[1])\n"
        "cloudarena.simulate(spec, 'random', seed=7).save(sys.argv[2])\n"
    )
    saved = []
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(AZURE_LIKE), str(folder)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        saved.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert "metrics.json" in saved[0]
    assert saved[0] == saved[1]


def shown(run: VmRun) -> Any:
    """All that a run shows: the decision, the machines and the metrics."""
    decision = run.decision
    machines = None if decision is None else [values.tolist() for values in decision.machines]
    request = None if decision is None else decision.request
    return run.now, request, machines, run.metrics(), run.result().tables


def mixed_cloud() -> VmScenario:
    """At the third decision, VM 2 (interactive): machine 0 is full, machine 1 hosts batch VMs."""
    return cloud(
        vm(0, 9, cores=4),
        batch(0, 9, cores=1),
        vm(1, 9, cores=1, category="interactive"),
        machines=[machine(4, 16, count=3)],
    )


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (3, "machine 3 is not allowed: 0 to 2"),
        (10**12, "machine 1000000000000 is not allowed: 0 to 2"),
        pytest.param(10**30, "not allowed", id="far-too-large"),
        pytest.param(-(10**30), "not allowed", id="far-too-small"),
        (0, "machine 0 is not allowed for VM 3: 1 cores are asked for and 0 are left"),
        (1, "machine 1 is not allowed for VM 3: it does not host interactive VMs now"),
        ("0", "action '0' is not allowed: the index of a machine"),
        (2.0, "action 2.0 is not allowed: the index of a machine"),
        (None, "action None is not allowed: the index of a machine"),
        (True, "action True is not allowed: the index of a machine"),
    ],
)
def test_a_wrong_action_says_why_and_changes_nothing(action: Any, words: str) -> None:
    run = mixed_cloud().start()
    run.apply(0)
    run.apply(1)
    before = shown(run)
    with pytest.raises(cloudarena.InvalidAction, match=words.replace("(", r"\(")):
        run.apply(action)
    assert shown(run) == before
    run.apply(2)
    assert_same(run.result(), play(mixed_cloud(), 0, 1, 2))


def test_reasons_for_memory_and_utilisation() -> None:
    run = cloud(
        batch(0, 9, cores=2, readings=[100], memory_gb=10),
        batch(0, 9, cores=1, memory_gb=7),
        batch(0, 9, cores=3),
        machines=[machine(4, 16, count=2)],
        oversubscription={"cpu": 2},
    ).start()
    run.apply(0)
    with pytest.raises(cloudarena.InvalidAction, match="7 GB are asked for and 6 are left"):
        run.apply(0)
    run.apply(1)
    # 2 cores are used: 2 + 3 > 4, though 2 + 3 <= 8 are allocated.
    with pytest.raises(cloudarena.InvalidAction, match="utilisation"):
        run.apply(0)


def test_after_the_end_no_action_is_allowed() -> None:
    run = mixed_cloud().start()
    step_through(run, POLICIES.resolve("worst-fit"))
    before = shown(run)
    with pytest.raises(cloudarena.InvalidAction, match="the run has ended"):
        run.apply(0)
    assert shown(run) == before
    run.play(POLICIES.resolve("worst-fit"))
    assert shown(run) == before


def beyond(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    return len(pms.valid)


@pytest.mark.parametrize("looked", [False, True])
def test_a_wrong_action_of_a_compiled_policy_changes_nothing(looked: bool) -> None:
    run = mixed_cloud().start()
    if looked:
        assert run.decision.request.vm == 1
    with pytest.raises(cloudarena.InvalidAction, match="machine 3 is not allowed"):
        run.play(POLICIES.resolve(beyond))
    assert run.decision.request.vm == 1
    assert run.metrics()["allocated"] == 0
    assert_same(step_through(run, POLICIES.resolve("first-fit")), play(mixed_cloud()))


@pytest.mark.parametrize("delays", [2**60, 2**62, 2**63 - 1])
def test_a_postponement_beyond_all_time_fails_the_request(delays: int) -> None:
    run = cloud(vm(0, 1), buffer={"budget_ticks": 8, "delay_ticks": 4}).start()
    run.apply(-1 - delays)
    assert run.decision is None
    assert run.metrics()["failed"] == 1
    assert run.metrics()["delay_ticks"] == 0


@pytest.mark.parametrize("name", ["best-fit", "random"])
def test_what_is_recorded_does_not_change_what_is_measured(name: str) -> None:
    scenario = contended()
    full = contended_result(name)
    none = cloudarena.simulate(scenario, name, record="none")
    summary = cloudarena.simulate(scenario, name, record="summary")
    assert none.metrics == summary.metrics == full.metrics
    assert none.tables == {}
    assert set(full.tables) - set(summary.tables) == {"machines_series"}
    for table in summary.tables:
        assert summary.tables[table].equals(full.tables[table])
    stepped = step_through(scenario.start(record="none"), POLICIES.resolve(name))
    assert stepped.metrics == none.metrics


def test_more_decisions_than_vms_are_all_recorded() -> None:
    # 16 rows is the least a log has room for; each of 5 VMs is put off 20 times.
    vms = [vm(0, 1) for _ in range(5)]
    scenario = cloud(*vms, ticks=30, buffer={"budget_ticks": 20})
    stepped = step_through(scenario.start(), lambda decision: postpone(1))
    assert len(stepped.tables["decisions"]) == 100
    run = scenario.start()
    run.play(POLICIES.resolve(put_off))
    assert_same(run.result(), stepped)


def put_off(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    return -2


def test_the_order_of_machines_alike_in_size_matters_only_for_energy() -> None:
    large = {"name": "a", "count": 5, "cores": 32, "memory_gb": 128}
    hungry = {**large, "name": "b", "power": {"idle_w": 300, "busy_w": 500, "r": 1.1}}
    one = cloudarena.simulate(contended(machines=[large, hungry]), "first-fit")
    other = cloudarena.simulate(contended(machines=[hungry, large]), "first-fit")
    energy = {
        "energy_kwh",
        "energy_kwh_per_core_hour_served",
        "energy_cost_usd",
        "cost_usd",
        "profit_usd",
    }
    assert column(one, "machine") == column(other, "machine")
    for name in one.metrics:
        assert (one.metrics[name] == other.metrics[name]) == (name not in energy), name
    split = [{**large, "count": 2}, {**large, "count": 3}]
    assert_same(
        cloudarena.simulate(contended(machines=[large]), "first-fit"),
        cloudarena.simulate(contended(machines=split), "first-fit"),
    )


def test_an_unused_machine_costs_its_idle_power_and_changes_nothing_else() -> None:
    kind = {"count": 30, "cores": 32, "memory_gb": 128}
    spare = {"count": 1, "cores": 32, "memory_gb": 128, "power": {"idle_w": 100, "busy_w": 100}}
    without = cloudarena.simulate(contended(machines=[kind]), "first-fit").metrics
    with_spare = cloudarena.simulate(contended(machines=[kind, spare]), "first-fit")
    assert with_spare.tables["machines"]["mean_cpu_utilisation"][-1].as_py() == 0
    changing = {
        "energy_kwh",
        "energy_kwh_per_core_hour_served",
        "energy_cost_usd",
        "cost_usd",
        "profit_usd",
        "empty_machines_mean",
    }
    means = {
        "mean_cpu_utilisation",
        "mean_cpu_demand",
        "mean_allocation",
        "stranded_cores_share",
    }
    for name, value in without.items():
        if name not in changing | means:
            assert with_spare.metrics[name] == value, name
    idle_kwh = 0.1 * TICKS / 12
    assert with_spare.metrics["energy_kwh"] - without["energy_kwh"] == pytest.approx(idle_kwh)
    empty = with_spare.metrics["empty_machines_mean"]
    assert empty == pytest.approx(without["empty_machines_mean"] + 1, rel=1e-12)
    for name in means:
        assert with_spare.metrics[name] * 31 == pytest.approx(without[name] * 30, rel=1e-12)


def test_longer_ticks_scale_energy_and_money_and_nothing_else() -> None:
    short, long = contended_result(), cloudarena.simulate(contended(tick_seconds=900.0))
    scaled = {"energy_kwh", "energy_cost_usd", "cost_usd", "income_usd", "profit_usd"}
    for name, value in short.metrics.items():
        factor = 3 if name in scaled else 1
        assert long.metrics[name] == pytest.approx(factor * value, rel=1e-12), name
    assert long.tables["vms"].equals(short.tables["vms"])


@pytest.mark.parametrize("name", ["best-fit", "random", "round-robin"])
@pytest.mark.parametrize("steps", [1, 100, 250])
def test_a_run_that_is_stepped_half_way_and_then_played_equals_a_straight_one(
    name: str, steps: int
) -> None:
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
        run.apply(built_in(run.decision))
    assert_same(run.result(), contended_result("random"))


def test_the_arrays_of_a_decision_are_read_only() -> None:
    decision = mixed_cloud().start().decision
    for name, values in decision.machines._asdict().items():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
        assert len(values) == (0 if name == "typical_pods" else 3), name


def test_two_runs_of_one_scenario_do_not_touch_each_other() -> None:
    scenario, built_in = contended(), POLICIES.resolve("random")
    one, other = scenario.start(), scenario.start()
    while one.decision is not None or other.decision is not None:
        for run in (one, other):
            if run.decision is not None:
                run.apply(built_in(run.decision))
    assert_same(one.result(), contended_result("random"))
    assert_same(other.result(), contended_result("random"))


def test_the_history_of_machines_every_twelfth_tick() -> None:
    result = contended_result()
    every = result.series("machines", attributes=["utilisation"], every=12)
    assert every.column_names == ["tick", "machine", "utilisation"]
    assert len(every) == 16 * len(range(0, TICKS, 12))
    everything = {
        (row["tick"], row["machine"]): row["utilisation"]
        for row in result.series("machines").to_pylist()
    }
    assert len(everything) == 16 * TICKS
    for row in every.to_pylist():
        assert row["tick"] % 12 == 0
        assert row["utilisation"] == everything[row["tick"], row["machine"]]
    with pytest.raises(CloudarenaError, match="Did you mean 'utilisation'"):
        result.series("machines", attributes=["utilization"])
    with pytest.raises(CloudarenaError, match="every: 0 is not allowed"):
        result.series("machines", every=0)
    with pytest.raises(CloudarenaError, match="record='full'"):
        cloudarena.simulate("vm/toy", record="summary").series("machines")


def test_a_series_may_be_recorded_every_nth_tick() -> None:
    full = contended_result()
    sparse = cloudarena.simulate(contended(series_every=7))
    assert sparse.metrics == full.metrics
    for name in ("series", "machines_series"):
        wanted = full.tables[name].filter(full.tables[name]["tick"].to_numpy() % 7 == 0)
        assert sparse.tables[name].equals(wanted.combine_chunks())


def test_all_policies_see_the_same_arrivals() -> None:
    columns = ["vm", "arrival", "cores", "memory_gb", "category", "lifetime"]
    first = contended_result("first-fit").tables["vms"].select(columns)
    drawn = contended_result("random").tables["vms"].select(columns)
    assert drawn.equals(first)


def test_random_draws_from_the_stream_of_the_policy_and_from_no_other() -> None:
    rng = stream(11, "policy")

    def mine(decision: VmDecision) -> int:
        valid = np.flatnonzero(decision.valid)
        return int(valid[rng.integers(0, len(valid))])

    by_me = cloudarena.simulate(contended(), mine, seed=11)
    built_in = cloudarena.simulate(contended(), "random", seed=11)
    assert_same(by_me, built_in)
    assert built_in.policy == "random"
    assert built_in.seed == 11


def test_a_policy_that_does_nothing_but_pass_on_changes_nothing() -> None:
    built_in = POLICIES.resolve("best-fit")
    wrapped = cloudarena.simulate(contended(), lambda decision: built_in(decision))
    assert_same(wrapped, contended_result("best-fit"))
