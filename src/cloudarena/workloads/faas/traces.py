"""Public traces of requests for functions, as a user writes them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.faas import requests
from cloudarena.workloads.faas.source import RequestTrace

Assignment = Literal["busiest", "dealt"]
"""Which functions of a trace stand for those of the spec: the busiest, or all, dealt out."""


class Azure2019(RequestTrace):
    """A day of Azure's trace of 2019: invocations of functions by the minute."""

    example = "d01.csv --out requests"

    source: Literal["azure-2019"]
    path: SpecPath
    """Invocations by minute, CSV or .csv.gz."""
    trigger: str | None = None
    """Takes functions of this trigger."""
    first_minute: int = Field(1, ge=1, le=1440)
    """Begins with this minute of the day."""
    assignment: Assignment = "busiest"
    """Which functions of the trace stand for ours: busiest or dealt."""
    spread: Literal["uniform", "even"] = "uniform"
    """Within a minute: uniform or even."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """By the names of its columns."""
        return {"HashFunction", "Trigger", "1440"} <= set(beginning.cells)

    def draw(
        self, names: tuple[str, ...], duration_s: float, seed: int, load_scale: float
    ) -> requests.Requests:
        """The requests for functions of these names."""
        return requests.azure_2019_requests(
            *(self.path, names, duration_s, seed, load_scale),
            trigger=self.trigger,
            first_minute=self.first_minute,
            assignment=self.assignment,
            spread=self.spread,
        )


class Azure2021(RequestTrace):
    """Azure's trace of 2021: the instant of each invocation. How long it ran is not taken."""

    example = "AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt --out requests"

    source: Literal["azure-2021"]
    path: SpecPath
    """The invocations, CSV or .csv.gz."""
    first_s: float = Field(0.0, ge=0, le=1e12)
    """Begins so many seconds after the first invocation."""
    assignment: Assignment = "busiest"
    """Which functions of the trace stand for ours: busiest or dealt."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """By the names of its columns."""
        return {"app", "func", "end_timestamp", "duration"} == set(beginning.cells)

    def draw(
        self, names: tuple[str, ...], duration_s: float, seed: int, load_scale: float
    ) -> requests.Requests:
        """The requests for functions of these names."""
        return requests.azure_2021_requests(
            *(self.path, names, duration_s, seed, load_scale),
            first_s=self.first_s,
            assignment=self.assignment,
        )
