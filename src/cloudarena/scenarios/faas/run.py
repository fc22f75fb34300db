"""A run of functions on nodes: the contract around the kernel."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from cloudarena.base.arrays import is_whole, locked, read_only
from cloudarena.base.errors import InvalidAction, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.scenarios.faas import kernel
from cloudarena.scenarios.faas.build import build_world
from cloudarena.scenarios.faas.build.growth import with_request_slots, with_room
from cloudarena.scenarios.faas.build.network import build_infrastructure
from cloudarena.scenarios.faas.build.own import raise_fault
from cloudarena.scenarios.faas.decision import FaasDecision, PlaceDecision, ScaleDecision
from cloudarena.scenarios.faas.kernel.scaling import scaling_of
from cloudarena.scenarios.faas.kernel.scheduling import replica_of
from cloudarena.scenarios.faas.metrics.counting import begin_counting
from cloudarena.scenarios.faas.metrics.holding import held_of
from cloudarena.scenarios.faas.metrics.responses import Responses
from cloudarena.scenarios.faas.metrics.watching import load_measure, measured
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import Nodes, NotAllowed, Outcome, Pending, World, seen_nodes

CONSTANT = ("device_type", "tier", "accelerator", "cores", "memory", "accelerator_memory", "idle_w")
"""What placers see of a node that never changes."""


class FaasRun(KernelRun[FaasDecision]):
    """A run of functions on nodes, decision by decision."""

    scenario: FaasScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel

    def __init__(self, scenario: FaasScenario, seed: int, record: RecordLevel) -> None:
        self.infrastructure = build_infrastructure(scenario, seed)
        drawn = scenario.requests_of(seed)
        self.held = held_of(len(scenario.functions), drawn[0])
        """When the requests of each function were let go, if some are held, and how long."""
        world = build_world(scenario, self.infrastructure, seed, record, drawn)
        super().__init__(scenario, seed, record, world)
        self.earlier = Responses()
        """Response times that the world no longer holds."""
        self.measure: Any = None if scenario.measure is None else load_measure(scenario.measure)
        self.measurements: list[dict[str, float]] = []
        """What a function of the user's has measured, at the ends of intervals."""
        self._window = 0
        self._weights = read_only(world.weights)
        self._seen = seen_nodes(world.scores)
        self._shown: Nodes = locked(self._seen)
        for name in CONSTANT:
            getattr(self._seen, name)[:] = world.nodes[name]
        self._changing = tuple(
            (getattr(self._seen, name), name)
            for name in Nodes._fields
            if name not in (*CONSTANT, "scores")
        )

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    @property
    def _is_placing(self) -> bool:
        """Whether a replica is to be placed; else a function is to be scaled."""
        return bool(self.world.clock[0]["pending"] == Pending.PLACE)

    @property
    def asks(self) -> str:
        """``place`` or ``scale``."""
        return "place" if self._is_placing else "scale"

    @property
    def _function(self) -> str:
        """The name of the function that is decided on."""
        return self.scenario.functions[int(self.world.clock[0]["function"])].name

    def show(self) -> FaasDecision:
        """The replica that is to be placed, or the function whose scaler is due."""
        if not self._is_placing:
            return ScaleDecision(self.now, self._function, scaling_of(self.world), self.rng)
        nodes = self.world.nodes
        for column, name in self._changing:
            column[:] = nodes[name]
        replica = replica_of(self.world, self._weights)
        return PlaceDecision(self.now, self._function, replica, self._shown, self.rng)

    def shown(self) -> tuple[Any, ...]:
        """What the kernel fills in for placers, how they see it, and the spec's weights."""
        return self._seen, self._shown, self._weights

    def move_to(self, world: Any) -> None:
        """Makes another state of the same type that of this run."""
        super().move_to(world)
        self.earlier = copy.deepcopy(self.earlier)  # a copy of this run counts by itself
        self.measurements = list(self.measurements)

    def totals(self) -> Any:
        """A copy of what is counted of the functions, and the replicas that were placed."""
        return self.world.functions.copy(), self.world.clock["placed"].item()

    def risen(self, before: Any, after: Any) -> dict[str, Any]:
        """Requests that came, by what became of them, and replicas that were placed."""
        rises = {"arrived": int((after[0]["arrived"] - before[0]["arrived"]).sum())}
        ended = after[0]["outcomes"] - before[0]["outcomes"]
        outcomes = ended.sum(axis=0).clip(0).tolist()  # the end of the warm-up begins at 0 again
        rises |= {outcome.name.lower(): outcomes[outcome] for outcome in Outcome}
        rises["placed"] = after[1] - before[1]
        return {name: rise for name, rise in rises.items() if rise}

    def encode(self, action: Any) -> tuple[int]:
        """The index of a node, or a number of replicas."""
        if not is_whole(action):
            wanted = "the number of a node, or -1" if self._is_placing else "a number of replicas"
            raise InvalidAction(f"action {written(action)} is not allowed: {wanted}")
        return (int(action),)

    def grow(self) -> None:
        """Ends the warm-up, draws further arrivals if need be, and makes room for what is full."""
        clock = self.world.clock[0]
        if self.world.extras is not None:
            raise_fault(self.scenario, self.world.extras)
        if clock["looks"]:
            self.measurements.append(measured(self))
            clock["looks"] = False
        if clock["warm"]:
            begin_counting(self.world)
            self.earlier = Responses()
        if clock["windows"] > 0 and clock["arrived"] == len(self.world.arrivals):
            self._draw_next_window()
        self.world = with_room(self.world)

    @property
    def room(self) -> int:
        """Slots for requests."""
        return len(self.world.slots)

    def widen(self, room: int) -> None:
        """Makes slots for requests."""
        self.world = with_request_slots(self.world, room)

    def _draw_next_window(self) -> None:
        """Draws the next arrivals; response times so far are counted and not kept."""
        world, clock, spec = self.world, self.world.clock[0], self.scenario
        done = int(clock["completed"])
        self.earlier.add(world.responses[:done], world.responded[:done])
        self._window += 1
        requests = spec.draw_window(self.seed, self._window)
        most = len(requests.arrival_s) + int(clock["in_system"])
        self.world = world._replace(
            arrivals=read_only(requests.arrival_s),
            arriving=read_only(requests.function.astype(np.int32)),
            responses=np.empty(most),
            responded=np.empty(most, np.int32),
        )
        clock["arrived"] = clock["completed"] = 0
        clock["windows"] -= 1

    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, functions = self.world.clock[0], self.world.functions
        action, name = int(clock["action"]), self._function
        if reason == NotAllowed.NO_SUCH_NODE:
            last = len(self.infrastructure.devices) - 1
            return f"node {action} is not allowed: 0 to {last}, or -1 to wait"
        if reason == NotAllowed.NOT_VALID:
            return f"node {action} is not allowed: it cannot take a replica of {name} now"
        function = functions[int(clock["function"])]
        least, most = function["minimum"], function["maximum"]
        return f"{name}: {action} replicas are not allowed: from {least} to {most}"
