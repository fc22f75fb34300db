"""The placement of a replica as learners see it: a few nodes, and waiting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_call, jitable
from cloudarena.engine.shortlist import keep, sort_rows, squashed
from cloudarena.engine.status import DECIDE
from cloudarena.scenarios.faas.kernel import act, show
from cloudarena.scenarios.faas.kernel.scheduling import replica_of
from cloudarena.scenarios.faas.state import (
    NONE,
    WHOLE,
    Accelerator,
    Nodes,
    NodeState,
    Pending,
    Priority,
    Replica,
    Resource,
    Tier,
    World,
)

CPU = int(Resource.CPU)
PRIORITIES = len(Priority)
FEATURES = (
    *(
        Feature(f"score_{priority.name.lower()}", "this priority's score over 10")
        for priority in Priority
    ),
    Feature("execution", "t / (t + 1 s) of the mean time of an invocation there"),
    Feature("execution_of_best", "the shortest such time of the candidates over its own"),
    Feature("energy", "j / (j + 10 J) of the energy that an invocation adds there"),
    Feature("energy_of_least", "the least such energy of the candidates over its own"),
    Feature("power_added", "w / (w + 10 W) of the power that a busy worker adds"),
    Feature("pull", "t / (t + 10 s) of the least time for the image to get there"),
    Feature("data", "t / (t + 1 s) of the least time for the data to get there and back"),
    Feature("cpu_free", "the share of its CPU that no replica has asked for"),
    Feature("memory_free", "the share of its memory that no replica has asked for"),
    Feature("accelerator_free", "the same of its accelerator's memory; 0 if it has none"),
    Feature("load", "l / (1 + l) of the CPU load l"),
    Feature("replicas", "n / (n + 4) of the n replicas on it"),
    Feature("running", "n / (n + 4) of the n invocations that execute there"),
    Feature("empty", "1 on a node without replicas"),
    Feature("off", "1 if it is off, 0.5 while it boots, 0 if it is on"),
    Feature("fog", "1 for a node of the fog"),
    Feature("cloud", "1 for a node of the cloud"),
    Feature("gpu", "1 for a node with a GPU"),
    Feature("tpu", "1 for a node with a TPU"),
    Feature("wait", "1 for the candidate that waits until something else ends or is asked for"),
)
CONTEXT = (
    Feature("replicas", "n / (n + 10) of the n replicas that the function has"),
    Feature("wanted", "n / (n + 10) of the n replicas that it should have"),
    Feature("missing", "the share of those that are missing"),
    Feature("nodes_valid", "the share of nodes that may take it"),
    Feature("nodes_empty", "the share of nodes without replicas"),
    Feature("nodes_off", "the share of nodes that are off or boot"),
    Feature("cpu_free", "the mean share of free CPU"),
    Feature("memory_free", "the mean share of free memory"),
)
FIRST = PRIORITIES
WAIT = len(FEATURES) - 1


@jitable
def total_of(nodes: Nodes, replica: Replica, node: int) -> float:
    """The weighted sum of scores by which the spec's scheduler ranks nodes."""
    total = 0.0
    for priority in range(len(nodes.scores)):
        total += replica.weights[priority] * nodes.scores[priority, node]
    return total


@jitable
def alike(nodes: Nodes, this: int, other: int) -> bool:
    """Whether two nodes are in equal state, so that their features are the same."""
    equal = (
        nodes.device_type[this] == nodes.device_type[other]
        and nodes.free_cpu[this] == nodes.free_cpu[other]
        and nodes.free_memory[this] == nodes.free_memory[other]
        and nodes.free_accelerator_memory[this] == nodes.free_accelerator_memory[other]
        and nodes.cores[this] == nodes.cores[other]
        and nodes.memory[this] == nodes.memory[other]
        and nodes.accelerator_memory[this] == nodes.accelerator_memory[other]
        and nodes.accelerator[this] == nodes.accelerator[other]
        and nodes.tier[this] == nodes.tier[other]
        and nodes.state[this] == nodes.state[other]
        and nodes.replicas[this] == nodes.replicas[other]
        and nodes.running[this] == nodes.running[other]
        and nodes.load[this, CPU] == nodes.load[other, CPU]
        and nodes.execution_s[this] == nodes.execution_s[other]
        and nodes.invocation_j[this] == nodes.invocation_j[other]
        and nodes.added_w[this] == nodes.added_w[other]
        and nodes.pull_s[this] == nodes.pull_s[other]
        and nodes.data_s[this] == nodes.data_s[other]
    )
    for priority in range(len(nodes.scores)):
        equal = equal and nodes.scores[priority, this] == nodes.scores[priority, other]
    return equal


@jitable
def share(part: float, whole: float) -> float:
    """A part from 0 to 1; 0 of nothing."""
    return min(1.0, max(0.0, part / whole)) if whole > 0.0 else 0.0


