"""A timing wheel: events at whole ticks, in and out in constant time.

A heap of a million events costs twenty steps through memory for each that leaves. Here the events
of a tick are a linked list; those of the current epoch, 4,096 ticks, lie tick by tick, those of
later epochs in one list each, which is dealt out when its epoch begins. Events of one tick leave in
the order in which they came (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline_entry, jit_uncounted

EPOCH_BITS = 12
EPOCH = 1 << EPOCH_BITS
"""Ticks of an epoch."""
NONE = -1


class TimingWheel(NamedTuple):
    """Lists by their first and last event, and the event that follows each."""

    near: NDArray[np.int64]  # (EPOCH, 2): the ticks of the current epoch
    far: NDArray[np.int64]  # (epochs, 2)
    following: NDArray[np.int64]  # (events,)
    times: NDArray[np.int64]  # (events,)


def make_timing_wheel(events: int, ticks: int) -> TimingWheel:
    """An empty wheel for events 0 to ``events - 1`` before tick ``ticks``; later ones are lost."""
    return TimingWheel(
        np.full((EPOCH, 2), NONE, np.int64),
        np.full(((ticks >> EPOCH_BITS) + 1, 2), NONE, np.int64),
        np.full(events, NONE, np.int64),
        np.empty(events, np.int64),
    )


def renumbered(wheel: TimingWheel, kept: NDArray[np.int64], events: int) -> TimingWheel:
    """A wheel with room for ``events`` that holds the events ``kept``, numbered from 0.

    All events that it holds must be among them.
    """
    number = np.full(len(wheel.following) + 1, NONE, np.int64)  # the last entry stands for NONE
    number[kept] = np.arange(len(kept))
    made = TimingWheel(
        number[wheel.near],
        number[wheel.far],
        np.full(events, NONE, np.int64),
        np.empty(events, np.int64),
    )
    made.following[: len(kept)] = number[wheel.following[kept]]
    made.times[: len(kept)] = wheel.times[kept]
    return made


@jit_inline_entry
def _append(lists: NDArray[np.int64], place: int, following: NDArray[np.int64], event: int) -> None:
    """Puts an event at the end of a list."""
    last = lists[place, 1]
    if last == NONE:
        lists[place, 0] = event
    else:
        following[last] = event
    lists[place, 1] = event
    following[event] = NONE


@jit_inline_entry
def plan(wheel: TimingWheel, now: int, time: int, event: int) -> None:
    """Plans an event for a tick that is not over."""
    epoch = time >> EPOCH_BITS
    if epoch >= len(wheel.far):
        return
    wheel.times[event] = time
    if epoch == now >> EPOCH_BITS:
        _append(wheel.near, time & (EPOCH - 1), wheel.following, event)
    else:
        _append(wheel.far, epoch, wheel.following, event)


@jit_uncounted
def begin_epoch(wheel: TimingWheel, now: int) -> None:
    """Deals out the events of an epoch; to be called in its first tick, before all else."""
    event = wheel.far[now >> EPOCH_BITS, 0]
    wheel.far[now >> EPOCH_BITS, 0] = wheel.far[now >> EPOCH_BITS, 1] = NONE
    while event != NONE:
        then = wheel.following[event]
        _append(wheel.near, wheel.times[event] & (EPOCH - 1), wheel.following, event)
        event = then


@jit_inline_entry
def take_next(wheel: TimingWheel, now: int) -> int:
    """Removes the next event of a tick and returns it; NONE if there is no more."""
    place = now & (EPOCH - 1)
    event = wheel.near[place, 0]
    if event != NONE:
        wheel.near[place, 0] = wheel.following[event]
        if wheel.near[place, 0] == NONE:
            wheel.near[place, 1] = NONE
    return event


@jit_inline_entry
def first_of(wheel: TimingWheel, now: int) -> int:
    """The next event of a tick, which stays; NONE if there is no more."""
    return wheel.near[now & (EPOCH - 1), 0]
