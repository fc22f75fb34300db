"""Claims and intervals where noise is unequal, skewed, discrete or not there at all."""

import numpy as np
import pytest
from scipy.stats import skew, t

from cloudarena.base.statistics import front_of
from cloudarena.optimizers import los, mocba, monte_carlo, ocba, successive_halving
from cloudarena.optimizers.budget.moments import Moments, moments_of, skewness_of
from cloudarena.optimizers.methods.ocba import ocba_allocation
from cloudarena.optimizers.problem import Problem, read_objectives
from cloudarena.optimizers.selection import intervals
from cloudarena.optimizers.synthetic import draw_means

from .problems import NormalProblem


class Drawn(Problem):
    """Designs whose values a function draws: of a generator and the means, for all at once."""

    def __init__(self, truth, draw, seed, common_random_numbers=False):
        self.truth, self.draw, self.seed = np.asarray(truth, np.float64), draw, seed
        self.size = len(self.truth)
        self.objectives = read_objectives("loss")
        self.common_random_numbers = common_random_numbers

    def simulate(self, designs, replications):
        drawn = [
            self.draw(np.random.default_rng([self.seed, r]), self.truth)[designs]
            for r in replications.tolist()
        ]
        return np.stack(drawn, axis=1)[:, :, None]


def exponential(rng, truth):
    return truth - 1.0 + rng.exponential(1.0, len(truth))


def yes_or_no(rng, truth):
    return (rng.random(len(truth)) < truth).astype(float)


def not_above(claims, right):
    """Claims are not above the share that came true by more than two standard errors."""
    claim, runs = np.mean(claims), len(right)
    return claim - np.mean(right) <= 2.0 * max(claim * (1.0 - claim) / runs, 0.25 / runs**2) ** 0.5


@pytest.mark.parametrize(("margin", "others"), [(1.0, 1), (2.0, 2), (1.0, 4), (2.0, 9)])
@pytest.mark.parametrize("common_share", [0.0, 0.5])
def test_designs_a_shade_beyond_the_margin(margin, others, common_share):
    """``1 - (T - 1) p`` was 0.92 on average for two designs and a margin of 1, 0.76 were right."""
    truth = np.append(0.0, np.full(others, 1.001 * margin))
    noise = (5.0 / (1.0 - common_share)) ** 0.5  # a difference of means has a standard error of 1
    claims, right = [], []
    for seed in range(200):
        problem = NormalProblem(truth, noise, seed, common_share)
        selection = monte_carlo(problem, replications=10, within=margin)
        claims.append(selection.alignment.probability)
        right.append(selection.best == 0)
    assert not_above(claims, right)


@pytest.mark.parametrize("others", [2, 4, 9])
@pytest.mark.parametrize("common_share", [0.0, 0.5])
def test_a_best_design_that_is_known_well_among_noisy_equals(others, common_share):
    """The luckiest of the others is chosen: a product of p-values was 0.15 for 5 of which 0.03."""
    truth = np.append(-1e-6, np.zeros(others))
    noise = np.append(0.01, np.ones(others))
    claims, right = [], []
    for seed in range(300):
        selection = monte_carlo(NormalProblem(truth, noise, seed, common_share), replications=10)
        claims.append(selection.alignment.probability)
        right.append(selection.best == 0)
    assert not_above(claims, right)


@pytest.mark.parametrize("method", [monte_carlo, ocba, successive_halving])
def test_equal_means_of_independent_designs_do_not_make_them_equal(method):
    """Shares of failures: two that failed once in ten are not known to be equally good."""
    claims, right = [], []
    for seed in range(100):
        truth = np.random.default_rng(seed).uniform(0.05, 0.5, 16)
        selection = method(Drawn(truth, yes_or_no, seed), evaluations=160)
        claims.append(selection.alignment.probability)
        right.append(truth[selection.best] == truth.min())
    assert not_above(claims, right)
    assert selection.alignment.equals == 0


