"""The built-in policies: which valid machine takes the VM.

Each is one function of arrays. Ties go to the machine with the lowest index, or, with
``ties=random``, to any of the equals. When no machine is
valid (a policy is asked then only with ``decide_when_full``), the request is put off.

A policy that takes the first of a ranking says so (``ranks_by``): on many machines its choice is
found in an index. The function says what it is, and decides where there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import locked
from cloudarena.engine.compiled import jit
from cloudarena.engine.ties import TIES, break_tie, random_index
from cloudarena.policies import Parameters, PolicyBook
from cloudarena.scenarios.vm.decision import VmDecision
from cloudarena.scenarios.vm.replay import Replay
from cloudarena.scenarios.vm.state import (
    ANY,
    COLUMNS,
    DELAY_INSENSITIVE,
    ORDERS,
    REFUSE,
    Machines,
    Request,
    empty_machines,
)


def shown() -> tuple[Machines, Request]:
    """An example of what a policy is shown."""
    return locked(empty_machines(1)), Request(0, 1.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0.0, False)


POLICIES = PolicyBook(
    "vm",
    shown,
    knowable=("lifetimes",),
    rankable=COLUMNS,
    orders=ORDERS,
    drawable=(ANY,),
    lends=True,
)
POLICIES.replay(Replay)


@jit
def postpone(delays: int) -> int:
    """The action that puts a request off by a number of delays, at least 1."""
    if delays < 1:
        raise ValueError("a request is put off by at least one delay")
    return REFUSE - delays


WAIT = REFUSE - 1


@POLICIES.register("random", ranks_by=ANY)
def random(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """Any valid machine, each with the same chance."""
    count = 0
    for m in range(len(pms.valid)):
        count += pms.valid[m]
    if count == 0:
        return WAIT
    left = random_index(count, rng)
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            if left == 0:
                return m
            left -= 1
    return WAIT


@POLICIES.register("first-fit", ranks_by="index")
def first_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine with the lowest index."""
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            return m
    return WAIT


@POLICIES.register("best-fit", parameters=TIES, ranks_by="free_cores")
def best_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine with the fewest free cores."""
    best, fewest, equals = WAIT, np.inf, 0
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if pms.free_cores[m] < fewest:
            best, fewest, equals = m, pms.free_cores[m], 1
        elif p.ties and pms.free_cores[m] == fewest:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("best-fit-memory", parameters=TIES, ranks_by="free_memory_gb")
def best_fit_memory(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine with the least free memory."""
    best, least, equals = WAIT, np.inf, 0
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if pms.free_memory_gb[m] < least:
            best, least, equals = m, pms.free_memory_gb[m], 1
        elif p.ties and pms.free_memory_gb[m] == least:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("best-fit-energy", parameters=TIES, ranks_by="-power_w")
def best_fit_energy(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine that draws the most power now."""
    best, most, equals = WAIT, -np.inf, 0
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if pms.power_w[m] > most:
            best, most, equals = m, pms.power_w[m], 1
        elif p.ties and pms.power_w[m] == most:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("best-fit-cores-energy", parameters=TIES, ranks_by=("free_cores", "-power_w"))
def best_fit_cores_energy(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine with the fewest free cores; among equals, the one that draws the most."""
    best, fewest, most, equals = WAIT, np.inf, -np.inf, 0
    for m in range(len(pms.valid)):
        if not pms.valid[m] or pms.free_cores[m] > fewest:
            continue
        if pms.free_cores[m] < fewest or pms.power_w[m] > most:
            best, fewest, most, equals = m, pms.free_cores[m], pms.power_w[m], 1
        elif p.ties and pms.power_w[m] == most:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("worst-fit", parameters=TIES, ranks_by="-free_cores")
def worst_fit(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine with the most free cores."""
    best, most, equals = WAIT, -np.inf, 0
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        if pms.free_cores[m] > most:
            best, most, equals = m, pms.free_cores[m], 1
        elif p.ties and pms.free_cores[m] == most:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("round-robin", ranks_by="next")
def round_robin(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The next valid machine after the one that was chosen last, in a circle."""
    count = len(pms.valid)
    for step in range(count):
        m = (vm.last_machine + 1 + step) % count
        if pms.valid[m]:
            return m
    return WAIT


@jit
def whole_cores_left(pms: Machines, vm: Request, machine: int) -> int:
    """The whole cores that a machine has left for VMs of the request's kind, at least 0."""
    limit = pms.limit_cores[machine] if vm.category == DELAY_INSENSITIVE else pms.cores[machine]
    return max(0, int(limit - pms.allocated_cores[machine] + 1e-7))


@POLICIES.register("bin-packing")
def bin_packing(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """Keeps the numbers of machines with 0, 1, 2, ... cores left as even as can be.

    Moving one machine from b whole cores left to b - need changes the variance of the counts by a
    constant plus 2 (count[b - need] - count[b]) over their number; the b with the smallest change
    is taken, the smaller b among equals, and any valid machine in it with the same chance.
    """
    machines = len(pms.valid)
    need = int(np.ceil(vm.cores))
    largest = 0
    for m in range(machines):
        largest = max(largest, whole_cores_left(pms, vm, m))
    counts = np.zeros(largest + 1, np.int64)
    valid_counts = np.zeros(largest + 1, np.int64)
    for m in range(machines):
        left = whole_cores_left(pms, vm, m)
        counts[left] += 1
        valid_counts[left] += pms.valid[m]
    best, smallest = -1, 0
    for left in range(largest + 1):
        if valid_counts[left] == 0:
            continue
        change = counts[max(0, left - need)] - counts[left]
        if best < 0 or change < smallest:
            best, smallest = left, change
    if best < 0:
        return WAIT
    skip = random_index(valid_counts[best], rng)
    for m in range(machines):
        if pms.valid[m] and whole_cores_left(pms, vm, m) == best:
            if skip == 0:
                return m
            skip -= 1
    return WAIT


@POLICIES.register("dot-product")
def dot_product(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The valid machine whose free capacity is best aligned with what the VM asks for.

    The score is the dot product of demand and free capacity, both as shares of the machine
    (Panigrahy et al., "Heuristics for vector bin packing", 2011).
    """
    best, most = WAIT, -np.inf
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        score = vm.cores / pms.cores[m] * (pms.free_cores[m] / pms.cores[m])
        score += vm.memory_gb / pms.memory_gb[m] * (pms.free_memory_gb[m] / pms.memory_gb[m])
        if score > most:
            best, most = m, score
    return best


def idle(decision: VmDecision) -> int:
    """Serves nothing: what no comparison may crown."""
    return REFUSE
