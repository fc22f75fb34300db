"""When requests for functions arrive: by profiles of a rate, or as on Azure.

Each function draws from a random stream of its own, so a further function does not change the
others. A rate that changes is followed by thinning, so it may be 0 for a while and come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.arrivals.azure_functions import MINUTES, read_invocations
from cloudarena.workloads.arrivals.azure_functions_2021 import read_timed_invocations
from cloudarena.workloads.arrivals.processes import (
    spread_counts,
)
from cloudarena.workloads.columns import NUMBER, TEXT, check, read_columns
from cloudarena.workloads.faas.arrivals import Poisson, Profile, Sine, check_few
from cloudarena.workloads.resample import Resample, scaled_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


Assignment = Literal["busiest", "dealt", "named"]
NAME_LENGTH = 16
"""Characters of a function's hash that are its name."""


class Requests(NamedTuple):
    """Requests in the order of their arrival; those of one instant in the order of functions."""

    arrival_s: NDArray[np.float64]
    function: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    """How long each ran in a trace that tells it; else empty."""
    held_s: NDArray[np.float64] | None = None
    """How long each was held before, where some are; see ``delay`` of functions."""


def draw_requests(
    profiles: Mapping[str, Profile], duration_s: float, seed: int, load_scale: float = 1.0
) -> Requests:
    """The requests for functions, by name, within so many seconds.

    Args:
        profiles: how requests for each function arrive; the order numbers the functions.
        duration_s: until when.
        seed: decides what is drawn.
        load_scale: multiplies every rate.
    """
    _check_span(duration_s, load_scale)
    parts = [
        profile.arrival_times(stream(seed, f"requests/{name}"), duration_s, load_scale)
        for name, profile in profiles.items()
    ]
    return merge(parts)


def expected_requests(
    profiles: Mapping[str, Profile], duration_s: float, load_scale: float
) -> float:
    """How many requests are expected; 0 if not all come by processes that forget what was.

    Only such processes can be drawn window by window.
    """
    rates = [p.mean for p in profiles.values() if isinstance(p, (Poisson, Sine))]
    return sum(rates) * load_scale * duration_s if len(rates) == len(profiles) else 0.0


def draw_window(
    profiles: Mapping[str, Profile],
    duration_s: float,
    seed: int,
    load_scale: float,
    window: int,
    windows: int,
) -> Requests:
    """The requests of one of several windows of equal length; each draws from its own stream."""
    _check_span(duration_s, load_scale)
    begin, length = duration_s * window / windows, duration_s / windows
    parts = []
    for name, profile in profiles.items():
        assert isinstance(profile, (Poisson, Sine))
        rng = stream(seed, f"requests/{name}/{window}")
        parts.append(begin + profile.seen_from(begin).arrival_times(rng, length, load_scale))
    return merge(parts)


def merge(
    arrival_times: Sequence[NDArray[np.float64]], durations: Sequence[NDArray[np.float64]] = ()
) -> Requests:
    """The requests of all functions, in the order of their arrival."""
    if not arrival_times:
        return Requests(np.empty(0), np.empty(0, np.int64), np.empty(0))
    arrival = np.concatenate(arrival_times)
    function = np.repeat(np.arange(len(arrival_times)), [len(part) for part in arrival_times])
    order = np.argsort(arrival, kind="stable")
    duration = np.concatenate(durations)[order] if durations else np.empty(0)
    return Requests(arrival[order], function[order], duration)


