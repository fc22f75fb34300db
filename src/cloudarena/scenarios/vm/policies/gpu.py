"""Policies for machines with GPUs, by the scores of FGD's program: see ``engine.gpu_scores``.

Each takes the valid machine with the highest score, the first of equals. Where there are no GPUs
only CPUs count.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.engine.compiled import jit
from cloudarena.engine.gpu_scores import NEVER, NO_ROOM, WHOLE, Nodes, Pods, Rule, Typical
from cloudarena.engine.gpu_tuned import WEIGHTS, any_score
from cloudarena.policies import Parameters
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT
from cloudarena.scenarios.vm.state import Machines, Request

MILLI, MIB = 1000.0, 1024.0


@jit
def best_scored(pms: Machines, vm: Request, rule: int) -> int:
    """The action that places a VM on the valid machine with the highest score."""
    nodes = Nodes(
        np.rint(pms.free_cores * MILLI).astype(np.int64),
        np.rint(pms.free_memory_gb * MIB).astype(np.int64),
        pms.gpu_free.copy(),
        pms.gpus,
        pms.gpu_model,
        pms.gpu_kinds,
    )
    pods = Pods(
        np.full(1, round(vm.cores * MILLI)),
        np.full(1, round(vm.memory_gb * MIB)),
        np.full(1, vm.gpus),
        np.full(1, vm.gpu_milli),
        np.full(1, vm.gpu_models),
    )
    table = pms.typical_pods
    typical = Typical(
        table[:, 0].astype(np.int64),
        table[:, 1].astype(np.int64),
        table[:, 2].astype(np.int64),
        table[:, 3].astype(np.int64),
        table[:, 4].copy(),
    )
    best, chosen, highest = WAIT, NEVER, NO_ROOM
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            score, device = any_score(nodes, pods, typical, m, 0, rule, WEIGHTS)
            if score > highest:
                best, chosen, highest = m, device, score
    if best != WAIT and vm.gpus > 0 and vm.gpu_milli < WHOLE and chosen >= 0:
        return best + len(pms.valid) * (1 + chosen)
    return best


@POLICIES.register("gpu-dot-product")
def gpu_dot_product(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine whose free CPUs and GPUs have the least product with what is asked for."""
    return best_scored(pms, vm, Rule.DOT_PRODUCT)


@POLICIES.register("gpu-clustering")
def gpu_clustering(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """Machines with VMs that ask for as many GPUs, then those with others, then empty ones."""
    return best_scored(pms, vm, Rule.CLUSTERING)


@POLICIES.register("gpu-packing")
def gpu_packing(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """GPUs that are shared already, then free ones of machines in use, then empty machines."""
    return best_scored(pms, vm, Rule.PACKING)


@POLICIES.register("gpu-best-fit")
def gpu_best_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine with the fewest CPUs and GPUs left."""
    return best_scored(pms, vm, Rule.BEST_FIT)


@POLICIES.register("fgd")
def fgd(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine, and the device, where GPUs that are of no use to a typical VM grow the least.

    Fragmentation gradient descent (Weng et al., ATC 2023). Typical are the most frequent requests
    of the workload, which it knows.
    """
    return best_scored(pms, vm, Rule.FGD)


@POLICIES.register("fgd-tuned")
def fgd_tuned(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """FGD's choice, corrected by what is left of machine and device, by weights that were tuned.

    The weights were found by simulation on lists of Alibaba's GPU cluster: see
    ``engine.gpu_tuned`` and ``cloudarena reproduce fgd``.
    """
    return best_scored(pms, vm, Rule.TUNED)
