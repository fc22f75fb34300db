"""Arrivals by a rate that is held for each second."""

import numpy as np
import pytest
from scipy import stats

from cloudarena.base.errors import SpecError
from cloudarena.workloads.arrivals.rates import arrivals_by_rate, bursts, world_cup_hour


def arrivals(rate, duration_s, seed=0):
    return arrivals_by_rate(rate, duration_s, np.random.default_rng(seed))


@pytest.mark.parametrize("rate", [[], [0.0, 0.0], [3.0, 0.0, 0.0]])
def test_nothing_arrives_where_the_rate_is_0(rate):
    times = arrivals([*rate, 200.0, 0.0], len(rate) + 2.0)
    assert (np.diff(times) > 0).all()
    second = times.astype(int)
    assert set(np.unique(second)) <= {k for k, value in enumerate([*rate, 200.0]) if value > 0}
    assert (second == len(rate)).sum() == pytest.approx(200, abs=60)


def test_a_run_may_end_within_a_second():
    times = arrivals([1000.0, 1000.0], 1.5)
    assert times[0] >= 0.0
    assert times[-1] < 1.5
    assert len(times) == pytest.approx(1500, abs=160)
    assert len(arrivals([0.0] * 3, 3.0)) == 0


def test_each_second_has_a_poisson_number_of_its_rate():
    rates = np.tile([2.0, 2.0, 5.0, 0.5], 5000)
    counts = np.bincount(arrivals(rates, len(rates)).astype(int), minlength=len(rates))
    for rate in (2.0, 5.0, 0.5):
        seen = counts[rates == rate]
        error = np.sqrt(rate / len(seen))
        assert seen.mean() == pytest.approx(rate, abs=4 * error)
        assert seen.var() == pytest.approx(rate, rel=0.08)


def test_gaps_of_a_steady_rate_are_exponential_and_times_within_a_second_uniform():
    times = arrivals(np.full(20_000, 5.0), 20_000.0)
    assert stats.kstest(np.diff(times), stats.expon(scale=0.2).cdf).pvalue > 0.001
    assert stats.kstest(times % 1.0, "uniform").pvalue > 0.001


def test_too_many_requests_are_refused():
    with pytest.raises(SpecError, match=r"6e\+08 requests are not allowed: at most 5e\+08"):
        arrivals([6e8], 1.0)


def test_rates_over_time():
    hour = world_cup_hour(7200, 100.0, 0)
    assert hour[37 * 60] == pytest.approx(100.0, rel=0.2)
    assert hour[:600].mean() == pytest.approx(19.0, rel=0.1)
    assert set(np.unique(bursts(36_000, 4.0, 9.0, 600.0, 60.0, 0))) == {4.0, 9.0}
