"""What a drawing of a run shows, for any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cloudarena.base.arrays import Floats


@dataclass(frozen=True)
class Picture:
    """A run at one moment: how full each machine is, and what waits."""

    title: str
    """Where the run stands, on one line."""
    places: str
    """What the bars are of, such as ``machine``."""
    shares: Mapping[str, Floats]
    """The share of each resource that each place has given away; more than 1 is over."""
    waiting: int
    """How much waits for a place."""
    waits: str = "waiting"
    """What waits, in a word or two."""
