"""Where replicas of functions run, at the edge and in the cloud, and how many there are."""

from cloudarena.scenarios.faas import replay  # noqa: F401 it registers a policy
from cloudarena.scenarios.faas.policies import policy
from cloudarena.scenarios.faas.simulation import FaasRun, PlaceDecision, ScaleDecision
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import Nodes, Replica, Scaling

SCENARIO = FaasScenario

__all__ = [
    "SCENARIO",
    "FaasRun",
    "FaasScenario",
    "Nodes",
    "PlaceDecision",
    "Replica",
    "ScaleDecision",
    "Scaling",
    "policy",
]
