"""Arrival rates over time, and requests that arrive by them.

A rate is held for each second. So the expected number of requests by a time is linear within each
second, and unit-rate Poisson arrivals put through its inverse are arrivals of that rate: exact,
vectorised, and with common random numbers for all policies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

WORLD_CUP_MINUTES = (0.0, 10.0, 20.0, 30.0, 37.0, 45.0, 52.0, 60.0)
WORLD_CUP_LEVELS = (0.18, 0.20, 0.25, 0.75, 1.0, 0.92, 0.70, 0.45)
"""An hour like that of a match of the World Cup of 1998, as shares of its peak."""
WORLD_CUP_NOISE = 0.04
MOST_REQUESTS = 500_000_000


def constant(seconds: int, rate: float) -> NDArray[np.float64]:
    """A rate that is the same in every second."""
    return np.full(seconds, rate)


def sine(seconds: int, mean: float, amplitude: float, period_s: float) -> NDArray[np.float64]:
    """``mean * (1 + amplitude * sin(2 pi t / period_s))`` in the middle of each second."""
    middle = np.arange(seconds) + 0.5
    return mean * (1.0 + amplitude * np.sin(2.0 * np.pi * middle / period_s))


def bursts(
    seconds: int, base: float, burst: float, every_s: float, length_s: float, seed: int
) -> NDArray[np.float64]:
    """A base rate, and a higher one in bursts that begin and last by exponential distributions."""
    rng = stream(seed, "bursts")
    rate = np.full(seconds, base)
    time = rng.exponential(every_s)
    while time < seconds:
        length = rng.exponential(length_s)
        rate[int(time) : int(np.ceil(time + length))] = burst
        time += length + rng.exponential(every_s)
    return rate


def world_cup_hour(seconds: int, peak: float, seed: int) -> NDArray[np.float64]:
    """An hour with one steep rise, as published for a match of 1998; each minute 4 % of noise.

    A longer run repeats the hour.
    """
    minute = (np.arange(seconds) + 0.5) / 60.0 % WORLD_CUP_MINUTES[-1]
    level = np.interp(minute, WORLD_CUP_MINUTES, WORLD_CUP_LEVELS)
    minutes = -(-seconds // 60)
    noise = 1.0 + WORLD_CUP_NOISE * stream(seed, "rate").standard_normal(minutes)
    rate: NDArray[np.float64] = peak * level * np.maximum(noise, 0.0)[np.arange(seconds) // 60]
    return rate


def arrivals_by_rate(
    rate: ArrayLike, duration_s: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Poisson arrivals whose rate is held for each second, up to a duration."""
    rates = np.asarray(rate, np.float64)
    begins = np.concatenate(([0], np.flatnonzero(rates[1:] != rates[:-1]) + 1))
    ends = np.minimum(np.append(begins[1:], len(rates)), duration_s)
    rates = rates[begins]  # of spells in which it does not change
    expected = np.concatenate(([0.0], np.cumsum(rates * (ends - begins))))
    total = expected[-1]
    if total > MOST_REQUESTS:
        raise SpecError(
            f"arrivals: {total:.3g} requests are not allowed: at most {MOST_REQUESTS:g}"
        )
    count = rng.poisson(total)
    # Given their number, Poisson arrivals are independent and uniform in expected numbers.
    arrivals = rng.random(count)
    arrivals.sort()
    arrivals *= np.nextafter(total, 0.0)
    spells = np.diff(np.searchsorted(arrivals, expected))
    arrivals -= np.repeat(expected[:-1], spells)
    arrivals /= np.repeat(rates, spells)
    arrivals += np.repeat(begins, spells)
    return arrivals
