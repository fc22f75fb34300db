"""Search with a population of mappings: the genetic algorithm, and genetic simulated annealing.

A chromosome is the machine of each task; its fitness is the makespan. Parameters are those of
Braun et al., J. Parallel and Distributed Computing 61(6), 2001.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit
from cloudarena.mapping.heuristics import min_min
from cloudarena.mapping.loads import Machines, Times, makespan

POPULATION = 200
GENERATIONS = 1000
PATIENCE = 150
"""Generations without a better mapping after which the search ends."""
CROSSOVER = 0.6
"""The probability that a pair exchanges its tails."""
MUTATION = 0.4
"""The probability that one random task of a chromosome goes to a random machine."""
COOLING = 0.9


@jit
def _draw(rng: np.random.Generator, count: int) -> int:
    """A whole number from 0 to ``count - 1``."""
    return int(rng.random() * count)


@jit
def _random_population(
    etc: Times, ready: Times, rng: np.random.Generator, size: int
) -> tuple[np.ndarray, Times]:
    """Mappings drawn uniformly, and their makespans."""
    tasks, machines = etc.shape
    chromosomes = np.empty((size, tasks), np.int32)
    makespans = np.empty(size)
    finish = np.empty(machines)
    for chromosome in range(size):
        for task in range(tasks):
            chromosomes[chromosome, task] = _draw(rng, machines)
        makespans[chromosome] = makespan(etc, chromosomes[chromosome], ready, finish)
    return chromosomes, makespans


@jit
def _exchange_tails(a: np.ndarray, b: np.ndarray, cut: int) -> None:
    """Single-point crossover, in place."""
    for task in range(cut, len(a)):
        a[task], b[task] = b[task], a[task]


@jit
def _rank(makespans: Times, ranking: Machines) -> None:
    """Writes the indices of the chromosomes from best to worst; equals by index.

    Insertion is quick for hundreds, and compiles in a fraction of the time of ``np.argsort``.
    """
    for chromosome in range(len(makespans)):
        position = chromosome
        while position > 0 and makespans[ranking[position - 1]] > makespans[chromosome]:
            ranking[position] = ranking[position - 1]
            position -= 1
        ranking[position] = chromosome


@jit
def _spin(rng: np.random.Generator, population: int) -> int:
    """A rank by linear roulette: of P ranks, the best has weight P and the worst 1."""
    rest = rng.random() * (population * (population + 1) // 2)
    rank = 0
    while rank < population - 1 and rest >= population - rank:
        rest -= population - rank
        rank += 1
    return rank


@jit
def _are_same(chromosomes: np.ndarray) -> bool:
    for chromosome in range(1, len(chromosomes)):
        for task in range(chromosomes.shape[1]):
            if chromosomes[chromosome, task] != chromosomes[0, task]:
                return False
    return True


@jit
def genetic_algorithm(
    etc: Times,
    ready: Times,
    rng: np.random.Generator,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    patience: int = PATIENCE,
) -> Machines:
    """The genetic algorithm (GA): never worse than Min-min, which is in its first population.

    A generation is: the best chromosome is kept as it is (elitism); the others are drawn by rank
    roulette (the best of P chromosomes with weight P, the worst with weight 1); each pair of
    neighbours exchanges the tails after a random cut with probability 0.6; each moves one random
    task to a random machine with probability 0.4. It ends after 1000 generations, after 150
    without a better mapping, or when all chromosomes are the same.
    """
    tasks, machines = etc.shape
    finish = np.empty(machines)
    chromosomes, makespans = _random_population(etc, ready, rng, population)
    chromosomes[0] = min_min(etc, ready)
    makespans[0] = makespan(etc, chromosomes[0], ready, finish)
    offspring = np.empty_like(chromosomes)
    offspring_makespans = np.empty(population)
    changed = np.empty(population, np.bool_)
    ranking = np.empty(population, np.int64)
    unchanged = 0
    for _ in range(generations):
        if _are_same(chromosomes):
            break
        _rank(makespans, ranking)
        elite = ranking[0]
        offspring[0] = chromosomes[elite]
        offspring_makespans[0] = makespans[elite]
        for child in range(1, population):
            parent = ranking[_spin(rng, population)]
            offspring[child] = chromosomes[parent]
            offspring_makespans[child] = makespans[parent]
        changed[:] = False
        for child in range(1, population - 1, 2):
            if tasks > 1 and rng.random() < CROSSOVER:
                cut = 1 + _draw(rng, tasks - 1)
                _exchange_tails(offspring[child], offspring[child + 1], cut)
                changed[child : child + 2] = True
        for child in range(1, population):
            if rng.random() < MUTATION:
                offspring[child, _draw(rng, tasks)] = _draw(rng, machines)
                changed[child] = True
            if changed[child]:
                offspring_makespans[child] = makespan(etc, offspring[child], ready, finish)
        unchanged = 0 if offspring_makespans.min() < makespans[elite] else unchanged + 1
        chromosomes, offspring = offspring, chromosomes
        makespans, offspring_makespans = offspring_makespans, makespans
        if unchanged == patience:
            break
    return chromosomes[np.argmin(makespans)].astype(np.int64)


@jit
def genetic_annealing(
    etc: Times,
    ready: Times,
    rng: np.random.Generator,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    patience: int = PATIENCE,
) -> Machines:
    """Genetic simulated annealing (GSA): from random mappings, with a falling threshold.

    Crossover and mutation are those of the genetic algorithm, on random pairs. What comes of
    them takes the place of its own original if ``new < old + temperature``; there is no other
    selection. The temperature begins as the mean makespan of the first population and is
    multiplied by 0.9 in each generation. It ends after 1000 generations, or after 150 without a
    mapping better than the best ever seen, which is the result.
    """
    tasks, machines = etc.shape
    finish = np.empty(machines)
    chromosomes, makespans = _random_population(etc, ready, rng, population)
    children = np.empty((2, tasks), np.int32)
    best = chromosomes[np.argmin(makespans)].copy()
    best_makespan = makespans.min()
    pairing = np.arange(population)
    temperature = makespans.mean()
    unchanged = 0
    for _ in range(generations):
        for position in range(population - 1, 0, -1):
            other = _draw(rng, position + 1)
            pairing[position], pairing[other] = pairing[other], pairing[position]
        for position in range(0, population - 1, 2):
            if tasks > 1 and rng.random() < CROSSOVER:
                children[0] = chromosomes[pairing[position]]
                children[1] = chromosomes[pairing[position + 1]]
                _exchange_tails(children[0], children[1], 1 + _draw(rng, tasks - 1))
                for side in range(2):
                    new = makespan(etc, children[side], ready, finish)
                    if new < makespans[pairing[position + side]] + temperature:
                        chromosomes[pairing[position + side]] = children[side]
                        makespans[pairing[position + side]] = new
        for original in range(population):
            if rng.random() < MUTATION:
                task = _draw(rng, tasks)
                machine = chromosomes[original, task]
                chromosomes[original, task] = _draw(rng, machines)
                new = makespan(etc, chromosomes[original], ready, finish)
                if new < makespans[original] + temperature:
                    makespans[original] = new
                else:
                    chromosomes[original, task] = machine
        temperature *= COOLING
        unchanged += 1
        if makespans.min() < best_makespan:
            best[:] = chromosomes[np.argmin(makespans)]
            best_makespan = makespans.min()
            unchanged = 0
        if unchanged == patience:
            break
    return best.astype(np.int64)
