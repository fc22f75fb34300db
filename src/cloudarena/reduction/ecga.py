"""The extended compact genetic algorithm: learns which metrics belong together.

After Harik, "Linkage learning via probabilistic modeling in the ECGA", IlliGAL report 99010, 1999.
A chromosome says of each metric whether it is measured. In every generation a marginal product
model is learned from the chromosomes that win tournaments: groups of metrics, each with the joint
distribution of its bits, merged pair by pair as long as that shortens the description

    log2(N + 1) * sum over groups of (2^size - 1)  +  N * sum over groups of their entropy

New chromosomes are drawn group by group, and repaired to exactly as many metrics as wanted.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.reduction.regression import explained_squares

POPULATION = 500
TOURNAMENT = 8
GENERATIONS = 60
PATIENCE = 10
"""Generations without a better subset after which the search ends."""
MOST_BITS = 12
"""No group grows beyond: its distribution would have more values than there are chromosomes."""


def ecga(
    metrics: Floats,
    score: Floats,
    count: int,
    rng: np.random.Generator,
    population: int = POPULATION,
    generations: int = GENERATIONS,
) -> Ints:
    """The best subset of ``count`` columns that was found; all columns are centred."""
    columns = metrics.shape[1]
    gram, products = metrics.T @ metrics, metrics.T @ score

    def fitness(bits: Flags) -> Floats:
        subsets = np.nonzero(bits)[1].reshape(len(bits), count)
        return explained_squares(gram, products, subsets)

    bits = repaired(np.zeros((population, columns), np.bool_), count, rng)
    values = fitness(bits)
    unchanged = 0
    for _ in range(generations):
        rivals = rng.integers(0, population, (population, TOURNAMENT))
        winners = bits[rivals[np.arange(population), values[rivals].argmax(axis=1)]]
        groups = marginal_product_model(winners)
        half = population // 2
        children = repaired(_sample(winners, groups, half, rng), count, rng)
        order = np.argsort(-values, kind="stable")
        best = values[order[0]]
        kept = order[: population - half]
        bits = np.concatenate((bits[kept], children))
        values = np.concatenate((values[kept], fitness(children)))
        unchanged = 0 if values.max() > best else unchanged + 1
        if unchanged == PATIENCE or (bits == bits[0]).all():
            break
    return np.flatnonzero(bits[np.argmax(values)])


def marginal_product_model(bits: Flags) -> list[Ints]:
    """Groups of columns that shorten the description of these rows the most, found greedily."""
    chromosomes, columns = bits.shape
    groups: list[list[int]] = [[column] for column in range(columns)]
    codes = bits.T.astype(np.int64)  # of each group, the value that each chromosome has there
    weight = np.log2(chromosomes + 1.0)

    def length(entropy: Floats, size: Floats) -> Floats:
        return np.asarray(weight * (2.0**size - 1.0) + chromosomes * entropy)

    sizes = np.ones(columns)
    alone = length(_entropies_of_bits(bits), sizes)
    gain = alone[:, None] + alone[None, :] - length(_entropies_of_pairs(bits), np.array(2.0))
    np.fill_diagonal(gain, -np.inf)
    while True:
        first, second = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[first, second] <= 0.0:
            break
        codes[first] += codes[second] << len(groups[first])
        groups[first] = groups[first] + groups[second]
        groups[second] = []
        sizes[first] += sizes[second]
        alone[first] = alone[first] + alone[second] - gain[first, second]
        gain[second, :] = gain[:, second] = -np.inf
        gain[first, :] = gain[:, first] = -np.inf
        for other in range(columns):
            size = int(sizes[first] + sizes[other])
            if other != first and groups[other] and size <= MOST_BITS:
                joint = codes[first] + (codes[other] << len(groups[first]))
                entropy = _entropy(np.bincount(joint), chromosomes)
                both = length(np.array(entropy), np.array(float(size)))
                gain[first, other] = gain[other, first] = alone[first] + alone[other] - both
    return [np.array(group) for group in groups if group]


def repaired(bits: Flags, count: int, rng: np.random.Generator) -> Flags:
    """Each row with exactly ``count`` ones: random ones are added or taken away."""
    keys = rng.random(bits.shape) + bits  # ones come before zeros, in random order
    chosen = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    result = np.zeros(bits.shape, np.bool_)
    np.put_along_axis(result, chosen, True, axis=1)
    return result


def _sample(bits: Flags, groups: list[Ints], count: int, rng: np.random.Generator) -> Flags:
    """New rows: each group of columns from a random one of the given rows."""
    children = np.empty((count, bits.shape[1]), np.bool_)
    for group in groups:
        children[:, group] = bits[rng.integers(0, len(bits), count)][:, group]
    return children


def _entropy(counts: Ints, total: int) -> float:
    shares = counts[counts > 0] / total
    return float(-(shares * np.log2(shares)).sum())


def _entropies_of_bits(bits: Flags) -> Floats:
    ones = bits.sum(axis=0) / len(bits)
    return _plogp(ones) + _plogp(1.0 - ones)


def _entropies_of_pairs(bits: Flags) -> Floats:
    """The joint entropy of each pair of columns, from how often both are 1."""
    number = bits.astype(np.float64)
    both = number.T @ number / len(bits)
    ones = np.diag(both)
    first_only = ones[:, None] - both
    second_only = ones[None, :] - both
    neither = 1.0 - both - first_only - second_only
    return _plogp(both) + _plogp(first_only) + _plogp(second_only) + _plogp(neither)


def _plogp(shares: Floats) -> Floats:
    safe = np.clip(shares, 1e-300, None)
    return np.asarray(np.where(shares > 0.0, -shares * np.log2(safe), 0.0))
