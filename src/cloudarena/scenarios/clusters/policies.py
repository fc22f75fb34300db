"""The built-in policies: which share of the VMs, for how long.

Those here cost no evaluations: they know mean task times and take the stage as long as the spec
says. Those that choose by simulation are in ``iterative.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cloudarena.base.errors import PolicyError, nearest
from cloudarena.optimize import Compositions, mean_model_seeds
from cloudarena.optimize.compositions import largest_remainders
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.clusters.decision import UNTIL_DONE, Floats, Ints, Plan
from cloudarena.scenarios.replay import DecisionFile

policy = PolicyBook("clusters")


def by_weight(weights: Floats, vms: int) -> Ints:
    """A VM for each class and of the others a part in proportion to its weight.

    Whole numbers by largest remainders; ties go to the first class.
    """
    return 1 + largest_remainders(weights[None, :], vms - len(weights))[0]


def plain_plan(decision: Any, shares: Ints) -> Plan:
    """A share for a stage of the spec's length; when all has arrived, until it is done."""
    return Plan(shares, UNTIL_DONE if decision.all_arrived else decision.stage_s)


@policy.stepped("equal")
class Equal:
    """The same number of VMs for every class; what is left over goes to the first ones."""

    name = "equal"

    def __call__(self, decision: Any) -> Plan:
        """Equal shares."""
        return plain_plan(decision, by_weight(np.ones(len(decision.shares)), decision.vms))


@policy.stepped("fixed")
class Fixed:
    """One share from the begin to the end: ``fixed:shares=4-5-3-3-3-1-1``; equal if none is given.

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

    def __call__(self, decision: Any) -> Plan:
        """The share, until all is done."""
        equal = by_weight(np.ones(len(decision.shares)), decision.vms)
        return Plan(equal if self._shares is None else self._shares, UNTIL_DONE)


@policy.stepped("proportional")
class Proportional:
    """One VM for each class, the others in proportion to its work."""

    name = "proportional"

    def __call__(self, decision: Any) -> Plan:
        """Shares by the work that is expected."""
        return plain_plan(decision, by_weight(decision.load(decision.stage_s), decision.vms))


@policy.stepped("greedy")
class Greedy:
    """VM after VM to the class whose time it shortens most: the least sum of the classes' times.

    The gain of one more VM, ``work / theta - work / (theta + 1)``, falls with theta, so taking the
    largest each time is optimal for the sum. Ties go to the first class.
    """

    name = "greedy"

    def __call__(self, decision: Any) -> Plan:
        """Shares by marginal gains."""
        load = decision.load(decision.stage_s)
        shares = np.ones(len(load), np.int64)
        for _ in range(decision.vms - len(load)):
            shares[np.argmax(load / (shares * (shares + 1.0)))] += 1
        return plain_plan(decision, shares)


@policy.stepped("mean-optimum")
class MeanOptimum:
    """The shortest makespan if task times are their means; of such shares the least memory.

    Exact: ``cloudarena.optimize.mean_model_seeds`` gives the whole front of the mean model.
    """

    name = "mean-optimum"

    def __call__(self, decision: Any) -> Plan:
        """The first share of the front."""
        space = Compositions(decision.vms, len(decision.shares), decision.allow_idle)
        load = decision.load(decision.stage_s)
        return plain_plan(decision, mean_model_seeds(space, load, decision.mean_memory_mb)[0])


@policy.replay
class Replay(DecisionFile):
    """Plans from a file: columns decision, class, vms, length_s, evaluations.

    The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        types = {
            "decision": pa.int64(),
            "class": pa.string(),
            "vms": pa.int64(),
            "length_s": pa.float64(),
            "evaluations": pa.int64(),
        }
        super().__init__(path, types, {"time_s": pa.float64()})
        self._plans: dict[int, Plan] = {}
        self._given: dict[int, set[int]] = {}

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the classes of the file in the scenario."""
        names = [one.name for one in scenario.classes]
        self._plans, self._given = {}, {}
        for row, values in self._rows():
            for key, value in values.items():
                if value is None and key != "time_s":
                    raise self._error(f"{key}: is required", row)
            if values["class"] not in names:
                hint = nearest(values["class"], names)
                raise self._error(f"class: {values['class']!r} is not in the scenario.{hint}", row)
            none = Plan(np.zeros(len(names), np.int64), values["length_s"], values["evaluations"])
            number = values["decision"]
            plan = self._plans.setdefault(number, none)
            for key, first in (("length_s", plan.length_s), ("evaluations", plan.evaluations)):
                if values[key] != first:
                    raise self._error(
                        f"{key}: {values[key]:g} is not allowed: {first:g}, as in the first row of "
                        f"decision {number}",
                        row,
                    )
            place = names.index(values["class"])
            if place in self._given.setdefault(number, set()):
                raise self._error(
                    f"class: {values['class']!r} stands twice for decision {number}", row
                )
            self._given[number].add(place)
            np.asarray(plan.shares)[place] = values["vms"]

    def __call__(self, decision: Any) -> Plan:
        """The plan of the decision's number."""
        if decision.number not in self._plans:
            raise self._error(f"decision {decision.number} is missing")
        for place, one in enumerate(decision.classes):
            if place not in self._given[decision.number]:
                raise self._error(f"decision {decision.number} has no row for class {one.name!r}")
        return self._plans[decision.number]
