"""A run of a data centre: the contract around the kernel."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np

from cloudarena.base.arrays import MICRO, Floats, is_whole, locked
from cloudarena.base.errors import InvalidAction, PolicyError, TraceError, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step
from cloudarena.engine.recorder import grown
from cloudarena.engine.ties import FIRST
from cloudarena.policies import ArrayPolicy, Policy
from cloudarena.policies.blame import is_built_in
from cloudarena.scenarios.vm import kernel
from cloudarena.scenarios.vm.build import build_world
from cloudarena.scenarios.vm.build.index import with_index
from cloudarena.scenarios.vm.build.stream import GOES_ON, with_more
from cloudarena.scenarios.vm.decision import VmDecision, not_known
from cloudarena.scenarios.vm.metrics import used_ticks
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import DELAY_INSENSITIVE, Machines, NotAllowed, Sharing, World
from cloudarena.workloads.vm.columns import CATEGORIES, VmWorkload
from cloudarena.workloads.vm.stream import next_part

STREAM_ROWS = 1 << 18
"""The fewest VMs of a stream that are taken in at a time, and a quarter as many as live."""


class VmRun(KernelRun[VmDecision]):
    """A run of a data centre, decision by decision."""

    scenario: VmScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel

    def __init__(self, scenario: VmScenario, seed: int, record: RecordLevel) -> None:
        self._stream = scenario.stream_workload(seed)
        self.scenario = scenario
        self.workload: Any = self._first_vms(seed)
        world = build_world(scenario, self.workload, record, self._stream)
        super().__init__(scenario, seed, record, world)
        self._machines: Machines = locked(self.world.machines)
        self.used_until = scenario.warmup_ticks
        """The tick up to which the use of machines was summed, before VMs were forgotten; or the
        first after the warm-up."""
        self.used_before: Floats | float = 0.0
        """How many of these ticks each machine had a VM on it."""

    @property
    def is_streamed(self) -> bool:
        """Whether VMs come into memory as they arrive."""
        return self._stream is not None

    def _first_vms(self, seed: int) -> VmWorkload:
        """All VMs, or the first of a stream."""
        if self._stream is None:
            return self.scenario.load_workload(seed)
        part = next_part(self._stream, STREAM_ROWS)
        if part is None:
            raise TraceError("workload: has no VMs")
        return part

    def move_to(self, world: World) -> None:
        """Makes another state that of this run."""
        super().move_to(world)
        self._machines = locked(world.machines)

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
        """The index of a machine, ``postpone(n)`` or ``REFUSE``."""
        if not is_whole(action):
            raise InvalidAction(
                f"action {written(action)} is not allowed: the index of a machine, postpone(n) "
                "or REFUSE"
            )
        return (int(action),)

    def prepare(self, policy: ArrayPolicy) -> None:
        """Refuses a policy that needs more than the spec lets it know."""
        if policy.needs and policy.needs not in self.scenario.known:
            raise not_known(policy)
        if policy.parameters.get("ties", FIRST) == FIRST:
            self.world = with_index(self.world, policy.ranks_by, not is_built_in(policy))

    def play(self, policy: Policy) -> None:
        """Runs to the end; an index is kept for no longer than this policy decides."""
        try:
            super().play(policy)
        finally:
            if self.world.rooms is not None or self.world.shapes is not None:
                self.world = self.world._replace(rooms=None, shapes=None)
                if self.world.clock[0]["pending"] >= 0:
                    self._mark_pending(self.world)

    def _refuse(self, policy: ArrayPolicy, status: int) -> None:
        """Says why an action is not allowed, or that the policy does not rank as it says."""
        if status != NotAllowed.NOT_AS_RANKED:
            super()._refuse(policy, status)
        clock = self.world.clock[0]
        choice, action = int(clock["choice"]), int(clock["action"])
        ranked = f"machine {choice}" if choice >= 0 else "no machine"
        raise PolicyError(
            f"policy {policy.name}: ranks_by: {', '.join(policy.ranks_by)!r} is not what it does: "
            f"for VM {self._name()} it returns {action}, and {ranked} comes first"
        )

    def grow(self) -> None:
        """Doubles the log of decisions, or takes in the next VMs of a stream."""
        if self._stream is None:
            self.world = self.world._replace(decisions=grown(self.world.decisions))
            return
        self.used_before, self.used_until = used_ticks(self), int(self.world.clock[0]["tick"])
        live = int(np.isin(self.world.vms.outcome, GOES_ON).sum())
        self.workload = next_part(self._stream, max(STREAM_ROWS, live // 4))
        self.world = with_more(self.world, self.workload)

    @cached_property
    def _request_of(self) -> Any:
        return compiled_step(kernel.request_of, numba.typeof(self.world))

    @cached_property
    def _mark_pending(self) -> Any:
        return compiled_step(kernel.mark_pending, numba.typeof(self.world))

    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        world, request = self.world, self._request_of(self.world)
        action, pms = int(world.clock[0]["action"]), world.machines
        if reason == NotAllowed.NO_SUCH_MACHINE:
            return f"machine {action} is not allowed: 0 to {len(pms.valid) - 1}"
        node, action = action // len(pms.valid) - 1, action % len(pms.valid)
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
        if not reasons and world.nodes is not None:
            where = f"node {node} has" if node >= 0 and not request.is_split else "its nodes have"
            reasons.append(f"{where} no room for {request.cores:g} cores, {request.memory_gb:g} GB")
        if not reasons and world.gpus is not None and request.gpus > 0:
            asked = (
                f"{request.gpus} GPUs" if request.gpus > 1 else f"{request.gpu_milli / 1000:g} GPU"
            )
            free = ", ".join(f"{one / 1000:g}" for one in pms.gpu_free[action, : pms.gpus[action]])
            reasons.append(f"{asked} of an allowed model: {free or 'none'} are free of its devices")
        if not reasons:
            reasons.append("its utilisation leaves no room for the VM's cores")
        return f"machine {action} is not allowed for VM {self._name()}: {'; '.join(reasons)}"

    def _name(self) -> str:
        """The number of the VM to be decided on, and its id in the trace if that is another."""
        vm = int(self.world.clock[0]["pending"])
        vm_id = int(self.world.demand.vm_id[vm])
        name = vm_id if self.is_streamed else self.workload.ids[vm].as_py()
        return f"{vm_id}" if name == vm_id else f"{vm_id} ({name!r})"
