"""What an entry of ``cloudarena reproduce`` is: a published table, and ours beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.arrays import Floats
from cloudarena.base.statistics import CONFIDENCE, Estimate, interval

AGREES, DIFFERS, OURS_ONLY = "agrees", "differs", "ours only"
BETTER, WORSE = "better", "worse"
"""Verdicts: what was published is within our interval; it is not; nothing was published; ours is
better or worse than the published one, which is outside of our interval."""


class Row(NamedTuple):
    """A cell of a table: what was published, what we measure, and whether the two agree."""

    cell: str
    published: float | str | None
    """A number, a claim in words, or nothing where the cell is a control of ours."""
    ours: float
    low: float
    high: float
    verdict: str


class Settings(NamedTuple):
    """How an entry is run."""

    full: bool = False
    """Whether with all the replications of the page, which takes minutes."""
    data: Path | None = None
    """The folder with data that may not be shipped."""


class Findings(NamedTuple):
    """What a run of an entry found."""

    rows: Sequence[Row]
    why: Sequence[str] = ()
    """Where ours differs from what was published, and why; what is better, and how sure that is."""
    missing: str = ""
    """What must be downloaded first, if there are no rows for want of it."""


class Entry(NamedTuple):
    """A table of the field that can be run again."""

    name: str
    title: str
    source: str
    protocol: str
    run: Callable[[Settings], Findings]


class Reproduced(NamedTuple):
    """An entry with what its run found."""

    entry: Entry
    findings: Findings

    def summary(self) -> dict[str, Any]:
        """The plain form, as ``--json`` prints it: the numbers, without the words of the page."""
        return {"name": self.entry.name, "rows": [row._asdict() for row in self.findings.rows]}


def exact(cell: str, published: float, ours: float, leeway: float = 0.0) -> Row:
    """A row of numbers without chance; a published one may be rounded by ``leeway``."""
    near = abs(published - ours) <= leeway
    return Row(cell, published, ours, ours, ours, AGREES if near else DIFFERS)


def measured(cell: str, published: float, ours: Estimate, leeway: float = 0.0) -> Row:
    """A row of a number with an interval, which must hold the published one or come as near."""
    near = ours.low - leeway <= published <= ours.high + leeway
    return Row(cell, published, *ours, AGREES if near else DIFFERS)


def claimed(cell: str, claim: str, ours: Estimate, holds: bool) -> Row:
    """A row of a claim in words, and whether our whole interval bears it out."""
    return Row(cell, claim, *ours, AGREES if holds else DIFFERS)


def rival(cell: str, published: float, ours: Estimate, lower: bool = True) -> Row:
    """A row of a policy of ours beside a published one; lower is better, or else higher.

    It is better or worse only where the interval excludes the published number: else they agree.
    """
    if ours.low <= published <= ours.high:
        return Row(cell, published, *ours, AGREES)
    is_better = (ours.mean < published) == lower
    return Row(cell, published, *ours, BETTER if is_better else WORSE)


def control(cell: str, ours: Estimate) -> Row:
    """A row of a measurement that the source does not have."""
    return Row(cell, None, *ours, OURS_ONLY)


def simultaneous(values: Floats, cells: int) -> Estimate:
    """An interval so wide that all intervals of so many cells hold together with 95 %."""
    return interval(values, 1.0 - (1.0 - CONFIDENCE) / cells)


def number(value: float) -> Estimate:
    """A number without chance."""
    return Estimate(value, value, value)


def find(settings: Settings, *names: str) -> Path | None:
    """The first file of one of these names in the folder of ``--data`` or below it."""
    if settings.data is None:
        return None
    found = (place for name in names for place in sorted(settings.data.rglob(name)))
    return next(found, None)


def differing(rows: Iterable[Row]) -> list[str]:
    """The cells that differ."""
    return [row.cell for row in rows if row.verdict == DIFFERS]


def shown(value: float | str | None) -> str:
    """A cell of a table for people."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "\N{EN DASH}"
    if value == round(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value)))) if abs(value) < 1000.0 else 2
    return f"{value:,.{digits}f}"
