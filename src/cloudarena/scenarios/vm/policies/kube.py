"""The scorers of kube-scheduler: whole numbers from 0 to 100, the highest valid one is taken.

They are the scoring strategies of its plugin NodeResourcesFit, and NodeResourcesBalancedAllocation,
over CPU (in thousandths of a core) and memory (in bytes), with the request counted as placed and
every division rounded down as there. Equals have the same chance, as there, or with ``ties=first``
the lowest index is taken. What is used may be more than the capacity where machines are oversold.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit
from cloudarena.engine.ties import break_tie
from cloudarena.policies import Parameters
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT
from cloudarena.scenarios.vm.state import Machines, Request

BEST = 100
"""The highest score of a plugin."""
TIES: dict[str, float | tuple[str, ...]] = {"ties": ("random", "first")}
WEIGHTS: dict[str, float | tuple[str, ...]] = {"cpu_weight": 1.0, "memory_weight": 1.0, **TIES}
SHAPE: dict[str, float | tuple[str, ...]] = {"score_at_0": 0.0, "score_at_100": 10.0, **WEIGHTS}


@jit
def whole(value: float, unit: float) -> int:
    """A size in whole units, to the nearest."""
    return int(np.floor(value * unit + 0.5))


@jit
def used_and_room(pms: Machines, vm: Request, m: int) -> tuple[int, int, int, int]:
    """CPU that is requested with the new one, CPU that there is, and the same of memory."""
    gigabyte = 1073741824.0
    return (
        whole(pms.allocated_cores[m] + vm.cores, 1000.0),
        whole(pms.cores[m], 1000.0),
        whole(pms.allocated_memory_gb[m] + vm.memory_gb, gigabyte),
        whole(pms.memory_gb[m], gigabyte),
    )


@jit
def least_score(used: int, room: int) -> int:
    """The part of a resource that is left, of 100."""
    return 0 if room == 0 or used > room else (room - used) * BEST // room


@jit
def most_score(used: int, room: int) -> int:
    """The part of a resource that is used, of 100."""
    return 0 if room == 0 else min(used, room) * BEST // room


@jit
def balanced_score(cpu: int, cpu_room: int, memory: int, memory_room: int) -> int:
    """100 less the standard deviation of the parts that are used, which is half of their gap."""
    gap = min(cpu / cpu_room, 1.0) - min(memory / memory_room, 1.0)
    return int((1.0 - abs(gap) / 2.0) * BEST)


@jit
def ratio_score(used: int, room: int, at_0: int, at_100: int) -> int:
    """The score on the line from that of an empty to that of a full machine."""
    percent = BEST if room == 0 or used > room else used * BEST // room
    rise = (at_100 - at_0) * percent
    return at_0 + (rise // BEST if rise >= 0 else -(-rise // BEST))  # towards 0, as Go divides


@jit
def weighted(cpu: int, memory: int, cpu_weight: float, memory_weight: float) -> int:
    """The mean of two scores, rounded down."""
    total = cpu_weight + memory_weight
    return 0 if total <= 0 else int((cpu * cpu_weight + memory * memory_weight) // total)


@jit
def take_highest(
    valid: NDArray[np.bool_], scores: NDArray[np.int64], ties: float, rng: Generator
) -> int:
    """The valid machine with the highest score; equals by chance unless ``ties`` is 1."""
    best, equals = WAIT, 0
    for m in range(len(valid)):
        if not valid[m]:
            continue
        if equals == 0 or scores[m] > scores[best]:
            best, equals = m, 1
        elif scores[m] == scores[best] and ties == 0.0:
            equals += 1
            best = break_tie(best, m, equals, rng)
    return best


@POLICIES.register("kube-least-allocated", parameters=WEIGHTS)
def kube_least_allocated(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The emptiest machine by kube-scheduler's LeastAllocated."""
    scores = np.zeros(len(pms.valid), np.int64)
    for m in range(len(pms.valid)):
        cpu, cpu_room, memory, memory_room = used_and_room(pms, vm, m)
        first, second = least_score(cpu, cpu_room), least_score(memory, memory_room)
        scores[m] = weighted(first, second, p.cpu_weight, p.memory_weight)
    return take_highest(pms.valid, scores, p.ties, rng)


@POLICIES.register("kube-most-allocated", parameters=WEIGHTS)
def kube_most_allocated(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The fullest machine by kube-scheduler's MostAllocated."""
    scores = np.zeros(len(pms.valid), np.int64)
    for m in range(len(pms.valid)):
        cpu, cpu_room, memory, memory_room = used_and_room(pms, vm, m)
        first, second = most_score(cpu, cpu_room), most_score(memory, memory_room)
        scores[m] = weighted(first, second, p.cpu_weight, p.memory_weight)
    return take_highest(pms.valid, scores, p.ties, rng)


@POLICIES.register("kube-balanced", parameters=TIES)
def kube_balanced(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The machine whose CPU and memory are used most alike: NodeResourcesBalancedAllocation."""
    scores = np.zeros(len(pms.valid), np.int64)
    for m in range(len(pms.valid)):
        cpu, cpu_room, memory, memory_room = used_and_room(pms, vm, m)
        scores[m] = balanced_score(cpu, cpu_room, memory, memory_room)
    return take_highest(pms.valid, scores, p.ties, rng)


@POLICIES.register("kube-requested-to-capacity", parameters=SHAPE)
def kube_requested_to_capacity(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """The best machine by kube-scheduler's RequestedToCapacityRatio.

    Its shape is a line from ``score_at_0`` to ``score_at_100`` per cent, from 0 to 10; resources
    with a score of 0 do not count, and the mean of the others is rounded to the nearest.
    """
    at_0, at_100 = int(p.score_at_0 * 10.0), int(p.score_at_100 * 10.0)
    scores = np.zeros(len(pms.valid), np.int64)
    for m in range(len(pms.valid)):
        cpu, cpu_room, memory, memory_room = used_and_room(pms, vm, m)
        first = ratio_score(cpu, cpu_room, at_0, at_100)
        second = ratio_score(memory, memory_room, at_0, at_100)
        weights = p.cpu_weight * (first > 0) + p.memory_weight * (second > 0)
        total = first * p.cpu_weight * (first > 0) + second * p.memory_weight * (second > 0)
        scores[m] = int(np.floor(total / weights + 0.5)) if weights > 0 else 0
    return take_highest(pms.valid, scores, p.ties, rng)


@POLICIES.register("kube-default", parameters=TIES)
def kube_default(pms: Machines, vm: Request, p: Parameters, rng: Generator) -> int:
    """Takes the highest sum of LeastAllocated and BalancedAllocation, as kube-scheduler does."""
    scores = np.zeros(len(pms.valid), np.int64)
    for m in range(len(pms.valid)):
        cpu, cpu_room, memory, memory_room = used_and_room(pms, vm, m)
        first, second = least_score(cpu, cpu_room), least_score(memory, memory_room)
        scores[m] = (first + second) // 2 + balanced_score(cpu, cpu_room, memory, memory_room)
    return take_highest(pms.valid, scores, p.ties, rng)
