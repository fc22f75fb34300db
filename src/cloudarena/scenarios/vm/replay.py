"""Decisions of a data centre from a file."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import pyarrow as pa

from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.vm.decision import VmDecision
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import REFUSE
from cloudarena.workloads.vm.columns import numeric_ids

OPTIONAL = {
    "vm": pa.int64(),
    "id": None,
    "action": pa.string(),
    "node": pa.int64(),
    "device": pa.int64(),
    "delays": pa.int64(),
    "tick": None,
    "time_s": None,
    "valid_machines": None,
}


class Replay(DecisionFile):
    """Decisions from a file, such as the ``decisions`` table of any run.

    Columns are vm (its number, as in the tables of a run) or id (as in the trace), and machine;
    optionally node or device, action (place, postpone, refuse) and delays.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, {"machine": pa.int64()}, OPTIONAL)
        if not {"vm", "id"} & set(self._table.column_names):
            raise self._error("column 'vm' or 'id' is missing: which VM a decision is about")
        self._actions: dict[int, deque[int]] = {}
        self._machines = 0

    def start(self, scenario: VmScenario, seed: int) -> None:
        """Finds the VMs of the file in the workload."""
        ids = scenario.load_workload(seed).ids
        vm_ids = numeric_ids(ids).tolist()
        name = "vm" if "vm" in self._table.column_names else "id"
        known = vm_ids if name == "vm" else ids.to_pylist()
        number_of = dict(zip(known, vm_ids, strict=True))
        self._actions = defaultdict(deque)
        self._machines = scenario.machine_count
        for row, values in self._rows():
            vm = values[name]
            if vm not in number_of:
                raise self._error(f"{name}: {vm!r} is not in the workload", row)
            self._actions[number_of[vm]].append(self._action(row, values))

    def __call__(self, decision: VmDecision) -> int:
        """The file's next action for this VM."""
        waiting = self._actions.get(decision.request.vm)
        if not waiting:
            raise self._error(f"has no further decision for VM {decision.request.vm}")
        return waiting.popleft()

    def _action(self, row: int, values: dict[str, Any]) -> int:
        """The action that a row says."""
        action, machine = values.get("action") or "place", values["machine"]
        if action == "refuse":
            return REFUSE
        if action == "postpone":
            delays = 1 if values.get("delays") is None else int(values["delays"])
            if delays < 1:
                raise self._error(f"delays: {delays} is not allowed: at least 1", row)
            return REFUSE - delays
        if action != "place":
            raise self._error(
                f"action: {action!r} is not allowed: one of place, postpone, refuse", row
            )
        if machine is None or machine < 0:
            raise self._error(f"machine: {machine} is not allowed: the index of a machine", row)
        part = "device" if values.get("node") is None else "node"
        if values.get(part) is None:
            return int(machine)
        if values[part] < 0 or machine >= self._machines:
            raise self._error(
                f"{part}: {values[part]} of machine {machine} is not allowed: a {part} of a "
                "machine",
                row,
            )
        return int(machine + self._machines * (1 + values[part]))
