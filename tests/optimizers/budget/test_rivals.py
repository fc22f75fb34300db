"""What is claimed of a chosen design: by hand, against SciPy's tests, and as a claim."""

import numpy as np
import pytest
from scipy.stats import t, ttest_ind, ttest_rel

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import monte_carlo, ocba, successive_halving
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.budget.rivals import (
    Evidence,
    better_chances,
    probability_of_best,
    shortfall,
)
from cloudarena.optimizers.ordinal.within import Within, read_within

from ..problems import NormalProblem


def evidence(values, together=False, **options):
    """Of one or several objectives, a list of arrays of (replications, objectives)."""
    rows = [np.asarray(x, np.float64).reshape(len(x), -1) for x in values]
    counts = np.array([len(x) for x in rows])
    mean = np.array([x.mean(axis=0) for x in rows])
    squares = np.array([((x - x.mean(axis=0)) ** 2).sum(axis=0) for x in rows])
    return Evidence(Moments(counts, mean, squares), rows if together else None, **options)


def test_by_hand():
    # Errors of differences 1 and 1, gaps 1 and 2: (1 - 2 Phi(-1)) (1 - 2 Phi(-2)).
    counts, mean = np.full(3, 10**6), np.array([[0.0], [1.0], [2.0]])
    seen = Evidence(Moments(counts, mean, np.full((3, 1), 5e5 * (10**6 - 1))), None)
    assert probability_of_best(seen, 0) == pytest.approx(0.682689 * 0.954500, abs=1e-5)
    allocated = seen._replace(allocated=True)
    assert probability_of_best(allocated, 0) == pytest.approx(1 - 0.317311 - 0.0455, abs=1e-5)
    sure = Evidence(Moments(counts, mean, np.zeros((3, 1))), None)
    assert probability_of_best(sure, 0) == 1.0
    # With a margin of 1 gaps are 2 and 3: two times Phi(-2), 0.0455, is below 0.05 but not 0.04.
    assert probability_of_best(seen, 0, Within(amount=1.0)) == 0.95
    assert probability_of_best(seen, 0, Within(amount=1.0), 0.96) == probability_of_best(seen, 0)
    # Two rivals: the 1 - 0.05 / 2 quantile, 1.959964, of which the nearer rival takes 1 away.
    assert shortfall(seen, 0, 0.95) == pytest.approx(0.959964, abs=1e-5)


def test_it_is_that_of_tests_of_its_rivals():
    rng = np.random.default_rng(0)
    common = rng.normal(0.0, 3.0, 40)
    values = [common[:n] + rng.normal(shift, 1.0, n) for shift, n in ((0, 40), (0.5, 40), (2, 12))]
    welch = [ttest_ind(values[0], x, equal_var=False).pvalue for x in values[1:]]
    apart = probability_of_best(evidence(values), 0)
    assert apart == pytest.approx((1 - welch[0]) * (1 - welch[1]))
    # Where the one has fewer replications, those that both have err less than the two means.
    paired = [ttest_rel(x, values[0][: len(x)]).pvalue for x in values[1:]]
    together = probability_of_best(evidence(values, True), 0)
    assert together == pytest.approx((1 - paired[0]) * (1 - paired[1]))
    assert together > 2 * apart


def test_a_rival_that_was_always_better_where_both_were_tried_leaves_no_claim():
    assert probability_of_best(evidence([[1.0, 2.0, 0.0, 0.0], [0.5, 1.5]], True), 0) == 0.0


