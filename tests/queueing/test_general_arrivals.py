"""G/G/1 and G/G/c: Kingman, Allen and Cunneen, Krämer and Langenbach-Belz."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import gg1, ggc, mg1, mmc

from .simulated import mean_wait, with_scv

LOADS = st.floats(0.0, 0.999)
TIMES = st.floats(1e-3, 1e3)


def test_by_hand():
    # Load 1/2, service 1 s, scv 2 and 4: (1/2) / (1/2) * (2 + 4) / 2 = 3 s.
    assert gg1(0.5, 1, 2, 4).wait_s == pytest.approx(3, rel=1e-15)
    assert gg1(0.5, 1, 2, 4).in_system == pytest.approx(2, rel=1e-15)
    # Two servers, load 1: Erlang C is 1/3, so M/M/2 waits (1/3) / (2 - 1) = 1/3 s; times 3 is 1 s.
    assert ggc(1, 1, 2, 2, 4).wait_s == pytest.approx(1, rel=1e-15)
    # Constant times between arrivals: exp(-2 (1/2) / (3 (1/2) 1)) = exp(-2/3) of Kingman's 1/2 s.
    assert gg1(0.5, 1, 0, 1).wait_s == pytest.approx(math.exp(-2 / 3) / 2, rel=1e-15)
    assert gg1(0.5, 1, 0, 1, regular=False).wait_s == pytest.approx(0.5, rel=1e-15)


@given(LOADS, TIMES, st.floats(0, 100))
def test_poisson_arrivals_at_one_server_are_exact(load, service, scv):
    assert gg1(load / service, service, 1, scv) == pytest.approx(
        mg1(load / service, service, scv), rel=1e-9
    )


@given(LOADS, TIMES, st.integers(1, 50))
def test_exponential_times_are_mmc(load, service, servers):
    rate = load * servers / service
    assert ggc(rate, service, servers, 1, 1) == pytest.approx(
        mmc(rate, 1 / service, servers), rel=1e-12
    )


@given(LOADS, TIMES, st.integers(1, 20), st.floats(0, 10), st.floats(0, 10))
def test_little_and_less_variable_is_quicker(load, service, servers, between, within):
    rate = load * servers / service
    queue = ggc(rate, service, servers, between, within)
    assert queue.in_system == pytest.approx(queue.throughput * queue.response_s, rel=1e-12)
    assert queue.wait_s <= ggc(rate, service, servers, between, within, regular=False).wait_s
    assert queue.wait_s <= ggc(rate, service, servers, between + 1, within).wait_s * (1 + 1e-12)


def test_clockwork_never_waits_and_overload_is_infinite():
    assert gg1(0.9, 1, 0, 0).wait_s == 0
    assert ggc([2, 3], 1, 2, 0, 0).wait_s.tolist() == [np.inf, np.inf]
    assert gg1(0, 1, 0, 1).wait_s == 0


@pytest.mark.parametrize(
    ("servers", "between", "within", "near"),
    [(1, 4.0, 0.25, 0.2), (1, 0.25, 1.0, 0.06), (4, 1.0, 2.0, 0.06), (4, 0.5, 0.5, 0.12)],
)
def test_near_simulation(servers, between, within, near):
    rate = 0.8 * servers
    wait, error = mean_wait(with_scv(1 / rate, between), with_scv(1, within), servers, 20_000, 5)
    assert ggc(rate, 1, servers, between, within).wait_s == pytest.approx(
        wait, abs=near * wait + 3 * error
    )


def test_a_bad_argument_is_named():
    with pytest.raises(SpecError, match=r"arrival_scv.*-1"):
        gg1(0.5, 1, -1, 1)
    with pytest.raises(SpecError, match=r"servers.*0"):
        ggc(0.5, 1, 0, 1, 1)
