"""When things arrive: at even gaps, by a Poisson process, in bursts, by the day, by counts.

Each process takes a generator, a mean ``rate`` (arrivals in a second) and either ``count``, for so
many arrivals, or ``until``, for all within so many seconds. It returns instants in seconds, in
rising order, from the start of the process at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 86_400.0
BURSTINESS, BURST_SHARE, BURST_SECONDS = 10.0, 0.1, 60.0
EVERY_S, LENGTH_S = 1800.0, 120.0
AMPLITUDE = 0.8
MOST_ARRIVALS = 10**8
"""More would not fit into memory with what arrives."""
MOST_BURSTS = 10_000_000
SPREADS = ("uniform", "even")


class ArrivalProcess(Protocol):
    """An arrival process with its parameters left at their defaults."""

    def __call__(
        self,
        rng: np.random.Generator,
        rate: float,
        *,
        count: int | None = None,
        until: float | None = None,
    ) -> NDArray[np.float64]:
        """Draws the times of arrivals."""


def even(
    rng: np.random.Generator,
    rate: float,
    *,
    count: int | None = None,
    until: float | None = None,
) -> NDArray[np.float64]:
    """One arrival every ``1 / rate`` seconds, the first at 0. Draws nothing."""
    horizon = _check(rate, count, until)
    number = _most(math.ceil(rate * horizon)) if count is None else count
    return np.arange(number) / rate


def poisson(
    rng: np.random.Generator,
    rate: float,
    *,
    count: int | None = None,
    until: float | None = None,
) -> NDArray[np.float64]:
    """A Poisson process: gaps are independent and exponential, ``1 / rate`` on average."""
    horizon = _check(rate, count, until)
    return _epochs(rng, count, rate * horizon) / rate


def bursty(
    rng: np.random.Generator,
    rate: float,
    *,
    count: int | None = None,
    until: float | None = None,
    burstiness: float = BURSTINESS,
    burst_share: float = BURST_SHARE,
    burst_seconds: float = BURST_SECONDS,
) -> NDArray[np.float64]:
    """A Poisson process that switches between calm and burst: a two-state MMPP.

    The time in each state is exponential; the state at the start is drawn as in the long run. In
    the long run the rate is ``rate``: ``calm = rate / (1 - share + share * burstiness)`` and
    ``burst = burstiness * calm``.

    Args:
        rng: draws the arrivals.
        rate: arrivals in a second, over calm and burst.
        count: how many arrivals to draw.
        until: or for how long, in seconds.
        burstiness: how many times as many arrive in a burst as in calm, at least 1.
        burst_share: the share of time that is burst, between 0 and 1.
        burst_seconds: the mean length of a burst.
    """
    horizon = _check(rate, count, until, burstiness=burstiness, burst_seconds=burst_seconds)
    if burstiness < 1:
        raise SpecError(f"burstiness: {burstiness:g} is not allowed: at least 1")
    if not 0 < burst_share < 1:
        raise SpecError(f"burst_share: {burst_share:g} is not allowed: between 0 and 1")
    calm_rate = rate / (1 - burst_share + burst_share * burstiness)
    rates = np.array([calm_rate, burstiness * calm_rate])
    lengths = np.array([burst_seconds * (1 - burst_share) / burst_share, burst_seconds])
    span = horizon if count is None else count / rate
    _check_bursts(f"rate: {rate:g}", span, lengths)
    return _in_turn(rng, rates, lengths, burst_share, count, horizon)


def two_rates(
    rng: np.random.Generator,
    base: float,
    burst: float,
    *,
    until: float,
    every_s: float = EVERY_S,
    length_s: float = LENGTH_S,
) -> NDArray[np.float64]:
    """A Poisson process with a base rate, and another in bursts: ``bursty`` by its two rates.

    It begins within a burst as often as it is in one.

    Args:
        rng: draws the arrivals.
        base: arrivals in a second between bursts; may be 0.
        burst: arrivals in a second in a burst; may be 0.
        until: for how long, in seconds.
        every_s: the mean time from the end of a burst to the next.
        length_s: the mean length of a burst.
    """
    horizon = _check(max(base, burst), None, until, every_s=every_s, length_s=length_s)
    if min(base, burst) < 0:
        raise SpecError(f"rate: {min(base, burst):g} is not allowed: at least 0")
    lengths = np.array([every_s, length_s])
    _check_bursts(f"length_s: {length_s:g}", horizon, lengths)
    share = length_s / (every_s + length_s)
    return _in_turn(rng, np.array([base, burst]), lengths, share, None, horizon)


def _check_bursts(given: str, span: float, lengths: NDArray[np.float64]) -> None:
    if span / lengths.sum() > MOST_BURSTS:
        raise SpecError(
            f"{given} is not allowed: in {span:.3g} s there are more than {MOST_BURSTS:,} "
            f"bursts of {lengths[1]:g} s"
        )


def _in_turn(
    rng: np.random.Generator,
    rates: NDArray[np.float64],
    lengths: NDArray[np.float64],
    burst_share: float,
    count: int | None,
    horizon: float,
) -> NDArray[np.float64]:
    """A Poisson process that is calm and in a burst in turn, with a rate and a mean length each."""
    state = int(rng.random() < burst_share)
    # Time is stretched so that one arrival comes in a unit: there it is a plain Poisson process.
    epochs = None if count is None else _epochs(rng, count, math.inf)
    enough = math.inf if epochs is None else epochs[-1]
    time, units = np.zeros(1), np.zeros(1)
    while units[-1] <= enough and time[-1] < horizon:
        # An even number of stays, so that the next begin in the same state.
        states = (state + np.arange(_most(len(time)) + 1023)) % 2
        stays = rng.exponential(lengths[states])
        time = np.append(time, time[-1] + np.cumsum(stays))
        units = np.append(units, units[-1] + np.cumsum(stays * rates[states]))
    if epochs is None:
        epochs = _epochs(rng, None, float(np.interp(horizon, time, units)))
    return np.interp(epochs, units, time)


def diurnal(
    rng: np.random.Generator,
    rate: float,
    *,
    count: int | None = None,
    until: float | None = None,
    amplitude: float = AMPLITUDE,
    period_s: float = DAY,
    peak_s: float = DAY / 2,
) -> NDArray[np.float64]:
    """A Poisson process whose rate follows the day.

    ``rate * (1 + amplitude * cos(2 pi (t - peak_s) / period_s))`` at time t, by thinning a
    process of the highest rate (Lewis and Shedler 1979).

    Args:
        rng: draws the arrivals.
        rate: arrivals in a second, over the day.
        count: how many arrivals to draw.
        until: or for how long, in seconds.
        amplitude: from 0, no wave, to 1, nothing at the trough.
        period_s: the length of the day.
        peak_s: when most arrive; noon of a day that begins at 0 by default.
    """
    horizon = _check(rate, count, until, period_s=period_s)
    if not 0 <= amplitude <= 1:
        raise SpecError(f"amplitude: {amplitude:g} is not allowed: from 0 to 1")
    if not math.isfinite(peak_s):
        raise SpecError(f"peak_s: {peak_s:g} is not allowed: a number")
    highest = rate * (1 + amplitude)

    def kept(arrival_times: NDArray[np.float64]) -> NDArray[np.float64]:
        wave = 1 + amplitude * np.cos(2 * np.pi * (arrival_times - peak_s) / period_s)
        return arrival_times[rng.random(len(arrival_times)) * (1 + amplitude) < wave]

    if count is None:
        return kept(_epochs(rng, None, highest * horizon) / highest)
    parts: list[NDArray[np.float64]] = []
    begin, missing = 0.0, count
    while missing > 0:
        candidates = begin + _epochs(rng, max(2 * missing, 256), math.inf) / highest
        begin = candidates[-1]
        parts.append(kept(candidates)[:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)


PROCESSES: dict[str, ArrivalProcess] = {
    "even": even,
    "poisson": poisson,
    "bursty": bursty,
    "diurnal": diurnal,
}


def arrival_process(name: str) -> Callable[..., NDArray[np.float64]]:
    """Returns the arrival process with a name."""
    check_choice("arrivals", name, PROCESSES)
    return PROCESSES[name]


def spread_counts(
    rng: np.random.Generator,
    counts: NDArray[np.int64],
    width_s: float = 60.0,
    rule: str = "uniform",
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Instants for counts by interval, such as invocations by minute.

    Args:
        rng: draws the instants; rule ``even`` draws nothing.
        counts: (sources, intervals), how many of each source arrive in each interval.
        width_s: the length of an interval.
        rule: ``uniform``, each at any time within its interval, as in a Poisson process of
            which the counts are known; ``even``, the k-th of n at ``(k + 1/2) / n`` of it.

    Returns:
        The instants in seconds from the start of the first interval, in rising order, and the
        source of each; those of one instant stay in the order of sources.
    """
    check_choice("spread", rule, SPREADS)
    sources, intervals = np.nonzero(counts)
    amounts = counts[sources, intervals]
    total = _most(int(amounts.sum(dtype=np.float64)))
    if rule == "uniform":
        share = rng.random(total)
    else:
        first = np.cumsum(amounts) - amounts
        number = np.arange(total) - np.repeat(first, amounts)
        share = (number + 0.5) / np.repeat(amounts, amounts)
    arrival_times = (np.repeat(intervals, amounts) + share) * width_s
    order = np.argsort(arrival_times, kind="stable")
    return arrival_times[order], np.repeat(sources, amounts)[order]


def _epochs(rng: np.random.Generator, count: int | None, until: float) -> NDArray[np.float64]:
    """A Poisson process of rate 1: the first ``count`` instants, or all before ``until``."""
    if count is not None:
        return np.cumsum(rng.exponential(size=count))
    _most(math.floor(until))
    return np.sort(rng.random(rng.poisson(until)) * until)


def _check(rate: float, count: int | None, until: float | None, **positive: float) -> float:
    """Raises for what cannot be; returns when the process ends, at infinity with a count."""
    if (count is None) == (until is None):
        raise SpecError("count or until is needed, and only one of them")
    if count is not None and count < 1:
        raise SpecError(f"count: {count} is not allowed: at least 1")
    _most(count or 0)
    for name, value in {"rate": rate, "until": until, **positive}.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise SpecError(f"{name}: {value:g} is not allowed: a number more than 0")
    return math.inf if until is None else until


def _most(arrivals: int) -> int:
    if arrivals > MOST_ARRIVALS:
        raise SpecError(f"arrivals: {arrivals:,} are not allowed: at most {MOST_ARRIVALS:,}")
    return arrivals
