"""The state of a run before anything has happened."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.contract import RecordLevel
from cloudarena.engine.streams import stream
from cloudarena.scenarios.clusters.sources import Distribution
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.scenarios.clusters.state import Total, World
from cloudarena.workloads.clusters.batches import Batches

LEAST_SECONDS = 1e-9
"""The shortest time of a task: a rate must be finite."""


def build_world(scenario: ClustersScenario, batches: Batches, seed: int) -> World:
    """Draws the task time and memory of each batch and class: the same for all policies.

    A class draws by its name, so that its place among the others and their distributions do not
    matter.
    """
    count, classes = batches.tasks.shape

    def drawn(distribution: Distribution, purpose: str, name: str) -> Floats:
        factors = distribution.factors(stream(seed, f"{purpose}/{name}"), count)
        return np.asarray(distribution.mean * factors)

    times = [drawn(one.seconds, "task times", one.name) for one in scenario.classes]
    memory = [drawn(one.memory_mb, "memory", one.name) for one in scenario.classes]
    tasks = batches.tasks.astype(np.float64)
    seconds = np.ascontiguousarray(np.maximum(np.transpose(times), LEAST_SECONDS))
    return World(
        times=batches.times,
        tasks=tasks,
        seconds=seconds,
        memory_mb=np.ascontiguousarray(np.transpose(memory)),
        start=np.full(tasks.shape, np.nan),
        finish=np.full(tasks.shape, np.nan),
        head=np.zeros(classes, np.int64),
        left=tasks[0] * seconds[0],
        done=np.zeros(classes),
        totals=np.zeros(len(Total)),
    )


def memory_needs(scenario: ClustersScenario, record: RecordLevel) -> tuple[float, str]:
    """Nothing is known before the batches are drawn or read."""
    return 0.0, ""
