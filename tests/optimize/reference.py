"""Slow and obvious versions in plain Python, written from the definitions alone."""

from __future__ import annotations

import itertools


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def peeled_layers(points):
    """Takes away those that nobody left dominates, again and again."""
    layer = [None] * len(points)
    left = set(range(len(points)))
    number = 0
    while left:
        front = {i for i in left if not any(dominates(points[j], points[i]) for j in left)}
        for i in front:
            layer[i] = number
        left -= front
        number += 1
    return layer


def compositions(vms, classes, allow_idle=False):
    """All shares in lexicographic order, by trying everything."""
    tuples = itertools.product(range(1, vms + 1), repeat=classes)
    return [t for t in tuples if (sum(t) <= vms if allow_idle else sum(t) == vms)]


def makespan_and_memory(tasks, seconds, memory, theta):
    """One replication of the cluster model."""
    times = [n * p / t for n, p, t in zip(tasks, seconds, theta, strict=True)]
    return max(times), sum(d * t for d, t in zip(memory, theta, strict=True))