def test_a_share_is_of_the_rivals_own_loss():
    """Loss 10 against 9.8 is within 5 %; what is maximised has negative losses."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 0.1, (2, 30))
    for sign in (1.0, -1.0):
        values = [sign * (10.0 - 0.2 * sign * k + noise[k]) for k in (0, 1)]
        chance = better_chances(evidence(values, True), 0, Within(share=0.05))[1]
        raised = values[1] * (1.0 + 0.05 * sign)
        assert chance == pytest.approx(ttest_rel(raised, values[0], alternative="greater").pvalue)
        assert chance < 1e-6 < better_chances(evidence(values, True), 0)[1]


def test_with_several_objectives_one_in_which_it_is_better_is_enough():
    rng = np.random.default_rng(2)
    values = [rng.normal((0.0, 0.0), 1.0, (20, 2)), rng.normal((1.0, -1.0), 1.0, (20, 2))]
    first = ttest_rel(values[1][:, 0], values[0][:, 0], alternative="greater").pvalue
    second = ttest_rel(values[1][:, 1], values[0][:, 1], alternative="greater").pvalue
    chance = better_chances(evidence(values, True), 0)[1]
    assert chance == pytest.approx(2.0 * min(first, second))
    # One that is always equal in one objective and better in the other dominates.
    ahead = values[0] - np.array([0.0, 5.0])
    assert better_chances(evidence([values[0], ahead], True), 0)[1] == 1.0
    assert better_chances(evidence([values[0], values[0]], True), 0)[1] == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1%", Within(share=0.01)), (" 2.5 %", Within(share=0.025)), (0.3, Within(amount=0.3))],
)
def test_margins(text, expected):
    assert read_within(text, 1) == pytest.approx(expected)
    assert not read_within(None, 2).is_open


@pytest.mark.parametrize("text", ["1.0.0", "-1%", -0.1, "100%", "nan", True, "%", [1]])
def test_no_margins(text):
    with pytest.raises(SpecError, match=r"within: .* is not allowed: a share such as 1%"):
        read_within(text, 1)


NEAR = {
    "two": np.array([0.0, 1e-6]),
    "three and others far behind": np.append(np.arange(3) * 1e-6, np.full(17, 9.0)),
    "twenty": np.arange(20) * 1e-6,
    "one a little ahead": np.append(0.0, np.full(19, 0.5)),
    "exponential": np.random.default_rng(1).exponential(1.0, 60),
}


@pytest.mark.parametrize("truth", list(NEAR))
@pytest.mark.parametrize("common_share", [0.0, 0.9])
@pytest.mark.parametrize("method", [monte_carlo, ocba, successive_halving])
def test_the_mean_claim_is_not_above_the_share_of_right_choices(truth, common_share, method):
    """D4: Monte Carlo claimed 0.386 of 60 exponential means, of which 0.153 came true."""
    means = NEAR[truth]
    right, claims = [], []
    for seed in range(60):
        problem = NormalProblem(means, 1.0, seed, common_share)
        selection = method(problem, evaluations=16 * len(means))
        right.append(selection.best == means.argmin())
        claims.append(selection.alignment.probability)
    claim = float(np.mean(claims))
    assert np.mean(right) >= claim - 2.0 * max(claim * (1 - claim) / 60, 1e-4) ** 0.5


@pytest.mark.parametrize("common_share", [0.0, 0.9])
def test_a_margin_does_not_promise_what_luck_has_chosen(common_share):
    """Many designs a little worse than the margin allows: the luckiest of them is chosen."""
    means = 10.0 + np.append(0.0, np.full(199, 1.05))
    right, claims, short = [], [], []
    for seed in range(60):
        problem = NormalProblem(means, 1.5, seed, common_share)
        selection = monte_carlo(problem, replications=10, within=1.0)
        right.append(selection.best == 0)
        claims.append(selection.alignment.probability)
        short.append(means[selection.best] - 10.0 <= selection.shortfall)
    assert np.mean(claims) <= np.mean(right) + 2.0 * (0.25 / 60) ** 0.5
    assert np.mean(short) >= 0.95 - 2.0 * (0.95 * 0.05 / 60) ** 0.5


def test_a_margin_makes_a_careful_claim_say_something():
    means = 100.0 + np.random.default_rng(0).exponential(0.2, 50)
    for method in (monte_carlo, ocba):
        problem = NormalProblem(means, 1.0, 0, 0.5)
        plain = method(problem, evaluations=2500)
        within = method(problem, evaluations=2500, within="2%")
        assert plain.alignment.probability < 0.3
        assert within.alignment.probability == 0.95
        assert str(within.alignment).startswith("a design within 2 % of the best by objective_1")
        assert within.best == plain.best


@pytest.mark.parametrize("common_share", [0.0, 0.9])
@pytest.mark.parametrize("method", [monte_carlo, ocba, successive_halving])
def test_the_interval_of_the_chosen_design_knows_that_it_was_chosen(common_share, method):
    """D7: intervals that did not held the truth in 0.675 to 0.795 of the runs."""
    means = np.random.default_rng(0).normal(0.0, 0.3, 50)
    inside = []
    for seed in range(80):
        selection = method(NormalProblem(means, 1.0, seed, common_share), evaluations=800)
        place = selection.estimates.designs.tolist().index(selection.best)
        low, high = selection.estimates.low[place, 0], selection.estimates.high[place, 0]
        inside.append(low <= means[selection.best] <= high)
    assert np.mean(inside) >= 0.95 - 2.0 * (0.95 * 0.05 / 80) ** 0.5


def test_intervals_are_of_all_designs_at_once():
    problem = NormalProblem(np.arange(10.0) * 5.0, 1.0)
    selection = monte_carlo(problem, replications=8)
    values = problem.evaluate([0], range(8))[0, :, 0]
    half = t.ppf(1 - 0.05 / 20, 7) * values.std(ddof=1) / 8**0.5
    # What is skewed to the one side moves the end on that side only, and a little here.
    ends = (selection.estimates.low[0, 0], selection.estimates.high[0, 0])
    assert min(values.mean() - ends[0], ends[1] - values.mean()) == pytest.approx(half)
    assert half < max(values.mean() - ends[0], ends[1] - values.mean()) < 1.1 * half
