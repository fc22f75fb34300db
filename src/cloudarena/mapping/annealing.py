"""Simulated annealing of one mapping, after Braun et al. 2001."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.engine.compiled import jit
from cloudarena.mapping.loads import Machines, Times, finish_times

COOLING = 0.9
PATIENCE = 150
"""Iterations without a change of the makespan after which the search ends."""
FROZEN = 1e-200
"""The temperature, in seconds, below which the search ends."""


@jit
def simulated_annealing(
    etc: Times,
    ready: Times,
    rng: np.random.Generator,
    cooling: float = COOLING,
    patience: int = PATIENCE,
) -> Machines:
    """Simulated annealing (SA) from a random mapping, whose makespan is the first temperature.

    An iteration moves one random task to a random machine. A smaller makespan is accepted; any
    other if ``u > 1 / (1 + exp((old - new) / temperature))`` with u uniform in [0, 1). Then the
    temperature is multiplied by ``cooling`` (Braun et al. also use 0.8). It ends after
    ``patience`` iterations (also 200) without a change of the makespan, or below 1e-200 s. The
    result is the best mapping seen.
    """
    tasks, machines = etc.shape
    assignment = np.empty(tasks, np.int64)
    for task in range(tasks):
        assignment[task] = int(rng.random() * machines)
    finish = finish_times(etc, assignment, ready)
    old = finish.max()
    best, best_makespan = assignment.copy(), old
    temperature = old
    unchanged = 0
    while unchanged < patience and temperature >= FROZEN:
        task = int(rng.random() * tasks)
        source, target = assignment[task], int(rng.random() * machines)
        before = finish[source], finish[target]
        finish[source] -= etc[task, source]
        finish[target] += etc[task, target]
        new = finish.max()
        if new < old or rng.random() > 1.0 / (1.0 + math.exp((old - new) / temperature)):
            assignment[task] = target
            unchanged = unchanged + 1 if new == old else 0
            old = new
            if new < best_makespan:
                best[:], best_makespan = assignment, new
        else:
            finish[source], finish[target] = before
            unchanged += 1
        temperature *= cooling
    return best
