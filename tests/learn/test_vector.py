"""Environments side by side: what each of them is alone, to the bit."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, SpecError
from cloudarena.engine.status import ENDED
from cloudarena.learn.vector import CloudVectorEnv

CASES = [
    ("vm", "vm/toy", {}, None),
    ("vm", "vm/azure-like-10k", {"ticks": 400, "workload.vms": 400}, {"vms": 24, "seeds": 2}),
    ("jobs", "jobs/toy", {}, None),
    ("jobs", "jobs/alibaba-like-1000", {"workload.jobs": 60}, {"jobs": 6, "seeds": 2}),
    ("workflow", "workflow/toy", {}, {"workflows": 2, "warmup": 1, "seeds": 2, "starts": 8}),
    ("tiers", "tiers/toy", {}, None),
    ("tiers", "tiers/rubis-slow", {}, {"hours": 0.1, "warmup": 0.05, "seeds": 2, "starts": 8}),
    ("clusters", "clusters/toy", {}, {"seeds": 2}),
    ("clusters", "clusters/hfhc", {}, {"batches": 10, "warmup": 5, "seeds": 1, "starts": 8}),
]
FAAS = [
    ("faas-scale", "faas/edge-energy", {"duration_s": 90}, {"hours": 0.01, "seeds": 1}),
]


@pytest.mark.parametrize(
    ("kind", "scenario", "overrides", "window"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in FAAS)],
)
def test_each_is_what_it_is_alone(kind: str, scenario: str, overrides: Any, window: Any) -> None:
    given = {"scenario": scenario, "overrides": overrides, "window": window}
    vector = gymnasium.make_vec(
        f"cloudarena/{kind}-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        **given,
    )
    alone = [gymnasium.make(f"cloudarena/{kind}-v0", **given) for _ in range(3)]
    shown, info = vector.reset(seed=7)
    first = [one.reset(seed=7 + k) for k, one in enumerate(alone)]
    rng = np.random.default_rng(0)
    for _ in range(80):
        for k, (seen, told) in enumerate(first):
            assert np.array_equal(shown["candidates"][k], seen["candidates"])
            assert np.array_equal(shown["context"][k], seen["context"])
            assert np.array_equal(info["action_mask"][k], told["action_mask"])
        choices = [int(rng.choice(np.flatnonzero(mask))) for mask in info["action_mask"]]
        shown, rewards, ended, cut, info = vector.step(np.array(choices))
        assert not cut.any()
        first = []
        for k, one in enumerate(alone):
            seen, reward, is_over, _, told = one.step(choices[k])
            assert rewards[k] == reward
            assert ended[k] == is_over
            if is_over:
                seen, told = one.reset()
            first.append((seen, told))


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        (kind, metric)
        for kind in ("vm", "jobs", "workflow", "tiers", "clusters")
        for metric in cloudarena.load(f"{kind}/toy").kind.earnings.weights  # type: ignore[union-attr]
    ],
)
def test_sums_pay_what_the_metric_earns(kind: str, metric: str) -> None:
    env = gymnasium.make(f"cloudarena/{kind}-v0", scenario=f"{kind}/toy", reward=metric).unwrapped
    _, info = env.reset(seed=3)
    rng, total, is_over = np.random.default_rng(1), 0.0, False
    while not is_over:
        choice = int(rng.choice(np.flatnonzero(info["action_mask"])))
        _, reward, is_over, _, info = env.step(choice)
        total += reward
        earned = env.scenario.kind.metric[metric].earned(env.run)
        assert total == pytest.approx(earned, rel=1e-9, abs=1e-9)


def test_any_reward_is_paid() -> None:
    def minus_time(run: Any) -> float:
        return -run.now

    for reward in (minus_time, "unserved_share", {"profit_usd": 2.0, "failed": 1.0}):
        vector = CloudVectorEnv(2, "vm/toy", reward=reward)
        alone = gymnasium.make("cloudarena/vm-v0", scenario="vm/toy", reward=reward)
        vector.reset(seed=0)
        alone.reset(seed=0)
        for _ in range(3):
            _, rewards, ended, *_ = vector.step(np.zeros(2, int))
            _, reward, is_over, *_ = alone.step(0)
            assert (rewards[0], ended[0]) == (reward, is_over)
            if is_over:
                alone.reset()


def test_the_length_and_return_of_an_episode_are_told() -> None:
    vector = CloudVectorEnv(2, "vm/toy", window={"vms": 2, "seeds": 1})
    vector.reset(seed=0)
    _, first, ended, _, _ = vector.step(np.zeros(2, int))
    _, second, ended, _, info = vector.step(np.zeros(2, int))
    assert ended.all()
    assert info["episode"]["l"].tolist() == [2, 2]
    assert info["episode"]["r"] == pytest.approx(first + second)


def test_a_start_can_be_fixed() -> None:
    env = gymnasium.make("cloudarena/vm-v0", scenario="vm/toy", window={"vms": 2, "seeds": 1})
    shown = [env.reset(options={"start": k})[0]["context"] for k in (5, 900, 5)]
    assert np.array_equal(shown[0], shown[2])
    with pytest.raises(SpecError, match="start: 1024 is not allowed: 0 to 1023"):
        env.reset(options={"start": 1024})


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"jobs": 3}, "window.jobs: is not allowed: one of vms, hours, seeds, starts, warmup"),
        ({"hours": 1, "warmup": -1}, "window.warmup: -1 is not allowed: a number from 0"),
        ({"hours": float("inf")}, "window.hours: inf is not allowed: a number above 0"),
        ({"starts": 3}, "is not allowed: one of vms, hours"),
        (3, "window: 3 is not allowed: a mapping such as"),
        ({"vms": 0}, "window.vms: 0 is not allowed: a number above 0"),
        ({"vms": 2.5}, "window.vms: 2.5 is not allowed: a whole number"),
        ({"vms": 2, "hours": 1}, "is not allowed: one of vms, hours"),
        ({"hours": 1, "seeds": 0}, "window.seeds: 0 is not allowed: a whole number from 1"),
    ],
)
def test_a_window_that_is_none_is_refused(window: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        CloudVectorEnv(1, "vm/toy", window=window)


def test_a_choice_that_is_none_is_refused_and_changes_nothing() -> None:
    vector = CloudVectorEnv(2, "vm/toy")
    shown, _ = vector.reset(seed=0)
    with pytest.raises(InvalidAction, match="choice 15 of run 1 is not allowed"):
        vector.step(np.array([0, 15]))
    again, _, _, _, _ = vector.step(np.array([0, 0]))
    assert again["candidates"].shape == shown["candidates"].shape


def test_what_was_shown_stays_as_it_was() -> None:
    vector = CloudVectorEnv(2, "vm/toy", window={"vms": 2, "seeds": 1})
    seen = [vector.reset(seed=0)[0]]
    kept = [{name: array.copy() for name, array in seen[0].items()}]
    for _ in range(3):
        with pytest.raises(InvalidAction):
            vector.step(np.array([0, 15]))
        seen.append(vector.step(np.zeros(2, int))[0])
        kept.append({name: array.copy() for name, array in seen[-1].items()})
    seen.append(vector.reset(seed=1)[0])
    for now, before in zip(seen, kept, strict=False):
        for name, array in before.items():
            assert np.array_equal(now[name], array)
    assert not np.shares_memory(seen[0]["candidates"], seen[1]["candidates"])


def test_nothing_is_shown_where_nothing_is_to_be_decided() -> None:
    vector = CloudVectorEnv(2, "vm/toy")
    vector.reset(seed=0)
    vector.native.status[:] = ENDED
    vector.native.write_anew()
    vector.native.features[:] = vector.native.context[:] = np.nan
    vector.native.show(np.arange(2))
    assert not vector.native.features.any()
    assert not vector.native.context.any()
    assert vector.native.counts.tolist() == [0, 0]


@pytest.mark.parametrize("choices", [[0, 0, 0], [0], [0.5, 0.0], [[0, 0]], [True, False]])
def test_choices_of_another_shape_or_type_are_refused(choices: Any) -> None:
    vector = CloudVectorEnv(2, "vm/toy")
    vector.reset(seed=0)
    with pytest.raises(InvalidAction, match="2 whole numbers"):
        vector.step(np.array(choices))


@pytest.mark.parametrize("start", [-1, 2.5, "x", [1], 1024])
def test_a_start_that_is_none_is_refused(start: Any) -> None:
    vector = CloudVectorEnv(2, "vm/toy", window={"vms": 2})
    with pytest.raises(SpecError, match=r"^start: .* not allowed: "):
        vector.reset(options={"start": start})
    with pytest.raises(SpecError, match=r"^start: .* is not allowed: there is no window"):
        gymnasium.make("cloudarena/vm-v0", scenario="vm/toy").reset(options={"start": 0})


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"observation": "flat"}, "observation: 'flat' is not allowed"),
        ({"others": "spec"}, "others: is not allowed"),
        ({"num_envs": 0}, "num_envs: 0 is not allowed"),
    ],
)
def test_what_vectors_do_not_have_is_refused(argument: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        CloudVectorEnv(**{"num_envs": 1, "scenario": "vm/toy", **argument})


def test_what_was_earned_while_a_cloud_warmed_up_is_not_paid() -> None:
    window = {"vms": 2, "warmup": 2, "seeds": 1, "starts": 4}
    env = gymnasium.make("cloudarena/vm-v0", scenario="vm/toy", window=window, reward="allocated")
    env.reset(options={"start": 0})
    before = int(env.unwrapped.run.totals()["allocated"][0])
    assert before > 0
    rewards, is_over = [], False
    while not is_over:
        _, reward, is_over, _, info = env.step(0)
        rewards.append(reward)
    assert sum(rewards) == info["metrics"]["allocated"] - before
