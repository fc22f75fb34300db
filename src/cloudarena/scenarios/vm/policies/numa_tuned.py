"""A policy for NUMA nodes whose weights were tuned by simulation.

Each place, a machine and a node of it, has a score: a weighted sum of what would be free of the
machine's nodes, and of how many VMs of usual shapes fewer would fit them. The weights were found by
the cross-entropy method on real VMs of Huawei, on servers of two nodes: see
``cloudarena reproduce spane``, which says on which episodes.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import Floats
from cloudarena.engine.compiled import jit
from cloudarena.policies import Parameters
from cloudarena.scenarios.vm.policies.numa import node_fits, on_node
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT
from cloudarena.scenarios.vm.state import Machines, Request

SHAPES = (
    (1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (2.0, 4.0), (2.0, 8.0), (4.0, 4.0), (4.0, 8.0),
    (4.0, 16.0), (8.0, 8.0), (8.0, 16.0), (8.0, 32.0), (16.0, 32.0), (16.0, 64.0), (32.0, 64.0),
    (32.0, 128.0),
)  # fmt: skip
"""Cores and GB of usual VMs."""
WHOLE_GB = 10.0
"""Usual VMs with more memory are split over all nodes."""
CORES_OF_A_NODE = 40.0
"""The node that the weights of shapes are for."""
ROUNDING = 1e-9
WEIGHTS = (
    -0.155, 0.085, 0.672, 0.457, -0.218, 1.181, -0.322, 0.487, 0.681, -0.164, 0.701, 0.538,
    0.034, -0.107, 0.062, 0.03, 0.067, 0.001, 0.063, 0.275, -0.093, -0.132, 0.173, -0.38, -0.193,
    0.291, 0.235,
)  # fmt: skip
"""The weights of what is free, in the order of ``looseness``, then of the shapes."""


@jit
def copies(cores: Floats, memory: Floats, shape: int) -> int:
    """How many VMs of a shape fit the nodes of a machine with so much free."""
    wanted, gb = SHAPES[shape]
    if gb > WHOLE_GB:
        part = len(cores)
        fewest = 1 << 30
        for node in range(part):
            fitting = min(
                int(cores[node] * part / wanted + ROUNDING),
                int(memory[node] * part / gb + ROUNDING),
            )
            fewest = min(fewest, fitting)
        return fewest
    count = 0
    for node in range(len(cores)):
        count += min(int(cores[node] / wanted + ROUNDING), int(memory[node] / gb + ROUNDING))
    return count


@jit
def looseness(cores: Floats, memory: Floats, node_cores: float, node_memory: float) -> float:
    """The weighted sum of what is free of the nodes of a machine, as shares of a node."""
    sum_a = sum_b = sum_f = square_a = square_b = 0.0
    low_a = low_b = low_f = np.inf
    high_a = high_b = high_f = -np.inf
    for node in range(len(cores)):
        a, b = cores[node] / node_cores, memory[node] / node_memory
        f = min(a, b)
        sum_a, sum_b, sum_f = sum_a + a, sum_b + b, sum_f + f
        square_a, square_b = square_a + a * a, square_b + b * b
        low_a, low_b, low_f = min(low_a, a), min(low_b, b), min(low_f, f)
        high_a, high_b, high_f = max(high_a, a), max(high_b, b), max(high_f, f)
    features = (
        sum_a, sum_b, sum_f, high_f - low_f, high_a - low_a, high_b - low_b, abs(sum_a - sum_b),
        low_f, high_f, square_a, square_b, high_a,
    )  # fmt: skip
    total = 0.0
    for k in range(len(features)):
        total += WEIGHTS[k] * features[k]
    return total


@jit
def looser(
    pms: Machines, vm: Request, machine: int, node: int, before: Floats, gb: Floats
) -> float:
    """How loose a machine is with a VM on a node, or on all if it is split: lower is better."""
    nodes = len(before)
    after, gb_after = before.copy(), gb.copy()
    for k in range(nodes):
        if vm.is_split:
            after[k] -= vm.cores / nodes
            gb_after[k] -= vm.memory_gb / nodes
        elif k == node:
            after[k] -= vm.cores
            gb_after[k] -= vm.memory_gb
    score = looseness(after, gb_after, pms.cores[machine] / nodes, pms.memory_gb[machine] / nodes)
    for shape in range(len(SHAPES)):
        fewer = copies(before, gb, shape) - copies(after, gb_after, shape)
        score += WEIGHTS[12 + shape] * fewer * SHAPES[shape][0] / CORES_OF_A_NODE
    return score


@POLICIES.register("numa-tuned")
def numa_tuned(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The node that leaves the tightest machine, by weights that were tuned by simulation.

    Machines with one node: the fewest free cores.
    """
    nodes = pms.node_free_cores.shape[1]
    best, chosen, least = WAIT, -1, np.inf
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if nodes == 0:
            if pms.free_cores[m] < least:
                best, least = m, pms.free_cores[m]
            continue
        before, gb = pms.node_free_cores[m].copy(), pms.node_free_memory_gb[m].copy()
        for node in range(1 if vm.is_split else nodes):
            if vm.is_split or node_fits(pms, vm, m, node):
                score = looser(pms, vm, m, node, before, gb)
                if score < least - ROUNDING:
                    best, chosen, least = m, node, score
    if best == WAIT or nodes == 0 or vm.is_split:
        return best
    return on_node(pms, best, chosen)
