"""The contract around the kernel."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.compiled_run import CompiledRun, compiled_step, is_whole, locked
from cloudarena.contract import RecordLevel
from cloudarena.engine.alarms import alarm_times
from cloudarena.engine.calendar import with_capacity
from cloudarena.engine.sharing import with_slots
from cloudarena.errors import InvalidAction, written
from cloudarena.scenarios.workflow import kernel
from cloudarena.scenarios.workflow.build import build_world
from cloudarena.scenarios.workflow.metrics import measure
from cloudarena.scenarios.workflow.policies import policy, with_room_for_forecasts
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import Function, Nodes
from cloudarena.scenarios.workflow.tables import make_tables


class WorkflowDecision:
    """Which NUMA node runs this function, with how much memory?

    The action is ``(node, memory in MB)``, any whole number of MB up to the memory of the node, or
    ``(node, memory, not_before)``: a container whose data is there earlier is created at that time
    in seconds, not before. The server boots and is rented all the same.
    The arrays are read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    __slots__ = ("_run", "function", "nodes", "now", "rng")

    def __init__(self, run: WorkflowSimulation) -> None:
        self._run = run
        self.function = run.function
        self.now = self.function.now
        self.nodes = run.locked_nodes
        self.rng = run.rng

    @property
    def workflow_id(self) -> Any:
        """What the function's workflow is called in tables and in files for replay."""
        workflow = self._run.world.demand.workflow[self.function.number]
        return self._run.workload.workflow_ids[int(workflow)].as_py()

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which memory options each node allows: (nodes, options)."""
        return self.allows(self.nodes.memory_options[None, :])

    def allows(self, memory: NDArray[np.int64]) -> NDArray[np.bool_]:
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
        enough = speed * kernel.LONGEST_S >= function.computation
        return (memory <= nodes.memory[:, None]) & enough

    @property
    def first_completion(self) -> NDArray[np.float64]:
        """When the first container of each node completes, as it stands; infinity if none runs."""
        return alarm_times(self.nodes.sharing.finishes)[: len(self.nodes.server)]

    @property
    def last_completion(self) -> NDArray[np.float64]:
        """When all that runs or is on its way is done, by node; minus infinity if nothing is."""
        nodes = self._run.world.nodes
        return np.array([kernel.last_completion(nodes, n) for n in range(len(nodes.server))])

    def finish_forecast(self, node: int, memory: int) -> float:
        """When the function would complete on a node, if nothing else came after it."""
        nodes = self._run.world.nodes
        if not (is_whole(node) and 0 <= node < len(nodes.server)):
            raise IndexError(f"node {node!r} is not allowed: 0 to {len(nodes.server) - 1}")
        return float(kernel.finish_forecast(nodes, self.function, node, memory))

    def arguments(self, policy: Any) -> tuple[Nodes, Function, np.random.Generator]:
        """What a policy that is a function of arrays takes."""
        return self._run.shown_nodes, self.function, self.rng


class WorkflowSimulation(CompiledRun):
    """A run of workflows on a cluster."""

    scenario: WorkflowScenario
    ended, deciding, full = kernel.ENDED, kernel.DECIDE, kernel.FULL
    kernel_play = staticmethod(kernel.play)
    book = policy

    def __init__(self, scenario: WorkflowScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self.workload, record))

    @property
    def now(self) -> float:
        """The time in seconds."""
        return float(self.world.clock[0]["now"])

    @property
    def function(self) -> Function:
        """The function that is to be placed."""
        world = self.world
        function: Function = self._function_of(world.clock, world.demand, world.rules)
        return function

    @cached_property
    def locked_nodes(self) -> Nodes:
        """What a policy may look at, read-only."""
        nodes: Nodes = locked(self.world.nodes)
        return nodes

    @cached_property
    def shown_nodes(self) -> Nodes:
        """The same for functions of arrays, with room for forecasts, which those write to."""
        return with_room_for_forecasts(self.locked_nodes, self.world.nodes)

    @property
    def decision(self) -> WorkflowDecision | None:
        """The function to be placed; None when the run has ended."""
        return WorkflowDecision(self) if self.is_deciding else None

    def apply(self, action: Any) -> None:
        """Places the function."""
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        node, memory, not_before = _placement(action)
        act = self._act
        self._go_on(self._step(lambda world, *place: act(world, *place, not_before), node, memory))

    @cached_property
    def _act(self) -> Any:
        types = numba.int64, numba.int64, numba.float64
        return compiled_step(kernel.act, numba.typeof(self.world), *types)

    @cached_property
    def _function_of(self) -> Any:
        world = self.world
        parts = (world.clock, world.demand, world.rules)
        return compiled_step(kernel.function_of, *(numba.typeof(part) for part in parts))

    def _state(self) -> tuple[Any, ...]:
        return self.world, self.shown_nodes

    def _first_decision(self) -> int:
        return int(self._act(self.world, -1, 0, -math.inf))

    def _make_room(self) -> None:
        """Doubles the room for containers, leases and moments."""
        world, old = self.world, len(self.world.containers.function)
        spare = int(world.clock[0]["spare"])
        containers = world.containers._replace(
            function=_longer(world.containers.function),
            node=_longer(world.containers.node),
            spare=_longer(world.containers.spare),
        )
        containers.spare[spare : spare + old] = np.arange(2 * old - 1, old - 1, -1)
        world.clock["spare"] = spare + old
        nodes = world.nodes._replace(
            sharing=with_slots(world.nodes.sharing, 2 * old), begin=_longer(world.nodes.begin)
        )
        self.world = world._replace(
            nodes=nodes,
            containers=containers,
            creations=with_capacity(world.creations, 2 * old),
            leases=_longer(world.leases),
            moments=_longer(world.moments),
        )
        self.__dict__.pop("locked_nodes", None)
        self.__dict__.pop("shown_nodes", None)

    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, nodes = self.world.clock[0], self.world.nodes
        node, memory = int(clock["node"]), int(clock["memory"])
        if status == kernel.NO_SUCH_NODE:
            return f"node {node} is not allowed: 0 to {len(nodes.server) - 1}"
        if status == kernel.BAD_MEMORY:
            return (
                f"memory {memory} is not allowed: 1 to {nodes.memory[node]} MB, as node {node} has"
            )
        if status == kernel.BAD_START:
            return (
                f"not_before {clock['not_before']:g} is not allowed: a time in seconds, at most "
                f"{kernel.LONGEST_S:g} from now on"
            )
        return (
            f"node {node} with {memory} MB is not allowed: beside {nodes.assigned[node]} other "
            f"threads the function would take more than {kernel.LONGEST_S:g} s, or for ever"
        )

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self.scenario, self.world)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        return make_tables(self)


def _longer(values: NDArray[Any]) -> NDArray[Any]:
    """The same with twice the room."""
    return np.concatenate((values, np.zeros_like(values)))


def _placement(action: Any) -> tuple[int, int, float]:
    if isinstance(action, (tuple, list)) and len(action) in (2, 3):
        node, memory, *rest = action
        (not_before,) = rest or (-math.inf,)
        is_time = isinstance(not_before, (float, np.floating)) or is_whole(not_before)
        if is_whole(node) and is_whole(memory) and is_time:
            return int(node), int(memory), float(not_before)
    raise InvalidAction(
        f"action {written(action)} is not allowed: (node, memory in MB) or "
        "(node, memory, not_before)"
    )
