"""Networks: compiled scores, gradients by hand, draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.engine import scoring
from cloudarena.engine.scoring import Shape
from cloudarena.learn.decisions import Decisions
from cloudarena.learn.network import (
    Adam,
    Network,
    batch_of,
    batch_of_means,
    entropy_slope,
    flatten,
    log_softmax,
    one_thread,
    ordered_scores,
    sampled,
    unflatten,
)

SHAPES = st.builds(
    Shape,
    features=st.integers(1, 9),
    context=st.integers(0, 5),
    hidden=st.lists(st.integers(1, 19), max_size=2).map(tuple),
    activation=st.sampled_from(["tanh", "relu"]),
)


def some_decisions(shape: Shape, seed: int, n: int = 5, k: int = 7) -> Decisions:
    rng = np.random.default_rng(seed)
    count = rng.integers(1, k + 1, n)
    features = rng.uniform(-1, 1, (n, k, shape.features)).astype(np.float32)
    features[np.arange(k) >= count[:, None]] = 0.0
    # Candidates that are the same must get the same score, so the first of them wins.
    features[:, -1] = np.where((count == k)[:, None], features[:, 0], 0.0)
    return Decisions(
        features, rng.uniform(-1, 1, (n, shape.context)).astype(np.float32), count.astype(np.int64)
    )


def some_network(shape: Shape, seed: int, scale: float = 1.0) -> Network:
    rng = np.random.default_rng(seed)
    return Network(shape, (scale * rng.standard_normal(shape.size)).astype(np.float32))


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 30.0]))
def test_compiled_scores_are_those_of_numpy_to_the_last_bit(shape, seed, scale):
    network, decisions = some_network(shape, seed, scale), some_decisions(shape, seed)
    scores = network.scores(decisions)
    best = network.best(decisions)
    packed = shape.packed(7, network.weights)
    for n, count in enumerate(decisions.count):
        features, context = decisions.features[n], decisions.context[n]
        expected = ordered_scores(shape, network.weights, features[:count], context)
        assert expected.dtype == np.float32
        assert scores[n, :count].tobytes() == expected.tobytes()
        assert not scores[n, count:].any()
        assert best[n] == np.argmax(expected)
        assert scoring.choose(packed, features, context, int(count)) == np.argmax(expected)


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(0, 10**6))
def test_the_pass_for_gradients_gives_the_same_scores_up_to_rounding(shape, seed):
    network, decisions = some_network(shape, seed, 0.5), some_decisions(shape, seed)
    batch = batch_of(decisions)
    found = network.forward(batch).scores
    expected = network.scores(decisions)[np.arange(7) < decisions.count[:, None]]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_tanh_is_one():
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    found = np.array([scoring.tanh32(value) for value in x])
    np.testing.assert_allclose(found, np.tanh(x.astype(np.float64)), atol=4e-7)


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.integers(0, 10**6))
def test_gradients_are_those_of_finite_differences(shape, seed):
    """Of the log of a choice's probability, entropy and a value, in float64."""
    decisions = some_decisions(shape, seed)
    batch, means = (
        one._replace(features=one.features.astype(np.float64), context=one.context.astype(float))
        for one in (batch_of(decisions), batch_of_means(decisions))
    )
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(shape.size)
    chosen = batch.begin + rng.integers(0, decisions.count)
    gain, target = rng.standard_normal(len(chosen)), rng.standard_normal(len(chosen))

    def loss(weights):
        network = Network(shape, weights)
        logs, entropy = log_softmax(network.forward(batch).scores, batch)
        value = network.forward(means).scores
        return gain @ logs[chosen] + 0.3 * entropy.sum() + 0.5 * ((value - target) ** 2).sum()

    network = Network(shape, weights)
    done, value = network.forward(batch), network.forward(means)
    logs, entropy = log_softmax(done.scores, batch)
    slope = -np.exp(logs) * gain[batch.owner] + 0.3 * entropy_slope(logs, entropy, batch)
    slope[chosen] += gain
    gradient = network.backward(done, slope) + network.backward(value, value.scores - target)
    step = 1e-6
    for k in range(0, shape.size, max(1, shape.size // 25)):
        up, down = weights.copy(), weights.copy()
        up[k] += step
        down[k] -= step
        numeric = (loss(up) - loss(down)) / (2 * step)
        kinks = 2e-3 if shape.activation == "relu" else 2e-5
        assert gradient[k] == pytest.approx(numeric, rel=1e-4, abs=kinks)


def test_flatten_is_the_inverse_of_unflatten():
    shape = Shape(3, 2, (4, 5))
    weights = np.arange(shape.size, dtype=np.float32)
    assert (flatten(unflatten(shape, weights)) == weights).all()
    assert [part[0].shape for part in unflatten(shape, weights)] == [(5, 4), (4, 5), (5, 1)]
    assert shape.size == 5 * 4 + 4 + 4 * 5 + 5 + 5 + 1


def test_draws_follow_the_softmax_and_never_leave_the_real_candidates():
    scores = np.tile(np.array([[0.0, 1.0, 2.0, 50.0]], np.float32), (40_000, 1))
    count = np.full(len(scores), 3)
    choices, logs = sampled(scores, count, np.random.default_rng(0))
    expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    shares = np.bincount(choices, minlength=4) / len(choices)
    np.testing.assert_allclose(shares, [*expected, 0.0], atol=0.01)
    np.testing.assert_allclose(np.exp(logs), expected[choices], rtol=1e-5)


def test_adam_finds_the_minimum_and_goes_on_from_its_state():
    def run(steps, adam, weights):
        for _ in range(steps):
            adam.step(weights, 2 * (weights - np.array([1.0, -2.0], np.float32)))
        return weights

    adam, weights = Adam(2, 0.05, longest=100.0), np.zeros(2, np.float32)
    run(400, adam, weights)
    np.testing.assert_allclose(weights, [1, -2], atol=0.02)
    half = Adam(2, 0.05, longest=100.0)
    early = run(100, half, np.zeros(2, np.float32))
    again = Adam(2, 0.05, longest=100.0)
    again.restore(half.state())
    assert (run(300, again, early) == weights).all()


def test_blas_has_one_thread_in_the_block():
    import ctypes

    library = ctypes.CDLL(np._core._multiarray_umath.__file__)
    getter = getattr(library, "scipy_openblas_get_num_threads64_", None)
    before = getter() if getter else 1
    with one_thread():
        assert getter is None or getter() == 1
    assert getter is None or getter() == before
