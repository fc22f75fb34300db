"""Single environments: spaces, masks, rewards, what a step tells, drawings, bad arguments."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cloudarena
from cloudarena.base.errors import InvalidAction, SpecError
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios import kinds
from cloudarena.scenarios.vm import REFUSE
from cloudarena.testing.kind import small

SMALL = {"ticks": 200, "workload.vms": 400, "machines[0].count": 1, "buffer.budget_ticks": 4}
DECIDES = [
    (kind.name, decides)
    for kind in kinds().values()
    for decides in dict.fromkeys((kind.name, *kind.decides))
]

MOST = {
    "energy_kwh": lambda metrics: 0.185 * 200 / 12,  # a machine of 185 W, 200 ticks of 5 minutes
}


def small_env(machines=1, **arguments):
    overrides = {**SMALL, "machines[0].count": machines}
    return gymnasium.make("cloudarena/vm-v0", overrides=overrides, **arguments)


def play(env, seed=0):
    """A masked random episode: the rewards and the last info."""
    env.action_space.seed(seed)
    _, info = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        choice = env.action_space.sample(mask=info["action_mask"])
        _, reward, ended, truncated, info = env.step(choice)
        assert not truncated
        rewards.append(reward)
    return rewards, info


@pytest.mark.parametrize(("kind", "decides"), DECIDES)
@pytest.mark.parametrize(
    "observation", [pytest.param("flat", marks=pytest.mark.slow), "candidates"]
)
@pytest.mark.filterwarnings("error::UserWarning:gymnasium")
def test_gymnasium_accepts_the_environments(kind, decides, observation):
    scenario = small(kinds()[kind].example)
    if observation == "candidates" and decides not in scenario.kind.candidates:
        with pytest.raises(SpecError, match="'candidates' is not allowed: one of flat"):
            CloudEnv(scenario, decides, observation=observation)
        return
    env = gymnasium.make(f"cloudarena/{decides}-v0", scenario=scenario, observation=observation)
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("observation", ["flat", "candidates"])
@pytest.mark.parametrize("reward", ["profit_usd", "energy_kwh", "failed", "refused", "income_usd"])
def test_rewards_sum_to_the_metric_they_stand_for(reward, observation):
    rewards, info = play(small_env(reward=reward, observation=observation))
    sign = 1 if reward in ("profit_usd", "income_usd") else -1
    expected = sign * info["metrics"][reward]
    share = info["metrics"]["unserved_share"]
    assert 0 < share < 1
    if reward in ("failed", "refused"):  # who lowers one of them must not raise the other
        expected = -share * info["metrics"]["requests"]
    elif sign < 0:  # what refusing would lower has the share left undone times its most added
        expected -= share * MOST[reward](info["metrics"])
    assert sum(rewards) == pytest.approx(expected, rel=1e-9)
    assert info["metrics"][reward] != 0


def test_a_reward_may_be_weights_or_a_function_of_the_run():
    env = small_env(reward={"income_usd": 2, "energy_kwh": 0.5})
    rewards, info = play(env)
    metrics = info["metrics"]
    energy = env.unwrapped.scenario.kind.metric["energy_kwh"].earned(env.unwrapped.run)
    assert sum(rewards) == pytest.approx(2 * metrics["income_usd"] + 0.5 * energy)
    rewards, info = play(small_env(reward=lambda run: float(run.world.totals[0]["completed"])))
    assert sum(rewards) == info["metrics"]["completed"] > 0


@pytest.mark.parametrize("observation", ["candidates", "flat"])
def test_a_second_episode_earns_what_it_would_have_earned_as_the_first(observation):
    """Steps of candidates are compiled; with flat actions Python keeps what was earned."""
    env = small_env(observation=observation)
    first, _ = play(env, seed=3)
    second, info = play(env, seed=3)
    assert second == first
    assert sum(second) == pytest.approx(info["metrics"]["profit_usd"], rel=1e-9)


@pytest.mark.parametrize("observation", ["flat", "candidates"])
def test_a_seeded_episode_is_the_run_of_that_seed(observation):
    """The first candidate is the first valid machine, as in the flat action space."""
    env = small_env(observation=observation)
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    _, info = env.reset(seed=5)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(int(np.argmax(info["action_mask"])))
    assert info["metrics"] == cloudarena.simulate(scenario, "first-fit", seed=5).metrics


def test_observations_of_candidates_are_those_that_fill_writes():
    env = small_env(20, most=8).unwrapped
    observation, info = env.reset(seed=1)
    candidates = env.scenario.kind.candidates["vm"]
    for _ in range(20):
        decision = env.run.decision
        features, context, actions = candidates.make_arrays(8)
        count = candidates.fill(decision.machines, decision.request, features, context, actions)
        assert (observation["candidates"] == features).all()
        assert (observation["context"] == context).all()
        assert info["action_mask"].tolist() == [1] * count + [0] * (8 - count)
        assert (env.action_masks() == info["action_mask"]).all()
        observation, _, _, _, info = env.step(count - 1)
        assert info["step"]["action"] == [REFUSE]
        assert info["step"]["refused"] == 1


def test_what_an_episode_keeps_does_not_change():
    """Observations and infos of earlier steps are the caller's own."""
    env = small_env(20)
    seen = [env.reset(seed=0)[0]["candidates"].copy()]
    kept = [env.reset(seed=0)[0]["candidates"]]
    steps = []
    for _ in range(20):
        observation, _, _, _, info = env.step(0)
        seen.append(observation["candidates"].copy())
        kept.append(observation["candidates"])
        steps.append(info["step"])
    for before, after in zip(seen, kept, strict=True):
        assert (before == after).all()
    assert sum(step.get("allocated", 0) for step in steps) == 20
    assert pickle.loads(pickle.dumps(steps[0])) == dict(steps[0])


