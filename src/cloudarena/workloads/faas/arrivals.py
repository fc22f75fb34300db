"""Arrival processes: how many requests come in a span of time, and when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.arrivals.processes import (
    EVERY_S,
    LENGTH_S,
    diurnal,
    even,
    poisson,
    two_rates,
)
from cloudarena.workloads.arrivals.rates import MOST_REQUESTS, arrivals_by_rate
from cloudarena.workloads.columns import NUMBER, check, read_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudarena.base.arrays import Floats


class Profile(Protocol):
    """How the requests for one function arrive."""

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> NDArray[np.float64]:
        """Instants in rising order, from 0 on and before the duration."""


class Constant(NamedTuple):
    """One request every ``1 / rate`` seconds, the first at 0."""

    rate: float

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """Returns the times, of which nothing is drawn."""
        rate = _rate("rate", self.rate) * load_scale
        return even(rng, rate, until=duration_s) if rate > 0 else np.empty(0)


class Poisson(NamedTuple):
    """A Poisson process of a rate, in requests a second."""

    rate: float

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """Draws exponential gaps."""
        rate = _rate("rate", self.rate) * load_scale
        return poisson(rng, rate, until=duration_s) if rate > 0 else np.empty(0)

    @property
    def mean(self) -> float:
        """Requests a second."""
        return self.rate

    def seen_from(self, begin_s: float) -> Poisson:
        """Returns the process from a later instant on: it forgets what was."""
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

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """Draws by thinning a process of the highest rate."""
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
        """Returns the process from a later instant on: it forgets what was."""
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
        rates, level = np.empty(len(steps)), self.start
        for k, step in enumerate(steps.tolist()):
            rates[k] = min(max(level + step, self.least), self.most)
            if rates[k] == level + step:
                level += step
        return rates

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """Rates are held for each step."""
        per_step = self.rates(rng, duration_s) * load_scale * self.step_s
        return arrivals_by_rate(per_step, duration_s / self.step_s, rng) * self.step_s


class Bursts(NamedTuple):
    """A Poisson process with a base rate, and another in bursts (see ``processes.two_rates``)."""

    base: float
    burst: float
    every_s: float = EVERY_S
    length_s: float = LENGTH_S

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """A two-state MMPP."""
        base = _rate("base", self.base) * load_scale
        burst = _rate("burst", self.burst) * load_scale
        if max(base, burst) == 0:
            return np.empty(0)
        return two_rates(
            rng, base, burst, until=duration_s, every_s=self.every_s, length_s=self.length_s
        )


class Recorded(NamedTuple):
    """Recorded gaps between requests: column ``inter_arrival_s`` of a CSV or Parquet file.

    The first request comes after the first gap. With ``repeat`` the file begins again when it ends.
    A load scale of 2 halves the gaps.
    """

    path: Path
    repeat: bool = False

    def arrival_times(
        self, rng: np.random.Generator, duration_s: float, load_scale: float
    ) -> Floats:
        """Returns the times, of which nothing is drawn."""
        gaps = writable(read_columns(self.path, {"inter_arrival_s": NUMBER})[0])
        if len(gaps) == 0:
            raise TraceError(f"{self.path}: has no gaps")
        check(self.path, "inter_arrival_s", gaps, (gaps >= 0) & np.isfinite(gaps), "at least 0")
        if load_scale == 0:
            return np.empty(0)
        arrival_times = np.cumsum(gaps) / load_scale
        if self.repeat:
            length = arrival_times[-1]
            if not length > 0:
                raise TraceError(f"{self.path}: all gaps are 0, which cannot be repeated")
            rounds = int(duration_s // length) + 1
            check_few(rounds * len(gaps))
            arrival_times = (np.arange(rounds)[:, None] * length + arrival_times).reshape(-1)
        return arrival_times[arrival_times < duration_s]


def _rate(field: str, rate: float) -> float:
    if not 0 <= rate < np.inf:
        raise SpecError(f"{field}: {rate:g} is not allowed: requests a second, at least 0")
    return rate


def check_few(requests: float) -> None:
    """Refuses more requests than a run can hold."""
    if requests > MOST_REQUESTS:
        raise SpecError(f"requests: {requests:.3g} are not allowed: at most {MOST_REQUESTS:g}")
