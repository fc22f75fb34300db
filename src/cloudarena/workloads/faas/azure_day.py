"""The functions of a day of Azure's trace of 2019: how long they ran, and their memory.

Beside the invocations by the minute (``azure_functions``) a day has
``function_durations_percentiles.anon.dNN.csv``: HashFunction, Average, Minimum, Maximum and
percentile_Average_0, 1, 25, 50, 75, 99, 100, in milliseconds; and
``app_memory_percentiles.anon.dNN.csv``: HashApp and AverageAllocatedMb with percentiles, an app's
containers together (Shahrad et al., USENIX ATC 2020). Samples of it, such as InVitro's, have the
same columns, the memory by function. A function is known by its app too: apps may have functions
of one name, whose hash is then the same.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.arrow import pa, pa_csv
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrivals.azure_functions import MINUTES, read_invocations
from cloudarena.workloads.columns import location, not_allowed
from cloudarena.workloads.faas.requests import NAME_LENGTH, short_name

PERCENTILES = (0, 1, 25, 50, 75, 99, 100)
KEYS = ("HashApp", "HashFunction")
MOST = 1e12
"""Milliseconds, or megabytes; more can only be a damaged cell."""
LEAST_S = 0.001
"""The trace counts whole milliseconds, some of them 0."""
MEMORY = "AverageAllocatedMb_pct95"
DEFAULT_MB = 128.0
"""The memory of functions of which the trace does not tell: Azure's least allocation."""


class AzureFunction(NamedTuple):
    """A function of the trace."""

    name: str
    """The beginning of its hash; after that of its app's, where apps share it."""
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
    totals: dict[tuple[str, str], int] = {}
    counts = day.counts[:, first_minute - 1 :][:, :minutes].sum(axis=1)
    for app, function, total in zip(
        day.app.to_pylist(), day.function.to_pylist(), counts.tolist(), strict=True
    ):
        totals[app, function] = totals.get((app, function), 0) + total
    alike = Counter(function[:NAME_LENGTH] for _, function in totals)
    times = _figures(durations, "HashFunction", [f"percentile_Average_{p}" for p in PERCENTILES])
    used = {} if memory is None else _figures(memory, "HashApp", [MEMORY])
    ordered = sorted(
        (-total, function, app)
        for (app, function), total in totals.items()
        if total and _of(times, app, function)
    )
    if not ordered:
        raise TraceError(f"{durations}: has no durations of functions that were invoked")
    found = []
    for total, function, app in ordered[:count]:
        name = function[:NAME_LENGTH]
        milliseconds = np.array(_of(times, app, function))
        seconds = np.maximum.accumulate(np.maximum(LEAST_S, milliseconds / 1000.0))
        shares = [p / 100 for p in PERCENTILES]
        points = tuple(zip(shares, seconds.tolist(), strict=True))
        mb = _of(used, app, function)
        found.append(
            AzureFunction(
                name if alike[name] == 1 else short_name(f"{app}/{function}"),
                *(-total, points, max(1.0, mb[0]) if mb else DEFAULT_MB),
            )
        )
    names = Counter(one.name for one in found)
    for name in names:
        if names[name] > 1:
            raise TraceError(f"{invocations}: two functions are called {name!r} in short")
    return found


Figures = dict[tuple[str, str], list[float]]
"""Numbers by the hashes of app and function; one is empty where a file does not have it."""


def _of(figures: Figures, app: str, function: str) -> list[float]:
    """The numbers of a function: its own, else those of its app; none if there are none."""
    for key in ((app, function), ("", function), (app, "")):
        if key in figures:
            return figures[key]
    return []


def _figures(path: Path, needed: str, columns: list[str]) -> Figures:
    """Numbers of functions, or of apps where these are all that is needed; the first row counts."""
    table = _read(path)
    keys = [key for key in KEYS if key in table.column_names]
    if needed not in keys and not (needed == "HashApp" and keys):
        keys.append(needed)
    for name in (*keys, *columns):
        if name not in table.column_names:
            raise TraceError(f"{path}: column {name!r} is missing")
    found: Figures = {}
    values = [table[name].to_pylist() for name in columns]
    words = [table[key].to_pylist() if key in keys else [""] * len(table) for key in KEYS]
    for row, (app, function, *numbers) in enumerate(zip(*words, *values, strict=True)):
        for column, value in zip(columns, numbers, strict=True):
            if value is None:
                raise TraceError(f"{location(path, row)}: {column}: is empty")
            if not isinstance(value, (int, float)) or not 0 <= value < MOST:
                raise not_allowed(location(path, row), column, value, f"from 0 to {MOST:g}")
        found.setdefault((app, function), [float(value) for value in numbers])
    return found


def _read(path: Path) -> Any:
    if not path.is_file():
        raise TraceError(f"{path}: does not exist")
    try:
        texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(KEYS, pa.string()))
        return pa_csv.read_csv(path, convert_options=texts)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
