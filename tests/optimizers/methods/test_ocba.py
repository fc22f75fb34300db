"""OCBA, OCBA-m, MOCBA, Kim-Nelson, successive halving: allocations, budgets, claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers import (
    kim_nelson,
    mocba,
    mocba_shares,
    monte_carlo,
    ocba,
    ocba_allocation,
    ocba_m,
    ocba_m_allocation,
    successive_halving,
)
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.methods.mocba import probability_of_front
from cloudarena.optimizers.methods.ocba import _edge, probability_of_top

from ..problems import NormalProblem

MEANS, VARIANCES, COUNTS = (1.2, 2.1, 3.4, 4.87, 6.05), (3.3, 2, 4.5, 5.3, 6.9), (12, 6, 5, 5, 4)


def test_the_allocation_of_the_literature():
    assert ocba_allocation(MEANS, VARIANCES, COUNTS, 100).tolist() == [48, 38, 11, 2, 1]


def test_the_optimality_conditions_hold():
    counts = np.ones(4, np.int64)
    mean, variance = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0])
    total = counts + ocba_allocation(mean, variance, counts, 10**7)
    # N_i / N_j = (s_i^2 / d_i^2) / (s_j^2 / d_j^2): 2, 3/4 and 1/4 parts.
    assert total[1:] / total[1] == pytest.approx([1.0, 0.375, 0.125], rel=1e-4)
    assert total[0] == pytest.approx((sum(total[1:] ** 2 / variance[1:])) ** 0.5, rel=1e-4)


def test_the_top_by_hand():
    # c is half way between 1 and 3 if both are known equally well: gaps 2, 1, 1, 3.
    more = ocba_m_allocation([0.0, 1.0, 3.0, 5.0], np.ones(4), [10, 10, 10, 10], 10**6, top=2)
    shares = (more + 10) / (more + 10).sum()
    weights = np.array([1 / 4, 1, 1, 1 / 9])
    assert shares == pytest.approx(weights / weights.sum(), rel=1e-4)


@given(st.data())
def test_allocations_give_out_exactly_what_there_is(data):
    designs = data.draw(st.integers(2, 8))
    value = st.floats(-100.0, 100.0)
    means = data.draw(st.lists(value, min_size=designs, max_size=designs))
    spread = st.one_of(st.just(0.0), st.floats(0.0, 100.0))
    variances = data.draw(st.lists(spread, min_size=designs, max_size=designs))
    counts = data.draw(st.lists(st.integers(1, 50), min_size=designs, max_size=designs))
    extra = data.draw(st.integers(0, 200))
    for more in (
        ocba_allocation(means, variances, counts, extra),
        ocba_m_allocation(means, variances, counts, extra, top=designs - 1),
    ):
        assert more.sum() == extra
        assert (more >= 0).all()


def test_a_run_spends_its_budget_and_counts_rounds():
    problem = NormalProblem(np.arange(10.0), 3.0)
    selection = ocba(problem, evaluations=500, first=5, step=30)
    assert selection.evaluations == problem.calls == 500
    assert selection.rounds[0].tolist() == [5] * 10
    assert selection.rounds[-1].sum() == 500
    assert (np.diff(selection.rounds, axis=0) >= 0).all()
    assert len(selection.rounds) == 1 + 15
    assert selection.rounds[-1, 0] > selection.rounds[-1, 9]
    assert selection.best == 0
    assert selection.alignment.at_least == 1
    assert selection.alignment.good == "the best design by objective_1"


def test_it_maximises_and_takes_any_objective():
    truth = np.column_stack((np.arange(5.0), [3, 9, 1, 2, 4]))
    problem = NormalProblem(truth, 0.5, objectives={"o0": "maximise", "o1": "maximise"})
    assert ocba(problem, evaluations=200).best == 4
    assert ocba(problem, evaluations=200, objective="o1").best == 1
    top = ocba_m(problem, top=2, evaluations=200, objective=1)
    assert sorted(top.chosen.tolist()) == [1, 4]
    with pytest.raises(SpecError, match="objective: 'o2' is not allowed: one of o0, o1"):
        ocba(problem, evaluations=200, objective="o2")


def correct(select, runs=60, **options):
    """The share of runs that find design 0, and the mean claim."""
    found, claims = [], []
    for seed in range(runs):
        selection = select(NormalProblem(np.arange(10.0), 6.0, seed), **options)
        found.append(selection.best == 0)
        claims.append(selection.alignment.probability)
    return np.mean(found), np.mean(claims)


def test_ocba_beats_equal_allocation():
    equal, _ = correct(monte_carlo, evaluations=1000)
    share, claim = correct(ocba, evaluations=1000, step=50)
    assert share >= equal + 0.05
    assert share >= claim


def test_halving_is_better_than_equal_allocation_too():
    equal, _ = correct(monte_carlo, evaluations=1000)
    share, claim = correct(successive_halving, evaluations=1000)
    assert share >= equal
    assert share >= claim


def test_the_probability_of_the_top_by_hand():
    # Errors 1 and c = 2: gaps 2, 1, 1 and 3, by Student's distribution with 10**6 - 1 degrees.
    mean, counts = np.array([0.0, 1.0, 3.0, 5.0]), np.full(4, 10**6)
    variance = np.full(4, 1e6)
    expected = 0.954500 * 0.682689**2 * 0.997300
    assert probability_of_top(mean, variance, counts, 2) == pytest.approx(expected, abs=1e-5)
    assert probability_of_top(mean, np.zeros(4), counts, 2) == 1.0


def test_the_bound_of_the_top_is_nearer_to_the_design_that_is_known_better():
    # The last of the top errs by 3, the next by 1: c = (1 * 0 + 3 * 4) / 4 = 3, not 1.
    mean, variance = np.array([0.0, 4.0]), np.array([9.0, 1.0])
    assert _edge(mean, np.sqrt(variance), 1, np.ones(2, np.int64)).bound == pytest.approx(3.0)
    # Both are then one standard error from c, so that neither has the claim for itself.
    counts = np.full(2, 10**6)
    claim = probability_of_top(mean, variance * 10**6, counts, 1)
    assert claim == pytest.approx(0.682689**2, abs=1e-5)
    more = ocba_m_allocation(mean, variance * 10, [10, 10], 10**6, top=1)
    # Shares are s^2 / d^2: 9 / 3^2 and 1 / 1^2, the same for both.
    assert more[0] / more[1] == pytest.approx(1.0, rel=1e-3)


def test_common_random_numbers_make_ocba_surer():
    """A hundred designs, of which many are near the best: a sum of chances would leave nothing."""
    truth = np.random.default_rng(4).normal(0.0, 1.0, 100)
    claims = {}
    for share in (0.0, 0.97):
        selection = ocba(NormalProblem(truth, 3.0, 1, share), evaluations=2000)
        claims[share] = selection.alignment.probability
    assert claims[0.97] > 0.5 > claims[0.0]


def test_ocba_m_finds_the_top_more_often_than_equal_allocation():
    equal, found, claims = [], [], []
    for seed in range(100):
        problem = NormalProblem(np.arange(20.0), 6.0, seed)
        means = problem.estimate(range(20), range(100)).mean[:, 0]
        equal.append(set(np.argsort(means)[:5]) == set(range(5)))
        selection = ocba_m(problem, top=5, evaluations=2000, step=200)
        found.append(set(selection.chosen) == set(range(5)))
        claims.append(selection.alignment.probability)
    assert np.mean(found) > np.mean(equal)
    assert np.mean(found) >= np.mean(claims)


def test_mocba_shares_by_hand():
    # Each of the three is most likely dominated by its neighbour, with a gap of 1 in the objective
    # that decides; all rates are equal, so each tells itself with (1 + 1) / 1^2.
    means = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    shares = mocba_shares(means, np.ones((3, 2)), [10, 10, 10])
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    far = mocba_shares(np.array([[1.0, 0.0], [0.0, 1.0], [50.0, 50.0]]), np.ones((3, 2)), [9] * 3)
    assert far[2] < 0.01 * far[0]


def test_mocba_is_not_worse_than_equal_allocation():
    rng = np.random.default_rng(102)
    truth = rng.uniform(0.0, 10.0, (25, 2))
    front = front_of(truth)
    equal, found, claims = [], [], []
    for seed in range(30):
        problem = NormalProblem(truth, 4.0, seed)
        means = problem.estimate(range(25), range(200)).mean
        equal.append(np.array_equal(front_of(means), front))
        selection = mocba(problem, evaluations=5000, step=250)
        assert selection.evaluations == 5000
        found.append(np.array_equal(selection.selected, front))
        claims.append(selection.alignment.probability)
    assert np.mean(found) >= np.mean(equal)
    assert np.mean(found) >= np.mean(claims) - 2.0 * (0.25 / 30) ** 0.5


def test_the_probability_of_a_front_by_hand():
    # Differences have error 1. Design 1 is better than 0 in the first objective by 1, worse in the
    # second by 2: it dominates with at most 2 Phi(-2), and is dominated with at most 2 Phi(-1).
    counts = np.full(2, 10**6)
    squares = np.full((2, 2), 0.5 * 10**6 * (10**6 - 1))
    moments = Moments(counts, np.array([[1.0, 0.0], [0.0, 2.0]]), squares)
    wrong = 2 * 0.022750 + 2 * 0.158655
    assert probability_of_front(moments, np.array([0, 1])) == pytest.approx(1 - wrong, abs=1e-5)
    # Worse by 2 and by 3: that it is not dominated has at most 2 Phi(-2) + 2 Phi(-3), and that it
    # dominates 2 Phi(-3).
    behind = Moments(counts, np.array([[0.0, 0.0], [2.0, 3.0]]), squares)
    wrong = 2 * 0.022750 + 2 * 0.001350 + 2 * 0.001350
    assert probability_of_front(behind, np.array([0])) == pytest.approx(1 - wrong, abs=1e-5)
    exact = Moments(np.array([2, 2]), np.array([[1.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2)))
    assert probability_of_front(exact, np.array([0, 1])) == 1.0


@pytest.mark.parametrize("common_share", [0.0, 0.9])
def test_kim_and_nelson_find_the_best(common_share):
    found, costs = [], []
    for seed in range(30):
        problem = NormalProblem(np.arange(6.0), 3.0, seed, common_share)
        selection = kim_nelson(problem, indifference=1.0)
        assert selection.evaluations == problem.calls
        found.append(selection.best == 0)
        costs.append(selection.evaluations)
    assert np.mean(found) >= 0.95 - 2 * (0.95 * 0.05 / 30) ** 0.5
    # Paired differences: what designs have in common costs nothing.
    assert np.mean(costs) < (120 if common_share else 500)


def test_kim_and_nelson_without_noise_need_the_first_round_only():
    problem = NormalProblem([2.0, 1.0, 1.0], 0.0)
    selection = kim_nelson(problem, indifference=0.5)
    assert selection.best == 1
    assert selection.evaluations == 30
    assert selection.alignment.good == "the designs within 0.5 of the best by objective_1"


def test_kim_and_nelson_without_enough_evaluations_claim_nothing():
    problem = NormalProblem([2.0, 1.0, 9.0], 1.0)
    selection = kim_nelson(problem, indifference=1e-3, evaluations=50)
    assert selection.evaluations == problem.calls == 48  # three designs, so three at a time
    assert selection.selected.tolist() == [0, 1, 2]
    assert selection.chosen.tolist() == [1]
    assert str(selection.alignment) == "no claim, since the evaluations ran out"
    assert selection.summary()["alignment_probability"] is None
    assert "50 evaluations are not enough for the guarantee: 3 designs" in selection.remark


class Twins(NormalProblem):
    """Designs of which each behaves exactly as one of a few, in every replication."""

    def __init__(self, truth, spread, kinds):
        super().__init__(truth, spread)
        self.size = len(kinds)
        self.kinds = np.array(kinds)
        self.common_random_numbers = True

    def simulate(self, designs, replications):
        return super().simulate(self.kinds[designs], replications)


TWINS = [0, 1, 0, 2, 2, 1, 0, 3]


def test_equals_count_as_one_design():
    """Whichever of them is taken, it is not worse; and they do not use up all evaluations."""
    truth = np.array([0.0, 4.0, 5.0, 6.0])
    alone = ocba(NormalProblem(truth, 2.0), evaluations=100, first=5)
    twins = ocba(Twins(truth, 2.0, TWINS), evaluations=200, first=5)
    assert twins.best == 0
    assert twins.alignment.probability > 0.99
    assert twins.alignment.probability == pytest.approx(alone.alignment.probability, abs=0.01)
    last = twins.rounds[-1]
    for kind in range(4):
        assert len(set(last[np.array(TWINS) == kind])) == 1  # in step
    assert 200 - 3 < twins.evaluations <= 200
    top = ocba_m(Twins(truth, 2.0, TWINS), top=2, evaluations=200, first=5)
    assert set(top.chosen) < {0, 2, 6}
    assert top.alignment.probability > 0.99
    three = ocba_m(Twins(truth, 2.0, TWINS), top=3, evaluations=200, first=5)
    assert set(three.chosen) == {0, 2, 6}
    assert three.alignment.probability > 0.9


def test_equals_on_a_front_count_as_one_design():
    truth = np.array([[0.0, 9.0], [9.0, 0.0], [9.5, 9.5], [3.0, 3.0]])
    alone = mocba(NormalProblem(truth, 1.0), evaluations=100, first=5)
    twins = mocba(Twins(truth, 1.0, TWINS), evaluations=200, first=5)
    assert twins.selected.tolist() == [0, 1, 2, 5, 6, 7]
    assert twins.alignment.probability == pytest.approx(alone.alignment.probability, abs=0.02)
    assert twins.alignment.probability > 0.9


def test_designs_that_are_all_equal():
    same = Twins(np.array([1.0, 2.0]), 1.0, [0] * 7)
    assert ocba(same, evaluations=100, first=5).alignment.probability == 1.0
    assert ocba_m(same, top=2, evaluations=100, first=5).alignment.probability == 1.0
    both = Twins(np.array([[1.0, 2.0]]), 1.0, [0] * 7)
    selection = mocba(both, evaluations=100, first=5)
    assert selection.alignment.probability == 1.0
    assert len(selection.selected) == 7


def test_halving_halves():
    problem = NormalProblem(np.arange(16.0), 0.1)
    selection = successive_halving(problem, evaluations=640)
    assert selection.selected.tolist() == [0]
    assert [(row > 0).sum() for row in np.diff(selection.rounds, axis=0, prepend=0)] == [
        16,
        8,
        4,
        2,
    ]
    assert selection.evaluations == 640
    many = NormalProblem(np.random.default_rng(0).random((64, 2)), 0.01)
    assert len(successive_halving(many, evaluations=2000).selected) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: ocba(p, evaluations=10), "evaluations: 10 are not enough: 10 for each of 3"),
        (lambda p: ocba(p, evaluations=100, first=1), "first: 1 is not allowed"),
        (lambda p: ocba(p, evaluations=100, step=0), "step: 0 is not allowed"),
        (lambda p: ocba_m(p, top=3, evaluations=100), "top: 3 is not allowed: .* at most 2"),
        (lambda p: ocba_allocation([1.0], [1.0], [5], 3), "means: 1 design is not allowed"),
        (lambda p: ocba_allocation([1.0, 2.0], [1.0, -1.0], [5, 5], 3), r"variances\[1\]: -1.0"),
        (lambda p: mocba(p, evaluations=20), "evaluations: 20 are not enough"),
        (lambda p: kim_nelson(p, indifference=0.0), "indifference: 0.0 is not allowed"),
        (
            lambda p: kim_nelson(p, indifference=1e-3, evaluations=29),
            "evaluations: 29 are not enough",
        ),
        (lambda p: successive_halving(p, evaluations=5), "evaluations: 5 are not enough"),
        (
            lambda p: ocba(NormalProblem([1.0], 1.0), evaluations=100),
            "designs: 1 is not allowed: at least 2",
        ),
        (
            lambda p: mocba(NormalProblem(np.zeros(3001), 1.0), evaluations=10**6),
            "designs: 3,001 is not allowed: 2 to 3,000",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(SpecError, match=message):
        call(NormalProblem([1.0, 2.0, 3.0], 1.0))
