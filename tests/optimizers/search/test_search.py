"""Searches: what they find, what they claim, and where designs have conditions."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import (
    FunctionProblem,
    Grid,
    auto,
    cma_es,
    gp,
    los,
    random_search,
    tpe,
)
from cloudarena.optimizers.budget.meter import Meter
from cloudarena.optimizers.search.begin import spread_points
from cloudarena.optimizers.search.finish import finalists_of
from cloudarena.optimizers.search.improve import nearest
from cloudarena.optimizers.search.smooth import Smoothed, pressed
from cloudarena.optimizers.search.visited import Visited
from cloudarena.optimizers.spaces.regions import Axis, Region

LEVELS = np.linspace(0.0, 1.0, 1001).tolist()


def bowl(design):
    return (design["x"] - 0.3) ** 2 + (design["y"] - 0.7) ** 2


def noisy(design, rng):
    return bowl(design) + rng.normal(0.0, 0.1)


def problem(seed=0, function=noisy, **more):
    designs = Grid({"x": LEVELS, "y": LEVELS})
    return FunctionProblem(function, designs, seed=seed, common_random_numbers=False, **more)


@pytest.mark.slow
def test_a_model_finds_more_than_chance_at_equal_evaluations():
    regrets = {
        method.name: [
            bowl(one.design(method(one, evaluations=150, seed=seed).best))
            for seed, one in enumerate(problem(seed) for seed in range(6))
        ]
        for method in (gp, random_search)
    }
    assert np.mean(regrets["gp"]) < 0.03
    assert np.mean(regrets["gp"]) < np.mean(regrets["random-search"])


def test_what_is_claimed_is_of_the_finalists_and_comes_true():
    claims, right = [], []
    for seed in range(25):
        tried = problem(seed)
        found = random_search(tried, evaluations=150, seed=seed)
        claims.append(found.alignment.probability)
        best = min(bowl(tried.design(one)) for one in _finalists(tried, seed))
        right.append(bowl(tried.design(found.best)) <= best)
        assert found.evaluations <= 150
    assert np.mean(claims) <= np.mean(right) + 2.0 * (0.25 / len(right)) ** 0.5
    assert f"of {found.visited} designs that were visited" in str(found.alignment)


def _finalists(tried, seed):
    """The designs that had replications after the search: watched from outside."""
    asked = set()
    values = tried.simulate

    def simulate(designs, replications):
        if replications.min() >= 2:
            asked.update(designs.tolist())
        return values(designs, replications)

    tried.simulate = simulate
    random_search(tried, evaluations=150, seed=seed)
    return asked


def test_the_same_seed_finds_the_same_whoever_watches():
    seen = []
    first = gp(problem(), evaluations=80, seed=4, watcher=seen.append)
    assert first.summary() == gp(problem(), evaluations=80, seed=4).summary()
    assert seen[-1].evaluations <= 80


def test_limits_and_several_objectives_are_searched_too():
    def run(design, rng):
        noise = rng.normal(0.0, 0.02, 2)
        return design["x"] + design["y"] + noise[0], design["x"] * design["y"] + noise[1]

    limited = problem(function=run, objectives="cost", limits=["yield >= 0.2"])
    found = gp(limited, evaluations=240)
    sure = limited.design(found.feasibility.sure)
    assert sure["x"] * sure["y"] >= 0.2
    assert sure["x"] + sure["y"] < 1.1  # the least is 0.894

    def two(design, rng):
        return design["x"] + rng.normal(0.0, 0.02), 1.0 - design["x"] ** 0.5 + design["y"]

    front = gp(problem(function=two, objectives=["a", "b"]), evaluations=200).front
    assert len(front.designs) > 3
    assert np.ptp(front.mean[:, 0]) > 0.3


class Conditional(list):
    """Designs of two policies, of which only the first has a parameter."""

    def __init__(self):
        super().__init__([("tuned", level) for level in range(50)] + [("plain", None)])
        ordered = Region((Axis(50),), lambda points: points[:, 0], lambda points: points[:, 0] >= 5)
        alone = Region(
            (Axis(1),), lambda points: points[:, 0] + 50, lambda p: np.ones(len(p), bool)
        )
        self.regions = (ordered, alone)


def test_conditions_and_rules_are_kept():
    asked = []

    def run(design, rng):
        asked.append(design)
        name, level = design
        return (0.5 if name == "plain" else (level - 20) ** 2 / 100.0) + rng.normal(0.0, 0.05)

    for method in (gp, tpe, random_search):
        tried = FunctionProblem(run, Conditional())
        found = method(tried, evaluations=60)
        name, level = tried.design(found.best)
        assert name == "tuned"
        assert abs(level - 20) <= 4
    assert ("plain", None) in asked
    assert min(level for name, level in asked if name == "tuned") >= 5


@pytest.mark.parametrize("method", [tpe, cma_es])
def test_samplers_of_optuna_share_the_claims(method):
    pytest.importorskip("optuna")
    pytest.importorskip("cmaes")
    found = method(problem(), evaluations=100, seed=1)
    assert found.summary() == method(problem(), evaluations=100, seed=1).summary()
    assert bowl(problem().design(found.best)) < 0.1
    assert found.visited == 85  # the rest is for the finalists
    with pytest.raises(SpecError, match="7 are not enough to search: at least 8, 1 for each of 4"):
        method(problem(), evaluations=7)
    assert method(problem(), evaluations=8).visited == 4


def test_auto_searches_where_designs_are_too_many_and_says_why():
    found = auto(problem(), evaluations=80)
    assert found.method == "gp"
    assert found.remark.startswith(
        "Gaussian process: 2 ordered keys, and 80 evaluations are not enough for 10 replications"
    )
    words = FunctionProblem(lambda design, rng: rng.normal(), list("abcdefghij" * 20))
    assert auto(words, evaluations=300).method == "blind-pick"
    with pytest.raises(SpecError, match="not enough"):
        los(problem(), evaluations=80)


def test_first_points_are_spread_and_keep_the_rules():
    region = Region(
        (Axis(101), Axis(101)), lambda p: p[:, 0] * 101 + p[:, 1], lambda p: p[:, 0] < p[:, 1]
    )
    points = spread_points(region, 12, np.random.default_rng(0))
    assert len(points) == 12
    assert (points[:, 0] < points[:, 1]).all()
    gaps = [nearest(region, points[[k]], np.delete(points, k, axis=0))[0] for k in range(12)]
    assert min(gaps) > 0.02


def test_the_visited_take_turns_with_the_replications_and_finalists_have_others():
    """Who looks at one replication only goes after what is good in that one."""
    asked = {}

    class Watched(FunctionProblem):
        def simulate(self, designs, replications):
            for replication in replications.tolist():
                asked.setdefault(replication, []).extend(designs.tolist())
            return super().simulate(designs, replications)

    for method, turns in ((gp, 4), (random_search, 1)):
        asked.clear()
        designs = Grid({"x": LEVELS, "y": LEVELS})
        found = method(Watched(noisy, designs), evaluations=100, replications=1, seed=3)
        visited = [len(asked[turn]) for turn in range(turns)]
        assert sum(visited) == found.visited == 85
        assert max(visited) - min(visited) <= 1
        finalists = set().union(*(asked[r] for r in asked if r >= turns))
        assert len(finalists) <= 5
    asked.clear()
    gp(Watched(noisy, designs), evaluations=25, replications=1)
    assert len(asked[0]) == 21  # too few to tell the luck of several


def test_a_policy_that_has_no_model_is_compared_in_the_same_replication():
    """It is measured, not predicted: with turns its luck would be taken for its own."""
    asked = set()

    def run(design, rng):
        return rng.normal(0.0, 5.0) + (1.0 if design[0] == "plain" else 0.01 * abs(design[1] - 20))

    class Watched(FunctionProblem):
        def simulate(self, designs, replications):
            asked.add((len(designs) > 3, tuple(replications.tolist())))
            return super().simulate(designs, replications)

    tried = Watched(run, Conditional())
    found = gp(tried, evaluations=60, replications=1)
    assert tried.design(found.best)[0] == "tuned"
    assert {replications for many, replications in asked if many} <= {(0,)}


def test_what_is_far_from_the_best_is_pressed_together():
    losses = np.array([1.0, 2.0, 3.0, 4.0, 1000.0])
    pressed_losses = pressed(losses)
    assert pressed_losses[:3].tolist() == [1.0, 2.0, 3.0]
    assert (np.diff(pressed_losses) > 0.0).all()
    assert pressed_losses[-1] == pytest.approx(3.0 + 2.0 * np.log1p(997.0 / 2.0))
    assert pressed(np.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_finalists_are_who_is_known_to_be_good_rather_than_who_may_be(monkeypatch):
    """Two predictions are nearly alike; of the one that is a little better, less is known."""
    axis = Region((Axis(101),), lambda points: points[:, 0], lambda p: np.ones(len(p), bool))
    tried = FunctionProblem(lambda design, rng: 0.0, range(101))
    visited = Visited(Meter(tried, 100), (axis,), 1)
    visited.visit(0, np.array([[40], [60], [80]]))
    mean, deviation = np.array([[0.1], [0.2], [0.0]]), np.array([[0.1], [0.1], [0.4]])
    model = Smoothed(mean, deviation, np.zeros((3, 1)))
    monkeypatch.setattr("cloudarena.optimizers.search.finish.smoothed", lambda _: model)
    assert finalists_of(visited, 2, 2.0).tolist() == [0, 1]
    assert finalists_of(visited, 3, 2.0).tolist() == [0, 1, 2]


def test_the_middle_is_visited_first():
    seen = []

    def run(design, rng):
        seen.append((design["a"], design["b"]))
        return design["a"] + rng.normal()

    designs = Grid({"a": range(11), "b": range(5)})
    gp(FunctionProblem(run, designs, ["x"]), evaluations=20, replications=1)
    assert seen[0] == (5, 2)
