"""Blind pick: sizes against the exact distribution, and the pick itself; what LOS saves."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import blind_pick, blind_pick_size, hit_probability, speed_up
from cloudarena.scenarios.clusters import ClusterModel, Compositions

from ..problems import NormalProblem


def exact(designs, good, picked, at_least):
    ways = sum(
        comb(good, hit) * comb(designs - good, picked - hit)
        for hit in range(at_least, min(good, picked) + 1)
    )
    return ways / comb(designs, picked)


@pytest.mark.parametrize(("confidence", "size"), [(0.5, 1_523), (0.95, 5_993), (0.98, 7_547)])
def test_sizes_for_twelve_good_of_27132(confidence, size):
    assert blind_pick_size(27_132, 12, 1, confidence) == size
    assert exact(27_132, 12, size, 1) >= confidence > exact(27_132, 12, size - 1, 1)


def test_the_size_by_mean_hits_far_less_often():
    assert blind_pick_size(27_132, 12) == 2_261
    assert hit_probability(27_132, 12, 2_261) == pytest.approx(0.648, abs=5e-4)


@given(st.data())
def test_sizes_are_the_smallest_that_suffice(data):
    designs = data.draw(st.integers(1, 60))
    good = data.draw(st.integers(1, designs))
    at_least = data.draw(st.integers(1, good))
    confidence = data.draw(st.sampled_from([0.1, 0.5, 0.9, 0.99]))
    size = blind_pick_size(designs, good, at_least, confidence)
    assert exact(designs, good, size, at_least) >= confidence - 1e-12
    assert size == at_least or exact(designs, good, size - 1, at_least) < confidence + 1e-12


def test_a_pick():
    problem = NormalProblem(np.arange(200.0), 0.1)
    selection = blind_pick(problem, good=20, at_least=2, confidence=0.9, replications=5, seed=3)
    size = blind_pick_size(200, 20, 2, 0.9)
    assert selection.method == "blind-pick"
    assert len(selection.selected) == size == len(set(selection.selected.tolist()))
    assert selection.evaluations == problem.calls == 5 * size
    assert selection.best == selection.selected.min()
    assert selection.alignment.probability == pytest.approx(exact(200, 20, size, 2))
    assert str(selection.alignment).startswith("at least 2 of the best 20 designs with probab")
    other = blind_pick(problem, good=20, at_least=2, confidence=0.9, replications=5, seed=4)
    assert other.selected.tolist() != selection.selected.tolist()


def test_the_best_hundredth_is_good_by_default_and_a_budget_is_kept():
    problem = NormalProblem(np.arange(500.0), 0.1)
    selection = blind_pick(problem, evaluations=1000)
    assert selection.alignment.good == "the best 5 designs"
    assert selection.evaluations <= 1000
    with pytest.raises(SpecError, match="evaluations: 10 are not enough: 225 designs are picked"):
        blind_pick(problem, evaluations=10)


def test_a_pick_from_billions():
    model = ClusterModel(Compositions(128, 7))
    selection = blind_pick(model, good=model.size // 100, replications=3)
    assert selection.evaluations == 3 * 299
    assert selection.designs == 5_169_379_425


def test_claims_come_true():
    problem = NormalProblem(np.arange(300.0), 0.0)
    hits = [
        (blind_pick(problem, good=10, at_least=2, replications=1, seed=seed).selected < 10).sum()
        >= 2
        for seed in range(400)
    ]
    # The claim is at least 0.95; three standard errors.
    assert np.mean(hits) >= 0.95 - 3 * (0.95 * 0.05 / 400) ** 0.5


def test_what_los_saves():
    saved = speed_up(27_132, selected=190, rough=10, replications=1000, good=12)
    assert saved.over_monte_carlo_thesis == pytest.approx(142.8, abs=0.05)
    assert saved.over_blind_pick_thesis == pytest.approx(11.9, abs=0.05)
    assert saved.over_monte_carlo == pytest.approx(58.8, abs=0.05)
    assert saved.over_blind_pick == pytest.approx(4.90, abs=0.005)
    assert saved.is_worthwhile
    # Sized for the same probability as LOS, a blind pick costs 13.0 times as much.
    los = 27_132 * 10 + 190 * 1000
    assert blind_pick_size(27_132, 12, 1, 0.95) * 1000 / los == pytest.approx(13.0, abs=0.05)


@pytest.mark.parametrize(
    ("rough", "selected", "good", "worthwhile"),
    [(10, 80, 10, True), (10, 900, 1, True), (100, 900, 1, False), (10, 200, 10, False)],
)
def test_when_los_is_worthwhile(rough, selected, good, worthwhile):
    saved = speed_up(1000, selected, rough, 1000, good)
    assert saved.is_worthwhile == worthwhile
    assert saved.is_worthwhile == (rough / 1000 + selected / 1000 < min(1.0, 1.0 / good))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: blind_pick_size(10, 11), "good: 11 is not allowed: .* at most 10"),
        (lambda: blind_pick_size(10, 2, 3), "at_least: 3 is not allowed: .* at most 2"),
        (lambda: blind_pick_size(10, 2, 1, 1.0), "confidence: 1.0 is not allowed"),
        (lambda: speed_up(10, 11, 1, 1, 1), "selected: 11 is not allowed"),
    ],
)
def test_errors(call, message):
    with pytest.raises(SpecError, match=message):
        call()
