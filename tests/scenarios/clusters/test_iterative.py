"""The deciders that choose by simulation: what they choose, spend and think."""

import math

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.scenarios.clusters import Compositions, mean_model_seeds
from cloudarena.scenarios.clusters.policies import iterative
from cloudarena.scenarios.clusters.policies.model.large_spaces import near_front

from .cases import clusters, generated

FOUR = ("iterative-monte-carlo", "iterative-blind-pick", "ilos", "elos")
QUICK = {
    "iterative-monte-carlo": "iterative-monte-carlo:replications=50",
    "iterative-blind-pick": "iterative-blind-pick:replications=50:good=2",
    "ilos": "ilos:rough=3:replications=50:selected=4",
    "elos": "elos:rough=3:replications=50:selected=4",
}
SHARES = 15
"""Of 7 VMs over 3 classes."""


def simulate(scenario, policy, seed=0):
    return cloudarena.simulate(scenario, QUICK[policy], seed)


@pytest.mark.parametrize("policy", ["iterative-monte-carlo", "ilos", "elos"])
def test_with_fixed_times_it_is_the_mean_optimum(policy):
    scenario = clusters([(0, [9, 4])], (2, 1), (1, 2), vms=8)
    chosen = scenario.kind.policies.resolve(QUICK[policy])
    chosen.start(scenario, 0)
    plan = chosen(scenario.start().decision)
    # 18 s of work and 4 s: 18 / 6 = 3, 4 / 2 = 2; 18 / 7 = 2.57 but 4 / 1 = 4.
    assert np.asarray(plan.shares).tolist() == [6, 2]


@pytest.mark.parametrize("information", ["oracle", "lagged"])
@pytest.mark.parametrize("decide_seconds", [0, 0.02])
@pytest.mark.parametrize("policy", FOUR)
def test_runs_are_repeatable(policy, decide_seconds, information):
    scenario = generated(decide_seconds=decide_seconds, information=information)
    first, second = (simulate(scenario, policy, seed=1) for _ in range(2))
    assert first.metrics == second.metrics
    for name, table in first.tables.items():
        assert table.equals(second.tables[name])


@pytest.mark.parametrize(
    ("policy", "evaluations"),
    [
        ("iterative-monte-carlo", SHARES * 50),
        ("iterative-blind-pick", 8 * 50),  # 15 / 2 shares hold one of 2 good ones on average
        ("ilos", SHARES * 3 + 4 * 50),
        ("elos", SHARES * 3 + 4 * 50),
    ],
)
def test_what_a_decision_costs(policy, evaluations):
    result = simulate(generated(), policy)
    spent = result.tables["decisions"]["evaluations"].to_numpy()
    assert (spent == evaluations).all()
    assert result.metrics["deciding_share"] == 0


@pytest.mark.parametrize(
    ("policy", "evaluations"),
    [
        ("iterative-monte-carlo", SHARES * 50),
        ("iterative-blind-pick", 8 * 50),
        ("ilos", SHARES * 3 + 4 * 50),
    ],
)
def test_a_stage_is_as_long_as_it_takes_to_think(policy, evaluations):
    result = simulate(generated(decide_seconds=0.01), policy)
    stages = result.tables["stages"]
    thinking = np.array(stages["thinking_s"].to_pylist())
    lengths = np.array(stages["length_s"].to_pylist())
    assert thinking[:-1] == pytest.approx(0.01 * evaluations)
    assert lengths[:-1] == pytest.approx(0.01 * evaluations)
    assert result.metrics["deciding_share"] > 0.5


def test_the_first_stage_is_thought_out_beforehand_by_all_alike():
    scenario = generated(decide_seconds=0.01)
    first = set()
    for policy in FOUR:
        decisions = simulate(scenario, policy).tables["decisions"].slice(0, 3)
        assert decisions["evaluations"].to_pylist() == [SHARES * 50] * 3
        first.add(tuple(decisions["vms"].to_pylist()))
    assert len(first) == 1


@pytest.mark.parametrize("information", ["oracle", "lagged"])
def test_elos_thinks_no_longer_than_its_stages(information):
    scenario = generated(
        decide_seconds=0.01, information=information, workload={"batches": 60, "horizon_s": 600}
    )
    step = 0.01 * (SHARES * 3 + 4 * 50)
    stages = simulate(scenario, "elos").tables["stages"].to_pylist()[:-1]
    for stage in stages:
        assert stage["length_s"] == pytest.approx(max(stage["planned_s"], stage["thinking_s"]))
        assert step / 8.01 <= stage["planned_s"] <= 4.01 * step
    # Only where even the fewest evaluations take longer than the stage.
    least = 0.01 * (SHARES + 4 * iterative.FEWEST_PROPER)
    late = [s for s in stages if s["thinking_s"] > s["planned_s"] + 1e-9]
    assert all(s["thinking_s"] == pytest.approx(least) for s in late)
    lengths = {round(stage["planned_s"] / step, 3) for stage in stages}
    assert len(lengths) > 1


