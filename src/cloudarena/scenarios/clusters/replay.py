"""Plans from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from cloudarena.base.errors import nearest
from cloudarena.scenarios.clusters.decision import ClustersDecision, Plan
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.scenarios.replay import DecisionFile

COLUMNS = {
    "decision": pa.int64(),
    "class": pa.string(),
    "vms": pa.int64(),
    "length_s": pa.float64(),
    "evaluations": pa.int64(),
}


class Replay(DecisionFile):
    """Plans from a file: columns decision, class, vms, length_s, evaluations.

    The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, COLUMNS, {"time_s": pa.float64()})
        self._plans: dict[int, Plan] = {}
        self._given: dict[int, set[int]] = {}

    def start(self, scenario: ClustersScenario, seed: int) -> None:
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
            decision = values["decision"]
            plan = self._plans.setdefault(decision, none)
            for key, first in (("length_s", plan.length_s), ("evaluations", plan.evaluations)):
                if values[key] != first:
                    raise self._error(
                        f"{key}: {values[key]:g} is not allowed: {first:g}, as in the first row of "
                        f"decision {decision}",
                        row,
                    )
            index = names.index(values["class"])
            if index in self._given.setdefault(decision, set()):
                raise self._error(
                    f"class: {values['class']!r} is a duplicate for decision {decision}", row
                )
            self._given[decision].add(index)
            np.asarray(plan.shares)[index] = values["vms"]

    def __call__(self, decision: ClustersDecision) -> Plan:
        """The plan of the decision's number."""
        if decision.number not in self._plans:
            raise self._error(f"decision {decision.number} is missing")
        for index, one in enumerate(decision.classes):
            if index not in self._given[decision.number]:
                raise self._error(f"decision {decision.number} has no row for class {one.name!r}")
        return self._plans[decision.number]