@jitable
def describe(
    nodes: Nodes, node: int, soonest: float, least_j: float, row: NDArray[np.float32]
) -> None:
    """Writes the features of a node that may take the replica."""
    for priority in range(PRIORITIES):
        row[priority] = min(1.0, max(0.0, nodes.scores[priority, node] / 10.0))
    seconds, joules = nodes.execution_s[node], nodes.invocation_j[node]
    row[FIRST] = squashed(seconds, 1.0)
    row[FIRST + 1] = share(soonest, seconds)
    row[FIRST + 2] = squashed(joules, 10.0)
    row[FIRST + 3] = share(least_j, joules)
    row[FIRST + 4] = squashed(nodes.added_w[node], 10.0)
    row[FIRST + 5] = squashed(nodes.pull_s[node], 10.0)
    row[FIRST + 6] = squashed(nodes.data_s[node], 1.0)
    row[FIRST + 7] = share(float(nodes.free_cpu[node]), nodes.cores[node] * 1000.0)
    row[FIRST + 8] = share(float(nodes.free_memory[node]), float(nodes.memory[node]))
    accelerator = float(nodes.accelerator_memory[node])
    row[FIRST + 9] = share(float(nodes.free_accelerator_memory[node]), accelerator)
    row[FIRST + 10] = squashed(nodes.load[node, CPU] / WHOLE, 1.0)
    row[FIRST + 11] = squashed(float(nodes.replicas[node]), 4.0)
    row[FIRST + 12] = squashed(float(nodes.running[node]), 4.0)
    row[FIRST + 13] = 1.0 if nodes.replicas[node] == 0 else 0.0
    off, booting = nodes.state[node] == NodeState.OFF, nodes.state[node] == NodeState.BOOTING
    row[FIRST + 14] = 1.0 if off else (0.5 if booting else 0.0)
    row[FIRST + 15] = 1.0 if nodes.tier[node] == Tier.FOG else 0.0
    row[FIRST + 16] = 1.0 if nodes.tier[node] == Tier.CLOUD else 0.0
    row[FIRST + 17] = 1.0 if nodes.accelerator[node] == Accelerator.GPU else 0.0
    row[FIRST + 18] = 1.0 if nodes.accelerator[node] == Accelerator.TPU else 0.0
    row[WAIT] = 0.0


@jitable
def fill_place(
    nodes: Nodes,
    replica: Replica,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Valid nodes in the order of their numbers, then waiting.

    Nodes in equal state are one candidate, the first of them. If there are more states than room,
    these come first: the best by the spec's weights, the first, the one with the shortest
    execution, the least energy of an invocation, the least power that is added, the shortest pull,
    the most free CPU. The rest are the best by the spec's weights.
    """
    count = len(nodes.valid)
    valid, empty, off, cpu, memory = 0, 0, 0, 0.0, 0.0
    best, most = -1, -np.inf
    first = -1
    fastest, soonest = -1, np.inf
    frugal, least_j = -1, np.inf
    coolest, least_w = -1, np.inf
    nearest, shortest = -1, np.inf
    freest, free = -1, -np.inf
    held, room = 0, len(actions) - 1
    worst = np.inf
    for node in range(count):
        cpu_free = share(float(nodes.free_cpu[node]), nodes.cores[node] * 1000.0)
        cpu += cpu_free
        memory += share(float(nodes.free_memory[node]), float(nodes.memory[node]))
        empty += nodes.replicas[node] == 0
        off += nodes.state[node] != NodeState.ON
        if not nodes.valid[node]:
            continue
        valid += 1
        total = total_of(nodes, replica, node)
        if first < 0:
            first = node
        if total > most:
            best, most = node, total
        if nodes.execution_s[node] < soonest:
            fastest, soonest = node, nodes.execution_s[node]
        if nodes.invocation_j[node] < least_j:
            frugal, least_j = node, nodes.invocation_j[node]
        if nodes.added_w[node] < least_w:
            coolest, least_w = node, nodes.added_w[node]
        if nodes.pull_s[node] < shortest:
            nearest, shortest = node, nodes.pull_s[node]
        if cpu_free > free:
            freest, free = node, cpu_free
        if held == room and total <= worst:
            continue
        place, is_new = held, True
        while place > 0:
            other = actions[place - 1, 0]
            above = total_of(nodes, replica, other)
            if above > total:
                break
            if above == total:
                for k in range(place - 1, -1, -1):  # among all that are ranked alike
                    if total_of(nodes, replica, actions[k, 0]) != total:
                        break
                    is_new = is_new and not alike(nodes, node, actions[k, 0])
                break
            place -= 1
        if not is_new or place == room:
            continue
        held = min(held + 1, room)
        for k in range(held - 1, place, -1):
            actions[k, 0] = actions[k - 1, 0]
        actions[place, 0] = node
        worst = total_of(nodes, replica, actions[held - 1, 0])
    if held == room:
        kept = (best, first, fastest, frugal, coolest, nearest, freest)
        for node in kept:
            keep(actions, held, node, kept)
    sort_rows(actions, held)
    for k in range(held):
        describe(nodes, actions[k, 0], soonest, least_j, features[k])
    features[held:] = 0.0
    features[held, WAIT] = 1.0
    actions[held, 0] = NONE
    context[0] = squashed(float(replica.replicas), 10.0)
    context[1] = squashed(float(replica.wanted), 10.0)
    context[2] = share(float(replica.wanted - replica.replicas), float(replica.wanted))
    context[3] = valid / count
    context[4] = empty / count
    context[5] = off / count
    context[6] = min(1.0, cpu / count)
    context[7] = min(1.0, memory / count)
    return held + 1


def look_place(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Does what ``fill_place`` does, of the replica that a run is at."""
    seen = world.seen
    show(world, seen)
    for priority in range(len(world.scores)):
        for node in range(len(world.nodes)):
            seen.scores[priority, node] = world.scores[priority, node]
    return fill_place(seen, replica_of(world, world.weights), features, context, actions)


TAKE = jit_call(act.py_func)
"""The kernel's ``act`` as a part of who calls it."""


def take_place(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate; then the spec's scalers decide until the next replica is to be placed."""
    status = TAKE(world, numbers[0])
    while status == DECIDE and world.clock[0].pending == Pending.SCALE:
        status = TAKE(world, world.clock[0].suggested)
    return status


PLACING = Candidates(
    "faas-place", FEATURES, CONTEXT, 1, 16, fill_place, look=look_place, take=take_place
)
