"""The contract around the kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrays import locked, read_only
from cloudarena.base.errors import InvalidAction
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step
from cloudarena.policies import ArrayPolicy, Bundle
from cloudarena.scenarios.faas import kernel
from cloudarena.scenarios.faas.build import build_world
from cloudarena.scenarios.faas.build_network import build_ground
from cloudarena.scenarios.faas.metrics import measure
from cloudarena.scenarios.faas.policies import policy
from cloudarena.scenarios.faas.responses import Responses
from cloudarena.scenarios.faas.room import with_room
from cloudarena.scenarios.faas.scaling import scaling_of
from cloudarena.scenarios.faas.scheduling import replica_of
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import Nodes, Replica, Scaling, seen_nodes
from cloudarena.scenarios.faas.tables import make_tables


class PlaceDecision:
    """Which node takes this replica?

    The action is the number of a valid node, or -1 to wait until something else ends or is asked
    for. The arrays are read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    __slots__ = ("_run", "nodes", "now", "replica", "rng")

    def __init__(self, run: FaasRun) -> None:
        self._run = run
        self.now = run.now
        self.nodes = run.nodes
        self.replica = run.replica
        self.rng = run.rng

    @property
    def function(self) -> str:
        """The name of the function."""
        return self._run.scenario.functions[self.replica.function].name

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which nodes the predicates allow."""
        return self.nodes.valid

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores of the priorities, (priorities, nodes), each from 0 to 10."""
        return self.nodes.scores

    def arguments(self, policy: ArrayPolicy) -> tuple[Nodes, Replica, np.random.Generator]:
        """What a placer takes."""
        parameters = self._run.parameters_of(policy)
        return self.nodes, self.replica._replace(parameters=read_only(parameters)), self.rng


class ScaleDecision:
    """How many replicas does this function have from now on?

    The action is a number from the minimum to the maximum of the spec.
    """

    kind: ClassVar[str] = "scale"
    __slots__ = ("_run", "now", "rng", "scaling")

    def __init__(self, run: FaasRun) -> None:
        self._run = run
        self.now = run.now
        self.scaling = run.scaling
        self.rng = run.rng

    @property
    def function(self) -> str:
        """The name of the function."""
        return self._run.scenario.functions[self.scaling.function].name

    @property
    def suggested(self) -> int:
        """What the scaler of the spec would do."""
        return self.scaling.suggested

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which numbers are allowed, from 0 to the maximum."""
        numbers = np.arange(self.scaling.maximum + 1)
        return read_only(numbers >= self.scaling.minimum)

    def arguments(self, policy: ArrayPolicy) -> tuple[Scaling, np.random.Generator]:
        """What a scaler takes."""
        return self.scaling, self.rng


class FaasRun(KernelRun):
    """A run of functions on nodes."""

    scenario: FaasScenario
    ended, deciding, full = kernel.ENDED, kernel.DECIDE, kernel.FULL
    kernel_play = staticmethod(kernel.play)
    book = policy

    def __init__(self, scenario: FaasScenario, seed: int, record: RecordLevel) -> None:
        self.ground = build_ground(scenario, seed)
        world = build_world(scenario, self.ground, seed, record)
        super().__init__(scenario, seed, record, world)
        self.earlier = Responses()
        self._window = 0
        self._seen = seen_nodes(self.world.scores)
        self._shown: Nodes = locked(self._seen)

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    @property
    def replica(self) -> Replica:
        """The replica that is to be placed."""
        weights, parameters = read_only(self.world.weights), read_only(self.world.parameters)
        return replica_of(self.world, weights, parameters)

    @property
    def scaling(self) -> Scaling:
        """The function whose scaler is due."""
        return scaling_of(self.world)

    @property
    def nodes(self) -> Nodes:
        """What a placer sees of the nodes, read-only."""
        for name in Nodes._fields:
            if name != "scores":
                getattr(self._seen, name)[:] = self.world.nodes[name]
        return self._shown

    @property
    def decision(self) -> PlaceDecision | ScaleDecision | None:
        """What must be decided now; None when the run has ended."""
        if not self.is_deciding:
            return None
        if self.world.clock[0]["pending"] == kernel.PLACE:
            return PlaceDecision(self)
        return ScaleDecision(self)

    def apply(self, action: Any) -> None:
        """Places the replica, or sets the number of replicas."""
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
            placing = self.world.clock[0]["pending"] == kernel.PLACE
            wanted = "the number of a node, or -1" if placing else "a number of replicas"
            raise InvalidAction(f"action {action!r} is not allowed: {wanted}")
        status = self._act(self.world, max(min(int(action), 2**62), -(2**62)))
        self._go_on(self._with_room(status))

    def parameters_of(self, chosen: ArrayPolicy) -> NDArray[np.float64]:
        """The parameters that a placer was given with its name."""
        values = np.zeros_like(self.world.parameters)
        values[: len(chosen.parameters)] = list(chosen.parameters.values())
        return values

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self.scenario, self.world, self.earlier)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        return make_tables(self)

    @cached_property
    def _act(self) -> Any:
        return compiled_step(kernel.act, numba.typeof(self.world), numba.int64)

    def _state(self) -> tuple[Any, ...]:
        given = read_only(self.world.weights), read_only(self.world.parameters)
        return self.world, self._seen, self._shown, *given

    def _first_decision(self) -> int:
        return self._with_room(self._act(self.world, 0))

    def _with_room(self, status: int) -> int:
        """Makes room and goes on, as often as something is full."""
        while status == self.full:
            self._make_room()
            status = self._act(self.world, 0)
        return int(status)

    def _make_room(self) -> None:
        clock = self.world.clock[0]
        if clock["windows"] > 0 and clock["arrived"] == len(self.world.arrivals):
            self._draw_next_window()
        self.world = with_room(self.world)

    def _draw_next_window(self) -> None:
        """Draws the next arrivals; response times so far are counted and not kept."""
        world, clock, spec = self.world, self.world.clock[0], self.scenario
        done = int(clock["completed"])
        self.earlier.add(world.responses[:done], world.responded[:done])
        self._window += 1
        span = (spec.functions, spec.trace, spec.duration_s, self.seed, spec.load_scale)
        requests = draw_requests(*span, self._window)
        most = len(requests.arrival_s) + int(clock["in_system"])
        self.world = world._replace(
            arrivals=requests.arrival_s,
            arriving=requests.function.astype(np.int32),
            responses=np.empty(most),
            responded=np.empty(most, np.int32),
        )
        clock["arrived"] = clock["completed"] = 0
        clock["windows"] -= 1

    def _prepare(self, policy: ArrayPolicy) -> None:
        """Hands the placer's parameters to the kernel."""
        if isinstance(policy, Bundle):
            placer = policy.parts["place"]
            if isinstance(placer, ArrayPolicy):
                self.world.parameters[:] = self.parameters_of(placer)

    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, functions = self.world.clock[0], self.world.functions
        function, action = int(clock["function"]), int(clock["action"])
        name = self.scenario.functions[function].name
        if status == kernel.NO_SUCH_NODE:
            return (
                f"node {action} is not allowed: 0 to {len(self.ground.devices) - 1}, or -1 to wait"
            )
        if status == kernel.NOT_VALID:
            return f"node {action} is not allowed: it cannot take a replica of {name} now"
        least, most = functions[function]["minimum"], functions[function]["maximum"]
        return f"{name}: {action} replicas are not allowed: from {least} to {most}"
