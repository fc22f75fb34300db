"""Policies in plain Python: one that plans whole workflows, and one that follows a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.workflow.policies import enough_memory, policy
from cloudarena.workloads.columns import check_filled


@policy.stepped("heft")
class Heft:
    """Plans each workflow when it arrives: by upward rank, each to the node that ends it first.

    Heterogeneous earliest finish time (Topcuoglu et al. 2002). The upward rank of a function is its
    time on idle cores plus the largest sum of transfer by network and rank among its successors. In
    the plan a function holds as many cores of a node as it has threads, from when its data is
    there until it ends; what was planned before, for other workflows too, holds its cores.
    """

    name = "heft"

    def __init__(self) -> None:
        self._plan: NDArray[np.int64] = np.zeros(0, np.int64)
        self._core_free: NDArray[np.float64] = np.zeros((0, 0))

    def start(self, scenario: Any, seed: int) -> None:
        """Gets to know the workflows."""
        self._cluster = scenario.cluster
        self._parallel = scenario.transfer == "parallel"
        workload = self._workload = scenario.load_workload(seed)
        self._seconds = workload.computation / (
            workload.parallelism * float(scenario.cluster.single_core_speed)
        )
        self._plan = np.full(len(self._seconds), -1)
        cores = [kind.numa_nodes.cpu for kind, _ in scenario.servers for _ in _nodes_of(kind)]
        self._core_free = np.full((len(cores), max(cores)), np.inf)
        for node, count in enumerate(cores):
            self._core_free[node, :count] = 0.0

    def __call__(self, decision: Any) -> tuple[int, int]:
        """The planned node of the function."""
        function = decision.function
        if self._plan[function.number] < 0:
            self._plan_workflow(decision)
        node = int(self._plan[function.number])
        nodes = decision.arguments(None)[0]
        return node, int(enough_memory(nodes, function, node))

    def _plan_workflow(self, decision: Any) -> None:
        workload, nodes, now = self._workload, decision.nodes, decision.now
        number = decision.function.number
        workflow = int(np.searchsorted(workload.first_function, number, side="right")) - 1
        first, end = (int(workload.first_function[workflow + k]) for k in (0, 1))
        finish = np.zeros(end - first)
        ready = now + nodes.boot
        for k in np.argsort(-self._ranks(first, end), kind="stable"):
            number = first + int(k)
            parents = slice(workload.first_parent[number], workload.first_parent[number + 1])
            sources = workload.parents[parents]
            begin = ready.copy()
            if len(sources):
                submission = finish[sources - first].max()
                transfer = self._transfers(nodes.server, self._plan[sources], parents)
                begin = np.maximum(begin, submission) + transfer
            threads = int(workload.parallelism[number])
            # A function with more threads than a node has cores takes all of them, for longer.
            held = np.minimum(threads, nodes.cores)
            free = self._core_free[np.arange(len(held)), held - 1]
            begin = np.maximum(begin, free)
            ends = begin + self._seconds[number] * threads / held
            node = int(np.argmin(ends))
            self._plan[number] = node
            finish[k] = ends[node]
            self._core_free[node, : held[node]] = ends[node]
            self._core_free[node].sort()

    def _ranks(self, first: int, end: int) -> NDArray[np.float64]:
        """The upward ranks of a workflow's functions, in seconds."""
        workload, bandwidth = self._workload, float(self._cluster.network_bandwidth)
        rank = self._seconds[first:end].copy()
        missing = np.zeros(end - first, np.int64)
        low, high = workload.first_parent[first], workload.first_parent[end]
        np.add.at(missing, workload.parents[low:high] - first, 1)
        done = [number for number in range(end - first) if missing[number] == 0]
        while done:
            number = done.pop() + first
            for k in range(workload.first_parent[number], workload.first_parent[number + 1]):
                parent = int(workload.parents[k]) - first
                behind = workload.parent_bytes[k] / bandwidth + rank[number - first]
                rank[parent] = max(rank[parent], self._seconds[first + parent] + behind)
                missing[parent] -= 1
                if missing[parent] == 0:
                    done.append(parent)
        return rank

    def _transfers(
        self, server: NDArray[np.int64], sources: NDArray[np.int64], parents: slice
    ) -> NDArray[np.float64]:
        """How long the data of a function takes to each node."""
        sizes = self._workload.parent_bytes[parents][:, None]
        near = server[sources][:, None] == server[None, :]
        here = sources[:, None] == np.arange(len(server))[None, :]
        bandwidth = np.where(near, self._cluster.numa_bandwidth, self._cluster.network_bandwidth)
        seconds = sizes / np.where(here, self._cluster.memory_bandwidth, bandwidth)
        return seconds.max(axis=0) if self._parallel else seconds.sum(axis=0)


def _nodes_of(kind: Any) -> range:
    return range(kind.numa_nodes.count)


@policy.replay
class Replay(DecisionFile):
    """Placements from a file: columns workflow, function, server_type, server, numa_node, memory.

    The ``decisions`` and ``functions`` tables of any run are such files.
    """

    def __init__(self, path: Path) -> None:
        types = {
            "workflow": None,
            "function": pa.int64(),
            "server_type": pa.string(),
            "server": pa.int64(),
            "numa_node": pa.int64(),
            "memory": pa.int64(),
        }
        others = ("time_s", "submission", "cold_start", "data_transfer", "creation", "start")
        super().__init__(path, types, dict.fromkeys((*others, "completion")))
        check_filled(path, self._table, types)
        self._placements: dict[int, tuple[int, int]] = {}

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the functions and nodes of the file in the scenario."""
        workload = scenario.load_workload(seed)
        ids = workload.workflow_ids.to_pylist()
        workflows = {str(name): number for number, name in enumerate(ids)}
        sizes = np.diff(workload.first_function)
        nodes: dict[tuple[str, int, int], int] = {}
        memory = []
        for kind, server in scenario.servers:
            for numa_node in _nodes_of(kind):
                nodes[kind.name, server, numa_node] = len(nodes)
                memory.append(kind.numa_nodes.memory)
        self._placements = {}
        for row, values in self._rows():
            if str(values["workflow"]) not in workflows:
                raise self._error(f"workflow: {values['workflow']!r} is not in the workload", row)
            workflow = workflows[str(values["workflow"])]
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
            number = int(workload.first_function[workflow]) + values["function"]
            if number in self._placements:
                raise self._error(f"function: {values['function']} stands twice", row)
            self._placements[number] = (node, values["memory"])

    def __call__(self, decision: Any) -> tuple[int, int]:
        """The file's placement of the function."""
        function = decision.function
        placement = self._placements.get(function.number)
        if placement is None:
            raise self._error(
                f"has no placement for function {function.function} of workflow {function.workflow}"
            )
        return placement