def test_a_choice_that_is_no_candidate_raises_and_changes_nothing():
    env = CloudEnv("vm/toy")
    env.reset(seed=0)
    count = int(env.action_masks().sum()) - 1
    for choice in (count + 1, 15, 16, -1):
        with pytest.raises(InvalidAction, match=f"choice {choice} is not allowed: 0 to {count}"):
            env.step(choice)
    assert env.run.metrics()["allocated"] == 0
    env.step(np.int64(0))
    assert env.run.metrics()["allocated"] == 1


def test_a_flat_choice_out_of_range_raises_and_a_masked_machine_refuses():
    spec = {"machines[0].cores": 2, "decide_when_full": True}
    env = CloudEnv("vm/toy", overrides=spec, observation="flat")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"choice 99 is not allowed: one of Discrete"):
        env.step(99)
    env.step(0)
    assert not env.action_masks()[0]
    env.step(0)
    assert env.run.metrics()["refused"] == 1


def test_postponing_is_masked_when_the_buffer_does_not_allow_it():
    env = CloudEnv("vm/toy", observation="flat")
    env.reset(seed=0)
    assert not env.action_masks()[-2]
    env = CloudEnv("vm/toy", overrides={"buffer.budget_ticks": 2}, observation="flat")
    env.reset(seed=0)
    assert env.action_masks()[-2]


def test_a_multi_discrete_mask_has_a_part_for_each_number():
    env = gymnasium.make("cloudarena/tiers-v0", scenario="tiers/toy", observation="flat")
    _, info = env.reset(seed=0)
    assert [len(part) for part in info["action_mask"]] == env.action_space.nvec.tolist()
    assert env.action_space.sample(mask=info["action_mask"]) in env.action_space
    assert len(env.unwrapped.action_masks()) == env.action_space.nvec.sum()


def test_the_other_decisions_are_taken_by_a_policy():
    scenario = small("faas/edge-energy")
    for decides, other in (("faas-place", "scale"), ("faas-scale", "place")):
        env = CloudEnv(scenario, decides)
        env.reset(seed=0)
        for _ in range(20):
            assert env.run.decision.kind != other
            if env.step(env.action_space.sample(mask=env.view.mask()))[2]:
                break
    with pytest.raises(SpecError, match="others: 'first-fit' is not allowed: vm is all there is"):
        CloudEnv("vm/toy", others="first-fit")


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.picture])
def test_drawings(kind):
    name = kinds()[kind].toy
    for mode in ("ansi", "rgb_array"):
        env = gymnasium.make(f"cloudarena/{kind}-v0", scenario=name, render_mode=mode)
        _, info = env.reset(seed=0)
        before = env.render()
        env.step(env.action_space.sample(mask=info["action_mask"]))
        after = env.render()
        assert type(before) is type(after)
        if mode == "rgb_array":
            assert before.shape == after.shape
            assert before.dtype == np.uint8


def test_a_drawing_shows_what_is_allocated():
    env = gymnasium.make("cloudarena/vm-v0", scenario="vm/toy", render_mode="ansi")
    env.reset(seed=0)
    assert "cores ························   0%" in env.render()
    env.step(0)
    assert "cores ························   0%" not in env.render().splitlines()[1]


def test_an_observer_of_ones_own():
    class Only:
        def __init__(self, scenario, reward):
            self.observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
            self.action_space = gymnasium.spaces.Discrete(2)

        def features(self, run):
            return np.zeros(1, np.float32)

        def mask(self, run):
            return np.ones(2, bool)

        def action(self, run, choice):
            return int(run.decision.valid.argmax()) if choice else REFUSE

    for observer in (Only, Only(None, "")):
        env = small_env(observer=observer)
        check_env(env.unwrapped)
        env.reset(seed=0)
        assert env.step(0)[-1]["step"]["refused"] == 1
    with pytest.raises(SpecError, match="observer: is not allowed together with observation"):
        small_env(observer=Only, observation="flat")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reward": "profits"}, r"reward: 'profits' is not allowed: .*'profit_usd'"),
        ({"reward": {}}, r"reward: \{\} is not allowed: at least one metric"),
        ({"reward": {"profit_usd": "much"}}, "reward: profit_usd: 'much' is not allowed: a number"),
        ({"reward": {"profit_usd": float("inf")}}, "reward: profit_usd: inf is not allowed"),
        ({"reward": 3}, "reward: 3 is not allowed: the name of a metric"),
        (
            {"observation": "pixels"},
            "'pixels' is not allowed: one of candidates, flat",
        ),
        ({"most": 2}, "most: 2 is not allowed: 4 to 128 candidates"),
        ({"most": 16, "observation": "flat"}, "most: 16 is not allowed: only for"),
        ({"window": {"jobs": 256}}, "window.jobs: is not allowed: one of vms, hours"),
        ({"render_mode": "human"}, "render_mode: 'human' is not allowed: one of ansi, rgb_array"),
        ({"decides": "jobs"}, "scenario: vm/toy is not of the kind jobs"),
        ({"decides": "vms"}, "decides: 'vms' is not allowed"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(SpecError, match=words):
        CloudEnv("vm/toy", **arguments)


def test_a_loaded_scenario_takes_no_overrides_and_reset_comes_first():
    with pytest.raises(SpecError, match="overrides: are not allowed with a scenario that is load"):
        CloudEnv(cloudarena.load("vm/toy"), overrides={"ticks": 3})
    with pytest.raises(SpecError, match="scenario: is required"):
        CloudEnv()
    env = CloudEnv("vm/toy")
    for call in (lambda: env.step(0), env.action_masks):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
