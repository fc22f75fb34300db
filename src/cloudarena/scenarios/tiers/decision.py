"""What is decided in a multi-tier service, and what was measured for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.scenarios.tiers.spec import TiersScenario

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.run import TiersRun
    from cloudarena.scenarios.tiers.state import World


class Period(NamedTuple):
    """What was measured in a period. Arrays are over tiers, from the first to the last."""

    begin: float
    end: float
    counts: Ints
    """The VMs in force, (tier, size): rented, and not about to leave."""
    arrived: Ints
    """The visits that came to each tier."""
    blocked: Ints
    """The visits that found no room."""
    served: Ints
    """The visits that were served."""
    forward: Ints
    """The visits after which the request went on to the next tier."""
    turned: Ints
    """The visits on the way down after which the request turned back."""
    utilisation: Floats
    """The share of time that the VMs which take requests were busy."""
    held: Floats
    """The requests in the tier, on average over the period."""
    held_at_end: Ints
    """The requests in the tier at the end of the period."""
    sojourn_s: Floats
    """The time that a visit took, on average; 0 if there was none."""
    served_by_size: Ints
    """The visits that VMs of each size served, (tier, size)."""
    service_s: Floats
    """The time that the visits in ``served_by_size`` took without waiting, (tier, size)."""
    requests: int
    """The requests that arrived at the service."""
    responses: Floats
    """The response times of the requests that were served in the period."""
    cost_usd: float
    """The rent of the VMs in the period."""
    keeps_sla: bool
    """Whether the period keeps the SLA."""

    @property
    def rate(self) -> float:
        """Requests a second that arrived at the service."""
        return self.requests / (self.end - self.begin)

    @property
    def response_mean_s(self) -> float:
        """The mean response time of the served requests; NaN if nothing was served."""
        return float(self.responses.mean()) if len(self.responses) else math.nan


@dataclass(frozen=True, slots=True)
class TiersDecision:
    """The decision how many fat and thin VMs each tier gets for the next period.

    The action is an array (tiers, 2) of fat and thin VMs, or None to leave all as it is.
    """

    kind: ClassVar[str] = "provision"
    now: float
    scenario: TiersScenario
    periods: tuple[Period, ...]
    """All that was measured so far, period by period."""
    rates: Floats
    """Requests a second that arrived, period by period."""
    counts: Ints
    """The VMs in force, (tier, size): those that boot or take requests and are not to leave."""
    limits: Ints
    """The most VMs that there may be, (tier, size)."""
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""
    _run: TiersRun = field(repr=False, compare=False)

    @property
    def action_numbers(self) -> int:
        """How many whole numbers a candidate is: fat and thin VMs of each tier."""
        return int(self.counts.size)

    def arguments(self, policy: Any) -> tuple[World]:
        """The state, for learned policies."""
        return (self._run.world,)

    @property
    def last(self) -> Period:
        """What was measured in the period that has just ended."""
        return self.periods[-1]
