"""How probable it is that limits are kept, by hand and against the truth."""

import math

import numpy as np
import pytest
from benchmarks.optimize_kept import CASES, outcome
from scipy.special import betainc, betaincinv, stdtr

from cloudarena.base.limits import Limit
from cloudarena.experiments.limit_words import chance_text, digits, kept_words
from cloudarena.optimizers.budget.kept import Ends, Seen, keeping
from cloudarena.optimizers.budget.moments import moments_of
from cloudarena.optimizers.selection import Feasibility, intervals

CHANCE = 0.025


def check(values, order, bound, others=None, skewness=0.0):
    """What is said of the mean of a metric of one design, beside what others showed."""
    limit = Limit("metric", order, bound)
    values = np.asarray(values, float)
    others = values if others is None else np.asarray(others, float)
    excess = limit.excess(values)[None, :, None]
    before = moments_of(np.atleast_2d(limit.excess(others))[:, :, None])
    widest = np.sqrt(2.0 * np.maximum(before.squares, moments_of(excess).squares).max(axis=0))
    seen = Seen(np.array([skewness]), widest, before.mean)
    now = moments_of(excess)
    student = intervals(np.zeros(1), now, 1.0 - 2.0 * CHANCE, 1, None, seen.skewness, widest)
    found = keeping((limit,), now, excess, seen, Ends(student.low, student.high), CHANCE)
    return tuple(float(one[0, 0]) for one in found)


def test_what_varies_has_students_posterior_and_interval():
    values = np.random.default_rng(1).normal(3.0, 1.0, 15)
    error = values.std(ddof=1) / 15**0.5
    kept, low, high = check(values, "<=", 3.4)
    assert kept == pytest.approx(stdtr(14, (3.4 - values.mean()) / error))
    assert (
        high - values.mean()
        == pytest.approx(values.mean() - low)
        == pytest.approx(error * 2.1448, rel=1e-4)
    )
    above, low_above, high_above = check(values, ">=", 3.4)
    assert above == pytest.approx(1.0 - kept)
    assert (low_above, high_above) == pytest.approx((low, high))


def test_a_skewed_mean_is_less_probably_below_its_bound():
    values = np.random.default_rng(2).normal(3.0, 1.0, 15)
    plain = check(values, "<=", values.mean() + 0.5)
    skewed = check(values, "<=", values.mean() + 0.5, skewness=2.0)
    assert skewed[0] < plain[0]
    assert skewed[2] > plain[2]


@pytest.mark.parametrize("ones", [0, 1, 4, 12, 20])
def test_events_are_counted(ones):
    values = np.repeat([1.0, 0.0], [ones, 20 - ones])
    kept, low, high = check(values, "<=", 0.3)
    assert kept == pytest.approx(betainc(ones + 0.5, 20.5 - ones, 0.3))
    assert low == pytest.approx(betaincinv(ones, 21 - ones, CHANCE) if ones else 0.0)
    assert high == pytest.approx(betaincinv(ones + 1, 20 - ones, 0.975) if ones < 20 else 1.0)
    assert check(1.0 - values, ">=", 0.7) == pytest.approx((kept, 1.0 - high, 1.0 - low))


@pytest.mark.parametrize("count", [20, 300, 1500])
def test_what_never_failed_is_as_sure_as_so_many_can_show(count):
    """The rule of three: 3.7 over n, at this level."""
    kept, low, high = check(np.zeros(count), "<=", 0.003)
    assert low == 0.0
    assert high == pytest.approx(1.0 - CHANCE ** (1.0 / count))
    assert (high <= 0.003) == (count == 1500)
    assert kept == pytest.approx(betainc(0.5, count + 0.5, 0.003))


def test_a_share_that_never_varied_may_go_to_the_end_of_its_range():
    kept, low, high = check(np.full(50, 0.98), ">=", 0.97)
    often = 1.0 - CHANCE ** (1.0 / 50)
    assert low == pytest.approx(0.98 - 0.98 * often)
    assert high == pytest.approx(0.98 + 0.02 * often)
    assert kept == pytest.approx(betainc(0.5, 50.5, 0.01 / 0.98))


def test_what_seldom_differs_is_counted_too():
    """Two of 40 replications left 4 and 2 % undone, others up to 8 %: one more of these counts."""
    values = np.zeros(40)
    values[[3, 9]] = 0.04, 0.02
    others = [[0.0] * 9 + [0.08]]
    kept, low, high = check(values, "<=", 0.005, others)
    widest = math.sqrt(2.0 * 0.08**2 * 0.9)
    assert kept == pytest.approx(betainc(2.5, 38.5, 0.005 / ((0.06 + widest) / 3.0)))
    assert high == pytest.approx(betaincinv(3, 38, 0.975) * widest)
    assert low == 0.0
    assert check(values + 1.0, "<=", 1.005, np.array(others) + 1.0)[0] == pytest.approx(kept)


