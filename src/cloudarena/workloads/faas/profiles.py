"""How requests for a function arrive, as a user writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.faas import arrivals
from cloudarena.workloads.faas.source import Rate, RequestSource


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
    """A Poisson process that switches between calm and burst."""

    is_generator = True
    reads_files = False
    example = "--kind faas --rate 5 --out requests"

    source: Literal["bursts"]
    rate: Rate
    """Requests a second, over calm and burst."""
    burstiness: float = Field(10.0, ge=1, le=1e6)
    """How many times as many arrive in a burst as in calm."""
    burst_share: float = Field(0.1, ge=1e-9, le=1 - 1e-9)
    """The share of time that is burst."""
    burst_seconds: float = Field(60.0, gt=0, le=1e9)
    """The mean length of a burst."""

    def profile(self) -> arrivals.Profile:
        """Returns the profile that the spec describes."""
        return arrivals.Bursts(self.rate, self.burstiness, self.burst_share, self.burst_seconds)


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
