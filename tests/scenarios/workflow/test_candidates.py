"""What learners are shown of the placement of functions."""

from __future__ import annotations

import numpy as np

import cloudarena
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.workflow import KIND
from cloudarena.testing.candidates import seen_by

WORKFLOW = KIND.candidates["workflow"]
NAMES = [one.name for one in WORKFLOW.features]


def test_what_the_built_in_rules_would_choose_is_among_the_candidates():
    """With their memory; the ties of idle nodes go to the first of equal state."""
    scenario = cloudarena.load("workflow/montage-100")
    names = ("least-loaded", "first-fit", "best-fit", "data-local")
    policies = [scenario.kind.policies.resolve(name) for name in names]
    run = scenario.start(0)
    for step in range(150):
        decision = run.decision
        features, context, actions = WORKFLOW.make_arrays()
        count = run.fill(WORKFLOW, features, context, actions)
        rows = {tuple(row) for row in actions[:count].tolist()}
        for policy in policies:
            node, memory = policy(decision)
            if decision.nodes.assigned[node] > 0:
                assert (int(node), int(memory)) in rows, policy.name
        run.apply(tuple(actions[step % count].tolist()))


def test_forecasts_compare_the_candidates():
    scenario = cloudarena.load("workflow/demo")
    run = scenario.start(0)
    for _ in range(40):
        features, context, actions = WORKFLOW.make_arrays()
        nodes, function = seen_by(run)
        count = WORKFLOW.fill(nodes, function, features, context, actions)
        finishes = [
            run.decision.finish_forecast(node, memory) - run.now
            for node, memory in actions[:count].tolist()
        ]
        ratios = features[:count, NAMES.index("finish_of_first")]
        np.testing.assert_allclose(ratios, min(finishes) / np.array(finishes), rtol=1e-6)
        run.apply(tuple(actions[int(np.argmin(finishes))].tolist()))


def test_rent_is_worth_time_by_the_objective():
    """A dollar is worth 300 s; the first server of 0.085 $ an hour is not rented yet."""
    scenario = cloudarena.load("workflow/demo", {"objective.rent_scale": 300})
    run = scenario.start(0)
    features, context, actions = WORKFLOW.make_arrays()
    count = WORKFLOW.fill(*seen_by(run), features, context, actions)
    rows = [dict(zip(NAMES, map(float, row), strict=True)) for row in features[:count]]
    assert actions[0, 0] == 0
    worth = np.log10(1 + 300 * 0.085) / 5
    assert np.isclose(rows[0]["rate_worth"], worth)
    assert np.isclose(rows[0]["rent_worth"], worth)
    assert all((row["late"] == 0) == (row["finish_of_first"] == 1) for row in rows)
    run.apply(tuple(actions[0].tolist()))
    WORKFLOW.fill(*seen_by(run), features, context, actions)
    assert actions[0, 0] == 0
    assert features[0, NAMES.index("rent_worth")] == 0  # it is rented now


def test_an_environment_ends_all_workflows():
    env = CloudEnv("workflow/toy")
    env.action_space.seed(0)
    env.reset(seed=0)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(env.action_space.sample())
        assert len(info["step"]["action"]) == 2
    assert info["metrics"]["unserved_share"] == 0
