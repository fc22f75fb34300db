"""The closed-form model of the work of a stage, and which shares of it a decision looks at."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.scenarios.clusters.decision import ClustersDecision
from cloudarena.scenarios.clusters.policies.model.cluster_model import ClusterModel, Estimator
from cloudarena.scenarios.clusters.policies.model.compositions import Compositions
from cloudarena.scenarios.clusters.policies.model.large_spaces import near_front
from cloudarena.workloads.clusters.batches import Group

SAFETY_NET = 0.25
"""The least part of a sample that is drawn uniformly, and so trusts no model."""


class StageModel(ClusterModel):
    """The closed-form model of a stage's work, with the classes' own distributions.

    Args:
        shares: some shares of a virtual cluster, a row each.
        decision: the decision whose stage it is.
        load: the work of all classes on one VM, in seconds.
        estimator: of the makespan.
        seed: decides all random numbers.
        own: the classes of the virtual cluster.
    """

    drawn_together = 250

    def __init__(
        self,
        shares: Ints,
        decision: ClustersDecision,
        load: Floats,
        estimator: Estimator,
        seed: int,
        own: Ints,
    ) -> None:
        super().__init__(
            shares,
            load[own] / decision.mean_seconds[own],
            decision.mean_seconds[own],
            decision.mean_memory_mb[own],
            seed=seed,
            estimator=estimator,
            memory_of=decision.memory,
        )
        classes = [decision.classes[c] for c in own]
        self._distributions = [one.seconds for one in classes]
        self._distributions += [one.memory_mb for one in classes]

    def draw_factors(self, rng: np.random.Generator) -> Floats:
        """Factors by the classes' distributions."""
        return np.stack(
            [one.factors(rng, self.drawn_together) for one in self._distributions], axis=1
        )


class Space:
    """The shares of a virtual cluster that decisions look at.

    All there are or, of too many, a sample of ``designs`` for each decision.

    Args:
        group: the virtual cluster.
        allow_idle: whether its VMs may be left without a class.
        designs: how many to look at, at most.
        seed: of the sample.
    """

    def __init__(self, group: Group, allow_idle: bool, designs: int, seed: int) -> None:
        self.own = np.array(group.classes, np.int64)
        self._space = Compositions(group.vms, len(self.own), allow_idle)
        self._designs = designs
        self.looked_at = min(self._space.size, designs)
        """Shares that a decision looks at."""
        if self._space.size <= designs:
            self._drawn = self._space.all()
        else:
            whose = f" of {group.name}" if group.name else ""
            self._drawn = self._space.draw(designs, seed, f"uniform shares{whose}")

    def shares(self, load: Floats, memory: Floats) -> Ints:
        """All shares, or a sample for this load: near the front of the mean model, and uniform."""
        if self._space.size <= self._designs:
            return self._drawn
        most = max(1, math.floor((1.0 - SAFETY_NET) * self._designs))
        near = near_front(self._space, load[self.own], memory[self.own], most)
        return np.concatenate((near, self._drawn[: self._designs - len(near)]))