def test_what_never_differed_is_said_to_count_as_equal():
    values = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [5.0, 6.0, 7.0], [0.0, 1.0, 0.0]])

    class Table(NormalProblem):
        def simulate(self, designs, replications):
            return values[designs][:, replications, None]

    problem = Table(values.mean(axis=1), 0.0)
    problem.common_random_numbers = True
    alignment = monte_carlo(problem, replications=3).alignment
    assert alignment.equals == 2
    assert "(2 others that never differed from it in any replication count as equal)" in str(
        alignment
    )


def test_allocation_among_designs_whose_means_are_all_equal():
    """Counts often are: gaps of nothing made the shares infinite, and the run ended in an error."""
    with np.errstate(over="raise", invalid="raise"):
        given = ocba_allocation([1.0, 1.0, 1.0], [2.0, 8.0, 18.0], [2, 2, 2], 10)
    assert given.sum() == 10
    assert (given >= 0).all()
    for seed in range(60):
        problem = Drawn(np.full(4, 0.4), yes_or_no, seed, common_random_numbers=True)
        assert ocba(problem, evaluations=80, first=5).evaluations <= 80


def test_what_never_varied_among_what_does_has_an_interval():
    """Ten replications without a failure do not say that there are none."""
    values = np.zeros((2, 10, 1))
    values[1, :5] = 1.0
    seen = moments_of(values)
    widest = np.sqrt(2.0 * seen.squares.max(axis=0))
    estimates = intervals(np.arange(2), seen, 0.95, 2, widest=widest)
    share = 1.0 - (0.05 / 4) ** 0.1
    assert estimates.high[0, 0] == pytest.approx(share * 5.0**0.5)
    inside = []
    for seed in range(200):
        truth = np.random.default_rng(seed).uniform(0.05, 0.5, 16)
        selection = monte_carlo(Drawn(truth, yes_or_no, seed), replications=10)
        place = selection.estimates.designs.tolist().index(selection.best)
        low, high = selection.estimates.low[place, 0], selection.estimates.high[place, 0]
        inside.append(low <= truth[selection.best] <= high)
    assert np.mean(inside) >= 0.95 - 2.0 * (0.95 * 0.05 / 200) ** 0.5  # it was 0.08


def test_who_looked_well_known_after_two_replications_is_not_taken_to_be():
    """It gets no others then, and its variance stays too small: 0.91 of the shortfalls held."""
    inside, enough = [], []
    for seed in range(300):
        truth = np.array([0.0, 0.5])
        found = ocba(NormalProblem(truth, 1.0, seed), evaluations=8, first=2, step=5)
        place = found.row(found.best)
        low, high = found.estimates.low[place, 0], found.estimates.high[place, 0]
        inside.append(low <= truth[found.best] <= high)
        enough.append(truth[found.best] - truth.min() <= found.shortfall)
    least = 0.95 - 2.0 * (0.95 * 0.05 / 300) ** 0.5
    assert np.mean(inside) >= least
    assert np.mean(enough) >= least


def test_where_nothing_varies_that_is_said():
    selection = monte_carlo(NormalProblem(np.arange(3.0), 0.0), replications=5)
    assert selection.alignment.probability == 1.0
    assert "No replication of any design differed from another in objective_1" in selection.remark
    assert not monte_carlo(NormalProblem(np.arange(3.0), 1.0), replications=5).remark


def test_skewness():
    values = np.random.default_rng(0).exponential(1.0, (1, 40, 2)) * [1.0, -1.0]
    expected = skew(values[0], axis=0, bias=False)
    sizes = values[0].var(axis=0, ddof=1)
    assert skewness_of(values) == pytest.approx(expected * (sizes / sizes))
    assert skewness_of(values[:, :2]).tolist() == [0.0, 0.0]
    assert skewness_of(np.ones((3, 5, 1))).tolist() == [0.0]


def test_intervals_reach_farther_to_the_side_of_the_long_tail():
    seen = Moments(np.array([20]), np.zeros((1, 1)), np.full((1, 1), 19.0 * 20.0))  # an error of 1
    plain = t.ppf(0.975, 19)
    right = intervals(np.arange(1), seen, 0.95, skewness=np.array([2.0]))
    assert -right.low[0, 0] == pytest.approx(plain)
    # Q(z) + 2 / (6 sqrt(20)) (2 z^2 + 1) phi(z) = 0.025 has z = 2.4767: a tail of 0.00663.
    assert right.high[0, 0] == pytest.approx(t.ppf(1.0 - 0.00663, 19), rel=1e-3)
    left = intervals(np.arange(1), seen, 0.95, skewness=np.array([-2.0]))
    assert left.low[0, 0] == pytest.approx(-right.high[0, 0])


