"""When requests for functions arrive: by profiles of a rate, or as on Azure.

Each function draws from a random stream of its own, so a further function does not change the
others. A rate that changes is followed by thinning, so it may be 0 for a while and come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.arrivals.azure_functions import MINUTES, read_invocations
from cloudarena.workloads.arrivals.azure_functions_2021 import read_timed_invocations
from cloudarena.workloads.arrivals.processes import (
    BURST_SECONDS,
    BURST_SHARE,
    BURSTINESS,
    bursty,
    diurnal,
    even,
    poisson,
    spread_counts,
)
from cloudarena.workloads.arrivals.rates import MOST_REQUESTS, arrivals_by_rate
from cloudarena.workloads.columns import NUMBER, check, read_columns

Assignment = Literal["busiest", "dealt"]
Instants = NDArray[np.float64]


class Requests(NamedTuple):
    """Requests in the order of their arrival; those of one instant in the order of functions."""

    arrival_s: NDArray[np.float64]
    function: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    """How long each ran in a trace that tells it; else empty."""


class Profile(Protocol):
    """How the requests for one function arrive."""

    def instants(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> NDArray[np.float64]:
        """Instants in rising order, from 0 on and before the duration."""


class Constant(NamedTuple):
    """One request every ``1 / rate`` seconds, the first at 0."""

    rate: float

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """Draws nothing."""
        rate = _rate("rate", self.rate) * load_scale
        return even(rng, rate, until=duration_s) if rate > 0 else np.empty(0)


class Poisson(NamedTuple):
    """A Poisson process of a rate, in requests a second."""

    rate: float

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """Exponential gaps."""
        rate = _rate("rate", self.rate) * load_scale
        return poisson(rng, rate, until=duration_s) if rate > 0 else np.empty(0)

    @property
    def mean(self) -> float:
        """Requests a second."""
        return self.rate

    def seen_from(self, begin_s: float) -> Poisson:
        """The same process from a later instant on: it forgets what was."""
        return self


class Sine(NamedTuple):
    """A Poisson process of rate ``mean (1 + amplitude sin(2 pi t / period_s))``.

    With an amplitude of 1 the rate goes from 0 to twice the mean.
    """

    mean: float
    period_s: float
    amplitude: float = 1.0
    begin_s: float = 0.0
    """When it begins, in the wave's time."""

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """By thinning a process of the highest rate."""
        mean = _rate("mean", self.mean) * load_scale
        if mean == 0:
            return np.empty(0)
        return diurnal(
            rng,
            mean,
            until=duration_s,
            amplitude=self.amplitude,
            period_s=self.period_s,
            peak_s=self.period_s / 4 - self.begin_s,
        )

    def seen_from(self, begin_s: float) -> Sine:
        """The same process from a later instant on: it forgets what was."""
        return self._replace(begin_s=self.begin_s + begin_s)


class RandomWalk(NamedTuple):
    """A Poisson process whose rate walks: each step adds a normal number.

    A step beyond ``least`` or ``most`` gives that rate, and the walk stays where it was.
    """

    start: float
    deviation: float
    least: float
    most: float
    step_s: float = 1.0

    def rates(self, rng: np.random.Generator, duration_s: float) -> NDArray[np.float64]:
        """The rate of each step."""
        if not 0 <= self.least <= self.start <= self.most < np.inf:
            raise SpecError(
                f"start: {self.start:g} is not allowed: from least ({self.least:g}, at least 0) "
                f"to most ({self.most:g})"
            )
        if not (self.step_s > 0 and self.deviation >= 0):
            raise SpecError(
                f"step_s: {self.step_s:g} and deviation: {self.deviation:g} are not allowed: a "
                "step of more than 0 seconds, a deviation of at least 0"
            )
        steps = rng.normal(0.0, self.deviation, int(np.ceil(duration_s / self.step_s)))
        rates, place = np.empty(len(steps)), self.start
        for k, step in enumerate(steps.tolist()):
            rates[k] = min(max(place + step, self.least), self.most)
            if rates[k] == place + step:
                place += step
        return rates

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """Rates are held for each step."""
        per_step = self.rates(rng, duration_s) * load_scale * self.step_s
        return arrivals_by_rate(per_step, duration_s / self.step_s, rng) * self.step_s


