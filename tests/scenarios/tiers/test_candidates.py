"""What learners are shown of a decision of tiers: by hand, the rules, and nothing to come."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import cloudarena
from cloudarena.learn.clouds import cloud_of
from cloudarena.policies import begin
from cloudarena.scenarios.tiers import KIND, POLICIES
from cloudarena.testing.candidates import CANDIDATE_CHECKS

TIERS = KIND.candidates["tiers"]
RULES = ("model-based", "utilisation", "target-tracking:cooldown=0", "step:cooldown=0")
VARIANTS = (
    {},
    {"boot_s": 30, "balance": "equal"},
    {"sla.metric": "quantile", "max_fat": 2, "max_thin": 3},
)


def look(run, most=None):
    """The rows by name, the context by name, and the VMs of the candidates."""
    features, context, actions = TIERS.make_arrays(most, run.scenario.action_numbers)
    count = TIERS.compiled(run.world, features, context, actions)
    names = [one.name for one in TIERS.features]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in features[:count]]
    shared = dict(zip([one.name for one in TIERS.context], map(float, context), strict=True))
    return rows, shared, [TIERS.action(row).tolist() for row in actions[:count]]


def test_the_toy_by_hand():
    """Some thirty requests came in the first minute to a thin VM that serves ten a second."""
    run = cloudarena.load("tiers/toy").start(0)
    rate = run.periods[0].rate
    rows, context, counts = look(run)
    assert counts[0] == [[0, 1]]
    assert rows[0]["hold"] == rows[0]["model"] == rows[0]["meets_30"] == 1
    assert rows[0]["response"] == pytest.approx((1 / (10 - rate)) / (1 / (10 - rate) + 5), rel=1e-6)
    assert rows[0]["busiest"] == pytest.approx((rate / 10) / (1 + rate / 10), rel=1e-6)
    assert rows[0]["cost"] == pytest.approx(0.01 / 0.06)
    fat = rows[counts.index([[1, 0]])] if [[1, 0]] in counts else rows[counts.index([[1, 1]])]
    assert fat["cost_of_cheapest"] == pytest.approx(0.01 / (0.05 if [[1, 0]] in counts else 0.06))
    assert fat["hold"] == 0
    assert fat["added"] == pytest.approx(1 / 5)
    assert context["kept"] == context["kept_share"] == context["of_peak"] == 1
    assert context["over"] == pytest.approx(1 / 3)
    assert context["rate"] == pytest.approx(rate / (rate + 1010))
    run.apply(None)  # the rush comes, and a thin VM cannot serve it
    _, context, _ = look(run)
    assert context["kept"] == 0
    assert context["kept_share"] == 0.5
    assert context["blocked"] > 0.5


@pytest.mark.parametrize("changes", VARIANTS)
def test_candidates_pass_the_checks(changes):
    scenario = cloudarena.load("tiers/rubis-slow", {"duration_s": 480, **changes})
    for check in CANDIDATE_CHECKS:
        check(scenario, 0)


@pytest.mark.parametrize("player", ["model-based", "target-tracking"])
def test_what_the_rules_choose_is_among_the_candidates(player):
    scenario = cloudarena.load("tiers/rubis-slow")
    run, rules = scenario.start(0), [POLICIES.resolve(name) for name in RULES]
    chosen = POLICIES.resolve(player)
    for policy in (*rules, chosen):
        begin(policy, scenario, 0)
    while (decision := run.decision) is not None:
        rows, _, counts = look(run)
        for name, policy in zip(RULES, rules, strict=True):
            assert policy(decision).tolist() in counts, f"{name} at {run.now}"
        assert rows[0]["hold"] == 1
        run.apply(chosen(decision))


def test_nothing_to_come_is_shown():
    """Other arrivals in the future change no candidate, no feature, no context."""
    run = cloudarena.load("tiers/rubis-slow", {"duration_s": 600}).start(0)
    while run.decision is not None:
        other = copy.deepcopy(run.world)
        other.requests["arrival"][int(other.clock[0]["arrived"]) :] += 1e6
        shown = []
        for world in (run.world, other):
            arrays = TIERS.make_arrays(None, run.scenario.action_numbers)
            TIERS.compiled(world, *arrays)
            shown.append([array.tobytes() for array in arrays])
        assert shown[0] == shown[1]
        run.apply(None)


def test_a_learned_policy_plays_compiled_what_it_plays_stepped():
    scenario = cloudarena.load("tiers/rubis-slow", {"duration_s": 1200})
    cloud = cloud_of(scenario, None, None, None)
    shape = cloud.shape((4,))
    policy = cloud.policy(shape, np.random.default_rng(0).normal(size=shape.size))
    compiled, stepped = scenario.start(2), scenario.start(2)
    compiled.play(policy)
    while (decision := stepped.decision) is not None:
        stepped.apply(policy(decision))
    assert compiled.metrics() == stepped.metrics()
    assert compiled.changes > 0
