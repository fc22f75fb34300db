"""The closed-form cluster model: by hand, compiled against plain, options, errors."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.moments import moments_of
from cloudarena.scenarios.clusters import ClusterModel, Compositions
from cloudarena.scenarios.clusters.policies.model.cluster_model import merge_fronts

from . import reference_model


def test_without_variation_it_is_arithmetic():
    # 6 * 2 / 1 = 12, 8 * 1 / 4 = 2: makespan 12; 10 * 1 + 5 * 4 = 30.
    # 6 * 2 / 3 = 4,  8 * 1 / 2 = 4: makespan 4;  10 * 3 + 5 * 2 = 40.
    model = ClusterModel([[1, 4], [3, 2]], [6, 8], [2, 1], [10, 5], variation=0.0)
    assert model.evaluate([0, 1], range(2)).tolist() == [[[12, 30]] * 2, [[4, 40]] * 2]
    estimate = model.estimate([0, 1], range(3))
    assert estimate.mean.tolist() == [[12, 30], [4, 40]]
    assert estimate.squares.tolist() == [[0, 0], [0, 0]]
    assert model.mean_model(np.array([0, 1])).tolist() == [[12, 30], [4, 40]]
    assert model.design(1) == (3, 2)


def test_each_replication_is_the_formula():
    model = ClusterModel(Compositions(9, 7), variation=0.5, seed=4)
    factors = np.concatenate([model._block(block, None) for block in range(2)])
    values = model.evaluate(range(model.size), range(20))
    for design in range(model.size):
        for replication in range(20):
            seconds = model.seconds * factors[replication, :7]
            memory = model.memory * factors[replication, 7:]
            expected = reference_model.makespan_and_memory(
                model.tasks, seconds, memory, model.design(design)
            )
            assert values[design, replication] == pytest.approx(expected)


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("estimator", ["mean_of_max", "plug_in"])
@pytest.mark.parametrize("memory_of", ["linear", "theta_squared"])
def test_moments_are_those_of_the_values(common, estimator, memory_of):
    model = ClusterModel(
        Compositions(12, 7),
        common_random_numbers=common,
        estimator=estimator,
        memory_of=memory_of,
    )
    designs = np.arange(100, 240)
    expected = moments_of(model.evaluate(designs, range(3, 40)))
    estimate = model.estimate(designs, range(3, 40))
    assert estimate.mean == pytest.approx(expected.mean, rel=1e-12)
    assert estimate.squares == pytest.approx(expected.squares, rel=1e-9)


@pytest.mark.parametrize("common", [True, False])
def test_a_design_does_not_depend_on_its_company(common):
    model = ClusterModel(Compositions(20, 7), common_random_numbers=common)
    many = model.estimate(range(150), range(30))
    for design in (0, 64, 149):
        alone = model.estimate([design], range(30))
        assert alone.mean[0].tolist() == many.mean[design].tolist()
        assert alone.squares[0].tolist() == many.squares[design].tolist()
    some = model.evaluate(range(40, 50), [5, 17])
    alone = model.evaluate([44], [17])
    assert alone[0, 0].tolist() == some[4, 1].tolist()


def test_times_have_the_mean_and_variation_that_were_asked_for():
    model = ClusterModel([[1, 1]], [1, 1], [4, 1e-9], [3, 1e-9], variation=0.5)
    values = model.evaluate([0], range(20_000))[0]
    assert values.mean(axis=0) == pytest.approx([4.0, 3.0], rel=0.02)
    assert values.std(axis=0) / values.mean(axis=0) == pytest.approx([0.5, 0.5], rel=0.03)


def test_the_makespan_of_mean_times_is_not_the_mean_makespan():
    whole = ClusterModel(Compositions(20, 7), variation=0.6)
    plug_in = ClusterModel(Compositions(20, 7), variation=0.6, estimator="plug_in")
    designs = range(0, 27_132, 500)
    assert (
        plug_in.estimate(designs, range(100)).mean[:, 0]
        < whole.estimate(designs, range(100)).mean[:, 0]
    ).all()
    work, _ = plug_in._draws(np.arange(100))
    theta = plug_in.theta(np.array([9_000]))[0]
    assert plug_in.estimate([9_000], range(100)).mean[0, 0] == pytest.approx(
        (work.mean(axis=0) / theta).max()
    )


def test_the_literal_memory_counts_vms_twice():
    literal = ClusterModel([[2, 3]], [1, 1], [1, 1], [10, 100], 0.0, memory_of="theta_squared")
    assert literal.evaluate([0], [0])[0, 0, 1] == 10 * 4 + 100 * 9


def test_twelve_shares_are_on_the_front_of_the_mean_model():
    model = ClusterModel(Compositions(20, 7))
    assert len(front_of(model.mean_model(model.all_designs()))) == 12


def test_fronts_of_two_clusters_merge():
    one = ClusterModel(Compositions(6, 3), [5, 9, 4], [2, 1, 3], [4, 7, 2], 0.0)
    other = ClusterModel(Compositions(5, 2), [8, 6], [2, 2], [3, 5], 0.0)
    fronts, everything = [], []
    for model in (one, other):
        values = model.mean_model(model.all_designs())
        everything.append(values)
        fronts.append(values[front_of(values)])
    pairs = np.array([(max(a, c), b + d) for a, b in everything[0] for c, d in everything[1]])
    merged, rows = merge_fronts(*fronts)
    assert np.unique(merged, axis=0) == pytest.approx(np.unique(pairs[front_of(pairs)], axis=0))
    for (makespan, memory), (a, b) in zip(merged, rows, strict=True):
        assert makespan == max(fronts[0][a, 0], fronts[1][b, 0])
        assert memory == fronts[0][a, 1] + fronts[1][b, 1]


def test_numbers_that_are_too_large_are_an_error():
    with pytest.raises(SpecError, match="tasks, seconds: are too large"):
        ClusterModel([[1]], [1e200], [1e200], [1])
    model = ClusterModel([[1]], [1e100], [1e100], [1], 0.5)
    with pytest.raises(SpecError, match="makespan_s of design 0: its mean or variance is too"):
        model.estimate([0], range(5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClusterModel(Compositions(9, 3)), "shares: of 3 classes: the tasks have 7"),
        (lambda: ClusterModel([[1, 2]]), "shares: is not allowed: rows of 7 whole numbers"),
        (lambda: ClusterModel([[0] * 7]), "shares: is not allowed: rows of 7 whole numbers"),
        (
            lambda: ClusterModel([[1, 1]], [1, 1], [1, -2], [1, 1]),
            r"seconds\[1\]: -2.0 is not allowed: a finite number, more than 0",
        ),
        (lambda: ClusterModel([[1]], [1], [1, 2]), r"seconds: the shape \(2,\) is not allowed"),
        (lambda: ClusterModel(Compositions(9, 7), variation=-1.0), "variation: -1.0"),
        (
            lambda: ClusterModel(Compositions(9, 7), estimator="plugin"),
            "estimator: 'plugin' is not allowed: .* Did you mean 'plug_in'",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(SpecError, match=message):
        call()
