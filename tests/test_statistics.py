"""The one interval and the one Pareto front that comparisons and optimisers share."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.statistics import front_of, interval, student_quantile


def test_the_interval_of_three_numbers_by_hand():
    """Mean 2, standard error 1 / sqrt(3), and Student's quantile of 2 degrees of freedom."""
    mean, low, high = interval(np.array([1.0, 2.0, 3.0]))
    assert mean == 2.0
    assert high - 2.0 == pytest.approx(4.302652729911275 / math.sqrt(3.0))
    assert 2.0 - low == pytest.approx(high - 2.0)
    assert student_quantile(2, 0.025) == pytest.approx(4.302652729911275)


points = st.integers(1, 4).flatmap(
    lambda objectives: st.lists(
        st.tuples(*[st.integers(0, 5)] * objectives), min_size=1, max_size=25
    )
)


@given(points)
def test_on_the_front_is_whom_nobody_dominates(points):
    def is_dominated(one):
        return any(
            all(a <= b for a, b in zip(other, one, strict=True)) and other != one
            for other in points
        )

    wanted = [place for place, one in enumerate(points) if not is_dominated(one)]
    assert front_of(np.array(points, np.float64)).tolist() == wanted


def test_there_is_no_other_front():
    """Who needs one imports it; ``queueing.fronts`` merges the options of a knapsack."""
    home = Path(cloudarena.__file__).parent
    named = [
        f"{file.relative_to(home)}:{node.name}"
        for file in home.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name in ("front_of", "pareto", "pareto_front")
    ]
    assert named == ["base/statistics.py:front_of"]
