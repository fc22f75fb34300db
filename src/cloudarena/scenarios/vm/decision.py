"""What is decided in a data centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.vm.state import ORDERS, REFUSE, Machines, Request

if TYPE_CHECKING:
    from cloudarena.policies import ArrayPolicy


@dataclass(frozen=True, slots=True)
class VmDecision:
    """The decision which machine takes a VM.

    The action is the index of a valid machine, ``postpone(n)`` or ``REFUSE``. The arrays are
    read-only views that change with the next ``apply``.
    """

    kind: ClassVar[str] = "place"
    now: float
    request: Request
    machines: Machines
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which machines may take the VM."""
        return self.machines.valid

    def ranked(self, ranks_by: tuple[str, ...]) -> int:
        """What a policy must return that says it ranks machines so: see ``ranks_by``."""
        valid = np.flatnonzero(self.valid)
        if len(valid) == 0:
            return REFUSE - 1
        if ranks_by[0] in ORDERS:
            after = self.request.last_machine + 1 if ranks_by[0] == "next" else 0
            return int(valid[np.searchsorted(valid, after) % len(valid)])
        keys = [
            (-1.0 if by.startswith("-") else 1.0) * getattr(self.machines, by.lstrip("-"))[valid]
            for by in ranks_by
        ]
        return int(valid[np.lexsort((valid, *reversed(keys)))[0]])

    def arguments(self, policy: ArrayPolicy) -> tuple[Machines, Request]:
        """What a policy that is a function of arrays is shown."""
        if policy.needs and self.request.lifetime_ticks < 0:
            raise not_known(policy)
        return self.machines, self.request


def not_known(policy: ArrayPolicy) -> PolicyError:
    """The error of a policy that needs more than the spec lets it know."""
    return PolicyError(f"policy {policy.name}: needs known: [{policy.needs}] in the spec")
