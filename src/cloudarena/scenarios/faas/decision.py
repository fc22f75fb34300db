"""What is decided about functions: where a replica runs, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import read_only
from cloudarena.scenarios.faas.state import Nodes, Replica, Scaling

if TYPE_CHECKING:
    from cloudarena.policies import ArrayPolicy


@dataclass(frozen=True, slots=True)
class PlaceDecision:
    """The decision which node takes a replica.

    The action is the index of a valid node, or -1 to wait until something else ends or is asked
    for. The arrays are read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    now: float
    function: str
    """The name of the function."""
    replica: Replica
    nodes: Nodes
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which nodes the predicates allow."""
        return self.nodes.valid

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores of the priorities, (priorities, nodes), each from 0 to 10."""
        return self.nodes.scores

    def arguments(self, policy: ArrayPolicy) -> tuple[Nodes, Replica]:
        """What a placer that is a function of arrays is shown."""
        return self.nodes, self.replica


@dataclass(frozen=True, slots=True)
class ScaleDecision:
    """The decision how many replicas a function has from now on.

    The action is a number from the minimum to the maximum of the spec.
    """

    kind: ClassVar[str] = "scale"
    now: float
    function: str
    """The name of the function."""
    scaling: Scaling
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""

    @property
    def suggested(self) -> int:
        """What the scaler of the spec would do."""
        return self.scaling.suggested

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which numbers are allowed, from 0 to the maximum."""
        numbers = np.arange(self.scaling.maximum + 1)
        return read_only(numbers >= self.scaling.minimum)

    def arguments(self, policy: ArrayPolicy) -> tuple[Scaling]:
        """What a scaler that is a function of numbers is shown."""
        return (self.scaling,)


FaasDecision: TypeAlias = PlaceDecision | ScaleDecision
