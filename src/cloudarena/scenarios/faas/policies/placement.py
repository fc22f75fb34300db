"""The built-in policies: which valid node takes a replica, and how many a function has.

A placer is one function of arrays, ``placer(nodes, replica, rng) -> node``, and so is a scaler,
``scaler(scaling, rng) -> replicas``. A bundle, any object with the attributes ``place`` and
``scale``, has both; what is missing, or None, is that of the spec. Ties go to the lower number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import locked
from cloudarena.base.errors import PolicyError
from cloudarena.contract import Policy
from cloudarena.engine.compiled import lean
from cloudarena.policies import ArrayPolicy, Bundle, PolicyBook, made, policy_name, takes
from cloudarena.scenarios.faas.names import (
    BALANCED_RESOURCES,
    CAPABILITY,
    DATA_LOCALITY,
    ENERGY_EFFICIENCY,
    EXECUTION_TIME,
    IMAGE_LOCALITY,
    LEAST_POWER,
    LEAST_REQUESTED,
    LOCALITY_TYPE,
    NONE,
    PRIORITIES,
)
from cloudarena.scenarios.faas.state import Nodes, Replica, Scaling, seen_nodes

PARAMETERS = 16
"""Room for the parameters of a policy."""
MIX: dict[str, float] = {
    **dict.fromkeys(PRIORITIES, 0.0),
    "energy-efficiency": 1.0,
    "execution-time": 1.0,
    "contention": 1.0,
}


def signature() -> Any:
    """The Numba signature of a placer: ``int64(Nodes, Replica, Generator)``."""
    nodes = seen_nodes(np.zeros((len(PRIORITIES), 1)))
    replica = Replica(0, 0, 0, 0, 0.0, np.zeros(len(PRIORITIES)), np.zeros(PARAMETERS))
    return numba.int64(
        numba.typeof(locked(nodes)),
        numba.typeof(locked(replica)),
        numba.typeof(np.random.default_rng(0)),
    )


def scaler_signature() -> Any:
    """The Numba signature of a scaler: ``int64(Scaling, Generator)``."""
    scaling = Scaling(0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, 0.0, 0.0)
    return numba.int64(numba.typeof(scaling), numba.typeof(np.random.default_rng(0)))


class FaasBook(PolicyBook):
    """Placers by name; what it finds is a bundle, or one callable for both kinds of decision."""

    def resolve(self, policy: str | Policy) -> Policy:
        """A policy from its name, a placer, a scaler, a bundle, or any callable of a decision."""
        name = policy_name(policy)
        if not isinstance(policy, str):
            return self._adopt(policy, name)
        return self._bundle(super().resolve(policy), name)

    def signatures(self) -> tuple[Any, ...]:
        """Of a placer and of a scaler."""
        return signature(), scaler_signature()

    def _adopt(self, policy: Any, name: str) -> Policy:
        """Takes a user's class, placer, scaler, bundle or function of a decision."""
        if isinstance(policy, Bundle):
            return policy
        policy = made(getattr(policy, "py_func", policy))
        if hasattr(policy, "place") or hasattr(policy, "scale"):
            placer, scaler = getattr(policy, "place", None), getattr(policy, "scale", None)
            return Bundle(name, {"place": self._placer(placer), "scale": self._scaler(scaler)})
        if takes(policy, 2):
            return Bundle(name, {"place": self._policies["spec"], "scale": self._scaler(policy)})
        return self._bundle(super()._adopt(policy, name), name)

    def _bundle(self, policy: Policy, name: str) -> Policy:
        """A placer with the scaler of the spec; other callables decide all by themselves."""
        if isinstance(policy, ArrayPolicy) and not isinstance(policy, Bundle):
            return Bundle(name, {"place": policy, "scale": built_in_scaler})
        return policy

    def _placer(self, part: Any) -> Policy:
        if part is None:
            return self._policies["spec"]
        return super().resolve(part) if isinstance(part, str) else super()._adopt(part, "placer")

    def _scaler(self, part: Any) -> Policy:
        if part is None:
            return built_in_scaler
        if not callable(part):
            raise PolicyError(f"policy: scaler {part!r} is not allowed: a function of 2 arguments")
        if takes(part, 2):
            return ArrayPolicy(policy_name(part), part, scaler_signature)
        scaler: Policy = part
        return scaler


policy = FaasBook("faas", signature, arguments=3, parameters=PARAMETERS)


def _array_scaler(function: Callable[..., Any]) -> ArrayPolicy:
    return ArrayPolicy("spec", function, scaler_signature)


@_array_scaler
def built_in_scaler(scaling: Scaling, rng: np.random.Generator) -> int:
    """What the scaler of the spec gives the function."""
    return scaling.suggested


@lean
def best_by(nodes: Nodes, weights: NDArray[np.float64]) -> int:
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


@lean
def best_of(nodes: Nodes, first: int, second: int, third: int) -> int:
    """The valid node with the highest sum of three scores; NONE for one that does not count."""
    best, most = NONE, -np.inf
    for node in range(len(nodes.valid)):
        if not nodes.valid[node]:
            continue
        total = nodes.scores[first, node]
        if second != NONE:
            total += nodes.scores[second, node]
        if third != NONE:
            total += nodes.scores[third, node]
        if total > most:
            best, most = node, total
    return best


@policy("spec")
def spec(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """The node that the spec's scheduler scores highest: its priorities with their weights."""
    return best_by(nodes, replica.weights)


@policy("first-fit")
def first_fit(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """The valid node with the lowest number."""
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            return node
    return NONE


@policy("random")
def random(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """Any valid node, each with the same chance."""
    count = 0
    for node in range(len(nodes.valid)):
        count += nodes.valid[node]
    if count == 0:
        return NONE
    left = rng.integers(0, count)
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            if left == 0:
                return node
            left -= 1
    return NONE


@policy("kubernetes")
def kubernetes(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """As Kubernetes: least requested, balanced resources and image locality, weighted alike."""
    return best_of(nodes, LEAST_REQUESTED, BALANCED_RESOURCES, IMAGE_LOCALITY)


@policy("skippy")
def skippy(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """As Skippy: balanced resources, image and data locality, the edge, and accelerators."""
    best, most = NONE, -np.inf
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            total = nodes.scores[BALANCED_RESOURCES, node] + nodes.scores[IMAGE_LOCALITY, node]
            total += nodes.scores[DATA_LOCALITY, node] + nodes.scores[LOCALITY_TYPE, node]
            total += nodes.scores[CAPABILITY, node]
            if total > most:
                best, most = node, total
    return best


@policy("locality")
def locality(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """Near its image and its data, at the edge first."""
    return best_of(nodes, IMAGE_LOCALITY, DATA_LOCALITY, LOCALITY_TYPE)


@policy("least-power")
def least_power(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """The node that adds the fewest watts; nodes with replicas add no idle power (LPLT)."""
    return best_of(nodes, LEAST_POWER, NONE, NONE)


@policy("highest-performance")
def highest_performance(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """The node on which the function executes fastest (HPST)."""
    return best_of(nodes, EXECUTION_TIME, NONE, NONE)


@policy("energy-efficiency")
def energy_efficiency(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """The node on which an invocation takes the least energy; empty nodes add idle power."""
    return best_of(nodes, ENERGY_EFFICIENCY, NONE, NONE)


@policy("weighted", parameters=MIX)
def weighted(nodes: Nodes, replica: Replica, rng: np.random.Generator) -> int:
    """A mix of priorities by weights: energy, execution time and contention alike by default."""
    return best_by(nodes, replica.parameters)
