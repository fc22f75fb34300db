"""What was measured of invocations: rows of a device, seconds, and what was used meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.arrow import pc
from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import (
    NUMBER,
    TEXT,
    check,
    check_filled,
    column_names,
    read_columns,
)

USES = ("cpu", "gpu", "disk", "network", "memory")
"""Columns of what an invocation uses, shares of the whole device, in the order of claims."""
MOST_S = 1e9


class Measured(NamedTuple):
    """The invocations on one type of device."""

    seconds: tuple[float, ...]
    use: tuple[float, ...]
    """Means of ``USES``; those of columns that the file has not are 0."""


def read_measured(path: Path) -> dict[str, Measured]:
    """The invocations of a file by device: device, seconds, and any of ``USES``."""
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> dict[str, Measured]:
    table = read_columns(path, {"device": TEXT, "seconds": NUMBER}, dict.fromkeys(USES, NUMBER))
    if len(table) == 0:
        raise TraceError(f"{path}: has no invocations")
    devices = np.array(table["device"].to_pylist(), object)
    seconds = _filled(path, table, "seconds", MOST_S)
    check(path, "seconds", seconds, seconds > 0, "more than 0")
    uses = [
        _filled(path, table, name, 1.0) if name in table.column_names else np.zeros(len(table))
        for name in USES
    ]
    found = {}
    for name in dict.fromkeys(devices.tolist()):
        rows = devices == name
        use = tuple(float(column[rows].mean()) for column in uses)
        found[str(name)] = Measured(tuple(np.sort(seconds[rows]).tolist()), use)
    return found


def read_sums(
    path: Path, columns: Sequence[str], rows: Mapping[str, str | int]
) -> tuple[float, ...]:
    """The sums of some columns, by default of the one called seconds, over the rows that count.

    Rows in which a cell is empty are left out, and so are sums of 0.
    """
    wanted = tuple(columns) or ("seconds",)
    types: dict[str, Any] = {**dict.fromkeys(rows, TEXT), **dict.fromkeys(wanted, NUMBER)}
    others = dict.fromkeys(name for name in column_names(path) if name not in types)
    table = read_columns(path, types, others)
    keep = np.ones(len(table), bool)
    for name, value in rows.items():
        found = [str(one) for one in table[name].to_pylist()]
        keep &= np.array(found, object) == str(value)
        if not keep.any():
            known = ", ".join(sorted(set(found))[:10])
            raise TraceError(f"{path}: has no rows with {name} {value!r}: {known}")
    total = np.zeros(len(table))
    for name in wanted:
        values = writable(pc.fill_null(table[name], float("nan")))
        check(path, name, values, ~(values < 0) & ~(values > MOST_S), f"0 to {MOST_S:g}")
        total += values
    total = total[keep & (total > 0)]
    if not len(total):
        raise TraceError(f"{path}: has no times in {', '.join(wanted)}")
    return tuple(total.tolist())


def _filled(path: Path, table: Any, name: str, most: float) -> Any:
    """A column without empty cells, from 0 to the most."""
    check_filled(path, table, [name])
    values = writable(table[name])
    check(path, name, values, (values >= 0) & (values <= most), f"0 to {most:g}")
    return values


def read_seconds(path: Path, device: str | None = None) -> tuple[float, ...]:
    """The seconds of a file, or of its rows of one device."""
    if device is not None:
        found = read_measured(path)
        if device not in found:
            known = ", ".join(found)
            raise TraceError(
                f"{path}: has no rows of {device!r}: one of {known}.{nearest(device, found)}"
            )
        return found[device].seconds
    table = read_columns(path, {"seconds": NUMBER}, {"device": TEXT, **dict.fromkeys(USES, NUMBER)})
    if len(table) == 0:
        raise TraceError(f"{path}: has no invocations")
    seconds = _filled(path, table, "seconds", MOST_S)
    check(path, "seconds", seconds, seconds > 0, "more than 0")
    return tuple(seconds.tolist())
