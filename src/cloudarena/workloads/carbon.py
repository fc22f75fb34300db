"""A grid's carbon intensity over time: a table with the columns time_s and g_per_kwh.

Published files have dates in place of seconds: those of "Let's wait awhile" (Time, Carbon
Intensity), of CarbonCast (UTC time, carbon_intensity) and of OpenDC (timestamp, carbon_intensity)
are read as they are, in seconds from their first row on.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, check, column_names, read_columns

PUBLISHED = (
    ("Time", "Carbon Intensity"),
    ("UTC time", "carbon_intensity"),
    ("timestamp", "carbon_intensity"),
)
"""Names of columns in published files: when, and g/kWh."""
MOST_G = 1e6
"""The most g/kWh; more is a mistake of unit."""


def read_intensities(path: Path) -> tuple[tuple[float, float], ...]:
    """Rows of [second, g/kWh], each held until the next; the first is at 0."""
    for time, intensity in PUBLISHED:
        if {time, intensity} <= set(column_names(path)):
            return _read_dated(path, time, intensity, path.stat().st_mtime_ns)
    return read_levels(path, "g_per_kwh", MOST_G)


def read_levels(path: Path, column: str, most: float) -> tuple[tuple[float, float], ...]:
    """Rows of [second, value of a column], each held until the next; the first is at 0."""
    return _read(path, column, most, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=8)
def _read_dated(
    path: Path, time: str, intensity: str, changed: int
) -> tuple[tuple[float, float], ...]:
    """Rows of a file with dates; those without a value, and a second of one date, are left out."""
    others = dict.fromkeys(column_names(path))
    table = read_columns(path, {time: None, intensity: NUMBER}, others)
    known = pc.and_(pc.is_valid(table[time]), pc.is_valid(table[intensity]))
    at = np.array([_second(path, time, one) for one in table[time].filter(known).to_pylist()])
    value = writable(table[intensity].filter(known))
    if not len(at):
        raise TraceError(f"{path}: has no rows")
    check(path, intensity, value, (value >= 0) & (value <= MOST_G), f"0 to {MOST_G:,.0f}")
    at, first = np.unique(at, return_index=True)
    return tuple(zip((at - at[0]).tolist(), value[first].tolist(), strict=True))


def _second(path: Path, column: str, date: Any) -> float:
    """The second of a date, in UTC unless it says otherwise; months go before days with slashes."""
    try:
        if not isinstance(date, datetime):
            text = str(date).strip()
            if "/" in text:
                date = datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)
            else:
                date = datetime.fromisoformat(text)
    except ValueError:
        raise TraceError(
            f"{path}: {column}: {date!r} is not allowed: a date such as 2020-01-01 00:00:00"
        ) from None
    return float((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())


@lru_cache(maxsize=8)
def _read(path: Path, column: str, most: float, changed: int) -> tuple[tuple[float, float], ...]:
    table = read_columns(path, {"time_s": NUMBER, column: NUMBER})
    if len(table) == 0:
        raise TraceError(f"{path}: has no rows")
    time, value = writable(table["time_s"]), writable(table[column])
    rising = np.concatenate(([time[0] == 0.0], np.diff(time) > 0))
    check(path, "time_s", time, rising, "from 0 on, rising")
    check(path, column, value, (value >= 0) & (value <= most), f"0 to {most:,.0f}")
    return tuple(zip(time.tolist(), value.tolist(), strict=True))
