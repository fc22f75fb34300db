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
def _before(calendar: Calendar, index: int, time: float, number: int) -> bool:
    """Whether an event of the calendar leaves before one of a time and a number."""
    if calendar.times[index] != time:
        return calendar.times[index] < time
    return calendar.sequence[index] < number


@jit_uncounted
def _move(calendar: Calendar, source: int, target: int) -> None:
    """Copies an event to another index."""
    calendar.times[target] = calendar.times[source]
    calendar.sequence[target] = calendar.sequence[source]
    calendar.payloads[target] = calendar.payloads[source]


@jit_uncounted
def _put(calendar: Calendar, index: int, time: float, number: int, payload: int) -> None:
    """Writes an event."""
    calendar.times[index] = time
    calendar.sequence[index] = number
    calendar.payloads[index] = payload


@jit_uncounted
def push(calendar: Calendar, time: float, payload: int) -> None:
    """Adds an event."""
    index, number = calendar.counters[0], calendar.counters[1]
    if index == len(calendar.times):
        raise IndexError("the calendar is full")
    calendar.counters[0] += 1
    calendar.counters[1] += 1
    while index > 0:
        parent = (index - 1) // 2
        if not time < calendar.times[parent]:  # equal times: what came first
            break
        _move(calendar, parent, index)
        index = parent
    _put(calendar, index, time, number, payload)


@jit_uncounted
def pop(calendar: Calendar) -> int:
    """Removes the earliest event and returns its payload."""
    if calendar.counters[0] == 0:
        raise IndexError("the calendar is empty")
    payload = calendar.payloads[0]
    calendar.counters[0] -= 1
    last = calendar.counters[0]
    time, number = calendar.times[last], calendar.sequence[last]
    _sink(calendar, 0, time, number, calendar.payloads[last])
    return payload


@jit_uncounted
def _sink(calendar: Calendar, index: int, time: float, number: int, payload: int) -> None:
    """Writes an event where none below it is earlier: from an index on, which is free, down."""
    end = calendar.counters[0]
    while True:
        child = 2 * index + 1
        if child >= end:
            break
        later = child + 1
        if later < end and _before(
            calendar, later, calendar.times[child], calendar.sequence[child]
        ):
            child = later
        if not _before(calendar, child, time, number):
            break
        _move(calendar, child, index)
        index = child
    _put(calendar, index, time, number, payload)


@jit_uncounted
def heapify(calendar: Calendar) -> None:
    """Brings the events into heap order, after some were taken out by hand."""
    for index in range(calendar.counters[0] // 2 - 1, -1, -1):
        time, number = calendar.times[index], calendar.sequence[index]
        _sink(calendar, index, time, number, calendar.payloads[index])
