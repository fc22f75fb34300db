"""What sources of requests share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from cloudarena.contract.source import Scan, Source
from cloudarena.workloads.faas import requests

Rate = Annotated[float, Field(ge=0, le=1e7)]
DURATION = {"duration_s": "For so many seconds."}
HOUR_S = 3600.0
NAME = "requests"
"""What the function is called whose requests a command draws."""


class RequestSource(Source):
    """How the requests for one function arrive."""

    settings: ClassVar[Mapping[str, str]] = DURATION

    def profile(self) -> requests.Profile:
        """The process by which they arrive."""
        raise NotImplementedError

    def scan(self, seed: int, duration_s: float = HOUR_S) -> Scan:
        """The requests of a seed for one function."""
        drawn = requests.draw_requests({NAME: self.profile()}, duration_s, seed)
        return Scan(drawn, {"requests": len(drawn.arrival_s)})


class RequestTrace(Source):
    """How the requests for all functions arrived."""

    settings: ClassVar[Mapping[str, str]] = DURATION

    def draw(
        self, names: tuple[str, ...], duration_s: float, seed: int, load_scale: float
    ) -> requests.Requests:
        """The requests for functions of these names."""
        raise NotImplementedError

    def scan(self, seed: int, duration_s: float = HOUR_S) -> Scan:
        """The requests for one function."""
        drawn = self.draw((NAME,), duration_s, seed, 1.0)
        return Scan(drawn, {"requests": len(drawn.arrival_s)})
