"""A run of workflows on a cluster: the contract around the kernel."""

from __future__ import annotations

import math
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np

from cloudarena.base.arrays import Floats, is_whole, locked
from cloudarena.base.errors import InvalidAction, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step, doubled
from cloudarena.engine.calendar import with_capacity
from cloudarena.engine.sharing import with_slots
from cloudarena.scenarios.workflow import kernel
from cloudarena.scenarios.workflow.build import build_world
from cloudarena.scenarios.workflow.decision import WorkflowDecision
from cloudarena.scenarios.workflow.kernel import leases
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import (
    LONGEST_S,
    Function,
    Nodes,
    NotAllowed,
    World,
    with_room_for_forecasts,
)


class WorkflowRun(KernelRun[WorkflowDecision]):
    """A run of workflows on a cluster, decision by decision."""

    scenario: WorkflowScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel
    action_types: ClassVar[tuple[Any, ...]] = (numba.int64, numba.int64, numba.float64)

    def __init__(self, scenario: WorkflowScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self.workload, record))

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    def show(self) -> WorkflowDecision:
        """The function that is to be placed."""
        world = self.world
        function: Function = self._function_of(world.clock, world.demand, world.rules)
        return WorkflowDecision(function.now, function, self.locked_nodes, self.rng, self)

    def shown(self) -> tuple[Any, ...]:
        """The nodes, read-only but for the room of forecasts."""
        return (self.shown_nodes,)

    @cached_property
    def locked_nodes(self) -> Nodes:
        """What a policy may look at, read-only."""
        nodes: Nodes = locked(self.world.nodes)
        return nodes

    @cached_property
    def shown_nodes(self) -> Nodes:
        """The nodes for functions of arrays, with room for forecasts, which those write to."""
        return with_room_for_forecasts(self.locked_nodes, self.world.nodes)

    def encode(self, action: Any) -> tuple[int, int, float]:
        """A node, MB, and the time until which the container is held back."""
        if isinstance(action, (tuple, list)) and 2 <= len(action) <= 3:
            node, memory, not_before = action if len(action) == 3 else (*action, -math.inf)
            is_time = isinstance(not_before, (float, np.floating)) or is_whole(not_before)
            if is_whole(node) and is_whole(memory) and is_time:
                return int(node), int(memory), float(not_before)
        raise InvalidAction(
            f"action {written(action)} is not allowed: (node, memory in MB) or "
            "(node, memory, not_before)"
        )

    def grow(self) -> None:
        """Doubles the room for containers, leases and moments."""
        world, old = self.world, len(self.world.containers.function)
        spare = int(world.clock[0]["spare"])
        containers = world.containers._replace(
            function=doubled(world.containers.function),
            node=doubled(world.containers.node),
            spare=doubled(world.containers.spare),
        )
        containers.spare[spare : spare + old] = np.arange(2 * old - 1, old - 1, -1)
        world.clock["spare"] = spare + old
        nodes = world.nodes._replace(
            sharing=with_slots(world.nodes.sharing, 2 * old), begin=doubled(world.nodes.begin)
        )
        self.world = world._replace(
            nodes=nodes,
            containers=containers,
            creations=with_capacity(world.creations, 2 * old),
            leases=doubled(world.leases),
            moments=doubled(world.moments),
        )
        self.__dict__.pop("locked_nodes", None)
        self.__dict__.pop("shown_nodes", None)

    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, nodes = self.world.clock[0], self.world.nodes
        node, memory = int(clock["node"]), int(clock["memory"])
        if reason == NotAllowed.NO_SUCH_NODE:
            return f"node {node} is not allowed: 0 to {len(nodes.server) - 1}"
        if reason == NotAllowed.BAD_MEMORY:
            return (
                f"memory {memory} is not allowed: 1 to {nodes.memory[node]} MB, as node {node} has"
            )
        if reason == NotAllowed.BAD_START:
            return (
                f"not_before {clock['not_before']:g} is not allowed: a time in seconds, at most "
                f"{LONGEST_S:g} from now on"
            )
        return (
            f"node {node} with {memory} MB is not allowed: beside {nodes.assigned[node]} other "
            f"threads the function would take more than {LONGEST_S:g} s, or for ever"
        )

    def workflow_id(self, function: int) -> Any:
        """What the workflow of a function is called in tables and in files for replay."""
        return self.workload.workflow_ids[int(self.world.demand.workflow[function])].as_py()

    def last_completions(self) -> Floats:
        """When all that runs on each node or is on its way is done; minus infinity if nothing."""
        nodes = self.world.nodes
        times = np.empty(len(nodes.server))
        self._last_completions(nodes, times)
        return times

    def finish_forecast(self, function: Function, node: int, memory: int) -> float:
        """When a function would complete on a node, if nothing else came after it."""
        return float(self._finish_forecast(self.world.nodes, function, node, memory))

    @cached_property
    def _function_of(self) -> Any:
        world = self.world
        parts = (world.clock, world.demand, world.rules)
        return compiled_step(kernel.function_of, *(numba.typeof(part) for part in parts))

    @cached_property
    def _last_completions(self) -> Any:
        nodes = numba.typeof(self.world.nodes)
        return compiled_step(leases.last_completions, nodes, numba.float64[::1])

    @cached_property
    def _finish_forecast(self) -> Any:
        parts = (self.world.nodes, self.show().function)
        types = (*(numba.typeof(part) for part in parts), numba.int64, numba.int64)
        return compiled_step(kernel.finish_forecast, *types)
