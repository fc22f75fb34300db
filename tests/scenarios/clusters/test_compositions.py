"""Shares of VMs: counting, numbering, drawing, neighbours, and samples of huge spaces."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.scenarios.clusters import (
    ClusterModel,
    Compositions,
    designed_sample,
    mean_model_seeds,
)

from . import reference_model


@pytest.mark.parametrize(
    ("vms", "count"),
    [(16, 5_005), (20, 27_132), (32, 736_281), (64, 67_945_521), (128, 5_169_379_425)],
)
def test_how_many_there_are(vms, count):
    assert len(Compositions(vms, 7)) == count


def test_idle_vms_are_allowed_on_request():
    assert len(Compositions(20, 7, allow_idle=True)) == 77_520


@given(st.integers(1, 4), st.integers(0, 5), st.booleans())
def test_numbering_is_lexicographic_and_complete(classes, spare, allow_idle):
    space = Compositions(classes + spare, classes, allow_idle)
    expected = reference_model.compositions(classes + spare, classes, allow_idle)
    assert list(map(tuple, space.all().tolist())) == expected
    assert space.rank(expected).tolist() == list(range(len(expected)))
    assert space[len(space) - 1] == space[-1] == expected[-1]
    assert space[:2] == expected[:2]


@given(st.integers(0, 5_169_379_424))
def test_numbers_of_a_huge_space_go_there_and_back(number):
    space = Compositions(128, 7)
    share = space[number]
    assert sum(share) == 128
    assert min(share) >= 1
    assert space.rank([share]).tolist() == [number]


def test_draws_are_uniform():
    space = Compositions(7, 3)
    numbers = space.rank(space.draw(15_000, seed=1))
    counts = np.bincount(numbers, minlength=len(space))
    assert len(counts) == 15
    # Chi-square with 14 degrees of freedom: 36.1 is its 0.999 quantile.
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 36.1
    assert space.draw(0, seed=1).shape == (0, 3)
    assert Compositions(5, 1).draw(2, seed=0).tolist() == [[5], [5]]
    idle = Compositions(4, 2, allow_idle=True)
    assert len(np.unique(idle.rank(idle.draw(500, seed=2)))) == len(idle)
    assert space.draw(5, seed=1).tolist() == space.draw(5, seed=1).tolist()


def test_neighbours_are_one_move_away():
    space = Compositions(5, 3)
    assert space.neighbours([[3, 1, 1]]).tolist() == [[2, 1, 2], [2, 2, 1]]
    idle = Compositions(3, 2, allow_idle=True)
    assert idle.neighbours([[1, 1]]).tolist() == [[1, 2], [2, 1]]
    assert idle.neighbours([[2, 1]]).tolist() == [[1, 1], [1, 2]]
    assert Compositions(3, 3).neighbours([[1, 1, 1]]).shape == (0, 3)


def test_every_weight_vector_is_a_share():
    space = Compositions(20, 7)
    levels, decode = space.encoding
    genes = np.random.default_rng(0).integers(0, levels, (200, 7))
    shares = space.unrank(decode(genes))
    # The class with the largest weight never has fewer VMs than the one with the smallest.
    places = np.arange(200)
    assert (shares[places, genes.argmax(axis=1)] >= shares[places, genes.argmin(axis=1)]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Compositions(3, 4), "vms: 3 is not allowed: a whole number, at least 4"),
        (lambda: Compositions(3, 0), "classes: 0 is not allowed"),
        (lambda: Compositions(4, 2).unrank([3]), "numbers: not all are allowed: 0 to 2"),
        (lambda: Compositions(4, 2).rank([[1, 2]]), r"shares\[0\]: \(1, 2\) is not allowed"),
        (lambda: Compositions(4, 2).rank([[4, 0]]), "at least 1 each, exactly 4 in all"),
        (lambda: Compositions(4, 2).rank([1, 3]), r"shares: the shape \(2,\) is not allowed"),
        (lambda: len(Compositions(500, 20)), "too many to number: draw from them"),
        (lambda: Compositions(4, 2)[3], "3 of 3 shares"),
    ],
)
def test_errors(call, message):
    with pytest.raises((SpecError, IndexError), match=message):
        call()


def test_a_space_too_large_to_number_can_be_drawn_from():
    shares = Compositions(500, 20).draw(10, seed=0)
    assert (shares.sum(axis=1) == 500).all()


def test_seeds_are_the_front_of_the_mean_model():
    model = ClusterModel(Compositions(20, 7))
    front = front_of(model.mean_model(model.all_designs()))
    seeds = mean_model_seeds(model.space, model.load, model.memory)
    assert len(front) == 12
    assert sorted(model.space.rank(seeds)) == front.tolist()


@st.composite
def cluster_models(draw, numbers):
    classes = draw(st.integers(2, 4))
    space = Compositions(classes + draw(st.integers(0, 5)), classes, draw(st.booleans()))
    load, memory = (draw(st.lists(numbers, min_size=classes, max_size=classes)) for _ in range(2))
    return ClusterModel(space, load, np.ones(classes), memory)


def front_and_seeds(model):
    """Makespan and memory on the front of the mean model, and those of the seeds."""
    values = model.mean_model(model.all_designs())
    seeds = model.space.rank(mean_model_seeds(model.space, model.load, model.memory))
    return np.unique(values[front_of(values)], axis=0), np.unique(values[seeds], axis=0)


@given(cluster_models(st.integers(1, 9)))
def test_seeds_reach_every_point_of_the_mean_models_front(model):
    """Whole numbers: sums are exact, and there are many ties."""
    front, seeds = front_and_seeds(model)
    assert np.array_equal(seeds, front)


@given(cluster_models(st.floats(1.0, 9.0)))
@example(
    ClusterModel(Compositions(6, 3), [2.0, 1.0, np.nextafter(1.0, 2.0)], np.ones(3), [1.0, 2, 3])
)
def test_seeds_reach_the_front_of_any_numbers_but_for_rounding(model):
    front, seeds = front_and_seeds(model)
    for some, others in ((front, seeds), (seeds, front)):
        for point in some:
            assert (others <= point * (1.0 + 1e-12)).all(axis=1).any()


def test_a_sample_holds_seeds_neighbours_and_a_safety_net():
    model = ClusterModel(Compositions(20, 7))
    sizes = [
        len(designed_sample(model.space, model.load, model.memory, hops, uniform=0))
        for hops in range(3)
    ]
    assert sizes == [12, 228, 1289]
    huge = Compositions(128, 7)
    seeds = designed_sample(huge, model.load, model.memory, hops=0, uniform=0)
    near = designed_sample(huge, model.load, model.memory, hops=1, uniform=0)
    whole = designed_sample(huge, model.load, model.memory, hops=1, uniform=1000, seed=5)
    assert (len(seeds), len(near), len(whole)) == (104, 3050, 4050)
    assert len(np.unique(whole, axis=0)) == len(whole)
    problem = ClusterModel(whole)
    assert problem.size == 4050
    assert sum(problem.design(17)) == 128
