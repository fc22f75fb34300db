"""Distributions of response times: against mixtures, convolutions and roots taken by SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from cloudarena.base.errors import SpecError
from cloudarena.queueing import (
    erlang_c,
    mm1_quantile,
    mm1_tail,
    mm1c,
    mm1c_quantile,
    mm1c_tail,
    mmc,
    mmc_quantile,
    mmc_tail,
)

LOADS = st.one_of(st.floats(0.01, 5.0), st.just(1.0), st.floats(1 - 1e-9, 1 + 1e-9))
LEVELS = st.floats(0.01, 0.9999)


def mixture_of_erlangs(seconds, arrival, service, room):
    """The tail in M/M/1/C as it is defined: Erlang tails, weighted by what an arrival finds."""
    weights = (arrival / service) ** np.arange(room)
    distributions = stats.gamma.sf(seconds, np.arange(1, room + 1), scale=1 / service)
    return weights @ distributions / weights.sum()


def test_mm1_by_hand():
    # Rate 4 - 3 = 1: P(T > 2) = exp(-2); the median is log 2.
    assert mm1_tail(2, 3, 4) == pytest.approx(np.exp(-2), rel=1e-15)
    assert mm1_quantile(0.5, 3, 4) == pytest.approx(np.log(2), rel=1e-15)
    assert mm1_quantile(0.95, 1, 3) == pytest.approx(np.log(20) / 2, rel=1e-15)
    assert mm1_quantile(0.5, [4, 5], 4).tolist() == [np.inf, np.inf]
    assert mm1_tail(2, [4, 5], 4).tolist() == [1, 1]


def test_a_mean_of_10_s_leaves_only_63_percent_below_10_s():
    # The thesis's SLA, "95 % below 10 s", needs a mean of 10 / log 20 = 3.34 s in M/M/1.
    assert 1 - mm1_tail(10, 0.9, 1.0) == pytest.approx(0.632, abs=5e-4)
    mean = 10 / np.log(20)
    assert mean == pytest.approx(3.34, abs=5e-3)
    assert mm1_quantile(0.95, 1 - 1 / mean, 1.0) == pytest.approx(10, rel=1e-12)


@pytest.mark.parametrize("room", [1, 2, 9, 200])
@pytest.mark.parametrize("load", [0.05, 0.7, 1.0, 1 + 1e-8, 1.4, 20.0])
def test_mm1c_is_a_mixture_of_erlang_laws(load, room):
    service = 2.5
    for seconds in (0.0, 0.01, 0.3, 1.0, 5.0, 30.0, 80.0, 200.0):
        ours = mm1c_tail(seconds, load * service, service, room)
        assert ours == pytest.approx(
            mixture_of_erlangs(seconds, load * service, service, room), abs=1e-13
        )


def test_mm1c_with_room_for_one_is_a_service_time():
    seconds = np.array([0.0, 0.5, 2.0])
    assert mm1c_tail(seconds, 7, 2, 1) == pytest.approx(np.exp(-2 * seconds), rel=1e-12)
    assert mm1c_quantile(0.9, 7, 2, 1) == pytest.approx(np.log(10) / 2, rel=1e-11)


def test_mm1c_with_much_room_is_mm1():
    seconds = np.linspace(0, 20, 9)
    assert mm1c_tail(seconds, 0.8, 1, 10**6) == pytest.approx(mm1_tail(seconds, 0.8, 1), abs=1e-12)


@given(LOADS, st.integers(1, 300), LEVELS)
def test_the_quantile_of_mm1c_inverts_the_tail(load, room, level):
    quantile = mm1c_quantile(level, load, 1, room)
    assert mm1c_tail(quantile, load, 1, room) == pytest.approx(1 - level, rel=1e-9)
    by_root = optimize.brentq(
        lambda t: mixture_of_erlangs(t, load, 1, room) - (1 - level), 0, 100 * room + 100
    )
    assert quantile == pytest.approx(by_root, rel=1e-7)


@pytest.mark.parametrize(("load", "room"), [(0.3, 1), (0.6, 40), (1.0, 20), (1.7, 60)])
def test_the_integral_of_the_tail_is_the_mean(load, room):
    nodes, weights = np.polynomial.legendre.leggauss(200)
    end = 5 * room + 60
    integral = end / 2 * weights @ mm1c_tail(end * (nodes + 1) / 2, load, 1, room)
    assert integral == pytest.approx(mm1c(load, 1, room).response_s, rel=1e-9)


def test_a_large_room_at_load_1_and_in_overload():
    # At load 1 the number found is uniform, so T is nearly uniform on 0 to C; in overload T is
    # nearly normal, with mean and variance about C.
    assert mm1c_quantile(0.9, 1, 1, 10**6) == pytest.approx(9e5, rel=1e-3)
    normal = 10**6 + 10**3 * stats.norm.ppf(0.99)
    assert mm1c_quantile(0.99, 1000, 1, 10**6) == pytest.approx(normal, rel=1e-5)


@pytest.mark.parametrize("servers", [1, 2, 3, 8])
@pytest.mark.parametrize("load", [0.2, 0.75, 0.99])
def test_mmc_is_a_wait_and_a_service_time(load, servers):
    # P(T > t) = P(S > t) + integral over s < t of the density of S at s times P(W > t - s).
    service = 1.5
    arrival = load * servers * service
    rate, waits = servers * service - arrival, erlang_c(servers, servers * load)
    for seconds in (0.1, 1.0, 4.0):
        late, _ = integrate.quad(
            lambda s, t=seconds: service * np.exp(-service * s) * waits * np.exp(-rate * (t - s)),
            0, seconds,
        )  # fmt: skip
        expected = np.exp(-service * seconds) + late
        assert mmc_tail(seconds, arrival, service, servers) == pytest.approx(expected, rel=1e-9)


def test_mmc_where_wait_and_service_have_the_same_rate():
    # c mu - lambda = mu: 3 servers, load 2. C = 4/9, and W + S given a wait is Erlang(2).
    seconds = 1.7
    expected = np.exp(-seconds) * (1 + 4 / 9 * seconds)
    assert mmc_tail(seconds, 2, 1, 3) == pytest.approx(expected, rel=1e-14)
    for nearly in (2 - 1e-12, 2 + 1e-12, 2 - 1e-7, 2 + 1e-7):
        assert mmc_tail(seconds, nearly, 1, 3) == pytest.approx(expected, rel=1e-6)


@given(st.floats(0, 0.999), st.integers(1, 40), LEVELS)
def test_the_quantile_of_mmc_inverts_the_tail(load, servers, level):
    quantile = mmc_quantile(level, load * servers, 1, servers)
    assert mmc_tail(quantile, load * servers, 1, servers) == pytest.approx(1 - level, rel=1e-9)
    if servers == 1:
        assert quantile == pytest.approx(mm1_quantile(level, load, 1), rel=1e-9)


def test_mmc_without_bound():
    assert mmc_quantile(0.9, [1, 4, 5], 2, 2).tolist()[1:] == [np.inf, np.inf]
    assert mmc_tail(1e9, [4, 5], 2, 2).tolist() == [1, 1]
    assert mmc(5, 2, 2).response_s == np.inf
    assert mmc_tail(1e9, 3.999, 2, 2) == 0


@given(LOADS, LOADS, st.integers(1, 50), st.floats(0, 100))
def test_the_tail_falls_in_time_and_rises_with_load(one, other, room, seconds):
    low, high = sorted((one, other))
    slack = 1e-12
    assert mm1c_tail(seconds, low, 1, room) <= mm1c_tail(seconds, high, 1, room) + slack
    assert mm1c_tail(2 * seconds, low, 1, room) <= mm1c_tail(seconds, low, 1, room) + slack
    assert mm1c_tail(0, low, 1, room) == pytest.approx(1, rel=1e-12)


def test_arrays_are_their_elements():
    seconds, arrival = np.array([[0.5], [3.0]]), np.array([0.3, 1.0, 4.0])
    tails = mm1c_tail(seconds, arrival, 1, 20)
    assert tails.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        assert tails[i, j] == pytest.approx(mm1c_tail(seconds[i, 0], arrival[j], 1, 20), rel=1e-14)
    assert mm1c_quantile([[0.5], [0.9]], arrival, 1, 20).shape == (2, 3)
    assert mmc_quantile([[0.5], [0.9]], arrival, 1, 2).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mm1_tail(-1, 1, 2), "seconds: -1 is not allowed: a finite number, at least 0"),
        (lambda: mm1_quantile(1, 1, 2), "level: 1 is not allowed: more than 0 and at most 0.9999"),
        (lambda: mm1c_quantile(0, 1, 2, 3), "level: 0 is not allowed: more than 0"),
        (lambda: mm1c_tail(1, 1, 0, 3), "service_rate: 0 is not allowed"),
        (lambda: mm1c_tail(1, 1, 1, 0), "room: 0 is not allowed"),
        (lambda: mmc_tail(1, 1, 1, 0), "servers: 0 is not allowed"),
        (lambda: mmc_quantile([0.5, np.nan], 1, 1, 1), r"level\[1\]: nan is not allowed"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
