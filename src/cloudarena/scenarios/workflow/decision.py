"""What is decided among serverless workflows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints, is_whole, read_only
from cloudarena.base.errors import InvalidAction
from cloudarena.engine.indexed_heap import entry_times
from cloudarena.scenarios.workflow.state import LONGEST_S, Function, Nodes

if TYPE_CHECKING:
    from cloudarena.policies import ArrayPolicy
    from cloudarena.scenarios.workflow.run import WorkflowRun


@dataclass(frozen=True, slots=True)
class WorkflowDecision:
    """The decision which NUMA node runs a function, with how much memory.

    The action is ``(node, memory in MB)``, any whole number of MB up to the memory of the node, or
    ``(node, memory, not_before)``: a container whose data is there earlier is created at that time
    in seconds, not before. The server boots and is rented all the same.
    The arrays are read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    now: float
    function: Function
    nodes: Nodes
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""
    _run: WorkflowRun = field(repr=False, compare=False)

    @property
    def workflow_id(self) -> Any:
        """What the function's workflow is called in tables and in files for replay."""
        return self._run.workflow_id(self.function.number)

    @property
    def valid(self) -> Flags:
        """Which memory options each node allows: (nodes, options)."""
        parts = self._run.parts  # learning asks three times
        if parts.get("decision") is not self:
            parts["decision"] = self
            parts["valid"] = read_only(self.allows(self.nodes.memory_options[None, :]))
        valid: Flags = parts["valid"]
        return valid

    def allows(self, memory: Ints) -> Flags:
        """Whether each node has so much memory, and would complete the function at all.

        The speeds are those of ``engine.sharing``, with all threads that the node was assigned.
        """
        nodes, function, sharing = self.nodes, self.function, self.nodes.sharing
        threads = (nodes.assigned + function.parallelism)[:, None]
        capacity = (nodes.cores * sharing.core_speed)[:, None]
        share = capacity // threads if sharing.whole else capacity / threads
        full = np.minimum(sharing.core_speed, share) * function.parallelism
        work = np.minimum(memory, function.memory_req) * full
        speed = work // function.memory_req if sharing.whole else work / function.memory_req
        allowed: Flags = speed * LONGEST_S >= function.computation
        return (memory <= nodes.memory[:, None]) & allowed

    @property
    def first_completion(self) -> Floats:
        """When the first container of each node completes, as it stands; infinity if none runs."""
        return entry_times(self.nodes.sharing.finishes)[: len(self.nodes.server)]

    @property
    def last_completion(self) -> Floats:
        """When all that runs or is on its way is done, by node; minus infinity if nothing is."""
        return self._run.last_completions()

    def finish_forecast(self, node: int, memory: int) -> float:
        """When the function would complete on a node, if nothing else came after it."""
        last = len(self.nodes.server) - 1
        if not (is_whole(node) and 0 <= node <= last):
            raise IndexError(f"node {node!r} is not allowed: 0 to {last}")
        if not is_whole(memory):
            raise InvalidAction(f"memory {memory!r} is not allowed: a whole number of MB")
        return self._run.finish_forecast(self.function, int(node), int(memory))

    def arguments(self, policy: ArrayPolicy) -> tuple[Nodes, Function]:
        """What a policy that is a function of arrays is shown."""
        return self._run.shown_nodes, self.function
