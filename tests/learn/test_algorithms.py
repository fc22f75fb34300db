"""Learning algorithms on problems whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.toys import TRUTH, Bandit, Patience, bandit_teacher

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.engine.scoring import Shape
from cloudarena.learn.algorithm import read_options
from cloudarena.learn.cross_entropy import CrossEntropy, CrossEntropyOptions, decisive
from cloudarena.learn.imitate import Imitate, ImitateOptions, Lesson
from cloudarena.learn.network import Network, one_thread
from cloudarena.learn.ppo import Ppo, PpoOptions, advantages
from cloudarena.learn.reinforce import Reinforce, ReinforceOptions, baseline, rewards_to_go

FEW = PpoOptions(horizon=32, learning_rate=1e-2, fresh=7)


def greedy():
    """Weights of a network that cashes in whenever it can."""
    network = Network(Patience.shape, np.zeros(Patience.shape.size, np.float32))
    (first, _), (last, _) = network.layers
    first[1], last[:] = 0.5, 0.5
    return network.weights


def ppo_on_patience(seed=0):
    return Ppo(Patience.shape, lambda part: Patience(), seed, 60_000, FEW, greedy())


def reinforce_on_patience(seed=0):
    options = ReinforceOptions(learning_rate=2e-2)
    return Reinforce(Patience.shape, lambda part: Patience(12), seed, 12_000, options, greedy())


def cross_entropy_on_bandit(seed=0):
    options = CrossEntropyOptions(population=24, windows=4)
    return CrossEntropy(Bandit.shape, lambda part: Bandit(64), seed, 24 * 4 * 25, options)


def imitate_on_bandit(seed=0):
    return Imitate(
        Shape(4, 2, (8,)), bandit_teacher, seed, 12_000, ImitateOptions(lesson=1000, epochs=12)
    )


ALL = [ppo_on_patience, reinforce_on_patience, cross_entropy_on_bandit, imitate_on_bandit]


def run(algorithm, steps=None):
    with one_thread():
        while algorithm.steps < (steps or algorithm.all_steps):
            algorithm.iterate()
    return algorithm


@pytest.mark.parametrize("make", [ppo_on_patience, reinforce_on_patience])
def test_it_learns_to_wait_where_greed_is_worse(make):
    algorithm = make()
    assert Patience().earned(algorithm.shape, algorithm.weights()) == 8
    run(algorithm)
    assert Patience().earned(algorithm.shape, algorithm.weights()) == 24


@pytest.mark.parametrize("hidden", [(), (16,), (16, 8)])
def test_ppo_finds_the_best_candidate(hidden):
    shape = Shape(4, 2, hidden)
    algorithm = run(Ppo(shape, lambda part: Bandit(), 1, 80_000, FEW))
    assert Bandit().share_right(shape, algorithm.weights()) > 0.93


def test_cross_entropy_finds_the_truth():
    algorithm = run(cross_entropy_on_bandit())
    weights = algorithm.weights()[:4]
    cosine = weights @ TRUTH / np.linalg.norm(weights) / np.linalg.norm(TRUTH)
    assert cosine > 0.98
    assert Bandit().share_right(Bandit.shape, algorithm.weights()) > 0.9
    assert not algorithm.weights()[4:].any()  # what is added to all candidates stays out
    assert len(algorithm.finalists()) == 4


def test_cross_entropy_moves_a_network_too():
    shape = Shape(4, 2, (6,), "relu")

    class Wide(Bandit):
        pass

    Wide.shape = shape
    options = CrossEntropyOptions(population=40, windows=2)
    algorithm = run(CrossEntropy(shape, lambda part: Wide(64), 3, 40 * 2 * 40, options))
    assert Wide().share_right(shape, algorithm.weights()) > 0.8


def test_imitation_learns_the_teacher_and_tells_its_accuracy_on_what_is_new():
    algorithm = imitate_on_bandit()
    algorithm.iterate()
    assert algorithm.accuracy < 0.6
    run(algorithm)
    assert algorithm.accuracy > 0.93
    assert Bandit().share_right(algorithm.shape, algorithm.weights()) > 0.93


def test_imitation_of_what_is_no_candidate_is_an_error():
    def teacher(seed, count):
        lesson = bandit_teacher(seed, count)
        return Lesson(
            type(lesson.decisions)(*(c[:0] for c in lesson.decisions)), lesson.choices[:0], count
        )

    with pytest.raises(CloudarenaError, match="in 12 decisions the teacher took none"):
        Imitate(Shape(4, 2), teacher, 0, 12).iterate()


@pytest.mark.parametrize("make", ALL)
def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(make):
    first, again, other = (run(make(seed), 3000).weights() for seed in (0, 0, 1))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("stopped_after", [1, 3, 7])
def test_it_goes_on_from_a_state_to_the_same_bytes(make, stopped_after):
    whole = make()
    with one_thread():
        for _ in range(9):
            whole.iterate()
        first = make()
        for _ in range(stopped_after):
            first.iterate()
        second = make()
        second.restore({name: np.array(value) for name, value in first.state().items()})
        for _ in range(9 - stopped_after):
            second.iterate()
    assert second.steps == whole.steps
    assert second.weights().tobytes() == whole.weights().tobytes()
    for name, value in whole.state().items():
        assert value.tobytes() == second.state()[name].tobytes(), name


def test_a_warm_start_is_where_it_begins():
    start = np.arange(Bandit.shape.size, dtype=np.float32)
    for algorithm in (
        Ppo(Bandit.shape, lambda part: Bandit(), 0, 10, FEW, start),
        Reinforce(Bandit.shape, lambda part: Bandit(), 0, 10, None, start),
        CrossEntropy(Bandit.shape, lambda part: Bandit(), 0, 10, None, start),
    ):
        assert (algorithm.weights() == start).all()


def test_advantages_are_those_worked_out_by_hand():
    rewards = np.array([[1.0], [2.0], [4.0]])
    values = np.array([[0.5], [1.0], [2.0], [8.0]])
    ended = np.array([[False], [True], [False]])
    found = advantages(rewards, values, ended, 0.5, 0.5)
    last = 4.0 + 0.5 * 8.0 - 2.0
    second = 2.0 - 1.0  # nothing follows its end
    first = 1.0 + 0.5 * 1.0 - 0.5 + 0.25 * second
    np.testing.assert_allclose(found[:, 0], [first, second, last])


def test_rewards_to_go_and_their_baseline_by_hand():
    rewards = np.array([[1.0, 5.0], [2.0, 0.0], [4.0, 0.0]])
    goes_on = np.array([[True, True], [True, False], [True, False]])
    earned = rewards_to_go(rewards, 0.5)
    np.testing.assert_allclose(earned, [[3.0, 5.0], [4.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(baseline(earned, goes_on), [[4.0], [2.0], [2.0]])


def test_weights_that_cannot_change_a_choice_are_known():
    assert decisive(Shape(2, 3)).tolist() == [True] * 2 + [False] * 4
    assert decisive(Shape(1, 1, (2,))).tolist() == [True] * 8 + [False]


def test_options_that_are_wrong_are_told():
    with pytest.raises(SpecError, match=r"unknown key 'clipp'\. Did you mean 'clip'\?"):
        read_options(PpoOptions, {"clipp": 0.1})
    with pytest.raises(SpecError, match="clip: 2 is not allowed: less than 1"):
        read_options(PpoOptions, {"clip": 2})
