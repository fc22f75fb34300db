"""A score of nodes for shares of GPUs, whose weights were tuned by simulation.

It is by how much FGD's fragments shrink, in GPUs, less a weighted sum of what a node and a device
look like with the pod on it: how much is left of what, and whether CPUs or GPUs run out first.
Which lists and seeds the weights were found on, and which they were tested on, says
``cloudarena reproduce fgd``; the search is ``benchmarks/gpu_weights.py``.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.compiled import jit
from cloudarena.engine.gpu_scores import (
    DIGITS,
    LARGEST_CPU,
    LARGEST_GPU,
    NEVER,
    NO_ROOM,
    WHOLE,
    Nodes,
    Pods,
    Rule,
    Typical,
    fragment,
    score_of,
    take,
)

LARGEST_MEMORY = 1_048_576.0
"""The memory of the largest node."""
MANY_CORES, FEW_CORES = 8, 4
"""The cores that a GPU needs, by two guesses."""
NODE_FEATURES = (
    "CPU left", "GPUs left", "memory left", "GPUs that are left whole", "CPU times GPUs left",
    "GPUs of the node", "an untouched node", "GPUs left without eight cores each",
    "CPU left beyond eight cores a GPU", "GPUs left without four cores each", "no GPU left",
)  # fmt: skip
"""What the score looks at of a node with a pod on it; sizes as shares of the largest node."""
TENTHS = 10
FEATURES = len(NODE_FEATURES) + TENTHS + 1
"""How many there are, with those of a share: one for the tenth of the device that is left, one less
for the tenth that was free before, and one for a device that was whole."""
CLASSES = ("no GPU", "a share of a GPU", "whole GPUs")
"""The classes of pods; each has weights of its own."""
WEIGHTS: Floats = np.array((
    (
        -0.046, 0.023, 0.035, 0.072, -0.063, 0.065, -0.021, 0.013, -0.102, -0.044, -0.159, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ),
    (
        0.01, 0.169, 0.03, 0.104, 0.043, 0.02, -0.063, 0.072, 0.118, -0.019, -0.019, -0.095,
        0.124, -0.04, 0.01, -0.084, 0.03, 0.025, 0.038, 0.001, -0.128, 0.012,
    ),
    (
        0.205, -0.058, 0.248, -0.201, -0.062, -0.02, 0.024, -0.047, 0.115, -0.047, -0.01, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ),
))  # fmt: skip
"""The weights, in GPUs: of the node's features, then of the device's."""


@jit
def describe(nodes: Nodes, pods: Pods, node: int, pod: int, features: Floats) -> None:
    """Fills in the features of a node with a pod on it; the GPUs of the pod are taken already."""
    count, idle, whole = nodes.gpus[node], 0, 0
    for device in range(count):
        idle += nodes.gpu[node, device]
        whole += nodes.gpu[node, device] == WHOLE
    before = idle + pods.gpus[pod] * pods.milli[pod]
    cores = (nodes.cpu[node] - pods.cpu[pod]) / WHOLE
    cpu, gpu = cores * WHOLE / LARGEST_CPU, idle / LARGEST_GPU
    most = LARGEST_GPU / WHOLE
    short = idle / WHOLE - cores / MANY_CORES
    features[0] = cpu
    features[1] = gpu
    features[2] = (nodes.memory[node] - pods.memory[pod]) / LARGEST_MEMORY
    features[3] = whole / most
    features[4] = cpu * gpu
    features[5] = count / most
    features[6] = 1.0 if before == count * WHOLE else 0.0
    features[7] = max(0.0, short) / most
    features[8] = max(0.0, -short) / (2.0 * most)
    features[9] = max(0.0, idle / WHOLE - cores / FEW_CORES) / most
    features[10] = 1.0 if idle == 0 else 0.0


@jit
def tuned_score(
    nodes: Nodes, pods: Pods, typical: Typical, node: int, pod: int, weights: Floats
) -> tuple[float, int]:
    """The tuned score of a node with room for a pod, and the device for a share of a GPU."""
    shares = 0 < pods.gpus[pod] * pods.milli[pod] < WHOLE
    kind = 0 if pods.gpus[pod] == 0 else (1 if shares else 2)
    fragments = fragment(nodes, typical, node, nodes.cpu[node])
    features = np.zeros(FEATURES)
    free = nodes.gpu[node].copy()
    first = len(NODE_FEATURES)
    best, chosen = NO_ROOM, NEVER
    for device in range(nodes.gpus[node] if shares else 1):
        before = free[device]
        if shares and (before < pods.milli[pod] or is_like_earlier(free, device)):
            continue
        if kind > 0:
            take(nodes, pods, node, pod, device, 1)
        cpu = nodes.cpu[node] - pods.cpu[pod]
        score = (fragments - fragment(nodes, typical, node, cpu)) / WHOLE
        describe(nodes, pods, node, pod, features)
        nodes.gpu[node, :] = free
        if shares:
            features[first:] = 0.0
            left = before - pods.milli[pod]
            if left > 0:
                features[first + (left - 1) * TENTHS // WHOLE] += 1.0
            if before < WHOLE:
                features[first + (before - 1) * TENTHS // WHOLE] -= 1.0
            else:
                features[first + TENTHS] = 1.0
        for k in range(FEATURES):
            score -= weights[kind, k] * features[k]
        score = round(score, DIGITS)
        if score > best:
            best, chosen = score, device
    return best, chosen


@jit
def is_like_earlier(free: Ints, device: int) -> bool:
    """Whether an earlier device has as much free."""
    is_like = False
    for other in range(device):
        is_like = is_like or free[other] == free[device]
    return is_like


@jit
def any_score(
    nodes: Nodes, pods: Pods, typical: Typical, node: int, pod: int, rule: int, weights: Floats
) -> tuple[float, int]:
    """The score by any rule, the tuned one too."""
    if rule == Rule.TUNED:
        return tuned_score(nodes, pods, typical, node, pod, weights)
    return score_of(nodes, pods, typical, node, pod, rule)
