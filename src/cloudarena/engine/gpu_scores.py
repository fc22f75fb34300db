"""Scores of nodes with GPUs as devices, for pods that ask for shares of a GPU or for whole ones.

CPUs and GPUs are counted in thousandths, memory in MiB. The scores are those of the program of FGD
(Weng et al., Beware of fragmentation, ATC 2023): whole numbers from 0 to 100, by the largest node
of Alibaba's cluster.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.compiled import jit

WHOLE = 1000
"""A whole GPU."""
LARGEST_CPU, LARGEST_GPU = 128_000.0, 8_000.0
"""The largest node, by which scores are normed."""
KINDS = 10
"""Kinds of pods, by which GPUs are clustered: none, a share, one GPU, two, and so on."""
NO_ROOM = -1e9
TYPICAL = 0.95
"""The share of pods that typical requests are to cover."""
DIGITS = 9
"""The digits of an exact score: what is further right is the rounding of sums, and would decide
ties."""
NEVER = -1


class Rule(IntEnum):
    """A policy: what it scores."""

    RANDOM = 0
    DOT_PRODUCT = 1
    CLUSTERING = 2
    PACKING = 3
    BEST_FIT = 4
    FGD = 5
    FGD_EXACT = 6
    """FGD's score without rounding."""
    TUNED = 7
    """Weights that were tuned by simulation: see ``engine.gpu_tuned``."""


class Nodes(NamedTuple):
    """What is free of each node."""

    cpu: Ints
    memory: Ints
    gpu: Ints  # (nodes, 8): thousandths of each device
    gpus: Ints
    model: Ints
    kinds: Ints  # (nodes, KINDS): how many pods of each kind are on it


class Pods(NamedTuple):
    """Requests that differ; ``models`` has a bit for each model that is allowed."""

    cpu: Ints
    memory: Ints
    gpus: Ints
    milli: Ints
    models: Ints


class Typical(NamedTuple):
    """The most frequent requests, by which fragments are told, and their shares."""

    cpu: Ints
    gpus: Ints
    milli: Ints
    models: Ints
    share: Floats


@jit
def kind_of(gpus: int, milli: int) -> int:
    """The kind of a pod."""
    if gpus == 0:
        return 0
    return 1 if milli < WHOLE else min(gpus + 1, KINDS - 1)


@jit
def fragment(nodes: Nodes, typical: Typical, node: int, cpu: int) -> float:
    """The thousandths of idle GPUs of a node, with free CPU, of no use to a typical pod."""
    count = nodes.gpus[node]
    idle = 0
    for device in range(count):
        idle += nodes.gpu[node, device]
    lost = 0.0
    for k in range(len(typical.share)):
        wasted = idle
        if (
            typical.gpus[k] > 0
            and cpu >= typical.cpu[k]
            and typical.models[k] >> nodes.model[node] & 1
        ):
            enough, small = 0, 0
            for device in range(count):
                if nodes.gpu[node, device] >= typical.milli[k]:
                    enough += 1
                else:
                    small += nodes.gpu[node, device]
            if enough >= typical.gpus[k]:
                wasted = small
        lost += typical.share[k] * wasted
    return lost


@jit
def smallest_device(nodes: Nodes, pods: Pods, node: int, pod: int) -> int:
    """The fullest device with room for a share."""
    best = NEVER
    for device in range(nodes.gpus[node]):
        left = nodes.gpu[node, device]
        if left >= pods.milli[pod] and (best == NEVER or left < nodes.gpu[node, best]):
            best = device
    return best


@jit
def take(nodes: Nodes, pods: Pods, node: int, pod: int, device: int, sign: int) -> None:
    """Lets a pod take GPUs, or gives them back: its device, or the first ones that are free."""
    if pods.milli[pod] < WHOLE:
        nodes.gpu[node, device] -= sign * pods.milli[pod]
        return
    wanted, left = pods.gpus[pod], WHOLE if sign > 0 else 0
    for device in range(nodes.gpus[node]):
        if wanted > 0 and nodes.gpu[node, device] == left:
            nodes.gpu[node, device] -= sign * WHOLE
            wanted -= 1


