"""Arrival processes: their rates, their variation, their limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrivals import processes as arrivals
from cloudarena.workloads.arrivals.processes import (
    PROCESSES,
    arrival_process,
    bursty,
    diurnal,
    even,
    poisson,
    spread_counts,
    two_rates,
)

RANDOM = [poisson, bursty, diurnal]


def rng(seed=0):
    return stream(seed, "arrivals")


@pytest.mark.parametrize("process", PROCESSES.values())
def test_a_seed_decides_everything(process):
    one = process(rng(3), 2.0, count=300)
    assert one.tolist() == process(rng(3), 2.0, count=300).tolist()
    assert len(one) == 300
    assert one[0] >= 0
    assert (np.diff(one) >= 0).all()
    until = process(rng(3), 2.0, until=300.0)
    assert until.tolist() == process(rng(3), 2.0, until=300.0).tolist()
    assert (np.diff(until) >= 0).all()
    assert until[-1] < 300


@pytest.mark.parametrize("process", RANDOM)
def test_the_rate_is_that_of_the_process(process):
    days = 20 * arrivals.DAY
    assert len(process(rng(), 0.05, until=days)) == pytest.approx(0.05 * days, rel=0.03)
    drawn = process(rng(1), 0.05, count=86_400)
    assert len(drawn) / drawn[-1] == pytest.approx(0.05, rel=0.03)


@pytest.mark.parametrize("process", RANDOM)
@given(count=st.integers(1, 600), rate=st.floats(1e-6, 1e6))
def test_any_count(process, count, rate):
    drawn = process(rng(), rate, count=count)
    assert len(drawn) == count
    assert np.isfinite(drawn).all()
    assert (np.diff(drawn) >= 0).all()


def test_even():
    assert even(rng(), 0.05, count=3).tolist() == [0, 20, 40]
    assert even(rng(), 0.05, until=40.0).tolist() == [0, 20]
    assert even(rng(), 0.05, until=41.0).tolist() == [0, 20, 40]


def test_poisson_gaps_are_exponential():
    gaps = np.diff(poisson(rng(), 4.0, count=50_000))
    assert gaps.mean() == pytest.approx(0.25, rel=0.02)
    assert gaps.std() == pytest.approx(0.25, rel=0.02)
    assert (gaps > 0.25).mean() == pytest.approx(np.exp(-1), abs=0.01)
    # Numbers in intervals have a variance like their mean.
    counts = np.bincount(poisson(rng(), 4.0, until=20_000.0).astype(int), minlength=20_000)
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.05)


def test_bursts_are_shares_of_time_and_of_arrivals():
    drawn = bursty(rng(), 1.0, until=2e6, burstiness=20.0, burst_share=0.1, burst_seconds=200.0)
    assert len(drawn) == pytest.approx(2e6, rel=0.05)
    # Calm is 1 / 2.9 a second, burst 20 times as many: in windows that lie well within one state
    # the two show, and nothing between them.
    counts = np.bincount((drawn // 20).astype(int), minlength=100_000) / 20
    calm, burst = 1 / 2.9, 20 / 2.9
    assert (counts > 3).mean() == pytest.approx(0.1, abs=0.02)
    assert np.median(counts[counts < 1]) == pytest.approx(calm, rel=0.05)
    assert np.median(counts[counts > 4]) == pytest.approx(burst, rel=0.05)
    assert counts.var() / counts.mean() * 20 > 20


def test_bursts_by_their_two_rates_are_bursts_by_mean_and_shares():
    one = bursty(rng(), 1.9, until=1e5, burstiness=10.0, burst_share=0.1, burst_seconds=60.0)
    same = two_rates(rng(), 1.0, 10.0, until=1e5, every_s=540.0, length_s=60.0)
    assert same.tolist() == pytest.approx(one.tolist())


def test_nothing_arrives_at_a_rate_of_zero():
    drawn = two_rates(rng(), 0.0, 5.0, until=1e6, every_s=900.0, length_s=100.0)
    assert len(drawn) == pytest.approx(5e5, rel=0.1)
    gaps = np.diff(drawn)
    assert gaps[gaps > 5].mean() == pytest.approx(900, rel=0.1)  # few in a burst are so long
    lulls = two_rates(rng(), 5.0, 0.0, until=1e6, every_s=900.0, length_s=100.0)
    assert len(lulls) == pytest.approx(4.5e6, rel=0.02)


def test_a_burst_as_calm_as_calm_is_poisson():
    gaps = np.diff(bursty(rng(), 1.0, count=50_000, burstiness=1.0))
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.02)


def test_the_day():
    drawn = diurnal(rng(), 0.1, until=60 * arrivals.DAY)
    hour = np.bincount((drawn % arrivals.DAY // 3600).astype(int), minlength=24) / 60 / 360
    middle = (np.arange(24) + 0.5) / 24
    assert hour == pytest.approx(1 + 0.8 * np.cos(2 * np.pi * (middle - 0.5)), abs=0.04)
    night = diurnal(rng(), 1.0, until=3000.0, amplitude=1.0, period_s=1000.0, peak_s=0.0)
    counts = np.histogram(night % 1000, [0, 250, 450, 550, 750, 1000])[0]
    assert counts[2] < 0.02 * counts.sum()
    flat = diurnal(rng(), 1.0, count=50_000, amplitude=0.0)
    assert np.diff(flat).std() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("process", "arguments", "words"),
    [
        (poisson, {"rate": 0, "count": 1}, "rate: 0 is not allowed: a number more than 0"),
        (poisson, {"rate": float("nan"), "count": 1}, "rate: nan is not allowed"),
        (poisson, {"rate": 1}, "count or until is needed, and only one of them"),
        (poisson, {"rate": 1, "count": 1, "until": 1.0}, "only one of them"),
        (poisson, {"rate": 1, "count": 0}, "count: 0 is not allowed: at least 1"),
        (poisson, {"rate": 1, "until": -1.0}, "until: -1 is not allowed"),
        (poisson, {"rate": 1, "count": 10**9}, "arrivals: 1,000,000,000 are not allowed: at most"),
        (poisson, {"rate": 1e9, "until": 1e9}, "are not allowed: at most 100,000,000"),
        (even, {"rate": 1e9, "until": 1e9}, "are not allowed: at most 100,000,000"),
        (diurnal, {"rate": 1e9, "until": 1e9}, "are not allowed: at most 100,000,000"),
        (bursty, {"rate": 1e3, "until": 1e7}, "are not allowed: at most 100,000,000"),
        (bursty, {"rate": 1, "count": 1, "burstiness": 0.5}, "burstiness: 0.5 is not .* least 1"),
        (bursty, {"rate": 1, "count": 1, "burst_share": 1}, "burst_share: 1 is not .* between 0"),
        (bursty, {"rate": 1, "count": 1, "burst_seconds": 0}, "burst_seconds: 0 is not allowed"),
        (two_rates, {"base": 0, "burst": 0, "until": 1}, "rate: 0 is not allowed"),
        (two_rates, {"base": -1, "burst": 1, "until": 1}, "rate: -1 is not allowed: at least 0"),
        (two_rates, {"base": 1, "burst": 1, "until": 1, "every_s": 0}, "every_s: 0 is not allowed"),
        (
            two_rates,
            {"base": 1, "burst": 2, "until": 1, "every_s": 1e-9, "length_s": 1e-9},
            "length_s: 1e-09 is not allowed: in 1 s there are more than 10,000,000 bursts",
        ),
        (
            diurnal,
            {"rate": 1, "count": 1, "amplitude": 1.1},
            "amplitude: 1.1 is not .* from 0 to 1",
        ),
        (diurnal, {"rate": 1, "count": 1, "period_s": 0}, "period_s: 0 is not allowed"),
        (diurnal, {"rate": 1, "count": 1, "peak_s": float("inf")}, "peak_s: inf is not allowed"),
    ],
)
def test_parameters_are_checked(process, arguments, words):
    with pytest.raises(SpecError, match=words):
        process(rng(), **arguments)


def test_processes_have_names():
    assert arrival_process("bursty") is bursty
    with pytest.raises(SpecError, match=r"arrivals: 'poison' .* one of even, .* mean 'poisson'\?"):
        arrival_process("poison")


COUNTS = np.array([[2, 0, 1], [1, 0, 0]])


def test_even_spread_by_hand():
    arrival_times, sources = spread_counts(rng(), COUNTS, 60.0, "even")
    assert arrival_times.tolist() == [15, 30, 45, 150]
    assert sources.tolist() == [0, 1, 0, 0]
    # Those of one instant stay in the order of sources.
    arrival_times, sources = spread_counts(rng(), np.array([[1], [1]]), 60.0, "even")
    assert (arrival_times.tolist(), sources.tolist()) == ([30, 30], [0, 1])


def test_uniform_spread():
    arrival_times, _ = spread_counts(rng(), np.array([[100_000]]), 60.0)
    assert np.histogram(arrival_times, 6, (0, 60))[0] == pytest.approx(100_000 / 6, rel=0.03)


@pytest.mark.parametrize("rule", arrivals.SPREADS)
@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5))
def test_counts_stay(rule, counts):
    counts = np.array(counts)
    arrival_times, sources = spread_counts(rng(), counts, 60.0, rule)
    again = np.zeros_like(counts)
    np.add.at(again, (sources, (arrival_times // 60).astype(int)), 1)
    assert again.tolist() == counts.tolist()
    assert (np.diff(arrival_times) >= 0).all()


def test_spreads_are_checked():
    with pytest.raises(SpecError, match="spread: 'evn' is not allowed: one of uniform, even"):
        spread_counts(rng(), COUNTS, 60.0, "evn")
    with pytest.raises(SpecError, match="are not allowed: at most 100,000,000"):
        spread_counts(rng(), np.array([[10**9]]))
