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
    parts: tuple[str, ...] = ()
    """Columns that sum to ``y``: the page of one run draws them on top of each other."""
    beside: tuple[str, ...] = ()
    """Columns that are compared with ``y``: the page of one run draws them as further lines."""
    by: str = ""
    """The column that parts the rows: only the page of one run draws it, a line for each value."""
    labels: str = ""
    """The column with the names of points: the page of one run draws these, and no line."""


class Slices(NamedTuple):
    """The table whose rows begin and end, as a timeline draws them."""

    table: str
    begin: str
    end: str
    places: tuple[str, ...]
    """The columns that tell where; together they are a track."""
    names: tuple[str, ...]
    """The columns that tell what."""
    weight: str = ""
    """The column that tells how much each takes of a machine; by default each counts 1."""
    is_gantt: bool = False
    """Whether the page of a run draws a bar for each, unless they are too many to be seen."""


class TradeOff(NamedTuple):
    """Two metrics of which more of one costs some of the other: the report draws their front."""

    title: str
    x: str
    y: str
