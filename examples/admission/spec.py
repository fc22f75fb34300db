"""What a user writes for an admission scenario, validated."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from admission import KIND
from admission.sources import Customers, Workload
from cloudarena.contract import Kind, Scenario
from cloudarena.contract.source import load_workload


class AdmissionScenario(Scenario):
    """Customers come to a single server; each is accepted or rejected when it comes."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["admission"]
    reward_usd: float = Field(ge=0, le=1e6)
    """What a customer who was served pays."""
    waiting_usd_per_s: float = Field(ge=0, le=1e6)
    """What each second of each customer in the system costs."""
    workload: Workload

    def load_workload(self, seed: int) -> Customers:
        """The customers of a seed; the last ones are kept, for the next policy on them."""
        customers: Customers = load_workload(self.workload, seed)
        return customers
