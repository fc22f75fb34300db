"""What sources of requests share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from cloudarena.base.errors import TraceError
from cloudarena.contract.source import Scan, Source
from cloudarena.workloads.faas import arrivals, requests

Rate = Annotated[float, Field(ge=0, le=1e7)]
DURATION = {"duration_s": "For so many seconds."}
HOUR_S = 3600.0
NAME = "requests"
"""What the function is called whose requests a command draws."""


class RequestSource(Source):
    """How the requests for one function arrive."""

    settings: ClassVar[Mapping[str, str]] = DURATION

    @abstractmethod
    def profile(self) -> arrivals.Profile:
        """The process by which they arrive."""

    def scan(self, seed: int, duration_s: float = HOUR_S) -> Scan:
        """The requests of a seed for one function."""
        drawn = requests.draw_requests({NAME: self.profile()}, duration_s, seed)
        return _scanned(self, drawn, duration_s)


class RequestTrace(Source):
    """How the requests for all functions arrived."""

    settings: ClassVar[Mapping[str, str]] = DURATION

    @abstractmethod
    def draw(
        self, names: tuple[str, ...], duration_s: float, seed: int, load_scale: float
    ) -> requests.Requests:
        """The requests for functions of these names."""

    def scan(self, seed: int, duration_s: float = HOUR_S) -> Scan:
        """The requests for one function."""
        return _scanned(self, self.draw((NAME,), duration_s, seed, 1.0), duration_s)


class WindowedTrace(RequestTrace):
    """A trace that can be read window by window."""

    @abstractmethod
    def windows(self, most: int) -> int:
        """How many windows it is read in, of about so many requests; 1 if all at once."""

    @abstractmethod
    def draw_window(
        self, names: tuple[str, ...], duration_s: float, scale: float, window: int, windows: int
    ) -> requests.Requests:
        """The requests of one of several windows."""


def _scanned(source: Source, drawn: requests.Requests, duration_s: float) -> Scan:
    """Requests for a file; one without any could not be read again."""
    if len(drawn.arrival_s) == 0:
        where = getattr(source, "path", source.name)
        raise TraceError(f"{where}: has no requests in the first {duration_s:g} s")
    return Scan(drawn, {"requests": len(drawn.arrival_s)})
