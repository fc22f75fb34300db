"""How requests for a function arrive, as a user writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.arrivals.processes import EVERY_S, LENGTH_S
from cloudarena.workloads.faas import arrivals
from cloudarena.workloads.faas.source import Rate, RequestSource

OLD_KEYS_OF_BURSTS = ("rate", "burstiness", "burst_share", "burst_seconds")


class NoRequests(RequestSource):
    """None: a function without work, or with that of a trace."""

    reads_files = False

    source: Literal["none"]

    def profile(self) -> arrivals.Profile:
        """A rate of 0."""
        return arrivals.Poisson(0.0)


class Constant(RequestSource):
    """One request every ``1 / rate`` seconds."""

    is_generator = True
    reads_files = False
    example = "--kind faas --rate 5 --out requests"

    source: Literal["constant"]
    rate: Rate
    """Requests a second."""

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Constant(self.rate)


class Poisson(RequestSource):
    """A Poisson process."""

    is_generator = True
    reads_files = False
    example = "--rate 5 --out requests"

    source: Literal["poisson"]
    rate: Rate
    """Requests a second."""

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Poisson(self.rate)


class Sine(RequestSource):
    """A Poisson process of rate ``mean (1 + amplitude sin(2 pi t / period_s))``."""

    is_generator = True
    reads_files = False
    example = "--kind faas --mean 5 --period-s 600 --out requests"

    source: Literal["sine"]
    mean: Rate
    """Requests a second on average."""
    period_s: float = Field(gt=0, le=1e9)
    """The length of a wave in seconds."""
    amplitude: float = Field(1.0, ge=0, le=1)
    """How far the rate goes up and down, as a share of the mean."""

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Sine(self.mean, self.period_s, self.amplitude)


class RandomWalk(RequestSource):
    """A Poisson process whose rate walks between bounds."""

    is_generator = True
    reads_files = False
    example = "--start 5 --deviation 0.5 --most 20 --out requests"

    source: Literal["random-walk"]
    start: Rate
    """The rate at the start, in requests a second."""
    deviation: float = Field(ge=0, le=1e7)
    """The deviation of a step of the rate."""
    least: Rate = 0.0
    """The lowest rate."""
    most: Rate
    """The highest rate."""
    step_s: float = Field(1.0, gt=0, le=1e9)
    """The length of a step in seconds."""

    @model_validator(mode="after")
    def _within_bounds(self) -> RandomWalk:
        if not self.least <= self.start <= self.most:
            raise PydanticCustomError(
                "not_allowed",
                f"start: {self.start:g} is not allowed: from {self.least:g} to {self.most:g}",
            )
        return self

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.RandomWalk(self.start, self.deviation, self.least, self.most, self.step_s)


class Bursts(RequestSource):
    """A Poisson process with a base rate, and a higher one in bursts."""

    is_generator = True
    reads_files = False
    example = "--kind faas --base 5 --burst 50 --out requests"

    source: Literal["bursts"]
    base: Rate
    """Requests a second between bursts."""
    burst: Rate
    """Requests a second in a burst."""
    every_s: float = Field(EVERY_S, gt=0, le=1e9)
    """Seconds from the end of a burst to the next, on average."""
    length_s: float = Field(LENGTH_S, gt=0, le=1e9)
    """How long a burst lasts on average, in seconds."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, value: Any) -> Any:
        """Says what the keys are that were others before 0.2.0."""
        old = [key for key in OLD_KEYS_OF_BURSTS if isinstance(value, Mapping) and key in value]
        if old:
            raise PydanticCustomError(
                "unknown_key", f"unknown key '{old[0]}'. Now base, burst, every_s and length_s"
            )
        return value

    @property
    def mean(self) -> float:
        """Requests a second on average."""
        whole = self.every_s + self.length_s
        return (self.base * self.every_s + self.burst * self.length_s) / whole

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Bursts(self.base, self.burst, self.every_s, self.length_s)


class Recorded(RequestSource):
    """Gaps from a file with the column inter_arrival_s."""

    aliases = ("requests",)
    canonical: ClassVar[Mapping[str, str]] = {"path": "requests"}
    example = "gaps.csv --out requests"

    source: Literal["recorded"]
    path: SpecPath
    """The gaps, CSV or Parquet."""
    repeat: bool = False
    """Begins again when the file ends."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by its only column."""
        return beginning.cells == ["inter_arrival_s"]

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Recorded(self.path, self.repeat)
