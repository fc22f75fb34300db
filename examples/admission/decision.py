"""What is decided when a customer comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from admission.state import Arrival
from cloudarena.policies import ArrayPolicy


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """Is this customer accepted? The action is 1 or 0."""

    kind: ClassVar[str] = "admit"
    now: float
    arrival: Arrival
    rng: np.random.Generator

    def arguments(self, policy: ArrayPolicy) -> tuple[Arrival]:
        """What a policy that is a function of arrays is shown."""
        return (self.arrival,)
