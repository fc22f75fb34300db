"""Alarms, one for each of many things: which rings first? A tournament of the earliest times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import lean


class Alarms(NamedTuple):
    """The tree: node 1 is the root, the children of node k are 2k and 2k + 1, alarms come last."""

    times: NDArray[np.float64]  # (2 * leaves,)


def make_alarms(count: int) -> Alarms:
    """Alarms that are not set."""
    leaves = 1
    while leaves < max(count, 1):
        leaves *= 2
    return Alarms(np.full(2 * leaves, np.inf))


def with_alarms(alarms: Alarms, count: int) -> Alarms:
    """The same alarms with room for more."""
    larger = make_alarms(count)
    leaves, before = len(larger.times) // 2, len(alarms.times) // 2
    larger.times[leaves : leaves + before] = alarms.times[before:]
    for node in range(leaves - 1, 0, -1):
        larger.times[node] = min(larger.times[2 * node], larger.times[2 * node + 1])
    return larger


@lean
def set_alarm(alarms: Alarms, number: int, time: float) -> None:
    """Sets an alarm; infinity turns it off."""
    times = alarms.times
    node = len(times) // 2 + number
    times[node] = time
    while node > 1:
        time = min(time, times[node ^ 1])  # the other child of the same node
        node //= 2
        if times[node] == time:
            return
        times[node] = time


@lean
def alarm_time(alarms: Alarms, number: int) -> float:
    """When an alarm rings; infinity if it is not set."""
    return alarms.times[len(alarms.times) // 2 + number]


@lean
def first_ring(alarms: Alarms) -> float:
    """When the first alarm rings; infinity if none is set."""
    return alarms.times[1]


@lean
def first_ringing(alarms: Alarms) -> int:
    """Which alarm rings first; of several the one with the lowest number."""
    times = alarms.times
    leaves, first = len(times) // 2, times[1]
    node = 1
    while node < leaves:
        node = 2 * node + (times[2 * node] != first)
    return node - leaves
