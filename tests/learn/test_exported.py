"""Networks that others have trained become our files, which choose the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.contract.learned import Learned, policy_of
from cloudarena.engine.scoring import choose
from cloudarena.learn.exported import learned_of
from cloudarena.learn.vector import CloudVectorEnv

ACTIVATIONS = {"tanh": np.tanh, "relu": lambda values: np.maximum(values, 0.0)}


@pytest.mark.parametrize(
    ("hidden", "activation"), [((), "tanh"), ((8,), "tanh"), ((8,), "relu"), ((8, 4), "relu")]
)
def test_a_file_chooses_what_its_layers_do(tmp_path, hidden, activation):
    clouds = CloudVectorEnv(4, "vm/toy", most=8)
    shown, info = clouds.reset(seed=0)
    rng = np.random.default_rng(1)
    inputs = shown["candidates"].shape[2] + shown["context"].shape[1]
    sizes = [inputs, *hidden, 1]
    layers = [
        (rng.normal(size=(out, into)).astype("f4"), rng.normal(size=out).astype("f4"))
        for into, out in pairwise(sizes)
    ]
    learned_of(clouds, layers, activation, steps=7).save(tmp_path / "mine")
    learned = Learned.load(tmp_path / "mine")
    assert learned.training == {"scenario": clouds.scenario.name, "steps": 7}
    values = policy_of(learned).values
    for _ in range(20):
        rows = np.concatenate(
            (shown["candidates"], np.repeat(shown["context"][:, None], 8, axis=1)), axis=2
        )
        for number, (weights, biases) in enumerate(layers):
            rows = rows @ weights.T + biases
            if number < len(layers) - 1:
                rows = ACTIVATIONS[activation](rows)
        scores = np.where(info["action_mask"] == 1, rows[:, :, 0], -np.inf)
        for k, count in enumerate(info["action_mask"].sum(axis=1)):
            ours = choose(values, shown["candidates"][k], shown["context"][k], int(count))
            assert ours == scores[k].argmax()
        shown, _, _, _, info = clouds.step(scores.argmax(axis=1))


def test_layers_that_do_not_fit_are_refused():
    clouds = CloudVectorEnv(1, "vm/toy")
    with pytest.raises(
        SpecError, match=r"layers\[0\]: weights \(1, 3\) .* are not allowed: \(1, 43\)"
    ):
        learned_of(clouds, [(np.zeros((1, 3)), np.zeros(1))])
    with pytest.raises(SpecError, match="layers: 0 are not allowed: 1 to 3"):
        learned_of(clouds, [])
    with pytest.raises(SpecError, match="activation: 'gelu' is not allowed"):
        learned_of(clouds, [(np.zeros((1, 43)), np.zeros(1))], "gelu")