def test_what_follows_from_the_design_is_known():
    others = [[3.0, 3.0], [5.0, 5.0]]
    assert check([5.0] * 4, "<=", 5.0, others) == (1.0, 5.0, 5.0)
    assert check([5.0] * 4, "<", 5.0, others) == (0.0, 5.0, 5.0)


def test_nobody_can_tell_of_what_never_varied_and_has_no_range():
    kept, low, high = check([2.0] * 400, "<=", 5.0)
    assert math.isnan(kept)
    assert (low, high) == (-math.inf, math.inf)
    assert math.isnan(check([0.0] * 400, "<=", 0.0)[0])  # a single one may break it
    assert math.isnan(check([1.0] * 400, ">=", 1.0)[0])


@pytest.mark.parametrize(
    "name", ["normal", "log-normal, sigma 1", "0 or 1", "0 or 1, rare", "a share, mostly 0"]
)
def test_stated_probabilities_come_true(name):
    """They may be too low where failures are rare, and not too high; wrong is seldom."""
    found = outcome(name, 60, 300)
    error = 2.0 * (0.25 / 300) ** 0.5
    assert found.probability.mean() <= found.is_kept.mean() + error
    if "rare" not in name and "0" not in name:
        assert found.probability.mean() >= found.is_kept.mean() - error
    likely = found.probability >= 0.8
    if likely.any():
        spread = 2.0 * (0.2 / likely.sum()) ** 0.5
        assert found.is_kept[likely].mean() >= found.probability[likely].mean() - spread
    assert found.wrong <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 60, 300])
@pytest.mark.parametrize("name", [name for name in CASES if "Pareto" not in name])
def test_probabilities_of_all_kinds_come_true(name, count):
    found = outcome(name, count, 3000, seed=1)
    assert found.wrong <= 0.0125
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 1.01)):
        own = (found.probability >= low) & (found.probability < high)
        if own.sum() >= 30:
            stated = found.probability[own].mean()
            error = 3.0 * (stated * (1.0 - stated) / own.sum() + 1e-4) ** 0.5
            assert found.is_kept[own].mean() >= stated - error - 0.05


def test_a_tail_without_a_variance_is_beyond_it():
    """The documentation says so: what no replication hit, nobody can reckon with."""
    found = outcome("Pareto, no variance", 60, 400)
    likely = found.probability >= 0.95
    assert found.is_kept[likely].mean() < found.probability[likely].mean() - 0.03


def test_the_words():
    limits = (Limit("a", "<=", 1.0), Limit("b", ">=", 0.9), Limit("c", "<=", 5.0))
    row = np.array([[0.5, 0.91, 2.0]])
    low, high = np.array([[0.4, 0.8, -np.inf]]), np.array([[0.6, 1.0, np.inf]])
    metrics = intervals(np.zeros(1), moments_of(np.zeros((1, 3, 3))), 0.95)
    metrics = metrics._replace(mean=row, low=low, high=high)
    surely, chances = np.array([[True, False, False]]), np.array([[0.9999, 0.637, np.nan]])
    words = kept_words(Feasibility(limits, metrics, surely, chances, None), 0, "0.95")
    assert words == (
        "It surely (0.95) keeps a <= 1 (0.5, with probability over 0.999). It may break b >= 0.9: "
        "0.91, 0.8 to 1 (0.95); it keeps it with probability 0.64. It may break c <= 5: 2 in every "
        "replication, of every design, which does not tell what may come, nor how probable it is."
    )
    two = Feasibility(limits[:2], metrics, surely[:, :2], chances[:, :2], None)
    assert kept_words(two, 0, "0.95").endswith("It keeps all with probability 0.64 at least.")
    assert two.all_kept(0) == pytest.approx(0.6369)
    words = [chance_text(one) for one in (0.9951, 0.5, 0.0, 0.004)]
    assert words == ["0.995", "0.50", "below 0.001", "0.004"]


def test_numbers_of_sentences_are_those_of_tables() -> None:
    assert [digits(value) for value in (0.12345, 999.4, 8097.0, 170_832.2)] == [
        "0.1235",
        "999.4",
        "8,097",
        "170,832",
    ]
