"""A run of the queue: the contract around the kernel."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from admission import kernel
from admission.build import build_world
from admission.decision import AdmissionDecision
from admission.spec import AdmissionScenario
from admission.state import World
from cloudarena.base.arrays import is_whole
from cloudarena.contract import InvalidAction, RecordLevel
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.engine.recorder import grown


class AdmissionRun(KernelRun[AdmissionDecision]):
    """A run of the queue, customer by customer."""

    scenario: AdmissionScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel

    def __init__(self, scenario: AdmissionScenario, seed: int, record: RecordLevel) -> None:
        customers = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(customers, record))

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    def show(self) -> AdmissionDecision:
        """The customer who has come."""
        return AdmissionDecision(self.now, kernel.arrival_of(self.world), self.rng)

    def encode(self, action: Any) -> tuple[int]:
        """1 to accept, 0 to reject."""
        if not is_whole(action):
            raise InvalidAction(f"action {action!r} is not allowed: 1 to accept, 0 to reject")
        return (int(action),)

    def why_not(self, reason: int) -> str:
        """Only one thing can be wrong."""
        action = int(self.world.clock[0]["action"])
        return f"action {action} is not allowed: 1 to accept, 0 to reject"

    def grow(self) -> None:
        """Doubles the log of decisions."""
        self.world = self.world._replace(decisions=grown(self.world.decisions))
