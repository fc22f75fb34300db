"""The chain against a simulation event by event: what is exact, and how good the rest is."""

import numpy as np
import pytest

from cloudarena.queueing import TierChain, evaluate, mm1c, response_quantile

from . import reference
from .fleets import rubis

COUNTS = [[1, 1], [1, 2], [1, 0]]


def simulated(chain, rate, counts, requests, seeds):
    """The mean, the 95 % quantile and the lost share, with their standard errors."""
    runs = [reference.simulate(chain, rate, counts, requests, seed) for seed in range(seeds)]
    seen = np.array([[times.mean(), np.quantile(times, 0.95), lost] for times, lost in runs])
    return seen.mean(axis=0), seen.std(axis=0, ddof=1) / np.sqrt(seeds)


def test_one_queue_is_exact():
    # Load 0.9, room 5: one in eight of 36,000 is lost.
    chain = TierChain([[1.0]], [], 5)
    (mean, quantile, lost), (mean_error, quantile_error, lost_error) = simulated(
        chain, 0.9, [[1]], 3_000, 12
    )
    assert mean == pytest.approx(mm1c(0.9, 1, 5).response_s, abs=4 * mean_error)
    assert quantile == pytest.approx(
        response_quantile(chain, 0.9, [[1]], 0.95), abs=4 * quantile_error
    )
    assert lost == pytest.approx(mm1c(0.9, 1, 5).blocked, abs=4 * lost_error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("routing", "rate", "requests"), [("depth", 40, 40_000), ("random_walk", 5, 8_000)]
)
def test_means_without_losses_are_exact(routing, rate, requests):
    chain = rubis(routing)
    (mean, quantile, lost), (error, *_) = simulated(chain, rate, COUNTS, requests, 8)
    assert lost == 0
    assert mean == pytest.approx(evaluate(chain, rate, COUNTS).response_s, abs=4 * error)
    # The quantile takes visits for independent.
    expected = response_quantile(chain, rate, COUNTS, 0.95)
    assert quantile == pytest.approx(expected, rel=0.05 if routing == "depth" else 0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("balance", "room", "rate"), [("weighted", 6, 60), ("equal", 6, 60)])
def test_losses_by_depth_are_near(balance, room, rate):
    chain = rubis("depth", balance, room)
    (mean, quantile, lost), _ = simulated(chain, rate, COUNTS, 40_000, 3)
    model = evaluate(chain, rate, COUNTS, losses=True)
    assert model.response_s == pytest.approx(mean, rel=0.04)
    assert response_quantile(chain, rate, COUNTS, 0.95, losses=True) == pytest.approx(
        quantile, rel=0.05
    )
    assert 1 - model.served == pytest.approx(lost, abs=0.02)
    # On the safe side, as decisions are.
    assert evaluate(chain, rate, COUNTS).response_s > mean
