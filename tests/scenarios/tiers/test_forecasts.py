"""Forecasts of the next rate, against sums by hand."""

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.scenarios.tiers.policies.forecasts import FORECASTS, holt_winters, linear, smoothing

from .decisions import service


def test_one_value_is_all_that_is_known():
    for name, forecast in FORECASTS.items():
        assert forecast(np.array([7.0])) == 7.0, name


def test_last():
    assert FORECASTS["last"](np.array([1.0, 5.0, 3.0])) == 3.0


def test_a_line_goes_on():
    assert linear(np.array([2.0, 4.0])) == pytest.approx(6.0)
    assert linear(np.array([9.0, 9.0, 2.0, 4.0, 6.0, 8.0])) == pytest.approx(10.0)
    # Least squares through 1, 3, 2, 4: mean 2.5, slope 0.8, 2.5 steps on.
    assert linear(np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(4.5)
    assert linear(np.array([8.0, 1.0])) == 0.0


def test_smoothing():
    # 4, then half way to 8, then half way to 2.
    assert smoothing(np.array([4.0, 8.0, 2.0])) == pytest.approx(4.0)


def test_holt_winters_without_a_season():
    # Level 10, trend 0; then 14: level 12, trend 0.6; then 16: level 14.3, trend 1.11.
    assert holt_winters(np.array([10.0, 14.0])) == pytest.approx(12.6)
    assert holt_winters(np.array([10.0, 14.0, 16.0])) == pytest.approx(14.3 + 1.11)


def test_holt_winters_finds_a_season():
    season = np.array([10.0, 20.0, 30.0, 20.0])
    rates = np.tile(season, 6)
    for k in range(4):
        seen = rates[: 16 + k]
        assert holt_winters(seen, season=4) == pytest.approx(season[k], abs=1e-9)
    assert holt_winters(rates[:7], season=4) != pytest.approx(season[3], abs=1.0)


def test_a_policy_may_be_given_a_season():
    """Demand that doubles each second minute, and a season of two: the forecast knows it."""
    rates = np.tile([10.0, 20.0], 8)
    scenario = service()

    def asked_for(policy):
        chosen = scenario.kind.policies.resolve(policy)
        return chosen._forecast(rates)

    assert asked_for("model-based:forecast=holt-winters:season=2") == pytest.approx(10.0, abs=0.1)
    plain = asked_for("model-based:forecast=holt-winters")
    assert plain == holt_winters(rates)
    assert plain > 14.0


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("model-based:season=60", "season: 60 is not allowed: forecast linear has none"),
        ("model-based:forecast=holt-winters:season=1", "season: 1 is not allowed"),
        ("model-based:forecast=holt-winters:season=2.5", "season: 2.5 is not allowed"),
    ],
)
def test_a_season_that_is_none_is_refused(policy, words):
    with pytest.raises(CloudarenaError, match=words):
        service().kind.policies.resolve(policy)