def test_calm_batches_are_merged_and_wild_ones_are_split():
    def mean_length(regime_s):
        workload = {"batches": 2400, "horizon_s": 600, "load": 100}
        workload |= {"regime_s": regime_s, "concentration": 0.1}
        scenario = generated(decide_seconds=0.01, information="oracle", workload=workload)
        policy = scenario.kind.policies.resolve(QUICK["elos"] + ":merge=0.8:split=0.8")
        policy.start(scenario, 0)
        run = scenario.start()
        run.apply(policy(run.decision))
        return np.diff(policy._edges).mean()

    step = 0.01 * (SHARES * 3 + 4 * 50)
    assert mean_length(regime_s=300) > 1.5 * step
    assert mean_length(regime_s=2) < step


def test_large_spaces_are_sampled():
    scenario = generated(vms=40)
    policy = iterative.IterativeMonteCarlo(replications=10, designs=100)
    policy.start(scenario, 0)
    decision = scenario.start().decision
    plan = policy(decision)
    assert np.asarray(plan.shares).sum() == 40
    assert plan.evaluations <= 1000


def test_a_sample_of_a_large_space_is_designed():
    """The front of the mean model for the stage, its neighbours, and a uniform safety net."""
    scenario = generated(vms=40)
    decision = scenario.start().decision
    load = decision.load(decision.stage_s)
    space = Compositions(40, len(scenario.classes))
    seeds = mean_model_seeds(space, load, decision.mean_memory_mb)
    policy = iterative.IterativeMonteCarlo(replications=10, designs=400)
    policy.start(scenario, 0)
    sample = policy._spaces[0].shares(load, decision.mean_memory_mb)
    held = set(map(tuple, sample.tolist()))
    assert set(map(tuple, seeds.tolist())) <= held
    assert set(map(tuple, space.neighbours(seeds).tolist())) <= held
    drawn = space.draw(400, 0)
    assert len(sample) == 400
    assert set(map(tuple, drawn[:100].tolist())) <= held


def test_a_small_sample_holds_seeds_from_one_end_of_the_front_to_the_other():
    space = Compositions(40, 3)
    load, memory = np.array([9.0, 5.0, 2.0]), np.array([3.0, 2.0, 1.0])
    seeds = mean_model_seeds(space, load, memory)
    few = near_front(space, load, memory, 5)
    assert len(seeds) > len(few) == 5
    assert few[0].tolist() == seeds[0].tolist()
    assert few[-1].tolist() == seeds[-1].tolist()
    for most in (1, 20, 50, 10_000):
        assert len(near_front(space, load, memory, most)) <= most


def test_the_knee_looks_at_memory_too():
    scenario = clusters([(0, [40, 40])], (1, 1), (1, 50), vms=12, allow_idle=True)
    memory = {}
    for rule in ("max_throughput", "knee"):
        policy = f"iterative-monte-carlo:replications=20:rule={rule}"
        memory[rule] = cloudarena.simulate(scenario, policy).metrics["memory_mb"]
    assert memory["knee"] < memory["max_throughput"]


def test_memory_is_an_objective_within_a_tenth_of_the_shortest_makespan():
    scenario = clusters([(0, [40, 40])], (1, 1), (1, 50), vms=24)
    found = {}
    for rule in ("max_throughput", "min_memory"):
        policy = f"iterative-monte-carlo:replications=20:rule={rule}"
        found[rule] = cloudarena.simulate(scenario, policy).metrics
    short, small = found["max_throughput"], found["min_memory"]
    assert small["memory_mb"] < short["memory_mb"]
    assert short["makespan_s"] < small["makespan_s"] <= 1.1 * short["makespan_s"] + 1e-9


def test_the_makespan_of_mean_times_may_be_taken_instead():
    plans = {}
    for estimator in ("mean_of_max", "plug_in"):
        scenario = generated()
        policy = iterative.IterativeMonteCarlo(replications=2000, estimator=estimator)
        policy.start(scenario, 0)
        plans[estimator] = np.asarray(policy(scenario.start().decision).shares).tolist()
    run = generated().start()
    optimum = run.scenario.kind.policies.resolve("mean-optimum")(run.decision)
    assert plans["plug_in"] == np.asarray(optimum.shares).tolist()


def test_the_last_stage_lasts_until_all_is_done():
    for policy in FOUR:
        plans = simulate(generated(), policy).tables["decisions"]["length_s"].to_pylist()
        assert math.isinf(plans[-1])
        assert not any(math.isinf(length) for length in plans[:-3])


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("ilos:rough=0", "policy ilos: rough: 0 is not allowed: a whole number, at least 1"),
        ("ilos:selected=x", "policy ilos: selected: 'x' is not allowed"),
        ("elos:split_rule=mid", "policy elos: split_rule: 'mid' is not allowed: one of min, max"),
        ("elos:cap=0.5", "policy elos: cap: 0.5 is not allowed"),
        ("iterative-monte-carlo:rule=kne", "rule: 'kne' is not allowed: .* Did you mean 'knee'"),
        ("ilos:estimator=mean", "policy ilos: estimator: 'mean' is not allowed"),
        ("iterative-blind-pick:confidence=2", "confidence: 2 is not allowed"),
        ("ilos:roug=1", "policy ilos: 'roug=1' is not allowed: .* Did you mean 'rough'"),
    ],
)
def test_bad_parameters(policy, words):
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.simulate(generated(), policy)
