"""The policies that cost no evaluations: they know mean task times and take the spec's stages."""

from __future__ import annotations

from collections.abc import Sequence

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


def plain_plan(decision: ClustersDecision, shares: Ints) -> Plan:
    """A share for a stage of the spec's length; when all has arrived, until it is done."""
    return Plan(shares, UNTIL_DONE if decision.all_arrived else decision.stage_s)


@POLICIES.stepped("equal")
class Equal:
    """Equal numbers of VMs for all classes; what is left over goes to the first ones."""

    name = "equal"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Returns a plan of equal shares."""
        return plain_plan(decision, by_weight(np.ones(len(decision.shares)), decision.vms))


@POLICIES.stepped("fixed")
class Fixed:
    """One share from start to end: ``fixed:shares=4-5-3-3-3-1-1``; equal if none is given.

    Args:
        shares: VMs of each class, a sequence or a text with hyphens between the numbers.
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
        equal = by_weight(np.ones(len(decision.shares)), decision.vms)
        return Plan(equal if self._shares is None else self._shares, UNTIL_DONE)


@POLICIES.stepped("proportional")
class Proportional:
    """One VM for each class, the others in proportion to its work."""

    name = "proportional"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Shares by the work that is expected."""
        return plain_plan(decision, by_weight(decision.load(decision.stage_s), decision.vms))


@POLICIES.stepped("greedy")
class Greedy:
    """VM after VM to the class whose time it shortens most: the least sum of the classes' times.

    The gain of one more VM, ``work / theta - work / (theta + 1)``, falls with theta, so taking the
    largest each time is optimal for the sum. Ties go to the first class.
    """

    name = "greedy"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """Shares by marginal gains."""
        load = decision.load(decision.stage_s)
        shares = np.ones(len(load), np.int64)
        for _ in range(decision.vms - len(load)):
            shares[np.argmax(load / (shares * (shares + 1.0)))] += 1
        return plain_plan(decision, shares)


@POLICIES.stepped("mean-optimum")
class MeanOptimum:
    """The shortest makespan if task times are their means; of such shares the least memory.

    Exact: ``mean_model_seeds`` gives the whole front of the mean model.
    """

    name = "mean-optimum"

    def __call__(self, decision: ClustersDecision) -> Plan:
        """The first share of the front."""
        space = Compositions(decision.vms, len(decision.shares), decision.allow_idle)
        load = decision.load(decision.stage_s)
        return plain_plan(decision, mean_model_seeds(space, load, decision.mean_memory_mb)[0])


def idle(decision: ClustersDecision) -> Plan:
    """Works as little as it may, to the end: what no comparison may crown.

    A VM for each class; the others are idle or, where that is not allowed, go to the least work.
    """
    shares = np.ones(len(decision.classes), np.int64)
    if not decision.allow_idle:
        shares[np.argmin(decision.load(decision.stage_s))] += decision.vms - shares.sum()
    return Plan(shares, UNTIL_DONE)
