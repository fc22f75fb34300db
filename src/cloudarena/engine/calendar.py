"""The event calendar: a compiled binary heap; equal times leave in the order they came.

A calendar has a fixed capacity. It belongs to one run, and so does its sequence counter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_uncounted


class Calendar(NamedTuple):
    """Events as parallel arrays in heap order."""

    times: NDArray[np.float64]
    sequence: NDArray[np.int64]
    """When each event was added: breaks ties of time."""
    payloads: NDArray[np.int64]
    counters: NDArray[np.int64]
    """How many events there are, and how many were ever added."""


def make_calendar(capacity: int) -> Calendar:
    """An empty calendar for at most ``capacity`` events at a time."""
    return Calendar(
        np.empty(capacity, np.float64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.zeros(2, np.int64),
    )


def with_capacity(calendar: Calendar, capacity: int) -> Calendar:
    """Returns the same calendar with room for more events."""
    more = make_calendar(capacity)
    for before, after in zip(calendar, more, strict=True):
        after[: len(before)] = before
    return more


@jit_uncounted
def size(calendar: Calendar) -> int:
    """How many events are in the calendar."""
    return calendar.counters[0]


@jit_uncounted
def next_time(calendar: Calendar) -> float:
    """The time of the earliest event; infinity when there is none."""
    return calendar.times[0] if calendar.counters[0] > 0 else np.inf


@jit_uncounted
def _before(calendar: Calendar, a: int, b: int) -> bool:
    if calendar.times[a] != calendar.times[b]:
        return calendar.times[a] < calendar.times[b]
    return calendar.sequence[a] < calendar.sequence[b]


@jit_uncounted
def _swap(calendar: Calendar, a: int, b: int) -> None:
    times, sequence, payloads = calendar.times, calendar.sequence, calendar.payloads
    times[a], times[b] = times[b], times[a]
    sequence[a], sequence[b] = sequence[b], sequence[a]
    payloads[a], payloads[b] = payloads[b], payloads[a]


@jit_uncounted
def push(calendar: Calendar, time: float, payload: int) -> None:
    """Adds an event."""
    index = calendar.counters[0]
    if index == len(calendar.times):
        raise IndexError("the calendar is full")
    calendar.times[index] = time
    calendar.sequence[index] = calendar.counters[1]
    calendar.payloads[index] = payload
    calendar.counters[0] += 1
    calendar.counters[1] += 1
    while index > 0:
        parent = (index - 1) // 2
        if not _before(calendar, index, parent):
            break
        _swap(calendar, index, parent)
        index = parent


@jit_uncounted
def pop(calendar: Calendar) -> int:
    """Removes the earliest event and returns its payload."""
    if calendar.counters[0] == 0:
        raise IndexError("the calendar is empty")
    payload = calendar.payloads[0]
    calendar.counters[0] -= 1
    _swap(calendar, 0, calendar.counters[0])
    _sink(calendar, 0)
    return payload


@jit_uncounted
def _sink(calendar: Calendar, index: int) -> None:
    """Moves an event down until none below it is earlier."""
    end = calendar.counters[0]
    while True:
        child = 2 * index + 1
        if child >= end:
            return
        if child + 1 < end and _before(calendar, child + 1, child):
            child += 1
        if not _before(calendar, child, index):
            return
        _swap(calendar, child, index)
        index = child


@jit_uncounted
def heapify(calendar: Calendar) -> None:
    """Brings the events into heap order, after some were taken out by hand."""
    for index in range(calendar.counters[0] // 2 - 1, -1, -1):
        _sink(calendar, index)
