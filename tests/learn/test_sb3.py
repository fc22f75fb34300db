"""Stable-Baselines3 over our vectors: it trains, masks hold, and its scorer becomes our file."""

from __future__ import annotations

import numpy as np
import pytest

import cloudarena

torch = pytest.importorskip("torch", reason="torch is not installed: pip install cloudarena[rl]")
pytest.importorskip(
    "sb3_contrib", reason="sb3-contrib is not installed: pip install cloudarena[rl]"
)

from sb3_contrib import MaskablePPO  # noqa: E402

from cloudarena.contract.learned import Learned, policy_of  # noqa: E402
from cloudarena.engine.scoring import choose  # noqa: E402
from cloudarena.learn.sb3 import CloudVecEnv, ScorerPolicy, exported  # noqa: E402


@pytest.mark.parametrize(("hidden", "activation"), [((8,), "tanh"), ((8, 4), "relu")])
def test_it_trains_and_its_scorer_chooses_the_same_as_a_file(tmp_path, hidden, activation):
    env = CloudVecEnv(4, scenario="clusters/hfhc", overrides={"workload.batches": 20})
    model = MaskablePPO(
        ScorerPolicy,
        env,
        n_steps=32,
        batch_size=64,
        n_epochs=2,
        seed=0,
        device="cpu",
        policy_kwargs={"hidden": hidden, "activation": activation},
    )
    model.learn(256)
    learned = exported(model, env, steps=256)
    learned.save(tmp_path / "mine")
    policy = policy_of(Learned.load(tmp_path / "mine"))
    observation, chosen = env.reset(), set()
    for _ in range(60):
        masks = env.action_masks()
        theirs, _ = model.predict(observation, action_masks=masks, deterministic=True)
        for k in range(4):
            count = int(masks[k].sum())
            shown = observation["candidates"][k], observation["context"][k]
            assert choose(policy.values, *shown, count) == theirs[k]
        chosen |= set(theirs.tolist())
        observation, rewards, ended, infos = env.step(theirs)
        assert rewards.shape == ended.shape == (4,)
        for k in np.flatnonzero(ended):
            assert infos[k]["episode"]["l"] > 0
    folder = f"learned:{tmp_path / 'mine'}"
    metrics = cloudarena.simulate(env.clouds.scenario, folder, seed=1).metrics
    assert metrics["unserved_share"] == 0
    assert len(chosen) >= 1


def test_masked_rows_are_never_chosen():
    env = CloudVecEnv(2, scenario="vm/toy")
    model = MaskablePPO(ScorerPolicy, env, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(64)  # a masked choice would raise InvalidAction
    assert env.action_masks().dtype == bool
    assert env.get_attr("num_envs") == [2, 2]