class Bursts(NamedTuple):
    """A Poisson process that switches between calm and burst (see ``arrivals.bursty``)."""

    rate: float
    burstiness: float = BURSTINESS
    burst_share: float = BURST_SHARE
    burst_seconds: float = BURST_SECONDS

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """A two-state MMPP."""
        rate = _rate("rate", self.rate) * load_scale
        if rate == 0:
            return np.empty(0)
        return bursty(
            rng,
            rate,
            until=duration_s,
            burstiness=self.burstiness,
            burst_share=self.burst_share,
            burst_seconds=self.burst_seconds,
        )


class Recorded(NamedTuple):
    """Recorded gaps between requests: column ``inter_arrival_s`` of a CSV or Parquet file.

    The first request comes after the first gap. With ``repeat`` the file begins anew when it ends.
    A load scale of 2 halves the gaps.
    """

    path: Path
    repeat: bool = False

    def instants(self, rng: np.random.Generator, duration_s: float, load_scale: float) -> Instants:
        """Draws nothing."""
        gaps = writable(read_columns(self.path, {"inter_arrival_s": NUMBER})[0])
        if len(gaps) == 0:
            raise TraceError(f"{self.path}: has no gaps")
        check(self.path, "inter_arrival_s", gaps, (gaps >= 0) & np.isfinite(gaps), "at least 0")
        if load_scale == 0:
            return np.empty(0)
        instants = np.cumsum(gaps) / load_scale
        if self.repeat:
            length = instants[-1]
            if not length > 0:
                raise TraceError(f"{self.path}: all gaps are 0, which cannot be repeated")
            rounds = int(duration_s // length) + 1
            _few_enough(rounds * len(gaps))
            instants = (np.arange(rounds)[:, None] * length + instants).reshape(-1)
        return instants[instants < duration_s]


def draw_requests(
    profiles: Mapping[str, Profile], duration_s: float, seed: int, load_scale: float = 1.0
) -> Requests:
    """The requests for functions, by name, within so many seconds.

    Args:
        profiles: how requests for each function arrive; the order numbers the functions.
        duration_s: until when.
        seed: decides what is drawn.
        load_scale: multiplies every rate.
    """
    _check_span(duration_s, load_scale)
    parts = [
        profile.instants(stream(seed, f"requests/{name}"), duration_s, load_scale)
        for name, profile in profiles.items()
    ]
    return merge(parts)


def expected_requests(
    profiles: Mapping[str, Profile], duration_s: float, load_scale: float
) -> float:
    """How many requests are expected; 0 if not all come by processes that forget what was.

    Only such processes can be drawn window by window.
    """
    rates = [p.mean for p in profiles.values() if isinstance(p, (Poisson, Sine))]
    return sum(rates) * load_scale * duration_s if len(rates) == len(profiles) else 0.0


def draw_window(
    profiles: Mapping[str, Profile],
    duration_s: float,
    seed: int,
    load_scale: float,
    window: int,
    windows: int,
) -> Requests:
    """The requests of one of several windows of equal length; each draws from its own stream."""
    _check_span(duration_s, load_scale)
    begin, length = duration_s * window / windows, duration_s / windows
    parts = []
    for name, profile in profiles.items():
        assert isinstance(profile, (Poisson, Sine))
        rng = stream(seed, f"requests/{name}/{window}")
        parts.append(begin + profile.seen_from(begin).instants(rng, length, load_scale))
    return merge(parts)


def merge(
    instants: Sequence[NDArray[np.float64]], durations: Sequence[NDArray[np.float64]] = ()
) -> Requests:
    """The requests of all functions, in the order of their arrival."""
    if not instants:
        return Requests(np.empty(0), np.empty(0, np.int64), np.empty(0))
    arrival = np.concatenate(instants)
    function = np.repeat(np.arange(len(instants)), [len(part) for part in instants])
    order = np.argsort(arrival, kind="stable")
    duration = np.concatenate(durations)[order] if durations else np.empty(0)
    return Requests(arrival[order], function[order], duration)


def azure_2019_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    seed: int,
    load_scale: float = 1.0,
    *,
    trigger: str | None = None,
    first_minute: int = 1,
    assignment: Assignment = "busiest",
    spread: str = "uniform",
) -> Requests:
    """Requests as functions were invoked on Azure in 2019, minute by minute.

    Args:
        path: a day of the trace (see ``azure_functions``).
        functions: the names of ours.
        duration_s: for how long; at most to the end of the day.
        seed: decides the instants within minutes.
        load_scale: multiplies the counts; a fraction is kept or copied at random.
        trigger: only functions with this trigger.
        first_minute: of the day, from 1.
        assignment: ``busiest``, the k-th busiest of theirs is our k-th; ``dealt``, theirs are
            dealt out to ours in the order of the file, so that all invocations count.
        spread: how instants lie within a minute (see ``spread_counts``).
    """
    _check_span(duration_s, load_scale)
    if not 1 <= first_minute <= MINUTES:
        raise SpecError(f"first_minute: {first_minute} is not allowed: from 1 to {MINUTES}")
    minutes = int(np.ceil(duration_s / 60.0))
    counts = read_invocations(path, trigger).counts[:, first_minute - 1 :][:, :minutes]
    parts = []
    for name, rows in zip(
        functions, _assigned(path, counts.sum(axis=1), len(functions), assignment), strict=True
    ):
        rng = stream(seed, f"requests/{name}")
        scaled = _scaled(rng, counts[rows].sum(axis=0, keepdims=True), load_scale)
        instants, _ = spread_counts(rng, scaled, 60.0, spread)
        parts.append(instants[instants < duration_s])
    return merge(parts)


