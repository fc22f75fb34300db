"""The learned policies that come with the package."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cloudarena
from cloudarena.contract.learned import Learned, policy_of, resolve, shipped
from cloudarena.learn.network import ordered_scores
from cloudarena.scenarios.jobs import WindowRuns

SCENARIO = {
    "scenario": "jobs",
    "machines": [{"cpu": 128}],
    "workload": {
        "source": "lublin-feitelson", "jobs": 4000, "processors": 128, "rate": 1.5,
        "estimates": "exact",
    },
}  # fmt: skip
FIRSTS = range(0, 4000, 200)


def test_they_are_small_and_load():
    folders = shipped()
    names = {"alibaba", "batch", "clusters", "scale", "tiers", "vm", "workflow"}
    assert names <= set(folders)
    sizes = [file.stat().st_size for home in folders.values() for file in home.iterdir()]
    assert sum(sizes) <= 200_000
    for home in folders.values():
        learned = Learned.load(home)
        assert learned.training["command"]
        assert learned.training["seeds"]
        policy_of(learned)


@pytest.mark.slow
def test_batch_runs_compiled_as_stepped_and_as_numpy_says():
    window = {**SCENARIO["workload"], "jobs": 200, "rate": 6}
    scenario = cloudarena.load({**SCENARIO, "workload": window})
    for backfill in ("none", "strict"):
        policy = resolve("jobs", f"learned:batch:backfill={backfill}")
        compiled, stepped = scenario.start(0), scenario.start(0)
        compiled.play(policy)
        stepped.prepare(policy)
        learned, several = policy.learned, 0
        while (decision := stepped.decision) is not None:
            features, context, actions = policy.candidates.make_arrays(learned.most)
            context[:1] = policy.numbers
            count = policy.fill(*decision.arguments(policy), features, context, actions)
            scores = ordered_scores(learned.shape, learned.weights, features[:count], context)
            action = policy(decision)
            assert action == tuple(actions[np.argmax(scores)])
            several += count > 4
            stepped.apply(action)
        assert several > 20
        assert compiled.metrics() == stepped.metrics()


@pytest.mark.slow
@pytest.mark.parametrize("backfill", ["none", "strict"])
def test_batch_is_no_worse_than_f1_on_generated_jobs(backfill):
    scenario = cloudarena.load(SCENARIO)
    geometric = {}
    for policy in ("learned:batch", "f1", "ranked-fcfs"):
        runs = WindowRuns(scenario, f"{policy}:backfill={backfill}", seed=3)
        slowdowns = runs.measure(FIRSTS, 200).bounded_slowdown_mean[0]
        geometric[policy] = math.exp(np.log(slowdowns).mean())
    assert geometric["ranked-fcfs"] > 1.5 * geometric["f1"]  # there is something to be decided
    assert geometric["learned:batch"] <= geometric["f1"]


def test_batch_lists_itself_and_is_a_policy_like_any_other(capsys):
    from cloudarena.cli.policies import policies

    policies("jobs", as_json=True)
    assert "learned:batch" in capsys.readouterr().out
    small = {**SCENARIO, "workload": {**SCENARIO["workload"], "jobs": 60}}
    names = ["learned:batch:backfill=strict", "ranked-fcfs:backfill=strict"]
    comparison = cloudarena.compare(small, names, replications=2, workers=1)
    slowdowns = comparison.values["bounded_slowdown_mean"]
    assert slowdowns.shape == (2, 2)
    assert (slowdowns[0] != slowdowns[1]).any()


ALIBABA = {
    "scenario": "jobs",
    "machines": [{"count": 5, "cpu": 64}],
    "known": ["durations"],
    "workload": {"source": "alibaba-like", "jobs": 200},
}


@pytest.mark.slow
def test_alibaba_has_shorter_makespans_than_the_longest_task_first_on_generated_jobs():
    """Chunks of ten jobs on five machines, drawn by seeds that had no part in its making."""
    scenario = cloudarena.load(ALIBABA)
    makespans = {}
    for policy in ("learned:alibaba", "ljf", "tetris", "first-fit"):
        found = [
            WindowRuns(scenario, policy, seed).measure(range(0, 200, 10), 10).makespan_s[0]
            for seed in (502, 503, 504)
        ]
        makespans[policy] = np.concatenate(found)
    mine = makespans.pop("learned:alibaba")
    for policy, theirs in makespans.items():
        assert (mine < theirs).sum() > 1.5 * (mine > theirs).sum(), policy
        assert mine.mean() < 0.99 * theirs.mean(), policy


def test_alibaba_runs_compiled_as_stepped():
    scenario = cloudarena.load({**ALIBABA, "workload": {"source": "alibaba-like", "jobs": 6}})
    policy = resolve("jobs", "learned:alibaba")
    compiled, stepped = scenario.start(1), scenario.start(1)
    compiled.play(policy)
    stepped.prepare(policy)
    while (decision := stepped.decision) is not None:
        stepped.apply(policy(decision))
    assert compiled.metrics() == stepped.metrics()


def means(scenario, policies, seeds, metrics):
    """The mean of each metric over some runs, by policy."""
    comparison = cloudarena.compare(
        scenario, policies, replications=len(seeds), seed=seeds[0], workers=1
    )
    return {
        policy: [float(comparison.values[name][row].mean()) for name in metrics]
        for row, policy in enumerate(policies)
    }


def test_vm_earns_more_and_serves_more_than_best_fit_under_pressure():
    """A fortieth of azure-like-336k, on work that nobody trained on."""
    small = {
        "machines[0].count": 22, "workload.vms": 8_400, "workload.concurrent": 707.65,
    }  # fmt: skip
    scenario = cloudarena.load("vm/azure-like-336k", small)
    policies = ["learned:vm", "best-fit", "first-fit"]
    found = means(scenario, policies, range(40, 46), ("income_usd", "unserved_share"))
    income, unserved = found.pop("learned:vm")
    assert all(income > 1.02 * other for other, _ in found.values())
    assert all(unserved < other for _, other in found.values())


def test_vm_refuses_nothing_where_there_is_room():
    """Three times the machines: what fails, does so since no machine is large enough."""
    roomy = {"machines[0].count": 60, "workload.vms": 2_000}
    scenario = cloudarena.load("vm/azure-like-10k-16c", roomy)
    found = means(scenario, ["learned:vm", "best-fit"], range(2), ("refused", "unserved_share"))
    assert found["learned:vm"][0] <= 20
    assert found["learned:vm"][1] <= found["best-fit"][1] + 0.01


def test_scale_saves_energy_at_the_same_response_times():
    metrics = ("energy_j_per_invocation", "response_p95_s", "unserved_share")
    scenario = cloudarena.load("faas/edge-energy", {"duration_s": 900})
    found = means(scenario, ["learned:scale", "spec"], range(40, 42), metrics)
    (energy, p95, unserved), (spec_energy, spec_p95, spec_unserved) = found.values()
    assert energy < 0.8 * spec_energy
    assert p95 < 1.01 * spec_p95
    assert unserved < spec_unserved + 0.001


def test_tiers_costs_less_than_step_and_keeps_the_sla_as_often():
    """Two hours of tiers/day, a tenth as fast."""
    slow = {"duration_s": 7200, "sla.seconds": 10, "arrivals.base": 6, "arrivals.burst": 11}
    for tier, (fat, thin) in enumerate(((22, 12), (3.6, 2), (8, 4))):
        slow |= {f"tiers[{tier}].fat.rate": fat, f"tiers[{tier}].thin.rate": thin}
    scenario = cloudarena.load("tiers/day", slow)
    metrics = ("total_cost_usd", "sla_minutes_ok")
    found = means(scenario, ["learned:tiers", "step"], range(40, 46), metrics)
    (cost, kept), (step_cost, step_kept) = found.values()
    assert cost < step_cost
    assert kept > step_kept - 0.005


@pytest.mark.slow
def test_clusters_ends_sooner_than_mean_optimum():
    scenario = cloudarena.load("clusters/hfhc")
    found = means(scenario, ["learned:clusters", "mean-optimum"], range(40, 52), ("makespan_s",))
    assert found["learned:clusters"] < found["mean-optimum"]


@pytest.mark.slow
def test_workflow_pays_less_rent_for_its_time_than_weighted():
    """At 1,000 s a dollar, and as the specs have it."""
    small = {
        "workload.functions": 50, "workload.workflows": 25, "workload.rate": 0.2,
        "objective.rent_scale": 1000,
    }  # fmt: skip
    scenario = cloudarena.load("workflow/montage-100", small)
    policies = ["learned:workflow", "weighted", "earliest-finish"]
    found = means(scenario, policies, range(40, 43), ("weighted_cost",))
    own = found.pop("learned:workflow")
    assert all(own < other for other in found.values())
