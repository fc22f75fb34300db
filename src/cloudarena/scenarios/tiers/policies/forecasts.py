"""Forecasts of the next period's arrival rate from those before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cloudarena.base.arrays import Floats


def last_value(rates: Floats) -> float:
    """The next is like the last."""
    return float(rates[-1])


def linear(rates: Floats, window: int = 4) -> float:
    """The line through the last four values, by least squares.

    A line through two values only would forecast noise of the rates 2.2 times as large (the root
    of 5) as it is; through four, 1.2 times.
    """
    seen = rates[-window:]
    if len(seen) < 2:
        return last_value(rates)
    centred = np.arange(len(seen)) - 0.5 * (len(seen) - 1)
    slope = float(centred @ seen / (centred @ centred))
    return max(0.0, float(seen.mean()) + slope * 0.5 * (len(seen) + 1))


def smoothing(rates: Floats, weight: float = 0.5) -> float:
    """Simple exponential smoothing (Brown 1959)."""
    level = float(rates[0])
    for rate in rates[1:]:
        level += weight * (float(rate) - level)
    return level


def holt_winters(
    rates: Floats,
    level_weight: float = 0.5,
    trend_weight: float = 0.3,
    season_weight: float = 0.3,
    season: int = 0,
) -> float:
    """Additive Holt-Winters smoothing (Winters 1960): level, trend, and a season if there is one.

    A season of n periods counts after two of them have been seen.
    """
    seasonal = season > 0 and len(rates) >= 2 * season
    factors = np.zeros(max(1, season))
    level, trend = float(rates[0]), 0.0
    if seasonal:
        first, second = rates[:season].mean(), rates[season : 2 * season].mean()
        level, trend = float(first), float((second - first) / season)
        factors = rates[:season] - first
    for k, rate in enumerate(rates[1:], 1):
        phase = k % len(factors)
        before = level
        level = level_weight * (float(rate) - factors[phase]) + (1 - level_weight) * (level + trend)
        trend = trend_weight * (level - before) + (1 - trend_weight) * trend
        if seasonal:
            factors[phase] += season_weight * (float(rate) - level - factors[phase])
    return max(0.0, level + trend + float(factors[len(rates) % len(factors)]))


FORECASTS: dict[str, Callable[[Floats], float]] = {
    "last": last_value,
    "linear": linear,
    "smoothing": smoothing,
    "holt-winters": holt_winters,
}
