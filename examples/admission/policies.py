"""The built-in policies: who is accepted."""

from __future__ import annotations

import math

from numpy.random import Generator

from admission.decision import AdmissionDecision
from admission.replay import Replay
from admission.sources import Poisson
from admission.spec import AdmissionScenario
from admission.state import Arrival
from cloudarena.base.errors import PolicyError
from cloudarena.policies import Parameters, PolicyBook

POLICIES = PolicyBook("admission", lambda: (Arrival(0, 0.0, 0),))
POLICIES.replay(Replay)


@POLICIES.register("accept-all")
def accept_all(arrival: Arrival, p: Parameters, rng: Generator) -> int:
    """Accepts every customer."""
    return 1


@POLICIES.register("at-most", parameters={"n": 3})
def at_most(arrival: Arrival, p: Parameters, rng: Generator) -> int:
    """Accepts who finds fewer than n customers in the system."""
    return 1 if arrival.in_system < p.n else 0


@POLICIES.register("coin", parameters={"share": 0.5})
def coin(arrival: Arrival, p: Parameters, rng: Generator) -> int:
    """A share of the customers, at random."""
    return 1 if rng.random() < p.share else 0


@POLICIES.stepped("naor")
class Naor:
    """Accepts who finds fewer customers than Naor's threshold: the best in the long run.

    Naor, "The regulation of queue size by levying tolls", Econometrica 37 (1969).
    """

    def start(self, scenario: AdmissionScenario, seed: int) -> None:
        """Works out the threshold from the spec."""
        work = scenario.workload
        if not isinstance(work, Poisson):
            raise PolicyError(f"naor: workload.source: {work.source} is not allowed: poisson")
        self._threshold = naor_threshold(
            work.rate * work.mean_service_s,
            scenario.reward_usd / (scenario.waiting_usd_per_s * work.mean_service_s),
        )

    def __call__(self, decision: AdmissionDecision) -> int:
        """Accepts below the threshold."""
        return int(decision.arrival.in_system < self._threshold)


def naor_threshold(load: float, value: float) -> int:
    """The largest n with (n (1 - r) - r (1 - r^n)) / (1 - r)^2 <= value, for a load r.

    Args:
        load: arrival rate times mean service time.
        value: the reward over what it costs to wait for one mean service time.
    """
    n = 0
    while n < math.floor(value):
        following = n + 1
        if load == 1.0:
            worth = following * (following + 1) / 2
        else:
            worth = following * (1 - load) - load * (1 - load**following)
            worth /= (1 - load) ** 2
        if worth > value:
            break
        n = following
    return n


def idle(decision: AdmissionDecision) -> int:
    """Serves nothing: what no comparison may crown."""
    return 0
