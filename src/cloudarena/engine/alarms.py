"""Alarms, one for each of many things: which rings first? A tournament of the earliest times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import lean

MATCH = np.dtype(
    [
        ("time", np.float64),  # the earliest of the alarms below
        ("number", np.int64),  # whose it is; of several the lowest
    ]
)


class Alarms(NamedTuple):
    """The tree: node 1 is the root, the children of node k are 2k and 2k + 1, alarms come last."""

    tree: NDArray[np.void]  # (2 * leaves,) of MATCH


def make_alarms(count: int) -> Alarms:
    """Alarms that are not set."""
    leaves = 1
    while leaves < max(count, 1):
        leaves *= 2
    return _alarms(np.full(leaves, np.inf))


def with_alarms(alarms: Alarms, count: int) -> Alarms:
    """The same alarms with room for more."""
    times, before = alarm_times(make_alarms(count)), alarm_times(alarms)
    times[: len(before)] = before
    return _alarms(times)


def _alarms(times: NDArray[np.float64]) -> Alarms:
    """Alarms that are set to times, two to the power of something of them."""
    tree, level = np.zeros(2 * len(times), MATCH), len(times)
    tree["time"][level:], tree["number"][level:] = times, np.arange(level)
    while level > 1:
        left, right = tree[level : 2 * level : 2], tree[level + 1 : 2 * level : 2]
        tree[level // 2 : level] = np.where(right["time"] < left["time"], right, left)
        level //= 2
    return Alarms(tree)


def alarm_times(alarms: Alarms) -> NDArray[np.float64]:
    """When each alarm rings, at least for as many as there are."""
    times: NDArray[np.float64] = alarms.tree["time"][len(alarms.tree) // 2 :]
    return times


@lean
def set_alarm(alarms: Alarms, number: int, time: float) -> None:
    """Sets an alarm; infinity turns it off."""
    tree = alarms.tree
    node = len(tree) // 2 + number
    tree[node].time = time
    while node > 1:
        # Which of two is earlier cannot be foretold: select, do not branch. Of equals the left.
        other, is_right = tree[node ^ 1], (node & 1) == 1
        wins = (other.time < time) | ((other.time == time) & is_right)
        other_time, other_number = other.time, other.number
        time = other_time if wins else time
        number = other_number if wins else number
        node >>= 1
        match = tree[node]
        if match.time == time and match.number == number:
            return
        match.time = time
        match.number = number


@lean
def alarm_time(alarms: Alarms, number: int) -> float:
    """When an alarm rings; infinity if it is not set."""
    return alarms.tree[len(alarms.tree) // 2 + number].time


@lean
def first_ring(alarms: Alarms) -> float:
    """When the first alarm rings; infinity if none is set."""
    return alarms.tree[1].time


@lean
def first_ringing(alarms: Alarms) -> int:
    """Which alarm rings first; of several the one with the lowest number."""
    return alarms.tree[1].number
