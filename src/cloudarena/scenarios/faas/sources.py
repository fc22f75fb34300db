"""Where the requests of a faas scenario come from: for each function, or a trace for all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa
from cloudarena.base.numpy import np
from cloudarena.contract.source import sources_of
from cloudarena.workloads.columns import write_table
from cloudarena.workloads.faas import arrivals, requests
from cloudarena.workloads.faas.profiles import (
    Bursts,
    Constant,
    NoRequests,
    Poisson,
    RandomWalk,
    Recorded,
    Sine,
)
from cloudarena.workloads.faas.source import WindowedTrace
from cloudarena.workloads.faas.traces import Azure2019, Azure2021, Invocations


def _not_by_kind(data: Any) -> Any:
    """Says what the key is called that was called kind."""
    if isinstance(data, Mapping) and "kind" in data and "source" not in data:
        raise PydanticCustomError("unknown_key", "unknown key 'kind'. Did you mean 'source'?")
    return data


Requests = Annotated[
    NoRequests | Constant | Poisson | Sine | RandomWalk | Bursts | Recorded,
    Field(discriminator="source"),
    BeforeValidator(_not_by_kind),
]


Trace = Annotated[
    Azure2019 | Azure2021 | Invocations,
    Field(discriminator="source"),
    BeforeValidator(_not_by_kind),
]


SOURCES = (*sources_of(Requests), *sources_of(Trace))

MOST_AT_ONCE = 2**21
"""The requests that are drawn at once; more are drawn window by window, to save memory."""
WINDOW_REQUESTS = 2**18
"""The requests of a window, about."""


def count_windows(functions: tuple[Any, ...], trace: Any, duration_s: float, scale: float) -> int:
    """The number of windows in which the requests of a run are drawn."""
    if trace is not None:
        return trace.windows(WINDOW_REQUESTS) if isinstance(trace, WindowedTrace) else 1
    profiles = _profiles(functions)
    expected = requests.expected_requests(profiles, duration_s, scale)
    return 1 if expected <= MOST_AT_ONCE else math.ceil(expected / WINDOW_REQUESTS)


def draw_requests(
    functions: tuple[Any, ...],
    trace: Any,
    duration_s: float,
    seed: int,
    scale: float,
    window: int = 0,
) -> requests.Requests:
    """The requests of a run, or of one of its windows: those of the trace if there is one."""
    if trace is not None:
        names = tuple(function.name for function in functions)
        parts = count_windows(functions, trace, duration_s, scale)
        if parts > 1:
            part: requests.Requests = trace.draw_window(names, duration_s, scale, window, parts)
            return part
        found: requests.Requests = trace.draw(names, duration_s, seed, scale)
        return found
    profiles = _profiles(functions)
    windows = count_windows(functions, trace, duration_s, scale)
    if windows == 1:
        return requests.draw_requests(profiles, duration_s, seed, scale)
    return requests.draw_window(profiles, duration_s, seed, scale, window, windows)


def _profiles(functions: tuple[Any, ...]) -> dict[str, arrivals.Profile]:
    return {function.name: function.requests.profile() for function in functions}


def describe(windows: Any, scenario: Any = None) -> dict[str, Any]:
    """The figures by which requests are known: those of a trace, or those of a run's windows."""
    parts: Iterable[requests.Requests] = (
        [windows] if isinstance(windows, requests.Requests) else windows
    )
    names = [one.name for one in scenario.functions] if scenario else ["requests"]
    counts, gap_squares, last, first = np.zeros(len(names), np.int64), 0.0, math.nan, math.nan
    for part in parts:
        counts += np.bincount(part.function, minlength=len(names))
        if len(part.arrival_s):
            first = part.arrival_s[0] if math.isnan(first) else first
            times = part.arrival_s if math.isnan(last) else np.append(last, part.arrival_s)
            gap_squares += float((np.diff(times) ** 2).sum())
            last = part.arrival_s[-1]
    total = int(counts.sum())
    span = scenario.duration_s if scenario else float(last - first)
    mean_gap = (last - first) / (total - 1) if total > 1 else math.nan
    figures: dict[str, Any] = {
        "requests": total,
        "span_s": float(span),
        "requests_per_second": total / span if span > 0 else math.nan,
        "gap_mean_s": float(mean_gap),
        "gap_cv": _variation(gap_squares, mean_gap, total - 1),
    }
    if scenario is not None:
        figures = {"functions": len(names), "devices": scenario.node_count, **figures}
        figures["requests_of"] = dict(zip(names, counts.tolist(), strict=True))
    return figures


def _variation(squares: float, mean: float, count: int) -> float:
    """The coefficient of variation of gaps, of which the squares are known."""
    if count < 1 or not mean > 0:
        return math.nan
    return math.sqrt(max(0.0, squares / count - mean**2)) / float(mean)


def write(drawn: requests.Requests, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes the gaps between requests, and texts beside them."""
    gaps = np.diff(drawn.arrival_s, prepend=0.0)
    write_table(pa.table({"inter_arrival_s": gaps}), folder, "requests", texts)
    return {}
