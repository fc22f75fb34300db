"""The power curve, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.power import JOULES_PER_KWH, power_w


@pytest.mark.parametrize(
    ("idle", "busy", "r", "u", "watts"),
    [
        (120, 185, 1.4, 0, 120),
        (120, 185, 1.4, 1, 185),
        (100, 200, 1, 0.3, 130),  # 2u - u = u
        (100, 200, 2, 0.5, 175),  # 1 - 1/4
        (100, 200, 2, 0.1, 119),  # 0.2 - 0.01
        (0, 80, 1.5, 0.25, 30),  # 0.5 - 0.125
        # 0.5^1.4 = 0.378929141627600; 120 + 65 * 0.6210708583724
        (120, 185, 1.4, 0.5, 160.369605794206),
        (90, 90, 1.4, 0.7, 90),  # always the same
    ],
)
def test_values(idle: float, busy: float, r: float, u: float, watts: float) -> None:
    assert power_w(idle, busy, r, u) == pytest.approx(watts, rel=1e-13)


@pytest.mark.parametrize("u", [1.0, 1.0000001, 2.0, 1e300, np.inf])
def test_more_than_all_cores_draw_what_all_cores_draw(u: float) -> None:
    assert power_w(120.0, 185.0, 1.4, u) == 185.0


@pytest.mark.parametrize("u", [0.0, -0.0, -1e-16, -1.0])
def test_nothing_used_draws_idle_power(u: float) -> None:
    assert power_w(120.0, 185.0, 1.4, u) == 120.0


@given(
    r=st.floats(1, 2),
    low=st.floats(0, 1.2),
    high=st.floats(0, 1.2),
    idle=st.floats(0, 300),
    more=st.floats(0, 300),
)
def test_more_use_draws_no_less_power(
    r: float, low: float, high: float, idle: float, more: float
) -> None:
    low, high = sorted((low, high))
    slack = 1e-12 * (idle + more)
    at_low, at_high = power_w(idle, idle + more, r, low), power_w(idle, idle + more, r, high)
    assert at_low <= at_high + slack
    assert idle - slack <= at_low
    assert at_high <= idle + more + slack


def test_a_kilowatt_hour() -> None:
    assert JOULES_PER_KWH == 1000 * 3600
