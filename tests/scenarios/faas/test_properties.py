"""What holds in every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate

SMALL = {"duration_s": 90, "devices.count": 30}


def columns(result, table):
    return {
        name: result.tables[table][name].to_numpy() for name in result.tables[table].column_names
    }


def check_sums(result):
    metrics, functions = result.metrics, columns(result, "functions")
    ends = sum(metrics[name] for name in ("completed", "rejected", "timed_out", "unfinished"))
    assert ends == metrics["requests"] == functions["requests"].sum()
    energy = result.tables["nodes"]["energy_j"].to_numpy()
    assert functions["energy_j"].sum() == pytest.approx(energy.sum(), rel=1e-9)
    assert metrics["energy_wh"] * 3600 == pytest.approx(energy.sum(), rel=1e-12)
    invocations = columns(result, "invocations")
    dynamic = functions["dynamic_energy_j"].sum()
    assert invocations["energy_j"].sum() == pytest.approx(dynamic, rel=1e-9)
    assert metrics["requests"] == len(invocations["request"])


@settings(max_examples=12)
@given(
    seed=st.integers(0, 1000),
    policy=st.sampled_from(["kubernetes", "least-power", "random", "highest-performance"]),
    router=st.sampled_from(["round-robin", "least-loaded", "random", "locality"]),
    requests=st.booleans(),
    limits=st.booleans(),
)
def test_requests_and_energies_add_up(seed, policy, router, requests, limits):
    changes = {**SMALL, "router": router, "network.requests": requests}
    if limits:
        changes |= {"functions[0].timeout_s": 8.0, "functions[2].queue_limit": 3}
    scenario = cloudarena.load("faas/urban-sensing", changes)
    run = scenario.start(seed, "full")
    run.play(scenario.book.resolve(policy))
    result = run.result()
    check_sums(result)
    # Little's law: the requests in the system over time are the times that requests were there.
    rows = columns(result, "invocations")
    finish = rows["finish_s"]
    there = np.where(np.isnan(finish), run.now, finish) - rows["arrival_s"]
    assert run.world.clock[0]["in_system_s"] == pytest.approx(there.sum(), rel=1e-9)
    assert (columns(result, "power")["dynamic_w"] >= -1e-9).all()
    assert (rows["waited_s"] <= there + 1e-9).all()


def test_power_rises_with_load():
    watts = []
    for scale in (0.25, 0.5, 1.0):
        scenario = cloudarena.load(
            "faas/urban-sensing", {**SMALL, "load_scale": scale, "duration_s": 200}
        )
        metrics = simulate(scenario, "first-fit", record="none").metrics
        watts.append(metrics["energy_wh"])
    assert watts == sorted(watts)
    assert watts[0] < watts[-1]


def test_all_policies_see_the_same_work():
    scenario = cloudarena.load("faas/urban-sensing", SMALL)
    rows = []
    for policy in ("first-fit", "random"):
        found = columns(simulate(scenario, policy, record="full"), "invocations")
        order = np.lexsort((found["request"], found["function"].astype(str)))
        rows.append(found["arrival_s"][order])
    assert np.array_equal(*rows)


def test_weights_are_parameters():
    scenario = cloudarena.load("faas/urban-sensing", SMALL)
    plain = simulate(scenario, "energy-efficiency").metrics
    zero = "weighted:execution-time=0:contention=0"
    assert simulate(scenario, zero).metrics == plain
    with pytest.raises(cloudarena.PolicyError, match="speed=1"):
        simulate(scenario, "weighted:speed=1")


def test_a_user_may_place_and_scale():
    scenario = cloudarena.load("faas/urban-sensing", SMALL)

    def last(nodes, replica, rng):
        """The last valid node."""
        best = -1
        for node in range(len(nodes.valid)):
            if nodes.valid[node]:
                best = node
        return best

    def most(scaling, rng):
        """As many as may be."""
        return scaling.maximum

    class Both:
        """The last valid node, as many as may be."""

        place, scale = staticmethod(last), staticmethod(most)

    for policy in (last, most, Both):
        cloudarena.testing.check_policy(policy, scenario)
    more = simulate(scenario, most).metrics["replicas_mean"]
    assert more > simulate(scenario).metrics["replicas_mean"]
