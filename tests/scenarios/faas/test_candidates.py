"""What learners are shown of placing and scaling: by hand, and in whole episodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.faas import KIND
from cloudarena.scenarios.faas.state import Scaling
from cloudarena.testing.candidates import candidates_of, seen_by
from cloudarena.testing.kind import small

PLACE, SCALE = KIND.candidates["faas-place"], KIND.candidates["faas-scale"]


def scaled(most=16, **changes):
    """The candidates of a function with 4 replicas of 0 to 20."""
    scaling = Scaling(0, 5, 4, 3, 0, 20, 8.0, 2.0, 0.5, 3, 6, 30.0, 100.0)._replace(**changes)
    features, context, actions = SCALE.make_arrays(most)
    count = SCALE.fill(scaling, features, context, actions)
    names = [one.name for one in SCALE.features]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in features[:count]]
    return rows, actions[:count, 0].tolist()


def test_numbers_of_replicas_around_the_present_one():
    rows, counts = scaled()
    assert counts == [0, 2, 3, 4, 5, 6, 8, 12, 20]
    by_count = dict(zip(counts, rows, strict=True))
    assert by_count[4]["hold"] == 1
    assert by_count[5]["suggested"] == 1
    assert by_count[0]["none"] == 1
    assert by_count[8]["change"] == pytest.approx(4 / 8)
    assert by_count[2]["rate"] == pytest.approx(4 / 14)
    assert by_count[2]["cpu"] == pytest.approx(0.5)
    assert by_count[20]["of_maximum"] == 1
    assert by_count[4]["spare"] == pytest.approx(np.log2(5 / 10) / 4)  # 3 run and 6 wait
    assert by_count[4]["spare_squared"] == pytest.approx(1 / 16)
    assert by_count[2]["of_suggested"] == pytest.approx(np.log2(3 / 6) / 4)
    assert by_count[2]["of_suggested_squared"] == pytest.approx(1 / 16)


def test_with_little_room_the_most_useful_stay():
    assert scaled(most=4)[1] == [3, 4, 5, 6]
    assert scaled(most=4, minimum=4, maximum=4, suggested=4)[1] == [4]


@settings(deadline=None)
@given(st.data())
def test_scaling_keeps_its_bounds_and_stays_within_what_is_allowed(data):
    least = data.draw(st.integers(0, 5))
    most = data.draw(st.integers(max(1, least), 300))
    numbers = st.integers(least, most)
    positive = st.floats(0, 1e6)
    scaling = Scaling(
        0, data.draw(numbers), data.draw(numbers), data.draw(st.integers(0, 400)), least, most,
        *(data.draw(positive) for _ in range(3)), data.draw(st.integers(0, 10**6)),
        data.draw(st.integers(0, 10**6)), data.draw(positive), data.draw(positive),
    )  # fmt: skip
    plain, fast = SCALE.make_arrays(), SCALE.make_arrays()
    count = SCALE.fill(scaling, *plain)
    assert count == SCALE.compiled(scaling, *fast)
    assert all((one == other).all() for one, other in zip(plain[:2], fast[:2], strict=True))
    counts = plain[2][:count, 0].tolist()
    assert counts == sorted(set(counts))
    assert least <= counts[0] <= counts[-1] <= most
    assert {scaling.replicas, scaling.suggested, least, most} <= set(counts) or count == 16
    for rows, declared in ((plain[0], SCALE.features), (plain[1][None], SCALE.context)):
        assert (rows >= [one.low for one in declared]).all()
        assert (rows <= [one.high for one in declared]).all()


def test_what_placers_would_choose_is_among_the_candidates():
    """Alone or by the spec's weights, at every placement of a run."""
    scenario = small("faas/edge-energy")
    run = scenario.start(0)
    seen = 0
    while run.decision is not None and seen < 30:
        if run.decision.kind == "scale":
            run.apply(run.decision.suggested)
            continue
        seen += 1
        nodes, replica = seen_by(run)
        features, context, actions = candidates_of(run).make_arrays()
        count = candidates_of(run).compiled(nodes, replica, features, context, actions)
        chosen = set(actions[: count - 1, 0].tolist())
        assert actions[count - 1, 0] == -1
        valid = np.flatnonzero(nodes.valid)
        assert chosen <= set(valid.tolist())
        if len(valid):
            totals = replica.weights @ nodes.scores[:, valid]
            assert int(valid[totals.argmax()]) in chosen
            assert int(valid[nodes.execution_s[valid].argmin()]) in chosen
            assert int(valid[nodes.invocation_j[valid].argmin()]) in chosen
        run.apply(int(actions[0, 0]))
    assert seen == 30


def test_an_episode_of_suggestions_is_the_run_of_the_spec():
    """Who always takes what the spec's scaler suggests runs what the default policy runs."""
    scenario = small("faas/edge-energy")
    env = CloudEnv(scenario, "faas-scale")
    names = [one.name for one in SCALE.features]
    observation, _ = env.reset(seed=0)
    ended = False
    while not ended:
        choice = int(observation["candidates"][:, names.index("suggested")].argmax())
        observation, _, ended, _, info = env.step(choice)
    assert info["metrics"] == cloudarena.simulate(scenario, seed=0).metrics