@jit
def gradient(
    nodes: Nodes, pods: Pods, typical: Typical, node: int, pod: int, exact: bool
) -> tuple[float, int]:
    """FGD's score, by how much fewer fragments there are with a pod, and the device of a share."""
    before = fragment(nodes, typical, node, nodes.cpu[node])
    cpu = nodes.cpu[node] - pods.cpu[pod]
    best, chosen = NO_ROOM, NEVER
    shares = pods.gpus[pod] == 1 and pods.milli[pod] < WHOLE
    idle = np.zeros(8, np.int64)
    idle[: nodes.gpus[node]] = nodes.gpu[node, : nodes.gpus[node]]
    for device in range(nodes.gpus[node] if shares else 1):
        if shares and nodes.gpu[node, device] < pods.milli[pod]:
            continue
        if pods.gpus[pod] > 0:
            take(nodes, pods, node, pod, device, 1)
        less = (before - fragment(nodes, typical, node, cpu)) / 1000.0
        nodes.gpu[node, : nodes.gpus[node]] = idle[: nodes.gpus[node]]
        score = 100.0 / (1.0 + math.exp(-less))
        score = round(score, DIGITS) if exact else math.floor(score)
        if score > best:
            best, chosen = score, device
    return best, chosen


@jit
def best_fit_score(nodes: Nodes, pods: Pods, node: int, pod: int, idle: int) -> float:
    """How little is left, of 100."""
    cpu = (nodes.cpu[node] - pods.cpu[pod]) / LARGEST_CPU
    gpu = (idle - pods.gpus[pod] * pods.milli[pod]) / LARGEST_GPU
    return (1.0 - 0.5 * cpu - 0.5 * gpu) * 100.0


@jit
def packing_score(nodes: Nodes, pods: Pods, node: int, pod: int) -> float:
    """Used GPUs first, then free ones of a node that is used, then a free node."""
    count, free = nodes.gpus[node], 0
    for device in range(count):
        free += nodes.gpu[node, device] == WHOLE
    if free == count:
        return float(max(100 // 3 - free, free))
    if pods.milli[pod] == WHOLE:
        return float(max(50 - pods.gpus[pod], 33))
    left = nodes.gpu[node, smallest_device(nodes, pods, node, pod)]
    if left == WHOLE:
        return 49.0
    return float(max(100 - left * 100 // WHOLE // 10, 50))


@jit
def clustering_score(nodes: Nodes, pods: Pods, node: int, pod: int, idle: int) -> float:
    """Nodes with pods of this kind only, then with others too, then empty ones, then the rest."""
    others, kind = 0, kind_of(pods.gpus[pod], pods.milli[pod])
    for k in range(1, KINDS):
        others += nodes.kinds[node, k] > 0
    base = 25 * (int(LARGEST_GPU) - idle) // int(LARGEST_GPU)
    if nodes.kinds[node, kind] > 0:
        return float(base + (75 if others == 1 else 50))
    return float(base + (25 if others == 0 else 0))


@jit
def score_of(
    nodes: Nodes, pods: Pods, typical: Typical, node: int, pod: int, rule: int
) -> tuple[float, int]:
    """The score of a node that has room for a pod, and the device for a share of a GPU.

    All rules but the tuned one.
    """
    device = smallest_device(nodes, pods, node, pod) if pods.gpus[pod] > 0 else NEVER
    idle = 0
    for k in range(nodes.gpus[node]):
        idle += nodes.gpu[node, k]
    if rule == Rule.DOT_PRODUCT:
        cpu = nodes.cpu[node] * pods.cpu[pod] / LARGEST_CPU**2
        gpu = idle * (pods.gpus[pod] * pods.milli[pod]) / LARGEST_GPU**2
        return float(math.floor(100.0 * (1.0 - 0.5 * (cpu + gpu)))), device
    if rule == Rule.BEST_FIT:
        return float(math.floor(best_fit_score(nodes, pods, node, pod, idle))), device
    if rule == Rule.FGD:
        return gradient(nodes, pods, typical, node, pod, False)
    if rule == Rule.FGD_EXACT:
        return gradient(nodes, pods, typical, node, pod, True)
    if pods.gpus[pod] == 0 or rule == Rule.RANDOM:
        return 0.0, device
    if rule == Rule.PACKING:
        return packing_score(nodes, pods, node, pod), device
    return clustering_score(nodes, pods, node, pod, idle), device


def typical_of(pods: Pods, listed: Ints) -> Typical:
    """The most frequent requests, until they are 95 % of all; memory does not count.

    Of those that are equally frequent the largest come first: by cpu, then by the share of a GPU,
    by the number of GPUs, and by the models.
    """
    columns = np.column_stack([pods.cpu, pods.milli, pods.gpus, pods.models])[listed]
    requests, counts = np.unique(columns, axis=0, return_counts=True)
    order = np.lexsort((-np.arange(len(counts)), -counts))
    share = counts[order] / counts.sum()
    kept = order[: int(np.searchsorted(np.cumsum(share), TYPICAL)) + 1]
    cpu, milli, gpus, models = (np.ascontiguousarray(column) for column in requests[kept].T)
    return Typical(cpu, gpus, milli, models, counts[kept] / counts[kept].sum())
