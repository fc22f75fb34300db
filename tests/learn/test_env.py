import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.learn.env import CloudEnv

SMALL = {"ticks": 200, "workload.vms": 400, "machines[0].count": 1, "buffer.budget_ticks": 4}


def small_env(**arguments):
    return gymnasium.make("cloudarena/vm-v0", overrides=SMALL, **arguments)


def play(env, seed=0):
    """A masked random episode: the rewards and the last info."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        choice = int(rng.choice(np.flatnonzero(info["action_mask"])))
        _, reward, ended, truncated, info = env.step(choice)
        assert not truncated
        rewards.append(reward)
    return rewards, info


def test_gymnasium_accepts_the_environment():
    check_env(small_env().unwrapped)


@pytest.mark.parametrize("reward", ["profit_usd", "energy_kwh", "failed", "refused", "income_usd"])
def test_rewards_sum_to_the_metric_they_stand_for(reward):
    rewards, info = play(small_env(reward=reward))
    sign = 1 if reward in ("profit_usd", "income_usd") else -1
    assert sum(rewards) == pytest.approx(sign * info["metrics"][reward], rel=1e-9)
    assert info["metrics"][reward] != 0


def test_a_second_episode_earns_what_it_would_have_earned_as_the_first():
    env = small_env()
    first, _ = play(env, seed=3)
    second, info = play(env, seed=3)
    assert second == first
    assert sum(second) == pytest.approx(info["metrics"]["profit_usd"], rel=1e-9)


def test_a_seeded_episode_is_the_run_of_that_seed():
    env = small_env()
    first_valid = lambda decision: int(np.argmax(decision.valid))  # noqa: E731
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    _, info = env.reset(seed=5)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(int(np.argmax(info["action_mask"])))
    assert info["metrics"] == cloudarena.simulate(scenario, first_valid, seed=5).metrics


def test_the_mask_says_what_the_run_allows():
    env = small_env().unwrapped
    _, info = env.reset(seed=1)
    decision = env.run.decision
    assert (info["action_mask"][: len(decision.valid)] == decision.valid).all()
    assert info["action_mask"][-1]
    assert (env.action_masks() == info["action_mask"]).all()


def test_a_masked_machine_refuses_the_request_and_the_episode_goes_on():
    env = CloudEnv("vm/toy", overrides={"machines[0].cores": 2, "decide_when_full": True})
    env.reset(seed=0)
    env.step(0)
    assert not env.action_masks()[0]
    env.step(0)
    assert env.run.metrics()["refused"] == 1


def test_postponing_is_masked_when_the_buffer_does_not_allow_it():
    env = CloudEnv("vm/toy")
    env.reset(seed=0)
    assert not env.action_masks()[-2]
    env = CloudEnv("vm/toy", overrides={"buffer.budget_ticks": 2})
    env.reset(seed=0)
    assert env.action_masks()[-2]


def test_bad_arguments_are_named():
    with pytest.raises(SpecError, match=r"reward: 'profits' is not allowed: .*'profit_usd'"):
        CloudEnv("vm/toy", reward="profits")
    with pytest.raises(gymnasium.error.ResetNeeded):
        CloudEnv("vm/toy").step(0)
