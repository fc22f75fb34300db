"""Where replicas of functions run, at the edge and in the cloud, and how many there are."""

from cloudarena.scenarios.faas import replay  # noqa: F401 it registers a policy
from cloudarena.scenarios.faas.policies import policy
from cloudarena.scenarios.faas.simulation import FaasSimulation, PlaceDecision, ScaleDecision
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import Nodes, Replica, Scaling

SCENARIO = FaasScenario

__all__ = [
    "SCENARIO",
    "FaasScenario",
    "FaasSimulation",
    "Nodes",
    "PlaceDecision",
    "Replica",
    "ScaleDecision",
    "Scaling",
    "policy",
]
