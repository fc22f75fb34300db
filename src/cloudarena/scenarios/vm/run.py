"""A run of a data centre: the contract around the kernel."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numba

from cloudarena.base.arrays import MICRO, is_whole, locked
from cloudarena.base.errors import InvalidAction, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step
from cloudarena.engine.recorder import grown
from cloudarena.policies import ArrayPolicy
from cloudarena.scenarios.vm import kernel
from cloudarena.scenarios.vm.build import build_world
from cloudarena.scenarios.vm.decision import VmDecision, not_known
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import DELAY_INSENSITIVE, Machines, NotAllowed, Sharing, World
from cloudarena.workloads.vm.columns import CATEGORIES


class VmRun(KernelRun[VmDecision]):
    """A run of a data centre, decision by decision."""

    scenario: VmScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel

    def __init__(self, scenario: VmScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self.workload, record))
        self._machines: Machines = locked(self.world.machines)

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["tick"]) * self.scenario.tick_seconds

    def show(self) -> VmDecision:
        """The request that is to be placed."""
        return VmDecision(self.now, self._request_of(self.world), self._machines, self.rng)

    def shown(self) -> tuple[Any, ...]:
        """The machines, read-only."""
        return (self._machines,)

    def encode(self, action: Any) -> tuple[int]:
        """The number of a machine, ``postpone(n)`` or ``REFUSE``."""
        if not is_whole(action):
            raise InvalidAction(
                f"action {written(action)} is not allowed: the number of a machine, postpone(n) "
                "or REFUSE"
            )
        return (int(action),)

    def prepare(self, policy: ArrayPolicy) -> None:
        """Refuses a policy that needs more than the spec lets it know."""
        if policy.needs and policy.needs not in self.scenario.known:
            raise not_known(policy)

    def grow(self) -> None:
        """Doubles the log of decisions."""
        self.world = self.world._replace(decisions=grown(self.world.decisions))

    @cached_property
    def _request_of(self) -> Any:
        return compiled_step(kernel.request_of, numba.typeof(self.world))

    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        world, request = self.world, self._request_of(self.world)
        action, pms = int(world.clock[0]["action"]), world.machines
        if reason == NotAllowed.NO_SUCH_MACHINE:
            return f"machine {action} is not allowed: 0 to {len(pms.valid) - 1}"
        reasons = []
        category = CATEGORIES[request.category]
        shared = request.category == DELAY_INSENSITIVE
        if pms.sharing[action] == (Sharing.SEPARATE if shared else Sharing.SHARED):
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
