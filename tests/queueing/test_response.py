"""The distribution of the response time of a chain, end to end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cloudarena.base.errors import SpecError
from cloudarena.queueing import (
    TierChain,
    configurations,
    evaluate,
    mm1c_quantile,
    mm1c_tail,
    response_quantile,
    response_tail,
)
from cloudarena.queueing.inversion import FIRST_TERMS, tail_of_transform

from .fleets import configured, rubis, thesis_offer

LOADS = (0.3, 0.9, 1.0, 1 + 1e-9, 1.5, 40.0)


def invert(transform, seconds):
    """The tail of one distribution at several times."""
    times = np.asarray(seconds, float)
    terms = np.full(1, FIRST_TERMS)
    return [
        tail_of_transform(lambda s, _: transform(s), times[i : i + 1], np.zeros(1, int), terms)[0]
        for i in range(len(times))
    ]


def test_transforms_of_known_laws():
    times = [0.0, 0.05, 0.3, 1.0, 2.0, 6.0, 15.0]
    assert invert(lambda s: 1 / (1 + s), times) == pytest.approx(np.exp(-np.array(times)), abs=1e-9)
    for shape in (2, 30, 1000, 100_000):
        tail = stats.gamma.sf(times, shape, scale=1 / shape)
        assert invert(lambda s, k=shape: (1 + s / k) ** -k, times) == pytest.approx(tail, abs=1e-8)


@pytest.mark.parametrize("room", [1, 2, 50, 1000])
@pytest.mark.parametrize("load", LOADS)
def test_one_tier_is_mm1c(load, room):
    chain = TierChain([[2.0]], [], room)
    seconds = np.array([0.01, 0.5, 3.0, 20.0, 300.0])
    ours = response_tail(chain, 2 * load, np.ones((5, 1, 1)), seconds)
    assert ours == pytest.approx(mm1c_tail(seconds, 2 * load, 2, room), abs=1e-8)
    for level in (0.5, 0.95, 0.999):
        quantile = response_quantile(chain, 2 * load, [[1]], level)
        assert quantile == pytest.approx(mm1c_quantile(level, 2 * load, 2, room), rel=1e-5)


def test_fat_and_thin_vms_are_a_mixture():
    chain = TierChain([[9.0, 3.0]], [], 7)
    ours = response_tail(chain, 8, [[1, 1]], 0.6)
    tails = 0.75 * mm1c_tail(0.6, 6, 9, 7) + 0.25 * mm1c_tail(0.6, 2, 3, 7)
    assert ours == pytest.approx(tails, abs=1e-9)


def test_a_chain_without_queues_is_a_sum_of_service_times():
    # Every request has depth 2: two exponential times of rate 4 and one of rate 3. P(T > t) by
    # partial fractions of 16 * 3 / ((s + 4)^2 (s + 3)).
    chain = TierChain([[4.0], [3.0]], [1.0], 5)
    seconds = np.array([0.2, 1.0, 4.0])
    ours = response_tail(chain, 0, np.ones((3, 2, 1)), seconds)
    fast, slow = np.exp(-4 * seconds), np.exp(-3 * seconds)
    expected = 48 * (slow / 3 - fast / 4 - (seconds * fast / 4 + fast / 16))
    assert ours == pytest.approx(expected, abs=1e-9)


def test_a_random_walk_without_queues_is_geometric():
    # Two tiers of equal rate: 1 + 2 k visits with probability (1 - P) P^k.
    chain = TierChain([[5.0], [5.0]], [0.7], 9, "random_walk")
    seconds = np.array([0.1, 1.0, 5.0])
    ours = response_tail(chain, 0, np.ones((3, 2, 1)), seconds)
    visits = 1 + 2 * np.arange(300)
    distributions = stats.gamma.sf(seconds[:, None], visits, scale=0.2)
    assert ours == pytest.approx(distributions @ (0.3 * 0.7 ** np.arange(300)), abs=1e-9)


def test_served_requests_are_rather_those_that_turn_back_early():
    # Tier 2 loses nearly all: what is served has depth 1, one visit to tier 1.
    chain = TierChain([[10.0], [1e-4]], [0.5], 1)
    ours = response_tail(chain, 4, [[1], [1]], 0.3, losses=True)
    assert ours == pytest.approx(np.exp(-3), abs=1e-3)


@settings(max_examples=25)
@given(configured(most_tiers=3, most_room=30), st.booleans())
def test_the_integral_of_the_tail_is_the_mean(case, losses):
    chain, rate, counts = case
    counts = counts[0]
    mean = evaluate(chain, rate, counts, losses).response_s
    end = response_quantile(chain, rate, counts, 0.99999, losses)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    # Geometric pieces: distributions may be spread over several orders of magnitude.
    edges = np.concatenate(([0.0], end * 2.0 ** np.arange(-12, 3)))
    widths = np.diff(edges)
    seconds = edges[:-1, None] + widths[:, None] * (nodes + 1) / 2
    tails = response_tail(
        chain, rate, np.broadcast_to(counts, (*seconds.shape, *counts.shape)), seconds, losses
    )
    integral = (tails @ weights * widths / 2).sum()
    assert integral == pytest.approx(mean, rel=2e-4)


@settings(max_examples=25)
@given(configured(), st.floats(0.05, 0.999), st.booleans())
def test_the_quantile_inverts_the_tail(case, level, losses):
    chain, rate, counts = case
    quantile = response_quantile(chain, rate, counts, level, losses)
    tail = response_tail(chain, rate, counts, quantile, losses)
    assert tail == pytest.approx(np.full(2, 1 - level), abs=1e-8)


@settings(max_examples=25)
@given(configured(), st.floats(0, 20))
def test_the_tail_falls_in_time(case, seconds):
    chain, rate, counts = case
    tails = response_tail(chain, rate, counts, seconds)
    assert ((tails >= 0) & (tails <= 1)).all()
    assert (response_tail(chain, rate, counts, 1.5 * seconds) <= tails + 1e-8).all()


def test_the_42_configurations_are_evaluated_one_by_one_or_together():
    counts = configurations(thesis_offer())
    together = response_quantile(rubis(), 60, counts, 0.95)
    for index in range(0, 42, 5):
        alone = response_quantile(rubis(), 60, counts[index], 0.95)
        assert together[index] == pytest.approx(alone, rel=1e-7)
    assert response_tail(rubis(), 60, counts.reshape(6, 7, 3, 2), 1.0).shape == (6, 7)
    assert np.shape(alone) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: response_tail(rubis(), 1, [[1, 0]] * 3, -1), "seconds: -1 is not allowed"),
        (lambda: response_tail(rubis(), 1, [[1, 0]] * 3, [1, 2]), r"seconds: the shape \(2,\)"),
        (lambda: response_quantile(rubis(), 1, [[1, 0]] * 3, 1), "level: 1 is not allowed"),
        (lambda: response_quantile(rubis(), 1, [[1, 0]] * 3, [0.5]), r"level: the shape \(1,\)"),
        (lambda: response_quantile(rubis(), -1, [[1, 0]] * 3, 0.5), "arrival_rate: -1 is not"),
        (lambda: response_tail(rubis(), 1, [[0, 0]] * 3, 1), r"counts\[0\]: \[0, 0\] is not"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
