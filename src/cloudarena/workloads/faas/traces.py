"""Public traces of requests for functions, as a user writes them."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.faas import requests
from cloudarena.workloads.faas.source import RequestTrace, WindowedTrace
from cloudarena.workloads.resample import Resample

Assignment = Literal["busiest", "dealt", "named"]
"""Which functions of a trace stand for those of the spec: the busiest, all, dealt out, or named."""


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
    """Which functions of the trace stand for ours: busiest, dealt, or named by their hashes."""
    spread: Literal["uniform", "even"] = "uniform"
    """How requests are spread within a minute: uniform or even."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
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


class Invocations(WindowedTrace):
    """A log of invocations: a table with the columns time_s and function; duration_s is not taken.

    Each function of the spec has the invocations under its name; those of others are left out.
    """

    example = "invocations.csv --out requests"

    source: Literal["invocations"]
    path: SpecPath
    """The invocations, CSV or Parquet: time_s from 0 on, function."""
    start_s: float = Field(0.0, ge=0, le=1e12)
    """Begins so many seconds after the beginning of the log."""
    resample: Resample | None = None
    """Draws the log again by the seed, in blocks: {blocks: hour}; then replications differ."""
    stream: bool = False
    """Whether a Parquet file sorted by time_s is read as its requests arrive."""

    @model_validator(mode="after")
    def _can_be_streamed(self) -> Invocations:
        if self.stream and self.path.suffix != ".parquet":
            raise PydanticCustomError(
                "not_allowed",
                f"stream: true is not allowed with {self.path.name}: a Parquet file",
            )
        if self.stream and self.resample is not None:
            raise PydanticCustomError(
                "not_allowed", "stream: true is not allowed with resample: the log as it is"
            )
        return self

    def windows(self, most: int) -> int:
        """Returns as many windows as the requests of a stream need."""
        if not self.stream:
            return 1
        from cloudarena.workloads.faas.log_stream import index_of

        return max(2, math.ceil(index_of(self.path).rows / most))

    def draw_window(
        self, names: tuple[str, ...], duration_s: float, scale: float, window: int, windows: int
    ) -> requests.Requests:
        """The requests of one of several windows of equal length."""
        from cloudarena.workloads.faas.log_stream import window_requests

        if scale != 1.0:
            raise SpecError(f"load_scale: {scale:g} is not allowed with stream: true: 1")
        return window_requests(self.path, names, duration_s, self.start_s, window, windows)

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return {"time_s", "function"} <= set(beginning.cells)

    def draw(
        self, names: tuple[str, ...], duration_s: float, seed: int, load_scale: float
    ) -> requests.Requests:
        """The requests for functions of these names; all if it is one of no name in the log."""
        return requests.logged_requests(
            *(self.path, names, duration_s, seed, load_scale), self.start_s, self.resample
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
    """Which functions of the trace stand for ours: busiest, dealt, or named by their hashes."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
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
