"""The second stage of LOS, in rounds by the final rule, and the final rules themselves."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import los
from cloudarena.optimizers.ordinal.final_rules import FINAL_RULES, choose, orders

from ..problems import NormalProblem


def test_final_rules():
    front = np.array([(1.0, 10.0), (1.0, 9.0), (2.0, 3.0), (9.0, 1.0)])
    assert choose("first_objective", front) == 1
    assert choose("max_throughput", front) == 1
    # Stretched sums: 1, 8/9, 1/8 + 2/9, 1.
    assert choose("knee", front) == 2
    assert {choose("random", front, seed) for seed in range(40)} == {0, 1, 2, 3}
    with pytest.raises(SpecError, match="final_rule: 'best' is not allowed"):
        choose("best", front)


def test_the_orders_of_the_rules():
    losses = np.array([(3.0, 0.0), (1.0, 1.0), (1.0, 2.0), (0.0, 4.0)])
    assert [order.tolist() for order in orders("first_objective", losses)] == [[3, 1, 2, 0]]
    # The front goes from 0 to 3 and from 0 to 4: scores 1, 1/3 + 1/4, 1/3 + 1/2, 1.
    by_score, *ends = orders("knee", losses)
    assert by_score.tolist() == [1, 2, 0, 3]
    assert [order.tolist() for order in ends] == [[3, 1, 2, 0], [0, 1, 2, 3]]
    assert orders("random", losses) == []
    assert len(orders("knee", losses[:, :1])) == 1


@pytest.mark.parametrize("rule", FINAL_RULES)
def test_a_rule_takes_no_dominated_design(rule):
    rng = np.random.default_rng(3)
    for objectives in (1, 2, 3):
        losses = rng.integers(0, 6, (40, objectives)).astype(np.float64)
        for order in orders(rule, losses):
            best = losses[order[0]]
            assert not ((losses <= best).all(axis=1) & (losses < best).any(axis=1)).any()


def test_too_few_evaluations_go_to_those_that_stay_ahead():
    """32 designs are halved until two are left, which have the most replications."""
    problem = NormalProblem(np.arange(32.0), 8.0)
    selection = los(problem, rough=3, evaluations=32 * 3 + 32 * 10, size=32)
    replications = selection.estimates.replications
    assert selection.evaluations == 32 * 3 + replications.sum() <= 32 * 13
    assert selection.evaluations > 32 * 13 - 5
    assert replications[0] == replications.max() > 30
    assert selection.best == selection.front.designs[0] == 0
    assert selection.rounds[0].tolist() == [3] * 32
    assert (selection.rounds[-1] - 3).tolist() == replications.tolist()
    given = np.diff(selection.rounds, axis=0)
    assert [(row > 0).sum() for row in given] == [32, 16, 8, 4, 2]
    enough = los(problem, rough=3, evaluations=32 * 13, replications=10, size=32)
    assert enough.estimates.replications.tolist() == [10] * 32


def test_rounds_go_to_the_first_by_the_final_rule():
    """Ten designs on a straight front and ten behind it."""
    truth = np.column_stack((np.arange(10.0), np.arange(10.0)[::-1]))
    problem = NormalProblem(np.concatenate((truth, truth + 5.5)), 0.01)
    selection = los(
        problem,
        rough=2,
        evaluations=20 * 2 + 20 * 10,
        size=20,
        final_rule="first_objective",
    )
    # Those that were dropped were on the front when they were last compared.
    assert selection.front.designs.tolist() == list(range(10))
    assert selection.best == 0
    given = np.diff(selection.rounds, axis=0)
    assert [np.flatnonzero(row).tolist() for row in given] == [
        list(range(20)),
        [0, 1, 2, 3, 4, 5, 6, 7, 10, 11],
        [0, 1, 2, 3, 4],
        [0, 1],
    ]


def test_the_knee_needs_the_ends_of_the_front():
    """All lie on the line between the ends, but for one that is a little below: the knee."""
    losses = np.column_stack((np.arange(24.0), 23.0 - np.arange(24.0)))
    losses[9] -= 0.5
    problem = NormalProblem(losses, 0.001)
    selection = los(problem, rough=2, evaluations=24 * 2 + 24 * 8, size=24, final_rule="knee")
    assert selection.best == 9
    last = np.flatnonzero(selection.estimates.replications == selection.rounds[-1].max() - 2)
    assert {0, 1, 9, 22, 23} <= set(last.tolist())
    assert len(last) == 6
    assert selection.front.designs.tolist() == list(range(24))


def test_the_rule_random_gives_all_selected_the_same():
    problem = NormalProblem(np.arange(12.0), 1.0)
    selection = los(problem, rough=2, evaluations=12 * 2 + 12 * 7, size=12, final_rule="random")
    assert selection.estimates.replications.tolist() == [7] * 12
    assert selection.rounds is None


def test_of_equals_one_goes_on():
    """Designs 0 to 5 are one and the same in every replication."""
    truth = np.concatenate((np.zeros(6), np.arange(1.0, 11.0)))
    problem = NormalProblem(truth, 3.0, common_share=1.0)
    selection = los(problem, rough=2, evaluations=16 * 2 + 16 * 6, size=16)
    given = np.diff(selection.rounds, axis=0)
    assert [np.flatnonzero(row).tolist() for row in given] == [
        list(range(16)),
        [0, 6, 7, 8, 9, 10, 11, 12],
        [0, 6, 7, 8],
        [0, 6],
    ]
    assert selection.best == 0


def test_a_budget_selects_what_the_final_rule_may_take():
    """Noise hides which is first by the first objective; by layers nearly all are as good."""
    first = np.linspace(0.0, 1.0, 200)
    problem = NormalProblem(np.column_stack((first, 1.0 - first)), 0.05)
    plain = los(problem, rough=4, replications=2)
    within = los(problem, rough=4, evaluations=200 * 12)
    assert set(plain.selected) <= set(within.selected)
    rivals = np.argsort(problem.estimate(range(200), range(4)).mean[:, 0])
    assert set(rivals[:3]) <= set(within.selected)
    assert first[within.best] <= 0.05


def test_a_second_look_finds_the_best_more_often_than_equal_shares_of_it():
    """Means 0 to 49, noise of 40: a screening stage that selects all tells little."""
    found = {"rounds": 0, "equal": 0}
    for seed in range(60):
        problem = NormalProblem(np.arange(50.0), 40.0, seed)
        gap = los(problem, rough=5, evaluations=50 * 25, size=50).best
        found["rounds"] += gap <= 3
        equal = problem.estimate(range(50), range(5, 25)).mean[:, 0]
        found["equal"] += int(np.argmin(equal)) <= 3
    assert found["rounds"] >= found["equal"] + 6


def dominates(a, b):
    return (a <= b).all() and (a < b).any()


@pytest.mark.parametrize("common_share", [0.0, 0.95])
@pytest.mark.parametrize("rule", ["knee", "first_objective"])
def test_the_front_is_one_by_the_very_means_that_are_printed(common_share, rule):
    """D5: means over other numbers of replications were mixed, and 15 members dominated the chosen.

    Loud noise that designs have in common, so that means over few replications are off.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(0.0, 1.0, (80, 2))
        problem = NormalProblem(truth, 2.0, seed, common_share)
        selection = los(problem, rough=4, evaluations=80 * 10, size=80, final_rule=rule)
        assert len(set(selection.estimates.replications.tolist())) > 2
        front = selection.front.mean
        assert not any(dominates(a, b) for a in front for b in front)
        assert selection.best in selection.front.designs


def test_means_of_designs_with_fewer_replications_are_made_comparable():
    """All noise is common: by shared replications the differences are exactly the true ones."""
    truth = np.column_stack((np.arange(16.0), np.arange(16.0)[::-1]))
    problem = NormalProblem(truth, 50.0, 3, 1.0)
    selection = los(problem, rough=3, evaluations=16 * 3 + 16 * 10, size=16)
    means = selection.estimates.mean
    assert len(set(selection.estimates.replications.tolist())) > 1
    assert means - means[0] == pytest.approx(truth - truth[0], abs=1e-9)
    assert selection.front.designs.tolist() == list(range(16))
    # How well the mean of all is known is known as well from fewer replications.
    wide = selection.estimates.high - selection.estimates.low
    assert (wide > 0.0).all()
