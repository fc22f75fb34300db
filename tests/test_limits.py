"""Limits on metrics, as people write them."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.base.limits import Limit, parse_limit, read_limits


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("sla_minutes_ok >= 0.97", Limit("sla_minutes_ok", ">=", 0.97)),
        ("unserved_share<=0.1%", Limit("unserved_share", "<=", 0.001)),
        (" cost_usd < 1e3 ", Limit("cost_usd", "<", 1000.0)),
        ("profit_usd > -5", Limit("profit_usd", ">", -5.0)),
    ],
)
def test_a_limit_is_a_metric_an_order_and_a_number(text, limit):
    assert parse_limit(text) == limit
    assert parse_limit(str(limit)) == limit


def test_what_keeps_a_limit_and_by_how_much_others_break_it():
    at_least = parse_limit("share >= 0.5")
    values = np.array([0.4, 0.5, 0.7, np.nan])
    assert at_least.holds(values).tolist() == [False, True, True, False]
    assert at_least.excess(values)[:3] == pytest.approx([0.1, 0.0, -0.2])
    assert parse_limit("share > 0.5").holds(values).tolist() == [False, False, True, False]
    assert parse_limit("share < 0.5").holds(values).tolist() == [True, False, False, False]
    assert parse_limit("share <= 0.5").holds(values).tolist() == [True, True, False, False]


@pytest.mark.parametrize("text", ["", "a", "a <= ", "<= 1", "a = 1", "a <= b", "a <= nan", "a<1<2"])
def test_what_is_no_limit_is_said_with_what_is_allowed(text):
    with pytest.raises(SpecError, match=r"--where: .* is not allowed: a metric, <=, <, >= or >"):
        parse_limit(text, "--where")


def test_metrics_must_exist():
    assert read_limits(["cost_usd <= 5"], ["cost_usd", "energy_kwh"])[0].bound == 5.0
    with pytest.raises(SpecError, match=r"'cost' is no metric: .* Did you mean 'cost_usd'"):
        read_limits(["cost <= 5"], ["cost_usd", "energy_kwh"])
