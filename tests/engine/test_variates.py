"""Distributions of random times: quantiles, means, bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from cloudarena.base.errors import SpecError
from cloudarena.engine.distributions import (
    Distribution,
    constant,
    empirical,
    exponential,
    gamma,
    log_normal,
    mean,
    normal,
    weibull,
)
from cloudarena.engine.variates import draw, draw_all, make_distributions, normal_quantile

MIDDLES = (np.arange(100_000) + 0.5) / 100_000


def test_normal_quantiles_have_all_digits() -> None:
    shares = np.concatenate((np.linspace(0.001, 0.999, 997), 10.0 ** -np.arange(1, 300)))
    quantiles = [normal_quantile(share) for share in shares]
    assert quantiles == pytest.approx(ndtri(shares), rel=2e-15, abs=1e-16)
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("distribution", "same"),
    [
        (exponential(2.0), stats.expon(scale=2.0)),
        (normal(3.0, 1.0), stats.truncnorm(-3.0, math.inf, loc=3.0)),
        (normal(0.0, 2.0, -1.0, 4.0), stats.truncnorm(-0.5, 2.0, scale=2.0)),
        (log_normal(0.5, 1.0, 2.0), stats.lognorm(0.5, 1.0, 2.0)),
        (weibull(0.7, 2.0), stats.weibull_min(0.7, scale=2.0)),
    ],
)
def test_quantiles_and_means_are_those_of_scipy(
    distribution: Distribution, same: stats.rv_continuous
) -> None:
    distributions = make_distributions([constant(9.0), distribution])
    shares = np.linspace(0.01, 0.99, 99)
    assert draw_all(distributions, 1, shares) == pytest.approx(same.ppf(shares), rel=1e-9)
    assert mean(distribution) == pytest.approx(same.mean(), rel=1e-9)


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 400.0])
def test_gamma_variates_lie_between_exact_quantiles(shape: float) -> None:
    distributions = make_distributions([constant(9.0), gamma(shape, 3.0), constant(8.0)])
    shares = np.concatenate((np.linspace(0.001, 0.999, 499), [1e-9, 1 - 1e-9]))
    expected = stats.gamma(shape, scale=3.0 / shape).ppf(shares)
    found = draw_all(distributions, 1, shares)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4 * 3.0 / shape)
    assert draw_all(distributions, 1, MIDDLES).mean() == pytest.approx(3.0, rel=2e-3)
    assert mean(gamma(shape, 3.0)) == pytest.approx(3.0)


def test_empirical_variates_are_the_values_as_often_as_they_were_measured() -> None:
    measured = empirical([3.0, 1.0, 1.0, 7.0])
    # Tables go with their records when arrays are joined.
    joined = np.concatenate(
        (make_distributions([gamma(2.0, 1.0)]), make_distributions([constant(2.0), measured]))
    )
    found = draw_all(joined, len(joined) - 5, MIDDLES)
    values, counts = np.unique(found, return_counts=True)
    assert dict(zip(values, counts / len(found), strict=True)) == {1.0: 0.5, 3.0: 0.25, 7.0: 0.25}
    assert mean(measured) == 3.0
    with pytest.raises(SpecError, match="at least one"):
        empirical([])


def test_a_truncated_log_normal_distribution() -> None:
    distribution = log_normal(1.2, 0.5, 2.0, 1.0, 4.0)
    whole = stats.lognorm(1.2, 0.5, 2.0)
    values = draw_all(make_distributions([distribution]), 0, MIDDLES)
    assert values.min() >= 1.0
    assert values.max() <= 4.0
    assert (np.diff(values) >= 0).all()
    low, high = whole.cdf(1.0), whole.cdf(4.0)
    assert values[25_000] == pytest.approx(whole.ppf(low + 0.25 * (high - low)), rel=1e-4)
    assert mean(distribution) == pytest.approx(
        whole.expect(lb=1.0, ub=4.0, conditional=True), rel=1e-7
    )
    assert values.mean() == pytest.approx(mean(distribution), rel=1e-6)


def test_a_constant_is_always_the_same() -> None:
    distributions = make_distributions([constant(0.25)])
    assert (
        draw(distributions, 0, 0.1) == draw(distributions, 0, 0.9) == mean(constant(0.25)) == 0.25
    )


def test_a_truncated_exponential_distribution_has_its_mean() -> None:
    distribution = exponential(2.0)._replace(least=1.0, most=3.0)
    assert mean(distribution) == pytest.approx(
        draw_all(make_distributions([distribution]), 0, MIDDLES).mean(), rel=1e-6
    )


def test_no_laws_at_all() -> None:
    assert len(make_distributions([])) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: exponential(0.0), "scale: 0 is not allowed"),
        (lambda: log_normal(-1.0, 0.0, 1.0), "sigma: -1 is not allowed"),
        (lambda: log_normal(0.1, 0.0, 1.0, 50.0, 60.0), "bounds: 50 to 60 are not allowed"),
        (lambda: log_normal(0.1, 0.0, 1.0, 2.0, 1.0), "bounds: 2 to 1 are not allowed"),
    ],
)
def test_what_cannot_be_is_refused(make: object, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        make()  # type: ignore[operator]
