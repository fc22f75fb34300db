"""What a power meter read: rows of utilisations and watts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import TraceError, nearest

WATTS = ("watts", "power_w")
"""Columns that hold what the meter read."""
COLUMNS: dict[str, tuple[str, float, float]] = {
    "cpu": ("cpu_w", 1.0, 1.0),
    "cpu_percent": ("cpu_w", 0.01, 100.0),
    "accelerator": ("accelerator_w", 1.0, 1.0),
    "accelerator_percent": ("accelerator_w", 0.01, 100.0),
    "gpu": ("accelerator_w", 1.0, 1.0),
    "gpu_percent": ("accelerator_w", 0.01, 100.0),
    "memory": ("memory_w", 1.0, 1.0),
    "memory_percent": ("memory_w", 0.01, 100.0),
    "memory_mb": ("memory_w_per_mb", 1.0, np.inf),
    "disk": ("disk_w", 1.0, 1.0),
    "disk_percent": ("disk_w", 0.01, 100.0),
    "disk_mb_s": ("disk_w_per_mb_s", 1.0, np.inf),
    "blkio_mb_s": ("disk_w_per_mb_s", 1.0, np.inf),
    "network": ("network_w", 1.0, 1.0),
    "network_percent": ("network_w", 0.01, 100.0),
    "network_mb_s": ("network_w_per_mb_s", 1.0, np.inf),
    "net_mb_s": ("network_w_per_mb_s", 1.0, np.inf),
}
"""Key of the power model, factor to its unit, and the most allowed, by column."""
ORDER = (
    *("cpu_w", "accelerator_w", "memory_w", "memory_w_per_mb"),
    *("disk_w", "disk_w_per_mb_s", "network_w", "network_w_per_mb_s"),
)
"""The order of the keys in a fit."""
SLACK = 1e-6
"""How far beyond its bounds a utilisation may be, by rounding."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Rows of utilisations and watts of one device."""

    source: str
    device: str
    keys: tuple[str, ...]
    """What the power model calls each column of ``values``; ``cpu_w`` first."""
    values: Floats
    """Utilisations, an array of (rows, keys): shares from 0 to 1, or MB, or MB/s."""
    watts: Floats
    group: Ints
    """The group of each row, such as its workload; -1 where there are none."""
    group_column: str = ""
    ignored: tuple[str, ...] = ()
    """Columns that are no utilisation."""

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.watts)


def read_measurements(file: str | Path, device: str, group: str = "") -> Measurements:
    """Reads a CSV or Parquet file of measurements.

    Args:
        file: has the column ``watts`` (or ``power_w``), ``cpu`` from 0 to 1 (or ``cpu_percent``),
            and any of the others in ``COLUMNS``. Further columns are ignored.
        device: what the device is called; of a file with a column ``device``, its rows.
        group: a column whose values group rows that were measured together.
    """
    path = Path(file)
    table = _read(path)
    names: list[str] = table.column_names
    rows = np.arange(len(table))
    if "device" in names:
        rows = _rows_of(path, table, device)
        table = table.take(rows)
    watts_name = _only(path, names, WATTS, "watts")
    if watts_name is None:
        raise TraceError(f"{path}: column 'watts' is missing: what the meter read")
    found: dict[str, str] = {}
    for name in names:
        if name not in COLUMNS:
            continue
        resource = _resource(COLUMNS[name][0])
        if resource in found:
            raise TraceError(
                f"{path}: column {name!r} is not allowed beside {found[resource]!r}: "
                f"one of them says what {resource} does"
            )
        found[resource] = name
    if "cpu" not in found:
        raise TraceError(f"{path}: column 'cpu' is missing: the CPU's utilisation from 0 to 1")
    chosen = sorted(found.values(), key=lambda name: ORDER.index(COLUMNS[name][0]))
    watts = _column(path, table, rows, watts_name, np.inf, is_open=True)
    columns = [
        _column(path, table, rows, name, COLUMNS[name][2]) * COLUMNS[name][1] for name in chosen
    ]
    groups = np.full(len(watts), -1)
    if group:
        if group not in names:
            raise TraceError(f"{path}: column {group!r} is missing.{nearest(group, names)}")
        groups = np.unique(np.array(table[group].to_pylist(), str), return_inverse=True)[1]
    used = {watts_name, *chosen, group, "device"}
    return Measurements(
        source=path.name,
        device=device,
        keys=tuple(COLUMNS[name][0] for name in chosen),
        values=np.column_stack(columns),
        watts=watts,
        group=groups.astype(np.int64),
        group_column=group,
        ignored=tuple(name for name in names if name not in used),
    )


def _resource(key: str) -> str:
    """The resource that a key of the power model is about."""
    return key.partition("_w")[0]


def _only(path: Path, names: Sequence[str], wanted: Sequence[str], what: str) -> str | None:
    there = [name for name in names if name in wanted]
    if len(there) > 1:
        raise TraceError(f"{path}: columns {' and '.join(there)} both say the {what}: keep one")
    return there[0] if there else None


def _read(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if not path.is_file():
        raise TraceError(f"{path}: does not exist")
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
        else:
            table = pacsv.read_csv(path)
        names = table.column_names
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    for name in names:
        if names.count(name) > 1:
            raise TraceError(f"{path}: column {name!r} is a duplicate")
    return table


def _rows_of(path: Path, table: Any, device: str) -> Ints:
    """The indices of the rows of a device, of a table with many."""
    devices = [str(value) for value in table["device"].to_pylist()]
    there = sorted(set(devices))
    if device not in there:
        raise TraceError(
            f"{path}: has no rows of {device!r}: one of {', '.join(there)}.{nearest(device, there)}"
        )
    return np.flatnonzero([name == device for name in devices])


def _column(
    path: Path, table: Any, rows: Ints, name: str, most: float, is_open: bool = False
) -> Floats:
    """A column of numbers within bounds; an error names the row."""
    try:
        values = np.array([np.nan if v is None else float(v) for v in table[name].to_pylist()])
    except (TypeError, ValueError):
        raise TraceError(f"{path}: column {name!r} is not allowed: it must hold numbers") from None
    least_ok = values > 0.0 if is_open else values >= -SLACK
    good = np.isfinite(values) & least_ok & (values <= most * (1.0 + SLACK))
    if not good.all():
        wrong = int(np.argmin(good))
        bounds = "more than 0" if is_open else f"0 to {most:g}" if most < np.inf else "at least 0"
        shown = "an empty cell" if np.isnan(values[wrong]) else f"{values[wrong]:g}"
        hint = f". Is it {name}_percent?" if most == 1.0 and values[wrong] > 1.0 else ""
        raise TraceError(
            f"{path}, row {rows[wrong] + 1}: {name}: {shown} is not allowed: {bounds}{hint}"
        )
    return np.clip(values, 0.0, most)
