"""A problem: evaluations, common random numbers, workers, counting, errors."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import FunctionProblem, Grid, Objective, Problem, Subset
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.budget.moments import merge, moments_of, no_moments

from .problems import NormalProblem


def noisy(design, rng):
    return design + rng.standard_normal(), 10.0 * design + rng.random()


def test_any_function_is_a_problem():
    problem = FunctionProblem(noisy, [5.0, 7.0, 9.0], ["a", "b"], seed=3)
    values = problem.evaluate([0, 2], range(4))
    assert values.shape == (2, 4, 2)
    assert problem.size == 3
    assert problem.design(2) == 9.0
    # Common random numbers: the same noise for both designs.
    assert values[1] - values[0] == pytest.approx(np.tile([4.0, 40.0], (4, 1)))
    # A replication is what it is, whatever else is evaluated.
    assert problem.evaluate([2], [3])[0, 0].tolist() == values[1, 3].tolist()


def test_without_common_random_numbers_the_noise_of_designs_differs():
    problem = FunctionProblem(noisy, [5.0, 7.0], ["a", "b"], common_random_numbers=False)
    values = problem.evaluate([0, 1], range(200))
    noise = values[:, :, 0] - [[5.0], [7.0]]
    assert abs(np.corrcoef(noise)[0, 1]) < 0.25
    assert problem.evaluate([1], [7])[0, 0].tolist() == values[1, 7].tolist()


def test_the_result_does_not_depend_on_workers():
    one = FunctionProblem(noisy, [1.0, 2.0, 3.0], ["a", "b"], workers=1)
    two = FunctionProblem(noisy, [1.0, 2.0, 3.0], ["a", "b"], workers=2)
    expected = one.evaluate(range(3), range(5))
    assert two.evaluate(range(3), range(5)).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ("cost", [("cost", "minimise")]),
        (["cost", "time"], [("cost", "minimise"), ("time", "minimise")]),
        ({"rate": "maximise"}, [("rate", "maximise")]),
    ],
)
def test_objectives(objectives, expected):
    problem = FunctionProblem(lambda design, rng: 0.0, [1], objectives)
    assert list(problem.objectives) == expected
    assert Objective("rate", "maximise").sign == -1.0


def constant(value):
    return FunctionProblem(lambda design, rng: value, [1, 2], ["a", "b"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FunctionProblem(noisy, []), "designs: an empty sequence"),
        (lambda: FunctionProblem(noisy, [1], ["a", "a"]), "objectives: 'a' is a duplicate"),
        (lambda: FunctionProblem(noisy, [1], []), "objectives: none is not allowed"),
        (
            lambda: FunctionProblem(noisy, [1], {"a": "maximize"}),
            "objectives.a: 'maximize' is not allowed: one of minimise, maximise. Did you mean",
        ),
        (lambda: FunctionProblem(noisy, [1], workers=0), "workers: 0 is not allowed"),
        (
            lambda: constant((1.0, 2.0, 3.0)).evaluate([0], [0]),
            r"function: \(1.0, 2.0, 3.0\) is not allowed: a number for each objective \(a, b\)",
        ),
        (lambda: constant("many").evaluate([0], [0]), "function: 'many' is not allowed"),
        (
            lambda: constant((1.0, np.nan)).evaluate([1], [4]),
            "b of design 1 in replication 4: nan is not allowed: a finite number",
        ),
        (
            lambda: constant((1.0, np.inf)).estimate([0, 1], [4]),
            "b of design 0 in replication 4: inf",
        ),
        (
            lambda: constant((1, 2)).evaluate([0, 2], [0]),
            r"designs\[1\]: 2 is not allowed: at most 1",
        ),
        (
            lambda: constant((1, 2)).evaluate([-1], [0]),
            r"designs\[0\]: -1 is not allowed: at least 0",
        ),
        (lambda: constant((1, 2)).evaluate([0.5], [0]), "designs: .* a sequence of whole numbers"),
        (lambda: constant((1, 2)).evaluate([0], []), "replications: an empty sequence"),
        (lambda: Subset(constant((1, 2)), []), "designs: an empty subset"),
        (lambda: Grid({}), "levels: an empty grid"),
        (lambda: Grid({"a": []}), "levels.a: an empty list"),
        (lambda: Grid({f"p{k}": range(1000) for k in range(8)}), "levels: .* are too many"),
    ],
)
def test_errors(call, message):
    with pytest.raises(SpecError, match=message):
        call()


def test_a_space_that_is_too_large_says_so():
    problem = FunctionProblem(lambda design, rng: 0.0, range(10**9))
    with pytest.raises(SpecError, match="1,000,000,000 are too many to try each"):
        problem.all_designs()
    assert problem.evaluate([10**9 - 1], [0]).tolist() == [[[0.0]]]


def test_a_kind_of_problem_must_give_the_right_shape():
    class Wrong(Problem):
        size = 2
        objectives = (Objective("a"),)

        def simulate(self, designs, replications):
            return np.zeros((len(designs), len(replications)))

    with pytest.raises(SpecError, match=r"simulate: the shape \(1, 3\) is not allowed"):
        Wrong().evaluate([0], range(3))


def test_moments_are_those_of_all_values_and_do_not_depend_on_the_company():
    problem = NormalProblem(np.arange(12.0).reshape(6, 2), 3.0)
    values = problem.evaluate(range(6), range(50))
    moments = problem.estimate(range(6), range(50))
    assert moments.mean == pytest.approx(values.mean(axis=1))
    assert moments.variance == pytest.approx(values.var(axis=1, ddof=1))
    assert moments.standard_error == pytest.approx(values.std(axis=1, ddof=1) / 50**0.5)
    alone = problem.estimate([4], range(50))
    assert alone.mean[0].tolist() == moments.mean[4].tolist()
    assert alone.squares[0].tolist() == moments.squares[4].tolist()
    assert problem.estimate([], range(5)).mean.shape == (0, 2)


def test_moments_merge():
    values = np.random.default_rng(0).normal(1e6, 1.0, (3, 30, 2))
    whole = moments_of(values)
    parts = merge(moments_of(values[:, :11]), moments_of(values[:, 11:]))
    assert parts.counts.tolist() == [30, 30, 30]
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12)
    assert parts.squares == pytest.approx(whole.squares, rel=1e-6)
    from_nothing = merge(no_moments(3, 2), whole)
    assert from_nothing.mean.tolist() == whole.mean.tolist()
    assert from_nothing.squares.tolist() == whole.squares.tolist()
    assert np.isnan(moments_of(values[:, :1]).variance).all()


def test_a_subset_numbers_designs_anew():
    problem = FunctionProblem(noisy, [5.0, 7.0, 9.0], ["a", "b"])
    subset = Subset(problem, [2, 0])
    assert subset.size == 2
    assert subset.design(0) == 9.0
    assert subset.evaluate([0], [1]).tolist() == problem.evaluate([2], [1]).tolist()
    assert subset.estimate([1], [1, 2]).mean.tolist() == problem.estimate([0], [1, 2]).mean.tolist()


def test_a_grid_is_made_as_it_is_asked_for():
    grid = Grid({"threshold": [0.6, 0.8], "policy": ["best-fit", "random", "first-fit"]})
    assert len(grid) == 6
    assert grid[1] == {"threshold": 0.6, "policy": "random"}
    assert grid[-1] == {"threshold": 0.8, "policy": "first-fit"}
    assert [design["threshold"] for design in grid[2:4]] == [0.6, 0.8]
    with pytest.raises(IndexError):
        grid[6]
    assert grid.encoding.levels == (2, 3)
    assert grid.encoding.decode(np.array([[1, 2], [0, 1]])).tolist() == [5, 1]
    assert len(Grid({f"p{k}": range(10) for k in range(18)})) == 10**18
    problem = FunctionProblem(lambda design, rng: design["threshold"], grid)
    assert problem.encoding.levels == (2, 3)
    assert FunctionProblem(noisy, [1, 2]).encoding.levels == (2,)


def test_the_meter_counts_and_turns_what_is_maximised_around():
    problem = NormalProblem([1.0, 2.0], 0.0, objectives={"rate": "maximise"})
    seen = []
    meter = Meter(problem, expected=10, limit=10, watcher=seen.append)
    assert meter.evaluate(np.array([0, 1]), range(2))[:, :, 0].tolist() == [[-1, -1], [-2, -2]]
    assert meter.estimate(np.array([1]), range(2)).mean.tolist() == [[-2.0]]
    assert meter.spent == problem.calls == 6
    assert [progress.evaluations for progress in seen] == [2, 4, 6]
    assert seen[-1].expected == 10
    with pytest.raises(SpecError, match="10 are not enough: 6 are spent and 5 more are needed"):
        meter.estimate(np.array([1]), range(5))
    assert meter.spent == 6


def test_who_watches_does_not_change_the_result():
    problem = NormalProblem(np.arange(300.0), 1.0)
    designs = np.arange(300)
    alone = Meter(problem, 0).estimate(designs, range(5))
    watched = Meter(problem, 0, watcher=lambda progress: None).estimate(designs, range(5))
    assert alone.mean.tolist() == watched.mean.tolist()
