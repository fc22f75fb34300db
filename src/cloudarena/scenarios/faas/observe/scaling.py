"""The scaling of a function as learners see it: a few numbers of replicas."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable
from cloudarena.engine.shortlist import sort_rows, squashed
from cloudarena.engine.status import DECIDE
from cloudarena.scenarios.faas.kernel.scaling import scaling_of
from cloudarena.scenarios.faas.observe.placing import TAKE
from cloudarena.scenarios.faas.state import NONE, Pending, Scaling, World

CHANGES = (0, 1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32)
"""The numbers of replicas by which candidates change, the most useful first."""
FEATURES = (
    Feature("replicas", "n / (n + 10) of the n replicas that the function would have"),
    Feature("of_maximum", "n over the most that it may have"),
    Feature("change", "d / (|d| + 4) of the change d", -1.0),
    Feature("hold", "1 if nothing changes"),
    Feature("suggested", "1 for what the spec's scaler would do"),
    Feature("from_suggested", "d / (|d| + 4) of the difference d to that", -1.0),
    Feature("rate", "r / (r + 10) of the requests a second for each replica"),
    Feature("queue", "q / (q + 1) of the waiting requests for each replica, on average"),
    Feature("waiting", "q / (q + 1) of those that wait now for each replica"),
    Feature("cpu", "half of the CPU used over what so many replicas ask for; at most 1"),
    Feature("running", "n / (n + 1) of the invocations under way for each replica"),
    Feature("none", "1 if the function would have no replica"),
    Feature("spare", "log2 of n + 1 over the requests that run or wait + 1, over 4; -1 to 1",
            -1.0),
    Feature("spare_squared", "the square of that: with it a score prefers some spare"),
    Feature("of_suggested", "log2 of n + 1 over what the spec's scaler wants + 1, over 4; -1 to 1",
            -1.0),
    Feature("of_suggested_squared", "the square of that"),
)  # fmt: skip
CONTEXT = (
    Feature("replicas", "n / (n + 10) of the n replicas as decided last"),
    Feature("ready", "the share of them that takes requests"),
    Feature("rate", "r / (r + 10) of the requests a second in the scaler's window"),
    Feature("queue", "q / (q + 10) of the waiting requests in the window, on average"),
    Feature("waiting", "q / (q + 10) of those that wait now"),
    Feature("running", "n / (n + 10) of the invocations under way"),
    Feature("cpu", "half of the CPU used over what the replicas asked for; at most 1"),
    Feature("since_change", "t / (t + 60 s) of the time since the number was changed"),
    Feature("minimum", "n / (n + 10) of the least replicas that it may have"),
    Feature("maximum", "n / (n + 10) of the most"),
)


@jitable
def signed(value: int) -> float:
    """A change as d / (|d| + 4)."""
    return value / (abs(value) + 4.0)


@jitable
def per_replica(value: float, count: int, half: float) -> float:
    """A quantity for each replica as a share; all of it where there would be none."""
    return squashed(value / max(1, count), half) if count > 0 else (1.0 if value > 0.0 else 0.0)


@jitable
def octaves(count: int, of: int) -> float:
    """How many times as many replicas as something, as log2 over 4, -1 to 1."""
    return min(1.0, max(-1.0, math.log2((count + 1.0) / (of + 1.0)) / 4.0))


@jitable
def fill_scale(
    scaling: Scaling,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Numbers of replicas, rising, as far as they are allowed and there is room.

    As it is, what the spec's scaler would do, 1, 2, 4, 8, 16 and 32 more and fewer, the least and
    the most.
    """
    least, most, now = scaling.minimum, scaling.maximum, scaling.replicas
    held = 0
    for k in range(len(CHANGES) + 3):
        if k == 1:
            count = scaling.suggested
        elif k == len(CHANGES) + 1:
            count = least
        elif k == len(CHANGES) + 2:
            count = most
        else:
            count = now + CHANGES[k - 1 if k > 1 else 0]
        count = min(max(count, least), most)
        is_new = held < len(actions)
        for other in range(held):
            is_new = is_new and actions[other, 0] != count
        if is_new:
            actions[held, 0] = count
            held += 1
    sort_rows(actions, held)
    for k in range(held):
        count, row = actions[k, 0], features[k]
        row[0] = squashed(float(count), 10.0)
        row[1] = count / max(1, most)
        row[2] = signed(count - now)
        row[3] = 1.0 if count == now else 0.0
        row[4] = 1.0 if count == scaling.suggested else 0.0
        row[5] = signed(count - scaling.suggested)
        row[6] = per_replica(scaling.rate, count, 10.0)
        row[7] = per_replica(scaling.queue, count, 1.0)
        row[8] = per_replica(float(scaling.waiting), count, 1.0)
        row[9] = min(1.0, 0.5 * scaling.cpu * max(1, now) / max(1, count))
        row[10] = per_replica(float(scaling.running), count, 1.0)
        row[11] = 1.0 if count == 0 else 0.0
        spare = octaves(count, scaling.running + scaling.waiting)
        of_suggested = octaves(count, scaling.suggested)
        row[12] = spare
        row[13] = spare * spare
        row[14] = of_suggested
        row[15] = of_suggested * of_suggested
    features[held:] = 0.0
    context[0] = squashed(float(now), 10.0)
    context[1] = min(1.0, scaling.ready / max(1, now))
    context[2] = squashed(scaling.rate, 10.0)
    context[3] = squashed(scaling.queue, 10.0)
    context[4] = squashed(float(scaling.waiting), 10.0)
    context[5] = squashed(float(scaling.running), 10.0)
    context[6] = min(1.0, 0.5 * scaling.cpu)
    context[7] = squashed(scaling.since_change, 60.0)
    context[8] = squashed(float(least), 10.0)
    context[9] = squashed(float(most), 10.0)
    return held


def look_scale(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Does what ``fill_scale`` does, of the function that a run is at."""
    return fill_scale(scaling_of(world), features, context, actions)


@jit_inline
def best_by_spec(world: World) -> int:
    """The valid node that the spec's scheduler scores highest."""
    best, most = NONE, -np.inf
    for node in range(len(world.nodes)):
        if world.nodes[node].valid:
            total = 0.0
            for priority in range(len(world.scores)):
                total += world.weights[priority] * world.scores[priority, node]
            if total > most:
                best, most = node, total
    return best


def take_scale(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate; then the spec's scheduler decides until the next scaler is due."""
    status = TAKE(world, numbers[0])
    while status == DECIDE and world.clock[0].pending == Pending.PLACE:
        status = TAKE(world, best_by_spec(world))
    return status


SCALING = Candidates(
    "faas-scale", FEATURES, CONTEXT, 2, 16, fill_scale, look=look_scale, take=take_scale
)
