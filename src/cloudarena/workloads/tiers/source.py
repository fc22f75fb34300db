"""What sources of arrival rates share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.contract.source import Scan, Source

Rate = Annotated[float, Field(gt=0, le=1e7)]
"""Requests a second."""
SECONDS = 3600


class RateSource(Source):
    """A rate for each second, in requests a second."""

    settings: ClassVar[Mapping[str, str]] = {"seconds": "For so many seconds."}

    @abstractmethod
    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second."""

    def scan(self, seed: int, seconds: int = SECONDS) -> Scan:
        """The rate in each second, and how many seconds there are."""
        return Scan(self.load(seed, seconds), {"seconds": seconds})
