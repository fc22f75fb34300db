"""The policies that cost no evaluations: they know mean task times and take the spec's stages.

Each virtual cluster has its VMs shared out by itself, as if the others were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.clusters.decision import UNTIL_DONE, ClustersDecision, Plan
from cloudarena.scenarios.clusters.policies.book import POLICIES
from cloudarena.scenarios.clusters.policies.model.compositions import (
    Compositions,
    largest_remainders,
)
from cloudarena.scenarios.clusters.policies.model.large_spaces import mean_model_seeds


def by_weight(weights: Floats, vms: int) -> Ints:
    """A VM for each class and of the others a part in proportion to its weight.

    Whole numbers by largest remainders; ties go to the first class.
    """
    return 1 + largest_remainders(weights[None, :], vms - len(weights))[0]


def in_each_cluster(decision: ClustersDecision, rule: Callable[[Ints, int], Ints]) -> Ints:
    """The shares that a rule gives to some classes, so many VMs, virtual cluster by cluster."""
    shares = np.empty(len(decision.shares), np.int64)
    for one in decision.clusters:
        own = np.array(one.classes, np.int64)
        shares[own] = rule(own, one.vms)
    return shares


def equal_shares(decision: ClustersDecision) -> Ints:
    """Equal numbers of VMs for the classes of each virtual cluster."""
    return in_each_cluster(decision, lambda own, vms: by_weight(np.ones(len(own)), vms))


def plain_plan(decision: ClustersDecision, shares: Ints) -> Plan:
    """A share for a stage of the spec's length; when all has arrived, until it is done."""
    return Plan(shares, UNTIL_DONE if decision.all_arrived else decision.stage_s)


@POLICIES.stepped("equal")
class Equal:
    """Equal numbers of VMs for all classes; what is left over goes to the first ones.

    With virtual clusters, for all classes of each.
    """

    name = "equal"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Returns a plan of equal shares."""
        return plain_plan(decision, equal_shares(decision))


@POLICIES.stepped("fixed")
class Fixed:
    """One share from start to end: ``fixed:shares=4-5-3-3-3-1-1``; equal if none is given.

    Args:
        shares: VMs of each class, in the order of the spec whichever virtual cluster they are in;
            a sequence or a text with hyphens between the numbers.
    """

    name = "fixed"

    def __init__(self, shares: str | int | Sequence[int] | None = None) -> None:
        self._shares: Ints | None = None
        if shares is not None:
            numbers = str(shares).split("-") if isinstance(shares, (str, int)) else shares
            try:
                self._shares = np.array([int(number) for number in numbers], np.int64)
            except (TypeError, ValueError):
                raise PolicyError(
                    f"policy fixed: shares: {shares!r} is not allowed: whole numbers with hyphens "
                    "between them, such as 4-5-3"
                ) from None

    def __call__(self, decision: ClustersDecision) -> Plan:
        """The share, until all is done."""
        return Plan(equal_shares(decision) if self._shares is None else self._shares, UNTIL_DONE)


@POLICIES.stepped("proportional")
class Proportional:
    """One VM for each class, the others in proportion to its work.

    With virtual clusters, in proportion within each.
    """

    name = "proportional"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Shares by the work that is expected."""
        load = decision.load(decision.stage_s)
        return plain_plan(
            decision, in_each_cluster(decision, lambda own, vms: by_weight(load[own], vms))
        )


@POLICIES.stepped("greedy")
class Greedy:
    """VM after VM to the class whose time it shortens most: the least sum of the classes' times.

    The gain of one more VM, ``work / theta - work / (theta + 1)``, falls with theta, so taking the
    largest each time is optimal for the sum. Ties go to the first class. The sum over virtual
    clusters is least when that of each is.
    """

    name = "greedy"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Shares by marginal gains."""
        load = decision.load(decision.stage_s)
        return plain_plan(
            decision, in_each_cluster(decision, lambda own, vms: self._shares(load[own], vms))
        )

    def _shares(self, load: Floats, vms: int) -> Ints:
        """The shares of one virtual cluster."""
        shares = np.ones(len(load), np.int64)
        for _ in range(vms - len(load)):
            shares[np.argmax(load / (shares * (shares + 1.0)))] += 1
        return shares


@POLICIES.stepped("mean-optimum")
class MeanOptimum:
    """The shortest makespan if task times are their means; of such shares the least memory.

    Exact: ``mean_model_seeds`` gives the whole front of the mean model. Each virtual cluster has
    the shortest makespan of its own; one that is done early does not take longer to save memory.
    """

    name = "mean-optimum"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """The first share of the front."""
        load, memory = decision.load(decision.stage_s), decision.mean_memory_mb

        def shortest(own: Ints, vms: int) -> Ints:
            space = Compositions(vms, len(own), decision.allow_idle)
            return np.asarray(mean_model_seeds(space, load[own], memory[own])[0])

        return plain_plan(decision, in_each_cluster(decision, shortest))


def idle(decision: ClustersDecision) -> Plan:
    """Works as little as it may, to the end: what no comparison may crown.

    A VM for each class; the others are idle or, where that is not allowed, go to the least work.
    """
    load = decision.load(decision.stage_s)

    def least(own: Ints, vms: int) -> Ints:
        shares = np.ones(len(own), np.int64)
        if not decision.allow_idle:
            shares[np.argmin(load[own])] += vms - len(own)
        return shares

    return Plan(in_each_cluster(decision, least), UNTIL_DONE)
