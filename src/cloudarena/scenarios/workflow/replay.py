"""Placements of functions from a file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.workflow.decision import WorkflowDecision
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.workloads.columns import check_filled


class Replay(DecisionFile):
    """Placements from a file: columns workflow, function, server_type, server, numa_node, memory.

    A column not_before, where a cell may be empty, says until when a function is held back. The
    ``decisions`` and ``functions`` tables of any run are such files.
    """

    def __init__(self, path: Path) -> None:
        types = {
            "workflow": pa.string(),
            "function": pa.int64(),
            "server_type": pa.string(),
            "server": pa.int64(),
            "numa_node": pa.int64(),
            "memory": pa.int64(),
        }
        others = ("time_s", "submission", "cold_start", "data_transfer", "creation", "start")
        optional = {"not_before": pa.float64(), **dict.fromkeys((*others, "completion"))}
        super().__init__(path, types, optional)
        check_filled(path, self._table, types)
        self._placements: dict[int, tuple[int, int, float]] = {}

    def start(self, scenario: WorkflowScenario, seed: int) -> None:
        """Finds the functions and nodes of the file in the scenario."""
        workload = scenario.load_workload(seed)
        ids = workload.workflow_ids.to_pylist()
        workflows = {str(name): index for index, name in enumerate(ids)}
        sizes = np.diff(workload.first_function)
        nodes: dict[tuple[str, int, int], int] = {}
        memory = []
        for kind, server in scenario.servers:
            for numa_node in range(kind.numa_nodes.count):
                nodes[kind.name, server, numa_node] = len(nodes)
                memory.append(kind.numa_nodes.memory)
        self._placements = {}
        for row, values in self._rows():
            if values["workflow"] not in workflows:
                raise self._error(f"workflow: {values['workflow']!r} is not in the workload", row)
            workflow = workflows[values["workflow"]]
            if not 0 <= values["function"] < sizes[workflow]:
                raise self._error(f"function: {values['function']} is not in the workload", row)
            node = nodes.get((values["server_type"], values["server"], values["numa_node"]))
            if node is None:
                raise self._error(
                    f"server_type {values['server_type']!r}, server {values['server']}, "
                    f"numa_node {values['numa_node']} is not in the cluster",
                    row,
                )
            if not 1 <= values["memory"] <= memory[node]:
                raise self._error(
                    f"memory: {values['memory']} is not allowed: 1 to {memory[node]}", row
                )
            index = int(workload.first_function[workflow]) + values["function"]
            if index in self._placements:
                raise self._error(f"function: {values['function']} is a duplicate", row)
            not_before = values.get("not_before")
            held = -math.inf if not_before is None else not_before
            self._placements[index] = (node, values["memory"], held)

    def __call__(self, decision: WorkflowDecision) -> tuple[int, int, float]:
        """The file's placement of the function."""
        function = decision.function
        placement = self._placements.get(function.number)
        if placement is None:
            raise self._error(
                f"has no placement for function {function.function} of workflow "
                f"{decision.workflow_id!r}"
            )
        return placement
