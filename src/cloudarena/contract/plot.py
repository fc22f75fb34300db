"""What the report draws of a run besides its metrics."""

from __future__ import annotations

from typing import NamedTuple


class Plot(NamedTuple):
    """A column of a table over time, as the report draws it: one line for each policy."""

    title: str
    table: str
    x: str
    y: str
    unit: str
    marks: tuple[str, str] | None = None
    """A table and a column of it: at these times there are vertical lines."""


class TradeOff(NamedTuple):
    """Two metrics of which more of one costs some of the other: the report draws their front."""

    title: str
    x: str
    y: str
