"""HEFT: a policy that plans each workflow when it arrives, and keeps to the plan's times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.scenarios.workflow.decision import WorkflowDecision
from cloudarena.scenarios.workflow.policies.placement import POLICIES
from cloudarena.scenarios.workflow.policies.timetable import (
    Machines,
    Tasks,
    Transfer,
    empty_timetable,
    forget_before,
    plan_workflow,
    upward_ranks,
    with_pieces,
)
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import Nodes
from cloudarena.workloads.workflow.template import offsets


@POLICIES.stepped("heft")
class Heft:
    """Plans a workflow when it arrives: by upward rank, each into the gap in which it ends first.

    Heterogeneous earliest finish time with insertion (Topcuoglu et al. 2002). The upward rank of a
    function is its mean time on the nodes plus the largest sum of mean transfer and rank among its
    successors. In the plan a function holds as many cores as it has threads, and its memory, from
    when its data is there until it ends; what was planned before, for other workflows too, keeps
    what it holds. A function whose data is there earlier is held back until its planned start.
    """

    name = "heft"

    def start(self, scenario: WorkflowScenario, seed: int) -> None:
        """Gets to know the cluster; workflows are looked at when they arrive."""
        self._workload = scenario.load_workload(seed)
        self._speed = float(scenario.cluster.single_core_speed)
        cluster = scenario.cluster
        kinds = [kind for kind, _ in scenario.servers]
        count = [kind.numa_nodes.count for kind in kinds]
        self._machines = Machines(
            np.repeat(np.arange(len(kinds)), count),
            np.repeat([kind.numa_nodes.cpu for kind in kinds], count),
            np.repeat([kind.numa_nodes.memory for kind in kinds], count),
            np.array([float(kind.cold_start_latency) for kind in kinds]),
            float(cluster.memory_bandwidth),
            float(cluster.numa_bandwidth),
            float(cluster.network_bandwidth),
            int(Transfer.AT_ONCE if scenario.transfer == "parallel" else Transfer.ONE_BY_ONE),
        )
        self._first_node = offsets(np.array(count))[:-1]
        self._table = empty_timetable(len(self._machines.server), len(kinds))
        functions = len(self._workload.computation)
        self._node = np.full(functions, -1)
        self._memory = np.zeros(functions, np.int64)
        self._start = np.zeros(functions)

    def __call__(self, decision: WorkflowDecision) -> tuple[int, int, float]:
        """The planned node and start of the function."""
        index = decision.function.number
        if self._node[index] < 0:
            self._plan(decision)
        return int(self._node[index]), int(self._memory[index]), float(self._start[index])

    def _plan(self, decision: WorkflowDecision) -> None:
        workload, now, machines = self._workload, decision.now, self._machines
        index = decision.function.number
        workflow = int(np.searchsorted(workload.first_function, index, side="right")) - 1
        first, end = (int(workload.first_function[workflow + k]) for k in (0, 1))
        tasks = self._tasks(first, end, decision.nodes.memory_options)
        forget_before(self._table, now)
        self._see_leases(decision.nodes, now)
        room = int(self._table.pieces.max()) + 2 * (end - first)
        if room > self._table.begin.shape[1]:
            self._table = with_pieces(self._table, room)
        order = np.argsort(-upward_ranks(tasks, machines), kind="stable")
        chosen, starts = plan_workflow(self._table, machines, tasks, order, now)
        self._node[first:end], self._start[first:end] = chosen, starts
        self._memory[first:end] = tasks.memory[np.arange(end - first), chosen]

    def _tasks(self, first: int, end: int, options: NDArray[np.int64]) -> Tasks:
        """The functions of a workflow: with too little memory they take longer."""
        workload, machines = self._workload, self._machines
        required = workload.memory_req[first:end]
        option = np.minimum(np.searchsorted(options, required), len(options) - 1)
        memory = np.minimum(options[option][:, None], machines.memory[None, :])
        cores = np.minimum(workload.parallelism[first:end][:, None], machines.cores[None, :])
        slower = np.maximum(1.0, required[:, None] / memory)
        seconds = workload.computation[first:end][:, None] / (cores * self._speed) * slower
        parents = slice(workload.first_parent[first], workload.first_parent[end])
        return Tasks(
            seconds,
            cores,
            memory,
            workload.first_parent[first : end + 1] - workload.first_parent[first],
            workload.parents[parents] - first,
            workload.parent_bytes[parents],
        )

    def _see_leases(self, nodes: Nodes, now: float) -> None:
        """Takes note of the servers that are rented now."""
        table, first = self._table, self._first_node
        expiry = nodes.expiry[first]
        rented = expiry > now
        table.rented[rented] = np.minimum(table.rented[rented], now)
        table.up[rented] = (now + nodes.boot[first])[rented]
        table.expiry[rented] = np.maximum(table.expiry[rented], expiry[rented])
