"""What a benchmark of ``cloudarena bench`` is: ours and a peer's in one run, as a ratio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple


class Measured(NamedTuple):
    """One line: how many times as fast ours is as the peer's."""

    name: str
    peer: str
    what: str
    unit: str
    ours: float
    theirs: float
    ratio: float
    """Above 1 ours is faster."""


class Absent(NamedTuple):
    """A peer that is not installed, and the line that installs it."""

    name: str
    peer: str
    install: str


class Case(NamedTuple):
    """A benchmark against one peer."""

    name: str
    peer: str
    is_there: Callable[[], bool]
    install: str
    run: Callable[[], Iterator[Measured]]


def installed(module: str) -> Callable[[], bool]:
    """Whether a module can be imported, asked without importing it."""
    return lambda: find_spec(module) is not None


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def best_of(times: int, call: Callable[..., Any], *arguments: Any) -> float:
    """The least CPU seconds of several calls."""
    return min(cpu_seconds(call, *arguments) for _ in range(times))


def by_time(name: str, peer: str, what: str, ours: float, theirs: float) -> Measured:
    """A line of CPU seconds for the same work."""
    return Measured(name, peer, what, "CPU s", ours, theirs, theirs / ours)


def by_rate(name: str, peer: str, what: str, unit: str, ours: float, theirs: float) -> Measured:
    """A line of how much is done in a CPU second."""
    return Measured(name, peer, what, unit, ours, theirs, ours / theirs)
