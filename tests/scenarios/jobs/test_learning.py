"""A jobs run as reinforcement learning sees it: rewards, masks, features."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.learn import env as environments
from cloudarena.scenarios.jobs import KIND

from .cases import Spec, specs
from .clusters import cluster, job, outage, places, task


class CloudEnv(environments.CloudEnv):
    """With the flat observation, which this file is about."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, observation="flat", **named)


REWARDS = (
    "makespan_s",
    "completion_mean_s",
    "slowdown_mean",
    "task_completion_mean_s",
    "task_slowdown_mean",
)
"""Those that never rise: integrals of what is unfinished."""
SLOTS = 16

BUSY = cluster(
    job(task(3, instances=4), task(2, name="end", parents=["task-1"])),
    job(task(5, instances=3, gang=True), submit=1),
    job(task(0.7), task(1.3, memory=0.5), submit=2),
    machines=[{"cpu": 2}, {"cpu": 1, "speed": 2}],
    outages=[outage(0, 4, 6), outage(1, 2.5, 3)],
)


def episode(env: CloudEnv, seed: int = 0) -> tuple[list[float], dict[str, Any]]:
    """A masked random episode: the rewards and the last info."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        assert env.observation_space.contains(observation)
        choice = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, ended, truncated, info = env.step(choice)
        assert not truncated
        rewards.append(float(reward))
    assert not observation.any()
    return rewards, info


def test_gymnasium_accepts_the_environment() -> None:
    env = gymnasium.make("cloudarena/jobs-v0", overrides={"workload.jobs": 2})
    check_env(env.unwrapped)


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rewards_sum_to_minus_the_metric(reward: str, seed: int) -> None:
    rewards, info = episode(CloudEnv(BUSY, reward=reward), seed)
    assert info["metrics"]["jobs_finished"] == 3
    assert all(value <= 0 for value in rewards)
    assert sum(rewards) == pytest.approx(-info["metrics"][reward], rel=1e-9)


@settings(max_examples=30)
@given(
    spec=specs(most_jobs=4, may_warm_up=True),
    reward=st.sampled_from(REWARDS),
    seed=st.integers(0, 9),
)
def test_rewards_sum_to_minus_the_metric_of_any_run(spec: Spec, reward: str, seed: int) -> None:
    rewards, info = episode(CloudEnv(spec, reward=reward), seed)
    if info["metrics"]["jobs_finished"] == info["metrics"]["jobs"]:
        assert sum(rewards) == pytest.approx(-info["metrics"][reward], rel=1e-9)


def test_the_makespan_on_a_grid_is_what_is_earned() -> None:
    rewards, info = episode(
        CloudEnv(cluster(job(task(0.5)), scheduling_interval=2), reward="makespan_s")
    )
    assert sum(rewards) == -info["metrics"]["makespan_s"] == -0.5


def test_rewards_by_hand() -> None:
    # One core; A (2 s) at 0, B (4 s) at 1, so B from 2 to 6.
    jobs = [job(task(2)), job(task(4), submit=1)]
    # From 0 to 2 (the next decision): A for 2 s and B for 1 s in the cluster, over 2 jobs; from
    # 2 to 6: B.
    for reward, expected in (
        ("makespan_s", [-2, -4]),
        ("completion_mean_s", [-3 / 2, -4 / 2]),
        ("slowdown_mean", [-(2 / 2 + 1 / 4) / 2, -(4 / 4) / 2]),
    ):
        env = CloudEnv(cluster(*jobs, cpu=1), reward=reward)
        env.reset(seed=0)
        assert [env.step(0)[1] for _ in range(2)] == pytest.approx(expected, rel=1e-12)


def test_the_mask_is_what_fits_and_waiting_where_it_is_allowed() -> None:
    env = CloudEnv(cluster(job(task(cpu=3), task(cpu=1)), machines=[{"cpu": 2}, {"cpu": 3}]))
    _, info = env.reset(seed=0)
    mask = info["action_mask"]
    assert len(mask) == env.action_space.n == SLOTS * 2 + 1
    # Task 0 fits machine 1 alone, task 1 fits both; nothing else will happen: no waiting.
    assert np.flatnonzero(mask).tolist() == [1, 2, 3]
    _, _, _, _, info = env.step(1)
    # What is left is task 1, now in the first slot, on machine 0; or waiting for task 0.
    assert np.flatnonzero(info["action_mask"]).tolist() == [0, SLOTS * 2]
    assert (env.action_masks() == info["action_mask"]).all()


@settings(max_examples=20)
@given(spec=specs(most_jobs=4, may_warm_up=True), seed=st.integers(0, 9))
def test_the_mask_says_what_the_run_allows(spec: Spec, seed: int) -> None:
    env = CloudEnv(spec)
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    ended = False
    while not ended:
        decision, mask = env.run.decision, info["action_mask"]
        machines = len(decision.machines.up)
        ready = decision.ready.tolist()
        shown = [decision.tasks.first, *(t for t in ready[:SLOTS] if t != decision.tasks.first)]
        for k, number in enumerate(shown[:SLOTS]):
            fits = decision.fits[ready.index(number)]
            assert mask[k * machines : (k + 1) * machines].tolist() == fits.tolist()
        assert not mask[len(shown) * machines : -1].any()
        assert mask[-1] == decision.may_wait
        _, _, ended, _, info = env.step(int(rng.choice(np.flatnonzero(mask))))


def test_a_task_beyond_the_slots_is_shown_when_it_alone_could_start() -> None:
    # 20 tasks of two cores wait while one core is free; the last task needs one.
    jobs = [job(task(9)), *(job(task(cpu=2)) for _ in range(20)), job(task(1))]
    env = CloudEnv(cluster(*jobs))
    env.reset(seed=0)
    _, _, _, _, info = env.step(0)
    assert np.flatnonzero(info["action_mask"]).tolist() == [0, SLOTS]
    env.step(0)
    # It is over at 1; the next task starts when both cores are free.
    assert env.run.now == 9
    assert env.run.metrics()["instances_finished"] == 2


def test_an_action_that_is_not_allowed_starts_nothing_if_that_is_allowed() -> None:
    env = CloudEnv(cluster(job(task(cpu=2)), job(task(), submit=3)))
    env.reset(seed=0)
    env.step(7)  # there is no such task: waits until 3
    assert env.run.now == 3
    # Nothing more will happen: the first pair that fits starts.
    env.step(15)
    assert env.run.now == 13
    _, _, ended, _, info = env.step(5)
    assert ended
    assert info["metrics"]["jobs_finished"] == 2


def test_a_seeded_episode_is_the_run_of_that_seed() -> None:
    overrides = {"workload.jobs": 2}
    env = CloudEnv("jobs/alibaba-like-10", overrides=overrides)
    _, info = env.reset(seed=5)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(int(np.argmax(info["action_mask"])))

    def first_pair(decision: Any) -> tuple[int, int]:
        row = int(np.argmax(decision.ready == decision.tasks.first))
        return int(decision.tasks.first), int(np.argmax(decision.fits[row]))

    scenario = cloudarena.load("jobs/alibaba-like-10", overrides)
    assert info["metrics"] == cloudarena.simulate(scenario, first_pair, seed=5).metrics


def test_a_gang_starts_whole_by_one_action() -> None:
    env = CloudEnv(cluster(job(task(instances=4, gang=True)), count=2))
    env.reset(seed=0)
    _, _, ended, _, _ = env.step(1)
    assert ended
    run = cloudarena.load(cluster(job(task(instances=4, gang=True)), count=2)).start()
    run.apply((0, 1))
    assert places(run.result()) == [1, 1, 0, 0]


def test_features_by_hand() -> None:
    spec = cluster(
        job(task(100, cpu=1, memory=0.5, instances=4), task(300, parents=["task-1"])),
        machines=[{"cpu": 2, "memory": 1}, {"cpu": 4, "memory": 2, "gpu": 1}],
    )
    env = CloudEnv(spec)
    first, _ = env.reset(seed=0)
    # Numbers n are shown as log(1 + n) / log(1 + 10^6).
    one, three, four = (math.log(1 + n) / math.log(1_000_001) for n in (1, 3, 4))
    # Shares of the largest machine; 100 / 200, 400 / 500, age 0; all of 4 wait, none runs.
    assert first[:11] == pytest.approx([0.25, 0.25, 0, 0, 0.5, 0.8, 0, 1, 0, 1, four])
    assert not first[11:176].any()
    assert first[176:] == pytest.approx([1, 1, 1, 0, 1, 1, 1, 1, 1, 1, one, four])
    second, *_ = env.step(1)
    assert second[7:11] == pytest.approx([0.75, 0.25, 1, three])
    assert second[181:185] == pytest.approx([0.75, 0.75, 1, 1])


def test_ten_and_ten_thousand_waiting_instances_look_different() -> None:
    shown = [CloudEnv(cluster(job(task(instances=n)))).reset(seed=0)[0] for n in (10, 10_000)]
    # In the task's own features and in those of the whole cluster, and within the space.
    assert shown[1][10] > shown[0][10] + 0.3
    assert shown[1][-1] > shown[0][-1] + 0.3
    # As many ready tasks, each with one instance, differ as well.
    many = [
        CloudEnv(cluster(*(job(task()) for _ in range(n)))).reset(seed=0)[0] for n in (20, 2000)
    ]
    assert many[1][-2] > many[0][-2] + 0.3
    for observation in (*shown, *many):
        assert (np.abs(observation) <= 1).all()


DIRECTED = {one.name: -1.0 if one.better == "lower" else 1.0 for one in KIND.metrics if one.better}


@pytest.mark.parametrize("reward", DIRECTED)
@pytest.mark.parametrize("seed", range(3))
def test_every_metric_with_a_direction_can_be_earned(reward: str, seed: int) -> None:
    rewards, info = episode(CloudEnv(BUSY, reward=reward), seed)
    assert all(np.isfinite(rewards))
    assert info["metrics"]["unserved_share"] == 0
    wanted = DIRECTED[reward] * info["metrics"][reward]
    assert sum(rewards) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("reward", DIRECTED)
def test_to_leave_work_undone_earns_less_than_any_work(reward: str) -> None:
    # Machine 1 is gone for good at once, so that a policy may wait, and the run ends at once.
    sizes = {"memory": 0.5, "disk": 0.5, "gpu": 0.5}
    machine = {"cpu": 1, "gpu": 1, "count": 2, "price": {"hour_usd": 1.0}}
    spec = cluster(job(task(10, instances=3, **sizes)), job(task(20)), outages=[outage(1, 0)],
                   machines=[machine])  # fmt: skip
    env = CloudEnv(spec, reward=reward)
    earned = {}
    for name in ("lazy", "busy"):
        _, info = env.reset(seed=0)
        earned[name], ended = 0.0, False
        while not ended:
            allowed = np.flatnonzero(info["action_mask"])
            _, value, ended, _, info = env.step(int(allowed[-1 if name == "lazy" else 0]))
            assert np.isfinite(value)
            earned[name] += float(value)
    assert info["metrics"]["unserved_share"] == 0
    assert earned["busy"] == pytest.approx(DIRECTED[reward] * info["metrics"][reward])
    assert earned["lazy"] < earned["busy"]


def test_unknown_durations_are_not_shown() -> None:
    env = CloudEnv({**BUSY, "known": []})
    observation, _ = env.reset(seed=0)
    assert not observation[:176].reshape(16, 11)[:, 4:6].any()
    rewards, info = episode(env)
    assert sum(rewards) == pytest.approx(-info["metrics"]["completion_mean_s"])


def test_a_reward_that_does_not_exist_is_named() -> None:
    with pytest.raises(SpecError, match=r"reward: 'makespan' is not allowed.*'makespan_s'"):
        CloudEnv(BUSY, reward="makespan")
