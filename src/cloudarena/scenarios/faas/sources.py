"""What a user writes about requests: how they arrive for a function, or a trace for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec

if TYPE_CHECKING:
    from cloudarena.workloads.faas import requests as faas_requests

Rate = Annotated[float, Field(ge=0, le=1e7)]
Assignment = Literal["busiest", "dealt"]
"""Which functions of a trace stand for those of the spec: the busiest, or all, dealt out."""


def _not_by_kind(data: Any) -> Any:
    """Says what the key is called that was called kind."""
    if isinstance(data, Mapping) and "kind" in data and "source" not in data:
        raise PydanticCustomError("unknown_key", "unknown key 'kind'. Did you mean 'source'?")
    return data


class NoRequests(Spec):
    """None: a function without work, or with that of a trace."""

    source: Literal["none"]

    def profile(self) -> faas_requests.Profile:
        """A rate of 0."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Poisson(0.0)


class Constant(Spec):
    """One request every ``1 / rate`` seconds."""

    source: Literal["constant"]
    rate: Rate

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Constant(self.rate)


class Poisson(Spec):
    """A Poisson process."""

    source: Literal["poisson"]
    rate: Rate

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Poisson(self.rate)


class Sine(Spec):
    """A Poisson process of rate ``mean (1 + amplitude sin(2 pi t / period_s))``."""

    source: Literal["sine"]
    mean: Rate
    period_s: float = Field(gt=0, le=1e9)
    amplitude: float = Field(1.0, ge=0, le=1)

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Sine(self.mean, self.period_s, self.amplitude)


class RandomWalk(Spec):
    """A Poisson process whose rate walks between bounds."""

    source: Literal["random-walk"]
    start: Rate
    deviation: float = Field(ge=0, le=1e7)
    least: Rate = 0.0
    most: Rate
    step_s: float = Field(1.0, gt=0, le=1e9)

    @model_validator(mode="after")
    def _within_bounds(self) -> RandomWalk:
        if not self.least <= self.start <= self.most:
            raise PydanticCustomError(
                "not_allowed",
                f"start: {self.start:g} is not allowed: from {self.least:g} to {self.most:g}",
            )
        return self

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.RandomWalk(
            self.start, self.deviation, self.least, self.most, self.step_s
        )


class Bursts(Spec):
    """A Poisson process that switches between calm and burst."""

    source: Literal["bursts"]
    rate: Rate
    burstiness: float = Field(10.0, ge=1, le=1e6)
    burst_share: float = Field(0.1, ge=1e-9, le=1 - 1e-9)
    burst_seconds: float = Field(60.0, gt=0, le=1e9)

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Bursts(
            self.rate, self.burstiness, self.burst_share, self.burst_seconds
        )


class Recorded(Spec):
    """Gaps from a file with the column inter_arrival_s."""

    source: Literal["recorded"]
    path: SpecPath
    repeat: bool = False

    def profile(self) -> faas_requests.Profile:
        """The profile."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.Recorded(self.path, self.repeat)


Requests = Annotated[
    NoRequests | Constant | Poisson | Sine | RandomWalk | Bursts | Recorded,
    Field(discriminator="source"),
    BeforeValidator(_not_by_kind),
]


class Azure2019(Spec):
    """A day of Azure's trace of 2019: invocations of functions by the minute."""

    source: Literal["azure-2019"]
    path: SpecPath
    trigger: str | None = None
    first_minute: int = Field(1, ge=1, le=1440)
    assignment: Assignment = "busiest"
    spread: Literal["uniform", "even"] = "uniform"

    def draw(self, names: tuple[str, ...], *span: Any) -> faas_requests.Requests:
        """The requests; the span is duration, seed and load scale."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.azure_2019_requests(
            *(self.path, names, *span),
            trigger=self.trigger,
            first_minute=self.first_minute,
            assignment=self.assignment,
            spread=self.spread,
        )


class Azure2021(Spec):
    """Azure's trace of 2021: the instant of each invocation. How long it ran is not taken."""

    source: Literal["azure-2021"]
    path: SpecPath
    first_s: float = Field(0.0, ge=0, le=1e12)
    assignment: Assignment = "busiest"

    def draw(self, names: tuple[str, ...], *span: Any) -> faas_requests.Requests:
        """The requests; the span is duration, seed and load scale."""
        from cloudarena.workloads.faas import requests as faas_requests

        return faas_requests.azure_2021_requests(
            *(self.path, names, *span), first_s=self.first_s, assignment=self.assignment
        )


Trace = Annotated[
    Azure2019 | Azure2021, Field(discriminator="source"), BeforeValidator(_not_by_kind)
]


MOST_AT_ONCE = 2**21
"""More requests than these are drawn window by window, so that memory does not grow with them,"""
WINDOW_REQUESTS = 2**18
"""about so many in each."""


def count_windows(functions: tuple[Any, ...], trace: Any, duration_s: float, scale: float) -> int:
    """In how many windows the requests of a run are drawn."""
    from cloudarena.workloads.faas import requests as faas_requests

    if trace is not None:
        return 1
    profiles = _profiles(functions)
    expected = faas_requests.expected_requests(profiles, duration_s, scale)
    return 1 if expected <= MOST_AT_ONCE else math.ceil(expected / WINDOW_REQUESTS)


def draw_requests(
    functions: tuple[Any, ...],
    trace: Any,
    duration_s: float,
    seed: int,
    scale: float,
    window: int = 0,
) -> faas_requests.Requests:
    """The requests of a run, or of one of its windows: those of the trace if there is one."""
    from cloudarena.workloads.faas import requests as faas_requests

    if trace is not None:
        names = tuple(function.name for function in functions)
        found: faas_requests.Requests = trace.draw(names, duration_s, seed, scale)
        return found
    profiles = _profiles(functions)
    windows = count_windows(functions, trace, duration_s, scale)
    if windows == 1:
        return faas_requests.draw_requests(profiles, duration_s, seed, scale)
    return faas_requests.draw_window(profiles, duration_s, seed, scale, window, windows)


def _profiles(functions: tuple[Any, ...]) -> dict[str, faas_requests.Profile]:
    return {function.name: function.requests.profile() for function in functions}
