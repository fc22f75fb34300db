"""Which metrics to measure: probabilities, subsets, reduction and its claims."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from cloudarena.base.errors import SpecError
from cloudarena.reduction import (
    both_above,
    correlation_of,
    information_bits,
    metric_alignment,
    reduce_metrics,
    synthetic_metrics,
)
from cloudarena.reduction.ecga import ecga, marginal_product_model, repaired
from cloudarena.reduction.information import at_least_so_high
from cloudarena.reduction.regression import (
    by_f_tests,
    cross_validated,
    exchange,
    exhaustive,
    fit,
    forward,
    unexplained,
)


def centred(strategies, metrics, seed):
    table = synthetic_metrics(strategies, metrics, seed=seed)
    table = table - table.mean(axis=0)
    return table, table.sum(axis=1)


def integrated(first, second, correlation):
    """P(U > first, V > second) by integrating over U."""
    from scipy.special import ndtr

    u = np.linspace(first, first + 12.0, 20_001)
    root = math.sqrt(1.0 - correlation**2)
    inner = np.exp(-u * u / 2) / math.sqrt(2 * math.pi) * ndtr((correlation * u - second) / root)
    return np.trapezoid(inner, u)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-0.98, 0.98))
def test_both_above_is_the_integral(first, second, correlation):
    expected = integrated(first, second, correlation)
    assert both_above(first, second, correlation) == pytest.approx(expected, abs=1e-6)


def test_both_above_at_the_corners():
    assert both_above(0.0, 0.0, 0.5) == pytest.approx(1 / 3)
    assert both_above(1.0, 0.0, 0.0) == pytest.approx(0.158655 / 2, abs=1e-6)
    assert both_above(0.0, -1.0, 0.0) == pytest.approx(0.841345 / 2, abs=1e-6)
    assert both_above(1.0, 0.5, 1.0) == pytest.approx(0.158655, abs=1e-6)
    assert both_above(1.0, 0.5, -1.0) == 0.0
    with pytest.raises(SpecError, match=r"correlation: 1.5 is not allowed: -1 to 1"):
        both_above(0.0, 0.0, 1.5)


def test_information_runs_from_nothing_to_everything():
    assert information_bits(0.0, 100) == pytest.approx(0.0, abs=1e-9)
    assert information_bits(1.0, 100) == pytest.approx(math.log2(100))
    bits = [information_bits(rho, 100) for rho in np.linspace(0.0, 1.0, 21)]
    assert bits == sorted(bits)


def test_alignment_is_exact():
    """Against 40,000 simulated populations; the binomial promises too much for k = g < s."""
    options = {"strategies": 100, "selected": 15, "good": 15, "at_least": 10}
    assert metric_alignment(0.95, **options) == pytest.approx(0.9766, abs=0.002)
    assert metric_alignment(0.95, **options, method="binomial") == pytest.approx(0.944, abs=5e-4)
    for (rho, s, g, k), simulated in (
        ((0.97, 10, 5, 5), 0.8341),
        ((0.93, 20, 5, 5), 0.9314),
        ((0.90, 10, 1, 1), None),
    ):
        exact = metric_alignment(rho, 100, s, g, k)
        if simulated is None:
            simulated = metric_alignment(rho, 100, s, g, k, method="mc")
        assert exact == pytest.approx(simulated, abs=0.01)
        assert exact < metric_alignment(rho, 100, s, g, k, method="binomial") - 0.01
    rising = [metric_alignment(rho, **options) for rho in (0.0, 0.5, 0.8, 0.9, 0.99, 1.0)]
    assert rising == sorted(rising)
    assert rising[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("s", "g", "k"), [(2, 5, 1), (20, 5, 2), (7, 7, 7), (10, 10, 10)])
def test_without_correlation_alignment_is_luck(s, g, k):
    """The exact distribution is then hypergeometric."""
    n = 20 if k > 5 else 100
    expected = hypergeom.sf(k - 1, n, g, s)
    assert metric_alignment(0.0, n, s, g, k) == pytest.approx(expected, rel=0.02, abs=2e-4)
    assert metric_alignment(0.0, 10, 10, 3, 3) == 1.0  # all are selected


def test_a_correlation_is_taken_at_its_lower_limit():
    # atanh 0.9 = 1.47222, less 1.6449 / 10 = 1.30773, of which tanh is 0.86370.
    assert at_least_so_high(0.9, 103) == pytest.approx(0.86370, abs=1e-5)
    assert at_least_so_high(0.05, 20) == 0.0
    assert at_least_so_high(0.9, 3) == 0.0
    assert at_least_so_high(1.0, 50) == pytest.approx(1.0)
    table = synthetic_metrics(60, 20, factors=6, seed=2)
    for step in reduce_metrics(table, keep=4, selected=10, good=5, at_least=4).steps:
        careful = at_least_so_high(step.correlation, 60)
        assert step.alignment == metric_alignment(careful, 60, 10, 5, 4)


def test_two_ways_to_a_correlation():
    assert correlation_of(0.36, 1.0) == pytest.approx(0.8)
    assert correlation_of(1.0, 1.0, "thesis") == pytest.approx(0.5**0.5)
    assert correlation_of(2.0, 1.0) == 0.0
    assert correlation_of(0.0, 0.0) == 0.0


def test_a_fit_is_least_squares():
    table, score = centred(40, 6, seed=1)
    chosen = np.array([0, 3])
    found = fit(table, score, chosen)
    weights, *_ = np.linalg.lstsq(table[:, chosen], score, rcond=None)
    residual = score - table[:, chosen] @ weights
    assert found.coefficients == pytest.approx(weights)
    assert found.explained == pytest.approx(1.0 - residual @ residual / (score @ score))
    assert found.residual_variance == pytest.approx(residual @ residual / (40 - 2 - 1))
    assert unexplained(table, score, chosen) == pytest.approx(residual @ residual)
    adjusted = 1.0 - (1.0 - found.explained) * 39 / 37
    assert found.correlation == pytest.approx(adjusted**0.5)
    assert 0.0 <= found.significance < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_subsets_against_trying_all(seed):
    table, score = centred(60, 9, seed)
    left = {
        subset: unexplained(table, score, np.array(subset))
        for subset in itertools.combinations(range(9), 3)
    }
    best = min(left, key=left.get)
    assert tuple(exhaustive(table, score, 3)) == best
    assert tuple(ecga(table, score, 3, np.random.default_rng(0), population=100)) == best
    one = forward(table, score, 1)
    assert left[best] <= unexplained(table, score, one)
    greedy = unexplained(table, score, forward(table, score, 3))
    exchanged = exchange(table, score, forward(table, score, 3))
    assert left[best] - 1e-9 <= unexplained(table, score, exchanged) <= greedy
    # No single exchange is better.
    for place in range(3):
        for other in set(range(9)) - set(exchanged.tolist()):
            swapped = exchanged.copy()
            swapped[place] = other
            assert unexplained(table, score, swapped) >= unexplained(table, score, exchanged) - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_ecga_equals_exhaustive_search(seed):
    table, score = centred(100, 20, seed)
    found = ecga(table, score, 4, np.random.default_rng(seed))
    assert found.tolist() == exhaustive(table, score, 4).tolist()


def test_ecga_learns_which_bits_go_together():
    rng = np.random.default_rng(0)
    free = rng.random((400, 3)) < 0.5
    bits = np.column_stack((free[:, 0], free[:, 1], free[:, 0], free[:, 2], ~free[:, 1]))
    groups = sorted(sorted(group.tolist()) for group in marginal_product_model(bits))
    assert groups == [[0, 2], [1, 4], [3]]
    mended = repaired(bits, 3, rng)
    assert (mended.sum(axis=1) == 3).all()
    # Ones stay as long as there are not too many, and all of them if there are too few.
    few, many = bits.sum(axis=1) <= 3, bits.sum(axis=1) >= 3
    assert mended[few][bits[few]].all()
    assert not mended[many][~bits[many]].any()


def test_dependent_and_constant_metrics_are_passed_over():
    rng = np.random.default_rng(2)
    column = rng.standard_normal((50, 1))
    table = np.column_stack((column, 2 * column, np.ones(50), rng.standard_normal(50)))
    reduction = reduce_metrics(table, keep=2, selected=5, good=5, at_least=3)
    assert len(reduction.metrics) == 2
    assert 2 not in reduction.metrics
    assert reduction.step.fit.explained == pytest.approx(1.0)
    more = reduce_metrics(table, keep=4, selected=5, good=5, at_least=3)
    assert len(more.metrics) == 2


def test_200_metrics_reduce_to_a_few():
    """The thesis: 7 of 200 metrics hold at least 10 of the best 15 among 100 strategies."""
    needed, hits = [], []
    for seed in range(10):
        table = synthetic_metrics(100, 200, factors=30, seed=seed)
        few = reduce_metrics(table, correlation="adjusted")
        needed.append(len(few.metrics))
        assert few.alignment >= 0.95
        hits.append(reduce_metrics(table, keep=7, correlation="adjusted").hits(table, 15, 15))
    assert np.mean(needed) <= 10
    assert np.mean(hits) >= 10


def test_what_is_claimed_of_strategies_not_in_the_sample_comes_true():
    hits, claims = [], []
    for seed in range(12):
        table = synthetic_metrics(200, 200, factors=20, noise=0.5, seed=seed)
        reduction = reduce_metrics(table[:100])
        assert len(reduction.metrics) <= 10
        hits.append(reduction.hits(table[100:], 15, 15) >= 10)
        claims.append(reduction.alignment)
    claim = np.mean(claims)
    assert np.mean(hits) >= claim - 2.0 * (claim * (1 - claim) / 12) ** 0.5


def test_cross_validation_is_not_fooled_by_choice():
    """Metrics that tell nothing: what is chosen of many seems to, in the sample."""
    honest = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table, score = rng.standard_normal((60, 300)), rng.standard_normal(60)
        table, score = table - table.mean(axis=0), score - score.mean()
        assert fit(table, score, forward(table, score, 5)).correlation > 0.6
        honest.append(cross_validated(table, score, lambda x, y: forward(x, y, 5), rng))
    assert np.mean(honest) < 0.2


def test_folds_are_random_so_that_the_order_of_strategies_does_not_matter():
    """Every tenth strategy was one part: a table in which they are alike fooled it."""
    rng = np.random.default_rng(5)
    shift = np.where(np.arange(100) % 10 == 0, 30.0, 0.0)
    table = rng.standard_normal((100, 4)) + shift[:, None] * [1, 0, 0, 0]
    score = shift + 0.1 * rng.standard_normal(100)
    table, score = table - table.mean(axis=0), score - score.mean()
    found = cross_validated(
        table, score, lambda known, target: forward(known, target, 1), np.random.default_rng(1)
    )
    assert found > 0.9


def test_f_tests_let_in_what_tells_and_nothing_else():
    rng = np.random.default_rng(4)
    table = rng.standard_normal((200, 8))
    score = table[:, 2] + 0.5 * table[:, 5] + 0.3 * rng.standard_normal(200)
    table, score = table - table.mean(axis=0), score - score.mean()
    assert {2, 5} <= set(by_f_tests(table, score, 8).tolist())
    assert len(by_f_tests(table, score, 8)) <= 4
    assert by_f_tests(table, score, 1).tolist() == [2]
    # A metric that was the best alone goes when two others explain it.
    both = table[:, [0, 1]]
    alike = both.sum(axis=1) + 0.5 * table[:, 7]
    target = both.sum(axis=1) + 0.1 * table[:, 6]
    three = np.column_stack((alike, both))
    assert by_f_tests(three, target, 1).tolist() == [0]
    assert sorted(by_f_tests(three, target, 3).tolist()) == [1, 2]


def test_f_tests_end_the_curve_where_nothing_is_significant():
    made = np.random.default_rng(0).standard_normal((120, 6))
    weights = np.array([3.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    found = reduce_metrics(made, weights=weights, method="f-tests", alignment=0.999999)
    assert set(found.metrics.tolist()) == {0, 1}


def test_what_is_out_of_reach_comes_as_near_as_can_be():
    table = synthetic_metrics(60, 100, agreement=0.0, noise=5.0, seed=8)
    reduction = reduce_metrics(table, most=6)
    assert len(reduction.steps) == 6
    assert reduction.alignment == max(step.alignment for step in reduction.steps) < 0.95


def test_curves_rise_and_units_do_not_matter():
    table = synthetic_metrics(100, 40, seed=4)
    reduction = reduce_metrics(table, keep=8)
    explained = [step.fit.explained for step in reduction.steps]
    assert len(reduction.steps) == 8
    assert explained == sorted(explained)
    assert reduction.steps[-1].residual_sd < reduction.steps[0].residual_sd
    assert reduction.steps[-1].information_bits > reduction.steps[0].information_bits
    scaled = reduce_metrics(table * np.geomspace(1e-3, 1e3, 40) + 7.0, keep=8)
    assert scaled.metrics.tolist() == reduction.metrics.tolist()
    assert scaled.alignment == pytest.approx(reduction.alignment)


def test_a_prediction_is_in_the_unit_of_the_score():
    table = synthetic_metrics(80, 12, factors=3, noise=0.01, seed=5)
    reduction = reduce_metrics(table[:60], keep=5, selected=5, good=5, at_least=3)
    score = reduction.score(table[60:])
    predicted = reduction.predict(table[60:, reduction.metrics])
    assert np.corrcoef(score, predicted)[0, 1] > 0.99
    assert predicted == pytest.approx(score, abs=0.2 * score.std())
    assert reduction.hits(table[60:], 5, 5) >= 4


def test_lower_is_better_where_said():
    table = synthetic_metrics(100, 10, seed=6)
    flipped = table.copy()
    flipped[:, 3] *= -1.0
    better = ["higher"] * 10
    better[3] = "lower"
    plain = reduce_metrics(table, keep=3)
    turned = reduce_metrics(flipped, keep=3, better=better)
    assert turned.metrics.tolist() == plain.metrics.tolist()
    assert turned.score(flipped) == pytest.approx(plain.score(table))


@pytest.mark.parametrize("method", ["exhaustive", "ecga"])
def test_other_methods(method):
    table = synthetic_metrics(60, 12, seed=7)
    options = {"keep": 3, "selected": 10, "good": 10, "at_least": 6}
    best = reduce_metrics(table, method=method, **options)
    stepwise = reduce_metrics(table, **options)
    assert best.step.fit.explained >= stepwise.step.fit.explained - 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 0}, "keep: 0 is not allowed"),
        ({"keep": 31}, "keep: 31 is not allowed: .* at most 30"),
        ({"method": "exhaustive", "keep": 15}, "too many to try all"),
        ({"method": "stepwize"}, "method: 'stepwize' is not allowed: .* Did you mean 'stepwise'"),
        ({"weights": [1.0]}, r"weights: the shape \(1,\) is not allowed: 30 numbers"),
        ({"weights": [0.0] * 30}, r"weights\[0\]: 0.0 is not allowed"),
        ({"better": ["higher"]}, "better: 1 directions are not allowed: 30"),
        ({"better": ["higher"] * 29 + ["more"]}, r"better\[29\]: 'more' is not allowed"),
        ({"at_least": 16}, "at_least: 16 is not allowed: .* at most 15"),
        ({"alignment": 1.0}, "alignment: 1.0 is not allowed"),
    ],
)
def test_errors(options, message):
    with pytest.raises(SpecError, match=message):
        reduce_metrics(synthetic_metrics(100, 30), **options)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((30, 4)), "all strategies have the same score"),
        (np.ones((5, 4)), "table: 5 is not allowed: .* at least 10"),
        ([[1.0, np.nan]] * 30, r"table\[0, 1\]: nan is not allowed"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(SpecError, match=message):
        reduce_metrics(table)
