"""Samples of spaces of shares that are too large to enumerate: 128 VMs have 5.17 billion.

Good shares are near those that are good on average, so a sample holds

1. seeds: the exact front of the mean model, in which times and memory are always their means;
2. their neighbours, a VM moved between classes, as many moves away as wanted;
3. shares drawn uniformly, a safety net that trusts no model: of 1000 draws at least one is in the
   best 1 % with probability 1 - 0.99^1000 > 0.9999.

Whatever is then chosen is good relative to the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_vector, check_whole
from cloudarena.scenarios.clusters.policies.model.cluster_model import merge_fronts, weighted
from cloudarena.scenarios.clusters.policies.model.compositions import Compositions, ShareSpace
from cloudarena.scenarios.clusters.policies.model.joint import JointCompositions


def mean_model_seeds(space: ShareSpace, load: ArrayLike, memory: ArrayLike) -> Ints:
    """The shares on the front of the mean model: makespan ``max load / theta``, memory linear.

    A makespan of T needs ``ceil(load / T)`` VMs in each class, and T need only be one of
    ``load[c] / j``. The VMs left over go where they hold the least memory, or stay idle. This
    gives for each makespan the least memory, in O(C^2 m). The fronts of several virtual clusters
    are merged.

    Args:
        space: the shares to choose from.
        load: seconds of work of each class on one VM.
        memory: mean memory of a VM of each class.
    """
    work = check_vector("load", load, space.classes, 0.0)
    held = check_vector("memory", memory, space.classes, 0.0)
    if isinstance(space, JointCompositions):
        return _merged_seeds(space, work, held)
    most = space.vms - space.classes + 1
    makespans = np.unique(work[:, None] / np.arange(1, most + 1))
    needed = _needed_vms(work, makespans[:, None])
    feasible = needed.sum(axis=1) <= space.vms
    shares, makespans = needed[feasible], makespans[feasible]
    if not space.allow_idle:
        shares[:, np.argmin(held)] += space.vms - shares.sum(axis=1)
    # From the shortest makespan on, each must hold less than all before.
    total = weighted(shares.astype(np.float64), held)
    best_before = np.minimum.accumulate(np.concatenate(([np.inf], total[:-1])))
    return space.check(shares[total < best_before])


def _merged_seeds(space: JointCompositions, work: Floats, held: Floats) -> Ints:
    """The front of several virtual clusters from that of each; the shortest makespan first."""
    losses, parts = np.zeros((1, 2)), [np.empty((1, 0), np.int64)]
    for own, group in zip(space.spaces, space.groups, strict=True):
        classes = list(group.classes)
        seeds = mean_model_seeds(own, work[classes], held[classes])
        makespans = (work[classes] / seeds).max(axis=1)
        memory = weighted(seeds.astype(np.float64), held[classes])
        losses, rows = merge_fronts(losses, np.column_stack((makespans, memory)))
        parts = [*(part[rows[:, 0]] for part in parts), seeds[rows[:, 1]]]
    order = np.lexsort((losses[:, 1], losses[:, 0]))
    return space.join([part[order] for part in parts[1:]])


def _needed_vms(work: Floats, makespan: Floats) -> Ints:
    """The fewest VMs with ``work / vms <= makespan``, exactly as numbers are rounded.

    The quotient may be rounded up past a whole number or down to it, so it is checked; a tolerance
    instead would take makespans for one that differ by less.
    """
    vms = np.maximum(np.ceil(work / makespan), 1.0)
    vms = np.where((vms > 1.0) & (work / np.maximum(vms - 1.0, 1.0) <= makespan), vms - 1.0, vms)
    vms = np.where(work / vms > makespan, vms + 1.0, vms)
    return vms.astype(np.int64)


def near_front(space: Compositions, load: ArrayLike, memory: ArrayLike, most: int) -> Ints:
    """The seeds and their neighbours a move away, each once, but no more than ``most``.

    If there are more, seeds go before neighbours, and both are taken evenly along the front.

    Args:
        space: the shares to choose from.
        load: seconds of work of each class on one VM.
        memory: mean memory of a VM of each class.
        most: how many shares, at most.
    """
    seeds = _evenly(mean_model_seeds(space, load, memory), check_whole("most", most, 1))
    moves = (space.classes + space.allow_idle) * (space.classes + space.allow_idle - 1)
    visited = (most - len(seeds)) // max(moves, 1)
    if visited == 0:
        return seeds
    around = space.neighbours(_evenly(seeds, visited))
    return np.unique(np.concatenate((seeds, around)), axis=0)


def _evenly(rows: Ints, most: int) -> Ints:
    """Takes at most so many of the rows, from the first to the last."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def designed_sample(
    space: ShareSpace,
    load: ArrayLike,
    memory: ArrayLike,
    hops: int = 1,
    uniform: int = 1000,
    seed: int = 0,
) -> Ints:
    """Seeds, their neighbours up to ``hops`` moves away, and ``uniform`` random shares, each once.

    Args:
        space: the shares to choose from.
        load: seconds of work of each class on one VM.
        memory: mean memory of a VM of each class.
        hops: how many moves of a VM a neighbour may be away.
        uniform: how many shares are drawn uniformly.
        seed: of these draws.
    """
    sample = mean_model_seeds(space, load, memory)
    for _ in range(check_whole("hops", hops, 0)):
        sample = np.unique(np.concatenate((sample, space.neighbours(sample))), axis=0)
    return np.unique(np.concatenate((sample, space.draw(uniform, seed))), axis=0)
