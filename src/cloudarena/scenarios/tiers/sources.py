"""Where the requests of a tiers scenario come from: an arrival rate for each second."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.arrivals import rates

Rate = Annotated[float, Field(gt=0, le=1e7)]
"""Requests a second."""


class Constant(Spec):
    """The same rate all the time, in requests a second."""

    source: Literal["constant"]
    rate: Rate

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        return rates.constant(seconds, self.rate)


class Sine(Spec):
    """``mean * (1 + amplitude * sin(2 pi t / cycle_s))``."""

    source: Literal["sine"]
    mean: Rate
    amplitude: float = Field(0.5, ge=0, le=1)
    cycle_s: float = Field(86400.0, gt=0)

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        return rates.sine(seconds, self.mean, self.amplitude, self.cycle_s)


class Bursts(Spec):
    """A base rate, and bursts of a higher one: a sine under them where ``amplitude`` is given."""

    source: Literal["bursts"]
    base: Rate
    burst: Rate
    every_s: float = Field(1800.0, ge=1, le=1e9)
    length_s: float = Field(120.0, ge=1, le=1e9)
    amplitude: float = Field(0.0, ge=0, le=1)
    cycle_s: float = Field(86400.0, gt=0)

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        wave = rates.sine(seconds, 1.0, self.amplitude, self.cycle_s)
        return wave * rates.bursts(
            seconds, self.base, self.burst, self.every_s, self.length_s, seed
        )


class WorldCupHour(Spec):
    """An hour with one steep rise to a peak, as of a match of the World Cup of 1998."""

    source: Literal["worldcup-hour"]
    peak: Rate

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        return rates.world_cup_hour(seconds, self.peak, seed)


class Pieces(Spec):
    """Rates that are held until the next: rows of [second, rate], from second 0 on."""

    source: Literal["piecewise"]
    rates_at: tuple[tuple[float, Annotated[float, Field(ge=0, le=1e7)]], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _rising(self) -> Pieces:
        times = [time for time, _ in self.rates_at]
        if times[0] != 0 or any(b <= a for a, b in itertools.pairwise(times)):
            raise PydanticCustomError(
                "not_allowed", f"rates_at: times {times} are not allowed: from 0 on, rising"
            )
        return self

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        times, values = np.array(self.rates_at).T
        held = np.searchsorted(times, np.arange(seconds) + 0.5, side="right") - 1
        return np.asarray(values[held])


class Series(Spec):
    """A recorded series: a file with the columns time_s and rate, each held until the next."""

    source: Literal["series"]
    path: SpecPath
    scale: float = Field(1.0, gt=0)

    def rates(self, seconds: int, seed: int) -> Floats:
        """The rate in each second."""
        from cloudarena.workloads.arrivals.rate_files import read_rates

        return self.scale * read_rates(self.path, seconds)


def _named_source(arrivals: Any) -> Any:
    """Refuses the key by which version 0.1.0 told sources apart."""
    if isinstance(arrivals, dict) and "kind" in arrivals and "source" not in arrivals:
        raise PydanticCustomError(
            "not_allowed", "key 'kind' is not allowed: it is called 'source' since version 0.2.0"
        )
    return arrivals


Arrivals = Annotated[
    Constant | Sine | Bursts | WorldCupHour | Pieces | Series,
    Field(discriminator="source"),
    BeforeValidator(_named_source),
]
