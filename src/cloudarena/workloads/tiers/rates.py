"""Rates by formula, and rates that stand in the spec."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats
from cloudarena.base.numpy import np
from cloudarena.workloads.arrivals import rates
from cloudarena.workloads.arrivals.processes import EVERY_S, LENGTH_S
from cloudarena.workloads.tiers.source import SECONDS, Rate, RateSource


class Constant(RateSource):
    """A constant rate, in requests a second."""

    is_generator = True
    reads_files = False
    example = "--kind tiers --rate 100 --out rates"

    source: Literal["constant"]
    rate: Rate
    """Requests a second."""

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""
        return rates.constant(seconds, self.rate)


class Waves(RateSource):
    """A rate in waves, or with waves under it."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, value: Any) -> Any:
        """Reads the name that version 0.1.0 had for the length of a wave."""
        if isinstance(value, dict) and "cycle_s" in value and "period_s" not in value:
            return {("period_s" if key == "cycle_s" else key): value[key] for key in value}
        return value


class Sine(Waves):
    """``mean * (1 + amplitude * sin(2 pi t / period_s))``."""

    is_generator = True
    reads_files = False
    example = "--kind tiers --mean 100 --period-s 3600 --out rates"

    source: Literal["sine"]
    mean: Rate
    """Requests a second on average."""
    amplitude: float = Field(0.5, ge=0, le=1)
    """How far the rate goes up and down, as a share of the mean."""
    period_s: float = Field(86400.0, gt=0)
    """The length of a wave in seconds."""

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""
        return rates.sine(seconds, self.mean, self.amplitude, self.period_s)


class Bursts(Waves):
    """A base rate, and bursts of a higher one: a sine under them where ``amplitude`` is given."""

    is_generator = True
    reads_files = False
    example = "--kind tiers --base 50 --burst 200 --out rates"

    source: Literal["bursts"]
    base: Rate
    """Requests a second between bursts."""
    burst: Rate
    """Requests a second in a burst."""
    every_s: float = Field(EVERY_S, ge=1, le=1e9)
    """Seconds from the end of a burst to the next, on average."""
    length_s: float = Field(LENGTH_S, ge=1, le=1e9)
    """How long a burst lasts on average, in seconds."""
    amplitude: float = Field(0.0, ge=0, le=1)
    """How far the rate goes up and down under the bursts, as a share."""
    period_s: float = Field(86400.0, gt=0)
    """The length of a wave in seconds."""

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""
        wave = rates.sine(seconds, 1.0, self.amplitude, self.period_s)
        return wave * rates.bursts(
            seconds, self.base, self.burst, self.every_s, self.length_s, seed
        )


class WorldCupHour(RateSource):
    """An hour with one steep rise to a peak, as of a match of the World Cup of 1998."""

    is_generator = True
    reads_files = False
    example = "--peak 400 --out rates"

    source: Literal["worldcup-hour"]
    peak: Rate
    """The highest rate, in requests a second."""

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""
        return rates.world_cup_hour(seconds, self.peak, seed)


class Pieces(RateSource):
    """Rates that are held until the next: rows of [second, rate], from second 0 on."""

    reads_files = False

    source: Literal["piecewise"]
    rates_at: tuple[tuple[float, Annotated[float, Field(ge=0, le=1e7)]], ...] = Field(min_length=1)
    """Rows of [second, rate]."""

    @model_validator(mode="after")
    def _rising(self) -> Pieces:
        times = [time for time, _ in self.rates_at]
        if times[0] != 0 or any(b <= a for a, b in itertools.pairwise(times)):
            raise PydanticCustomError(
                "not_allowed", f"rates_at: times {times} are not allowed: from 0 on, rising"
            )
        return self

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""
        times, values = np.array(self.rates_at).T
        held = np.searchsorted(times, np.arange(seconds) + 0.5, side="right") - 1
        return np.asarray(values[held])