def azure_2021_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    seed: int,
    load_scale: float = 1.0,
    *,
    first_s: float = 0.0,
    assignment: Assignment = "busiest",
) -> Requests:
    """Requests as functions were invoked on Azure in 2021, with how long each ran.

    Arguments are those of ``azure_2019_requests``; ``first_s`` counts from the first invocation of
    the trace. A load scale above 1 copies invocations; a copy arrives at any time until the next
    invocation of the same function.
    """
    _check_span(duration_s, load_scale)
    trace = read_timed_invocations(path)
    begin, end = np.searchsorted(trace.arrival_s, (first_s, first_s + duration_s))
    arrival, function = trace.arrival_s[begin:end] - first_s, trace.function[begin:end]
    duration = trace.duration_s[begin:end]
    counts = np.bincount(function, minlength=len(trace.names))
    ours = np.full(len(trace.names), len(functions))
    for k, rows in enumerate(_assigned(path, counts, len(functions), assignment)):
        ours[rows] = k
    by_function = np.argsort(ours[function], kind="stable")
    ends = np.cumsum(np.bincount(ours[function], minlength=len(functions)))[: len(functions)]
    parts, durations = [], []
    for name, own in zip(functions, np.split(by_function, ends), strict=False):
        rng = stream(seed, f"requests/{name}")
        copies = _scaled(rng, np.ones(len(own), np.int64), load_scale)
        number = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        gaps = np.diff(arrival[own], append=duration_s)
        late = np.where(number > 0, rng.random(len(number)), 0.0) * np.repeat(gaps, copies)
        instants = np.repeat(arrival[own], copies) + late
        order = np.argsort(instants, kind="stable")
        parts.append(instants[order])
        durations.append(np.repeat(duration[own], copies)[order])
    return merge(parts, durations)


def _assigned(
    path: Path, counts: NDArray[np.int64], functions: int, assignment: str
) -> list[NDArray[np.int64]]:
    """Which functions of a trace stand for each of ours."""
    if assignment == "dealt":
        return [np.arange(k, len(counts), functions) for k in range(functions)]
    if assignment != "busiest":
        raise SpecError(f"assignment: {assignment!r} is not allowed: one of busiest, dealt")
    if len(counts) < functions:
        raise TraceError(f"{path}: has {len(counts)} functions: {functions} are needed")
    busiest = np.argsort(-counts, kind="stable")
    return [busiest[k : k + 1] for k in range(functions)]


def _scaled(rng: np.random.Generator, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Counts times a scale; what is left of a whole number is drawn."""
    whole = int(scale)
    _few_enough(float(counts.sum()) * scale)
    scaled: NDArray[np.int64] = counts * whole
    return scaled if scale == whole else scaled + rng.binomial(counts, scale - whole)


def _rate(field: str, rate: float) -> float:
    if not 0 <= rate < np.inf:
        raise SpecError(f"{field}: {rate:g} is not allowed: requests a second, at least 0")
    return rate


def _few_enough(requests: float) -> None:
    if requests > MOST_REQUESTS:
        raise SpecError(f"requests: {requests:.3g} are not allowed: at most {MOST_REQUESTS:g}")


def _check_span(duration_s: float, load_scale: float) -> None:
    if not 0 < duration_s < np.inf:
        raise SpecError(f"duration_s: {duration_s:g} is not allowed: a number more than 0")
    if not 0 <= load_scale < np.inf:
        raise SpecError(f"load_scale: {load_scale:g} is not allowed: a number, at least 0")
