"""NSGA-II by pymoo, where that is installed; else the error that says how to get it."""

import sys

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.optimizers import FunctionProblem, Grid, nsga2
from cloudarena.scenarios.clusters import ClusterModel, Compositions


def test_without_pymoo_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymoo", None)
    monkeypatch.setitem(sys.modules, "pymoo.algorithms.moo.nsga2", None)
    with pytest.raises(CloudarenaError, match=r"pip install 'cloudarena\[opt\]'"):
        nsga2(ClusterModel(Compositions(9, 7)), evaluations=100)


class TestWithPymoo:
    @pytest.fixture(autouse=True)
    def _needs_pymoo(self):
        pytest.importorskip("pymoo")

    def test_it_keeps_its_budget_and_claims_nothing(self):
        model = ClusterModel(Compositions(12, 7))
        selection = nsga2(model, evaluations=1000, population=20)
        assert selection.evaluations <= 1000
        assert selection.summary()["alignment_probability"] is None
        assert str(selection.alignment) == "no claim, since it does not look at all designs"
        again = nsga2(model, evaluations=1000, population=20, watcher=lambda progress: None)
        assert again.summary() == selection.summary()

    @pytest.mark.slow
    def test_it_finds_the_optimum_of_a_grid(self):
        grid = Grid({"x": range(20), "y": range(20)})
        problem = FunctionProblem(
            lambda design, rng: (design["x"] - 7) ** 2 + (design["y"] - 13) ** 2 + rng.random(),
            grid,
        )
        selection = nsga2(problem, evaluations=600, replications=2, population=20)
        best = problem.design(selection.best)
        assert np.hypot(best["x"] - 7, best["y"] - 13) <= 1.5

    @pytest.mark.parametrize("designs", [1, 2, 5, 30])
    def test_it_ends_when_it_has_tried_everything(self, designs):
        problem = FunctionProblem(lambda design, rng: design + rng.random(), range(designs))
        selection = nsga2(problem, evaluations=2000)
        assert selection.evaluations <= 10 * designs
        assert selection.best == 0


def test_errors():
    model = ClusterModel(Compositions(9, 7))
    with pytest.raises(SpecError, match="evaluations: 3 are not enough: 10 for a design"):
        nsga2(model, evaluations=3)
    with pytest.raises(SpecError, match="population: 1 is not allowed"):
        nsga2(model, evaluations=100, population=1)