@pytest.mark.parametrize("method", [monte_carlo, ocba, successive_halving])
def test_the_interval_of_a_chosen_design_with_skewed_noise(method):
    inside = []
    for seed in range(200):
        truth = np.random.default_rng(seed).uniform(0.0, 0.1, 3)
        selection = method(Drawn(truth, exponential, seed), evaluations=36)
        place = selection.estimates.designs.tolist().index(selection.best)
        low, high = selection.estimates.low[place, 0], selection.estimates.high[place, 0]
        inside.append(low <= truth[selection.best] <= high)
    # It was 0.85 with Monte Carlo and OCBA.
    assert np.mean(inside) >= 0.95 - 2.0 * (0.95 * 0.05 / 200) ** 0.5


class Pairs(Problem):
    """Designs with two objectives, whose noise a function draws for all at once."""

    def __init__(self, truth, noise, seed, common_random_numbers):
        self.truth, self.noise, self.seed = truth, noise, seed
        self.size = len(truth)
        self.objectives = read_objectives(["first", "second"])
        self.common_random_numbers = common_random_numbers

    def simulate(self, designs, replications):
        drawn = [
            (self.truth + self.noise(np.random.default_rng([self.seed, r]), self.truth.shape))
            for r in replications.tolist()
        ]
        return np.stack(drawn, axis=1)[designs]


def heavy_tailed(rng, shape):
    """Student's t with 2.5 degrees of freedom: a variance, but no third moment."""
    return rng.standard_t(2.5, shape)


def skewed_and_heavy(rng, shape):
    """Lognormal, less its mean: the standard deviation is three times that mean."""
    return rng.lognormal(0.0, 1.5, shape) - np.exp(1.125)


def opposed_objectives(rng, shape):
    """What is good luck by one objective is bad luck by the other."""
    luck = rng.normal(size=shape[0])
    return np.stack([luck, -luck], axis=1) + 0.1 * rng.normal(size=shape)


def opposed_designs(rng, shape):
    """What is good luck for half of the designs is bad luck for the others: common numbers hurt."""
    sides = np.where(np.arange(shape[0]) % 2 == 0, 1.0, -1.0)[:, None]
    return 2.0 * rng.normal() * sides + 0.3 * rng.normal(size=shape)


@pytest.mark.parametrize(
    "truth",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in ("uniform", "exponential")), "surface"],
)
@pytest.mark.parametrize(
    ("noise", "common_random_numbers"),
    [
        (heavy_tailed, False),
        (skewed_and_heavy, False),
        (opposed_objectives, False),
        (opposed_designs, True),
    ],
)
def test_claims_about_a_front_where_noise_is_heavy_tailed_or_opposed(
    truth, noise, common_random_numbers
):
    claims, right = {}, {}
    for seed in range(50):
        means = draw_means(truth, 25, 2, np.random.default_rng([seed, 5]))
        problem = Pairs(means, noise, seed, common_random_numbers)
        front = front_of(means)
        some = max(2, len(front) // 2)
        found = {
            "los": (los(problem, evaluations=500), 1),
            "los, half": (los(problem, evaluations=500, at_least=some), some),
            "monte carlo, half": (monte_carlo(problem, evaluations=500, at_least=some), some),
            "mocba": (mocba(problem, evaluations=500), None),
        }
        for name, (selection, wanted) in found.items():
            hits = len(np.intersect1d(front, selection.selected))
            whole = np.array_equal(selection.selected, front)
            came_true = whole if wanted is None else hits >= min(wanted, len(front))
            claims.setdefault(name, []).append(np.nan_to_num(selection.alignment.probability))
            right.setdefault(name, []).append(came_true)
    for name in claims:
        assert not_above(claims[name], right[name]), name
    assert np.mean(claims["los"]) > 0.5  # a claim of nothing holds too
