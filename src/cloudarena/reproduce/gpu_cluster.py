"""A cluster of nodes with GPUs as devices, onto which pods are placed one after the other.

GPUs are counted in thousandths, device by device: a pod has a share of one GPU, or one or more
whole ones, of a model that it allows. The policies are those of FGD (ATC 2023).

The score of a node for a pod depends on nothing but the two, so it is kept for each request and
computed again where the node has changed since.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.compiled import jit
from cloudarena.engine.gpu_scores import (
    NEVER,
    NO_ROOM,
    WHOLE,
    Nodes,
    Pods,
    Rule,
    Typical,
    fragment,
    kind_of,
    take,
)
from cloudarena.engine.gpu_tuned import any_score


@jit
def fits(nodes: Nodes, pods: Pods, node: int, pod: int) -> bool:
    """Whether a node has room for a pod."""
    if nodes.cpu[node] < pods.cpu[pod] or nodes.memory[node] < pods.memory[pod]:
        return False
    if pods.gpus[pod] == 0:
        return True
    if pods.models[pod] >> nodes.model[node] & 1 == 0:
        return False
    enough = 0
    for device in range(nodes.gpus[node]):
        enough += nodes.gpu[node, device] >= pods.milli[pod]
    return enough >= pods.gpus[pod]


@jit
def random_device(nodes: Nodes, pods: Pods, node: int, pod: int, rng: np.random.Generator) -> int:
    """Any device with room for a share."""
    chosen, seen = NEVER, 0
    for device in range(nodes.gpus[node]):
        if nodes.gpu[node, device] >= pods.milli[pod]:
            seen += 1
            if rng.integers(0, seen) == 0:
                chosen = device
    return chosen


@jit
def place_all(
    nodes: Nodes,
    pods: Pods,
    typical: Typical,
    arrivals: Ints,
    rule: int,
    random_ties: bool,
    weights: Floats,
    rng: np.random.Generator,
) -> int:
    """Places pods one after the other where there is room; returns the GPU thousandths given.

    Equals are broken by the order of nodes, or by chance.
    """
    count = len(nodes.cpu)
    scores = np.empty((len(pods.cpu), count))
    devices = np.empty((len(pods.cpu), count), np.int64)
    scored = np.full((len(pods.cpu), count), NEVER)
    changed = np.zeros(count, np.int64)
    given = 0
    for step in range(len(arrivals)):
        pod = arrivals[step]
        best, chosen, equals = NO_ROOM, NEVER, 0
        for node in range(count):
            if scored[pod, node] < changed[node]:
                scored[pod, node] = step
                scores[pod, node] = NO_ROOM
                if fits(nodes, pods, node, pod):
                    score, device = any_score(nodes, pods, typical, node, pod, rule, weights)
                    scores[pod, node], devices[pod, node] = score, device
            score = scores[pod, node]
            if score == NO_ROOM:
                continue
            if score > best:
                best, chosen, equals = score, node, 1
            elif score == best and random_ties:
                equals += 1
                if rng.integers(0, equals) == 0:
                    chosen = node
        if chosen == NEVER:
            continue
        if pods.gpus[pod] > 0:
            device = devices[pod, chosen]
            if rule == Rule.RANDOM and pods.milli[pod] < WHOLE:
                device = random_device(nodes, pods, chosen, pod, rng)
            take(nodes, pods, chosen, pod, device, 1)
            nodes.kinds[chosen, kind_of(pods.gpus[pod], pods.milli[pod])] += 1
        nodes.cpu[chosen] -= pods.cpu[pod]
        nodes.memory[chosen] -= pods.memory[pod]
        changed[chosen] = step + 1
        given += pods.gpus[pod] * pods.milli[pod]
    return given


@jit
def fragments(nodes: Nodes, typical: Typical) -> float:
    """The share of idle GPU thousandths that are of no use to a typical pod."""
    lost, idle = 0.0, 0
    for node in range(len(nodes.cpu)):
        lost += fragment(nodes, typical, node, nodes.cpu[node])
        for device in range(nodes.gpus[node]):
            idle += nodes.gpu[node, device]
    return lost / idle if idle > 0 else 0.0