def joined(parts: Sequence[Requests]) -> Requests:
    """The requests of windows that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part[:3] for part in parts), strict=True)
    return Requests(*(np.concatenate(column) for column in columns))


def logged_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    seed: int,
    load_scale: float = 1.0,
    start_s: float = 0.0,
    resample: Resample | None = None,
) -> Requests:
    """Requests at the instants of a log, for the functions that it names.

    A load scale below 1 keeps each request with that probability; one above 1 adds copies, each
    within ten minutes of the original. A resampled log is drawn in blocks, for all functions
    together.
    """
    _check_span(duration_s, load_scale)
    table = read_columns(
        path, {"time_s": NUMBER, "function": TEXT}, optional={"duration_s": NUMBER}
    )
    time = writable(table["time_s"])
    check(path, "time_s", time, (time >= 0) & np.isfinite(time), "at least 0")
    owner = np.array(pc.fill_null(pc.index_in(table["function"], pa.array(functions)), -1))
    order = np.argsort(time, kind="stable")
    order = order[time[order] >= start_s]
    time, owner = time[order] - start_s, owner[order]
    if resample is not None:
        span = float(time[-1]) + 1.0 if len(time) else 0.0
        rows, time = resample.rows(time, span, duration_s, seed)
        owner = owner[rows]
    if len(functions) == 1 and not (owner == 0).any():
        owner = np.zeros(len(time), np.int64)  # a single one stands for all
    parts = []
    for k, name in enumerate(functions):
        own, rng = np.sort(time[owner == k]), stream(seed, f"requests/{name}")
        if load_scale != 1.0:
            own = scaled_rows(own, load_scale, rng)[1]
        parts.append(own[own < duration_s])
    if not any(map(len, parts)):
        raise TraceError(f"{path}: has no invocations of {', '.join(functions[:5])}")
    return merge(parts)


def azure_2019_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    seed: int,
    load_scale: float = 1.0,
    *,
    trigger: str | None = None,
    first_minute: int = 1,
    assignment: Assignment = "busiest",
    spread: str = "uniform",
) -> Requests:
    """Requests as functions were invoked on Azure in 2019, minute by minute.

    Args:
        path: a day of the trace (see ``azure_functions``).
        functions: the names of ours.
        duration_s: for how long; at most to the end of the day.
        seed: decides the instants within minutes.
        load_scale: multiplies the counts; a fraction is kept or copied at random.
        trigger: only functions with this trigger.
        first_minute: of the day, from 1.
        assignment: ``busiest``, the k-th busiest of theirs is our k-th; ``dealt``, theirs are
            dealt out to ours in the order of the file, so that all invocations count; ``named``,
            theirs whose hash is the name of ours, or begins with it, or which is called so by
            its app too (see ``short_name``).
        spread: how instants lie within a minute (see ``spread_counts``).
    """
    _check_span(duration_s, load_scale)
    if not 1 <= first_minute <= MINUTES:
        raise SpecError(f"first_minute: {first_minute} is not allowed: from 1 to {MINUTES}")
    minutes = int(np.ceil(duration_s / 60.0))
    day = read_invocations(path, trigger)
    counts = day.counts[:, first_minute - 1 :][:, :minutes]
    if assignment == "named":
        hashes = day.function.to_pylist()
        words = map("/".join, zip(day.app.to_pylist(), hashes, strict=True))
        theirs = _named(path, hashes, functions, [short_name(word) for word in words])
    else:
        theirs = _assigned(path, counts.sum(axis=1), len(functions), assignment)
    parts = []
    for name, rows in zip(functions, theirs, strict=True):
        rng = stream(seed, f"requests/{name}")
        scaled = _scaled(rng, counts[rows].sum(axis=0, keepdims=True), load_scale)
        arrival_times, _ = spread_counts(rng, scaled, 60.0, spread)
        parts.append(arrival_times[arrival_times < duration_s])
    return merge(parts)


def azure_2021_requests(
    path: Path,
    functions: Sequence[str],
    duration_s: float,
    seed: int,
    load_scale: float = 1.0,
    *,
    first_s: float = 0.0,
    assignment: Assignment = "busiest",
) -> Requests:
    """Requests as functions were invoked on Azure in 2021, with how long each ran.

    Arguments are those of ``azure_2019_requests``; ``first_s`` counts from the first invocation of
    the trace. A load scale above 1 copies invocations; a copy arrives at any time until the next
    invocation of the same function.
    """
    _check_span(duration_s, load_scale)
    trace = read_timed_invocations(path)
    begin, end = np.searchsorted(trace.arrival_s, (first_s, first_s + duration_s))
    arrival, function = trace.arrival_s[begin:end] - first_s, trace.function[begin:end]
    duration = trace.duration_s[begin:end]
    counts = np.bincount(function, minlength=len(trace.names))
    ours = np.full(len(trace.names), len(functions))
    if assignment == "named":
        shorts = [short_name(name) for name in trace.names]
        assigned = _named(path, shorts, functions, shorts)
    else:
        assigned = _assigned(path, counts, len(functions), assignment)
    for k, rows in enumerate(assigned):
        ours[rows] = k
    by_function = np.argsort(ours[function], kind="stable")
    ends = np.cumsum(np.bincount(ours[function], minlength=len(functions)))[: len(functions)]
    parts, durations = [], []
    for name, own in zip(functions, np.split(by_function, ends), strict=False):
        rng = stream(seed, f"requests/{name}")
        copies = _scaled(rng, np.ones(len(own), np.int64), load_scale)
        number = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        gaps = np.diff(arrival[own], append=duration_s)
        late = np.where(number > 0, rng.random(len(number)), 0.0) * np.repeat(gaps, copies)
        arrival_times = np.repeat(arrival[own], copies) + late
        order = np.argsort(arrival_times, kind="stable")
        parts.append(arrival_times[order])
        durations.append(np.repeat(duration[own], copies)[order])
    return merge(parts, durations)


def short_name(name: str) -> str:
    """What a function ``app/func`` of a trace is called in short: the beginnings of both."""
    app, _, function = name.partition("/")
    return f"{app[:8]}-{function[:NAME_LENGTH]}"


def _named(
    path: Path, hashes: Sequence[str], names: Sequence[str], shorts: Sequence[str]
) -> list[NDArray[np.int64]]:
    """The rows of a trace whose functions are called as ours, or else begin with their names."""
    called: dict[str, list[int]] = {}
    for row, words in enumerate(zip(hashes, shorts, strict=True)):
        for word in dict.fromkeys(words):
            called.setdefault(word, []).append(row)
    lengths = {len(name) for name in names if name not in called}
    rows: dict[str, list[int]] = {}
    for row, word in enumerate(hashes):
        for length in lengths:
            rows.setdefault(word[:length], []).append(row)
    for name in names:
        if name not in called and name not in rows:
            raise TraceError(f"{path}: has no function that begins with {name!r}")
    return [np.array(called.get(name) or rows[name], np.int64) for name in names]


def _assigned(
    path: Path, counts: NDArray[np.int64], functions: int, assignment: str
) -> list[NDArray[np.int64]]:
    """Which functions of a trace stand for each of ours."""
    if assignment == "dealt":
        return [np.arange(k, len(counts), functions) for k in range(functions)]
    if assignment != "busiest":
        raise SpecError(f"assignment: {assignment!r} is not allowed: one of busiest, dealt, named")
    if len(counts) < functions:
        raise TraceError(f"{path}: has {len(counts)} functions: {functions} are needed")
    busiest = np.argsort(-counts, kind="stable")
    return [busiest[k : k + 1] for k in range(functions)]


def _scaled(rng: np.random.Generator, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Counts times a scale; what is left of a whole number is drawn."""
    whole = int(scale)
    check_few(float(counts.sum()) * scale)
    scaled: NDArray[np.int64] = counts * whole
    return scaled if scale == whole else scaled + rng.binomial(counts, scale - whole)


def _check_span(duration_s: float, load_scale: float) -> None:
    if not 0 < duration_s < np.inf:
        raise SpecError(f"duration_s: {duration_s:g} is not allowed: a number more than 0")
    if not 0 <= load_scale < np.inf:
        raise SpecError(f"load_scale: {load_scale:g} is not allowed: a number, at least 0")
