"""The method that fits, and why; nothing is evaluated twice."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import MemoizedProblem, auto
from cloudarena.optimizers.synthetic import SyntheticProblem

from ..problems import NormalProblem


@pytest.mark.parametrize(
    ("problem", "evaluations", "method", "words"),
    [
        (SyntheticProblem("steep", 300, 0.3, seed=1), 6000, "los", "LOS: the noise is 0.0"),
        (SyntheticProblem("flat", 300, 30.0, seed=1), 6000, "mocba", "LOS will not help here"),
        (NormalProblem(np.arange(50.0), 2.0), 2000, "ocba", "OCBA: one objective"),
        (NormalProblem(np.arange(50.0), 500.0), 2000, "ocba", "LOS will not help here"),
        (NormalProblem(np.arange(50.0), 2.0), 50_000, "monte-carlo", "are enough for 1,000"),
        (
            NormalProblem(np.arange(500.0), 2.0),
            2000,
            "blind-pick",
            "not enough for a screening stage",
        ),
    ],
)
def test_the_method_fits(problem, evaluations, method, words):
    selection = auto(problem, evaluations=evaluations)
    assert selection.method == method
    assert words in selection.remark
    assert selection.evaluations <= evaluations
    if method in ("los", "ocba", "mocba"):
        assert selection.omega
        assert selection.noise >= 0.0


def test_los_is_not_taken_where_it_would_say_itself_that_it_does_not_help():
    """Eight designs that are all alike: all of them would have to be selected."""
    alike = NormalProblem(np.zeros((8, 2)), 1.0)
    selection = auto(alike, evaluations=1000, rough=5, at_least=8)
    assert selection.method == "mocba"
    assert selection.remark.startswith("LOS will not help here")
    assert "saves nothing against Monte Carlo" in selection.remark


def test_an_unknown_final_rule_is_refused_before_anything_is_evaluated():
    problem = NormalProblem(np.arange(5.0), 1.0)
    with pytest.raises(SpecError, match="final_rule: 'middle' is not allowed"):
        auto(problem, evaluations=100, rough=2, final_rule="middle")
    assert problem.calls == 0


def test_the_rough_look_is_not_paid_twice():
    problem = NormalProblem(np.arange(50.0), 2.0)
    selection = auto(problem, evaluations=2000)
    assert problem.calls == selection.evaluations == 2000


def test_what_is_remembered_is_what_was_simulated():
    plain, counted = (NormalProblem(np.arange(9.0), 1.0, seed=3) for _ in range(2))
    problem = MemoizedProblem(counted)
    for designs, replications in (([1, 4], range(3)), ([4, 2, 1], range(1, 5)), ([2], [0])):
        expected = plain.evaluate(designs, replications)
        assert np.array_equal(problem.evaluate(designs, replications), expected)
    assert counted.calls == 3 * 5
