"""The built-in placers: which valid node takes a replica.

Each is one function of arrays. Ties go to the node with the lowest index, or, with
``ties=random``, to any of the equals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import locked
from cloudarena.engine.compiled import jit, jit_uncounted
from cloudarena.engine.ties import TIES, break_tie, random_index
from cloudarena.policies import Declared, Parameters
from cloudarena.scenarios.faas.decision import FaasDecision, PlaceDecision
from cloudarena.scenarios.faas.policies.book import FaasBook
from cloudarena.scenarios.faas.policies.scaling import SCALERS
from cloudarena.scenarios.faas.replay import Replay
from cloudarena.scenarios.faas.state import NONE, Nodes, Priority, Replica, seen_nodes, word

MIX: dict[str, Declared] = {
    **{word(priority): 0.0 for priority in Priority},
    "energy-efficiency": 1.0,
    "execution-time": 1.0,
    "contention": 1.0,
}
"""The weight of each priority, in the order of the rows of scores."""
KUBERNETES = (
    int(Priority.LEAST_REQUESTED),
    int(Priority.BALANCED_RESOURCES),
    int(Priority.IMAGE_LOCALITY),
)
NEARNESS = (
    int(Priority.IMAGE_LOCALITY),
    int(Priority.DATA_LOCALITY),
    int(Priority.LOCALITY_TYPE),
)
POWER, TIME, ENERGY = (
    (int(priority),)
    for priority in (Priority.LEAST_POWER, Priority.EXECUTION_TIME, Priority.ENERGY_EFFICIENCY)
)
"""Rows of the scores that a placer adds up."""


def shown() -> tuple[Nodes, Replica]:
    """An example of what a placer is shown."""
    nodes = seen_nodes(np.zeros((len(Priority), 1)))
    replica = Replica(0, 0, 0, 0, 0.0, np.zeros(len(Priority)))
    return locked(nodes), locked(replica)


POLICIES = FaasBook("faas", shown, SCALERS)
POLICIES.replay(Replay)


@jit_uncounted
def best_by(nodes: Nodes, weights: Any) -> int:
    """The valid node with the highest weighted sum of scores; NONE if none is valid."""
    best, most = NONE, -np.inf
    for node in range(len(nodes.valid)):
        if not nodes.valid[node]:
            continue
        total = 0.0
        for priority in range(len(nodes.scores)):
            total += weights[priority] * nodes.scores[priority, node]
        if total > most:
            best, most = node, total
    return best


@jit
def best_of(nodes: Nodes, rows: tuple[int, ...], ties: float, rng: Generator) -> int:
    """The valid node with the highest sum of some rows of scores; NONE if none is valid."""
    best, most, equals = NONE, -np.inf, 0
    for node in range(len(nodes.valid)):
        if not nodes.valid[node]:
            continue
        total = 0.0
        for row in rows:
            total += nodes.scores[row, node]
        if total > most:
            best, most, equals = node, total, 1
        elif ties and total == most:
            equals += 1
            best = break_tie(best, node, equals, rng)
    return best


@POLICIES.register("spec")
def spec(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The node that the spec's scheduler scores highest: its priorities with their weights."""
    return best_by(nodes, replica.weights)


@POLICIES.register("first-fit")
def first_fit(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The valid node with the lowest index."""
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            return node
    return NONE


@POLICIES.register("random")
def random(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """Any valid node, each with the same chance."""
    count = 0
    for node in range(len(nodes.valid)):
        count += nodes.valid[node]
    if count == 0:
        return NONE
    left = random_index(count, rng)
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            if left == 0:
                return node
            left -= 1
    return NONE


@POLICIES.register("kubernetes", parameters=TIES)
def kubernetes(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """Kubernetes' choice: least requested, balanced resources, image locality, weighted alike."""
    return best_of(nodes, KUBERNETES, p.ties, rng)


@POLICIES.register("skippy", parameters=TIES)
def skippy(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """Skippy's choice: balanced resources, image and data locality, the edge, accelerators."""
    best, most, equals = NONE, -np.inf, 0
    for node in range(len(nodes.valid)):
        if not nodes.valid[node]:
            continue
        scores = nodes.scores[:, node]
        total = scores[Priority.BALANCED_RESOURCES] + scores[Priority.IMAGE_LOCALITY]
        total += scores[Priority.DATA_LOCALITY] + scores[Priority.LOCALITY_TYPE]
        total += scores[Priority.CAPABILITY]
        if total > most:
            best, most, equals = node, total, 1
        elif p.ties and total == most:
            equals += 1
            best = break_tie(best, node, equals, rng)
    return best


@POLICIES.register("locality", parameters=TIES)
def locality(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """Near its image and its data, at the edge first."""
    return best_of(nodes, NEARNESS, p.ties, rng)


@POLICIES.register("least-power", parameters=TIES)
def least_power(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The node that adds the fewest watts; nodes with replicas add no idle power (LPLT)."""
    return best_of(nodes, POWER, p.ties, rng)


@POLICIES.register("highest-performance", parameters=TIES)
def highest_performance(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The node on which the function executes fastest (HPST)."""
    return best_of(nodes, TIME, p.ties, rng)


@POLICIES.register("energy-efficiency", parameters=TIES)
def energy_efficiency(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The node on which an invocation takes the least energy; empty nodes add idle power."""
    return best_of(nodes, ENERGY, p.ties, rng)


@POLICIES.register("carbon-aware", parameters=TIES)
def carbon_aware(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """The node on which an invocation causes the least carbon: its energy times its grid's now."""
    best, least, equals = NONE, np.inf, 0
    for node in range(len(nodes.valid)):
        if not nodes.valid[node]:
            continue
        grams = nodes.invocation_j[node] * nodes.g_per_kwh[node]
        if best == NONE or grams < least:
            best, least, equals = node, grams, 1
        elif p.ties and grams == least:
            equals += 1
            best = break_tie(best, node, equals, rng)
    return best


@POLICIES.register("weighted", parameters=MIX)
def weighted(nodes: Nodes, replica: Replica, p: Parameters, rng: Generator) -> int:
    """A mix of priorities by weights: energy, execution time and contention alike by default."""
    return best_by(nodes, p)


def idle(decision: FaasDecision) -> int:
    """Places nothing, and wants the fewest replicas: what no comparison may crown."""
    return NONE if isinstance(decision, PlaceDecision) else decision.scaling.minimum
