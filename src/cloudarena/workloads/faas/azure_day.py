"""The functions of a day of Azure's trace of 2019: how long they ran, and their memory.

Beside the invocations by the minute (``azure_functions``) a day has
``function_durations_percentiles.anon.dNN.csv``: HashFunction, Average, Minimum, Maximum and
percentile_Average_0, 1, 25, 50, 75, 99, 100, in milliseconds; and
``app_memory_percentiles.anon.dNN.csv``: HashApp and AverageAllocatedMb with percentiles, an app's
containers together (Shahrad et al., USENIX ATC 2020). Samples of it, such as InVitro's, have the
same columns, the memory by function.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.arrow import pa, pa_csv
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrivals.azure_functions import MINUTES, read_invocations

PERCENTILES = (0, 1, 25, 50, 75, 99, 100)
LEAST_S = 0.001
"""The trace counts whole milliseconds, some of them 0."""
MEMORY = "AverageAllocatedMb_pct95"
DEFAULT_MB = 128.0
"""The memory of functions of which the trace does not tell: Azure's least allocation."""
NAME_LENGTH = 16
"""Characters of a function's hash that are its name."""


class AzureFunction(NamedTuple):
    """A function of the trace."""

    name: str
    """The beginning of its hash."""
    invocations: int
    points: tuple[tuple[float, float], ...]
    """Shares and the seconds below which they are."""
    memory_mb: float


def read_functions(
    invocations: Path,
    durations: Path,
    memory: Path | None,
    count: int,
    trigger: str | None = None,
    first_minute: int = 1,
    minutes: int = MINUTES,
) -> list[AzureFunction]:
    """The busiest functions of some minutes of a day of which durations are known."""
    day = read_invocations(invocations, trigger)
    totals: dict[str, int] = {}
    counts = day.counts[:, first_minute - 1 :][:, :minutes].sum(axis=1)
    apps: dict[str, str] = {}
    for name, app, total in zip(
        day.function.to_pylist(), day.app.to_pylist(), counts.tolist(), strict=True
    ):
        totals[name] = totals.get(name, 0) + total
        apps[name] = app
    times = _rows(durations, "HashFunction", [f"percentile_Average_{p}" for p in PERCENTILES])
    used = _memory(memory)
    ordered = sorted((-total, name) for name, total in totals.items() if name in times and total)
    if not ordered:
        raise TraceError(f"{durations}: has no durations of functions that were invoked")
    found = []
    for total, name in ordered[:count]:
        seconds = np.maximum.accumulate(np.maximum(LEAST_S, np.array(times[name]) / 1000.0))
        shares = [p / 100 for p in PERCENTILES]
        points = tuple(zip(shares, seconds.tolist(), strict=True))
        mb = used.get(name, used.get(apps[name], DEFAULT_MB))
        found.append(AzureFunction(name[:NAME_LENGTH], -total, points, mb))
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise TraceError(
            f"{invocations}: two functions begin with the same {NAME_LENGTH} characters"
        )
    return found


def _memory(path: Path | None) -> dict[str, float]:
    """Megabytes by the hash of a function, or of an app where the file has no functions."""
    if path is None:
        return {}
    table = _read(path)
    key = "HashFunction" if "HashFunction" in table.column_names else "HashApp"
    return {name: max(1.0, row[0]) for name, row in _rows(path, key, [MEMORY]).items()}


def _rows(path: Path, key: str, columns: list[str]) -> dict[str, list[float]]:
    """Numbers by a column of names; the first of several rows counts."""
    table = _read(path)
    for name in (key, *columns):
        if name not in table.column_names:
            raise TraceError(f"{path}: column {name!r} is missing")
    found: dict[str, list[float]] = {}
    for row, (name, *values) in enumerate(
        zip(*(table[name].to_pylist() for name in (key, *columns)), strict=True), start=2
    ):
        for column, value in zip(columns, values, strict=True):
            if not isinstance(value, (int, float)) or not 0 <= value < 1e12:
                raise TraceError(
                    f"{path}, line {row}: {column}: {value!r} is not allowed: a number"
                )
        found.setdefault(str(name), [float(value) for value in values])
    return found


def _read(path: Path) -> Any:
    if not path.is_file():
        raise TraceError(f"{path}: does not exist")
    try:
        return pa_csv.read_csv(path)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
