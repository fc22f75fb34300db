"""Methods over macro-replications: progress curves, solvability profiles, areas."""

import json

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.experiments.macro import compare_methods
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.optimize import optimize
from cloudarena.optimizers import METHODS, FunctionProblem, Grid
from cloudarena.report.pages.optimization import make_sheet

from .tiny import SCENARIO

STUDY = {
    "spec": SCENARIO,
    "designs": {"policy": "utilisation", "utilisation.high": {"from": 0.7, "to": 0.98, "steps": 8}},
    "objectives": ["total_cost_usd"],
}


def noisy(design, rng):
    return (design["x"] - 7) ** 2 + rng.standard_normal()


PROBLEM = FunctionProblem(noisy, Grid({"x": range(20)}), common_random_numbers=False)


def play(name, **options):
    return lambda problem, seed, watcher: METHODS[name](problem, watcher=watcher, **options)


def test_gaps_are_0_at_the_best_1_at_a_blind_design_and_areas_are_their_means():
    plays = {
        "ocba": play("ocba", evaluations=100, first=3),
        "kim-nelson": play("kim-nelson", evaluations=1, indifference=1.0),
    }
    macro, failures = compare_methods(PROBLEM, plays, 100, 6, 200, 0)
    assert list(failures) == ["kim-nelson"]
    (one,) = macro.methods
    assert one.gaps.shape == (6, 20)
    assert one.gaps[:, 0].tolist() == [1.0] * 6  # after 5 of 60 evaluations of the first stage
    assert one.gaps[:, -1].max() < 0.1
    assert one.gaps.min() == 0.0
    assert one.areas.tolist() == pytest.approx(one.gaps.mean(axis=1).tolist())
    assert (np.diff(one.solvability()) >= 0.0).all()
    assert one.solvability()[-1] == 1.0
    assert one.values[:, 0].max() < 2.0


def test_other_macro_replications_see_other_work_and_methods_the_same():
    seen = []

    def spy(problem, seed, watcher):
        seen.append((seed, float(problem.evaluate([0], [0])[0, 0, 0])))
        return METHODS["monte-carlo"](problem, watcher=watcher, replications=2)

    compare_methods(PROBLEM, {"a": spy, "b": spy}, 40, 3, 2, 5)
    assert seen[:3] == seen[3:]
    assert len({value for _, value in seen}) == 3


def test_a_study_with_macro_replications(tmp_path):
    pytest.importorskip("optuna")
    options = {"evaluations": 20, "compare": ["optuna", "random-search"], "workers": 1}
    found = optimize(
        STUDY, "gp", macro_replications=2, post_replications=5, store=tmp_path / "s", **options
    )
    said = json.loads(json.dumps(found.summary()))["macro"]
    assert [one["method"] for one in said["methods"]] == ["gp", "tpe", "random-search"]
    assert said["macro_replications"] == 2
    assert len(said["methods"][0]["progress"]) == len(said["budgets"]) == 20
    assert said["budgets"][-1] == 20
    assert 0.0 <= said["methods"][0]["area"]["mean"] <= 1.5
    assert "by the area" in said["conclusion"]
    assert Optimization.restore(found.contents()).macro.sentence() == said["conclusion"]
    titles = [section.title for section in make_sheet(found).sections]
    assert "Methods over macro-replications" in titles


def test_too_many_evaluations_for_a_macro_replication():
    with pytest.raises(SpecError, match="evaluations: 200,000 is not allowed with macro"):
        compare_methods(PROBLEM, {"a": play("ocba")}, 200_000, 2, 2, 0)
