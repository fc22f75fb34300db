"""What learners are shown of a decision of clusters: by hand, the rules, and nothing to come."""

from __future__ import annotations

import numpy as np
import pytest

import cloudarena
from cloudarena.learn.clouds import cloud_of
from cloudarena.scenarios.clusters import KIND, POLICIES, UNTIL_DONE
from cloudarena.testing.candidates import CANDIDATE_CHECKS

CLUSTERS = KIND.candidates["clusters"]
VARIANTS = (
    {},
    {"information": "oracle"},
    {"decide_seconds": 0.01},
    {"decide_seconds": 0.01, "information": "oracle"},
    {"allow_idle": True, "memory": "theta_squared"},
)


def look(run, most=None):
    """The rows by name, the context by name, and the plans of the candidates."""
    features, context, actions = CLUSTERS.make_arrays(most, run.scenario.action_numbers)
    count = CLUSTERS.fill(run.world, features, context, actions)
    names = [one.name for one in CLUSTERS.features]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in features[:count]]
    shared = dict(zip([one.name for one in CLUSTERS.context], map(float, context), strict=True))
    return rows, shared, [CLUSTERS.action(row) for row in actions[:count]]


def test_the_toy_by_hand():
    """18 and 6 VM-seconds of work wait; 3 and 1 of four VMs do that in 6 s."""
    run = cloudarena.load("clusters/toy").start(0)
    rows, context, plans = look(run)
    assert plans[0] == ([3, 1], 6.0, 0)
    assert rows[0]["span"] == rows[0]["span_backlog"] == rows[0]["mean_optimum"] == 1
    assert rows[0]["left"] == rows[0]["idle_backlog"] == 0
    assert rows[0]["memory"] == pytest.approx((3 * 10 + 30) / (4 * 30))
    equal = next(row for row, plan in zip(rows, plans, strict=True) if plan[:2] == ([2, 2], 6.0))
    assert equal["equal"] == 1
    assert equal["span"] == pytest.approx(6 / 9)
    assert equal["left"] == pytest.approx((18 - 12) / 24)
    assert equal["idle_backlog"] == pytest.approx((12 - 6) / 24)
    assert context["backlog"] == pytest.approx(24 / (24 + 24))
    assert context["all_arrived"] == 0
    run.apply(plans[0])
    assert run.now == 6
    rows, context, plans = look(run)
    assert context["all_arrived"] == 1
    assert plans[0] == ([1, 3], UNTIL_DONE, 0)
    assert rows[1]["as_it_is"] == 1
    assert rows[1]["moved"] == 0


@pytest.mark.parametrize("changes", VARIANTS)
def test_candidates_pass_the_checks(changes):
    scenario = cloudarena.load("clusters/hfhc", {"workload.batches": 30, **changes})
    for check in CANDIDATE_CHECKS:
        check(scenario, 0)


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("player", ["mean-optimum", "equal"])
def test_what_the_rules_choose_is_among_the_candidates(changes, player):
    run = cloudarena.load("clusters/hfhc", {"workload.batches": 40, **changes}).start(1)
    while (decision := run.decision) is not None:
        plans = [(tuple(plan.shares), plan.length_s) for plan in look(run)[2]]
        for name in ("mean-optimum", "proportional", "greedy", "equal"):
            plan = POLICIES.resolve(name)(decision)
            assert (tuple(plan.shares), plan.length_s) in plans, name
        run.apply(POLICIES.resolve(player)(decision))


def test_nothing_to_come_is_shown():
    """Two runs with the same past, and another future, have the same candidates."""
    past = [{"time_s": 0, "tasks": [9, 6]}, {"time_s": 6, "tasks": [3, 18]}]
    seen = []
    for tasks in ([1, 400], [300, 2]):
        batches = [*past, {"time_s": 100, "tasks": tasks}]
        run = cloudarena.load("clusters/toy", {"workload.batches": batches}).start(0)
        for _ in range(3):
            features, context, actions = CLUSTERS.make_arrays(None, 3)
            CLUSTERS.fill(run.world, features, context, actions)
            seen.append((features.tobytes(), context.tobytes()))
            run.apply(CLUSTERS.action(actions[0]))
    assert seen[:3] == seen[3:]


def test_a_learned_policy_plays_compiled_what_it_plays_stepped():
    scenario = cloudarena.load("clusters/hfhc", {"workload.batches": 100})
    cloud = cloud_of(scenario, None, None, None)
    shape = cloud.shape()
    weights = np.random.default_rng(0).normal(size=shape.size)
    weights[[one.name for one in CLUSTERS.features].index("length")] = -9  # so there are many
    policy = cloud.policy(shape, weights)
    compiled, stepped = scenario.start(2), scenario.start(2)
    compiled.play(policy)
    while (decision := stepped.decision) is not None:
        stepped.apply(policy(decision))
    assert compiled.metrics() == stepped.metrics()
    assert str(compiled.stages) == str(stepped.stages)
    assert compiled.metrics()["decisions"] > 64  # more than there was room for at the start
