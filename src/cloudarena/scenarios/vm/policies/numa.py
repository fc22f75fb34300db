"""Policies that choose a NUMA node too; where machines have one node they choose the machine alone.

First-fit and balance-fit are the baselines of SPANE (2025), with real VMs of Huawei.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.engine.compiled import jit
from cloudarena.policies import Parameters
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT
from cloudarena.scenarios.vm.state import Machines, Request


@jit
def on_node(pms: Machines, machine: int, node: int) -> int:
    """The action that places a VM on a node of a machine."""
    return machine + len(pms.valid) * (1 + node)


@jit
def node_fits(pms: Machines, vm: Request, machine: int, node: int) -> bool:
    """Whether a node has room for a VM that is not split."""
    return (
        pms.node_free_cores[machine, node] >= vm.cores
        and pms.node_free_memory_gb[machine, node] >= vm.memory_gb
    )


@jit
def free_share(pms: Machines, machine: int, node: int) -> float:
    """The smaller of the shares of a node's cores and of its memory that are free."""
    nodes = pms.node_free_cores.shape[1]
    cores = pms.node_free_cores[machine, node] * nodes / pms.cores[machine]
    memory = pms.node_free_memory_gb[machine, node] * nodes / pms.memory_gb[machine]
    return min(cores, memory)


@jit
def roomiest_node(pms: Machines, vm: Request, machine: int) -> int:
    """The node with room of which the largest share is free; -1 where machines have one node."""
    chosen, most = -1, -np.inf
    for node in range(pms.node_free_cores.shape[1]):
        if node_fits(pms, vm, machine, node) and free_share(pms, machine, node) > most:
            chosen, most = node, free_share(pms, machine, node)
    return chosen


@jit
def first_node(pms: Machines, vm: Request, machine: int) -> int:
    """The action that places a VM on the first node with room of a machine that may take it."""
    nodes = pms.node_free_cores.shape[1]
    if not vm.is_split:
        for node in range(nodes):
            if node_fits(pms, vm, machine, node):
                return on_node(pms, machine, node)
    return machine


@POLICIES.register("numa-first-fit")
def numa_first_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The first node with room of the valid machine with the lowest index."""
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            return first_node(pms, vm, m)
    return WAIT


@POLICIES.register("numa-balance-fit")
def numa_balance_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine whose nodes differ most, its emptier node if that has room; else first-fit.

    What is free of a node is the smaller of its shares of cores and of memory. VMs that are split
    are placed by first-fit.
    """
    nodes = pms.node_free_cores.shape[1]
    first, best, largest = WAIT, -1, 0.0
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if first == WAIT:
            first = m
        low, high = np.inf, -np.inf
        for node in range(nodes):
            free = free_share(pms, m, node)
            low, high = min(low, free), max(high, free)
        if nodes > 0 and not vm.is_split and high - low > largest:
            best, largest = m, high - low
    if best < 0:
        return first if first == WAIT else first_node(pms, vm, first)
    return on_node(pms, best, roomiest_node(pms, vm, best))


@jit
def emptiest_node(pms: Machines, vm: Request, machine: int) -> int:
    """The node with room that has the most free cores; -1 where machines have one node."""
    chosen, most = -1, -np.inf
    for node in range(pms.node_free_cores.shape[1]):
        if node_fits(pms, vm, machine, node) and pms.node_free_cores[machine, node] > most:
            chosen, most = node, pms.node_free_cores[machine, node]
    return chosen


@POLICIES.register("numa-packed")
def numa_packed(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine whose nodes are fullest in all, then its emptier node.

    What is free of a node is the smaller of its shares of cores and of memory.
    """
    nodes = pms.node_free_cores.shape[1]
    best, fewest = WAIT, np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            free = 0.0 if nodes > 0 else pms.free_cores[m]
            for node in range(nodes):
                free += free_share(pms, m, node)
            if free < fewest:
                best, fewest = m, free
    if best == WAIT or vm.is_split:
        return best
    return on_node(pms, best, roomiest_node(pms, vm, best))


@POLICIES.register("numa-packed-level")
def numa_packed_level(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine with the fewest free cores, then with the node that has most of them free."""
    best, chosen, fewest, most = WAIT, -1, np.inf, -np.inf
    for m in range(len(pms.valid)):
        if not pms.valid[m] or pms.free_cores[m] > fewest:
            continue
        node = -1 if vm.is_split else emptiest_node(pms, vm, m)
        free = pms.node_free_cores[m, node] if node >= 0 else 0.0
        if pms.free_cores[m] < fewest or free > most:
            best, chosen, fewest, most = m, node, pms.free_cores[m], free
    return best if best == WAIT else on_node(pms, best, chosen)
