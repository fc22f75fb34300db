"""The closed-form model, slow and obvious, written from its definition alone."""

import itertools


def compositions(vms, classes, allow_idle=False):
    """All shares in lexicographic order, by trying everything."""
    tuples = itertools.product(range(1, vms + 1), repeat=classes)
    return [t for t in tuples if (sum(t) <= vms if allow_idle else sum(t) == vms)]


def makespan_and_memory(tasks, seconds, memory, theta):
    """One replication of the cluster model."""
    times = [n * p / t for n, p, t in zip(tasks, seconds, theta, strict=True)]
    return max(times), sum(d * t for d, t in zip(memory, theta, strict=True))
