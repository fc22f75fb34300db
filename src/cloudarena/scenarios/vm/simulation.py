"""The contract around the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa

from cloudarena.compiled_run import CompiledRun, compiled_step, is_whole, locked
from cloudarena.contract import RecordLevel
from cloudarena.engine.recorder import grown
from cloudarena.errors import InvalidAction, PolicyError, written
from cloudarena.policies import ArrayPolicy
from cloudarena.scenarios.vm import kernel
from cloudarena.scenarios.vm.build import build_world
from cloudarena.scenarios.vm.kernel import MICRO, Machines, Request
from cloudarena.scenarios.vm.metrics import measure
from cloudarena.scenarios.vm.policies import policy
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.tables import make_tables
from cloudarena.workloads.vms import CATEGORIES


@dataclass(frozen=True, slots=True)
class VmDecision:
    """Which machine takes this VM?

    The action is the number of a valid machine, ``postpone(n)`` or ``REFUSE``. The arrays are
    read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    now: float
    request: Request
    machines: Machines
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""

    @property
    def valid(self) -> np.ndarray:
        """Which machines may take the VM."""
        return self.machines.valid

    def arguments(self, policy: ArrayPolicy) -> tuple[Machines, Request, np.random.Generator]:
        """What a policy that is a function of arrays takes."""
        if policy.needs and self.request.lifetime_ticks < 0:
            raise not_known(policy)
        return self.machines, self.request, self.rng


class VmSimulation(CompiledRun):
    """A run of a data centre."""

    scenario: VmScenario
    ended, deciding, full = kernel.ENDED, kernel.DECIDE, kernel.LOG_FULL
    kernel_play = staticmethod(kernel.play)
    book = policy

    def __init__(self, scenario: VmScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self.workload, record))
        self._views: Machines = locked(self.world.machines)

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["tick"]) * self.scenario.tick_seconds

    @property
    def decision(self) -> VmDecision | None:
        """The request to be placed; None when the run has ended."""
        if not self.is_deciding:
            return None
        request = self._request_of(self.world)
        return VmDecision(self.now, request, self._views, self.rng)

    def apply(self, action: Any) -> None:
        """Places, puts off or refuses the request."""
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        self._go_on(self._step(self._act, _whole_number(action)))

    @cached_property
    def _act(self) -> Any:
        return compiled_step(kernel.act, numba.typeof(self.world), numba.int64)

    @cached_property
    def _request_of(self) -> Any:
        return compiled_step(kernel.request_of, numba.typeof(self.world))

    def _state(self) -> tuple[Any, ...]:
        return self.world, self._views

    def _prepare(self, policy: ArrayPolicy) -> None:
        if policy.needs and policy.needs not in self.scenario.known:
            raise not_known(policy)

    def _first_decision(self) -> int:
        return int(self._act(self.world, 0))

    def _make_room(self) -> None:
        self.world = self.world._replace(decisions=grown(self.world.decisions))

    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        world, request = self.world, kernel.request_of(self.world)
        action, pms = int(world.clock[0]["action"]), world.machines
        if status == kernel.NO_SUCH_MACHINE:
            return f"machine {action} is not allowed: 0 to {len(pms.valid) - 1}"
        reasons = []
        category = CATEGORIES[request.category]
        shared = request.category == kernel.DELAY_INSENSITIVE
        if pms.sharing[action] == (kernel.SEPARATE if shared else kernel.SHARED):
            reasons.append(f"it does not host {category} VMs now")
        limits = (
            (world.fleet.cores_limit, world.fleet.memory_limit)
            if shared
            else (world.fleet.cores, world.fleet.memory)
        )
        for unit, need, used, limit in (
            ("cores", request.cores, world.allocated_cores[action], limits[0][action]),
            ("GB", request.memory_gb, world.allocated_memory[action], limits[1][action]),
        ):
            if used + round(need * MICRO) > limit:
                left = max(0, limit - used) / MICRO
                reasons.append(f"{need:g} {unit} are asked for and {left:g} are left")
        if not reasons:
            reasons.append("its utilisation leaves no room for the VM's cores")
        return f"machine {action} is not allowed for VM {self._name()}: {'; '.join(reasons)}"

    def _name(self) -> str:
        """The number of the VM to be decided on, and its id in the trace if that is another."""
        vm = int(self.world.clock[0]["pending"])
        number, name = int(self.world.demand.number[vm]), self.workload.ids[vm].as_py()
        return f"{number}" if name == number else f"{number} ({name!r})"

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self.scenario, self.world)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        return make_tables(self)


def not_known(policy: ArrayPolicy) -> PolicyError:
    """The error of a policy that needs more than the spec lets it know."""
    return PolicyError(f"policy {policy.name}: needs known: [{policy.needs}] in the spec")


def _whole_number(action: Any) -> int:
    if is_whole(action):
        return int(action)
    raise InvalidAction(
        f"action {written(action)} is not allowed: the number of a machine, postpone(n) or REFUSE"
    )
