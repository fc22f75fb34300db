"""Which share of m VMs each class of tasks gets, stage by stage."""

from cloudarena.scenarios.clusters import iterative  # noqa: F401 it registers policies
from cloudarena.scenarios.clusters.decision import UNTIL_DONE, ClustersDecision, Plan
from cloudarena.scenarios.clusters.policies import policy
from cloudarena.scenarios.clusters.simulation import ClustersRun, Stage
from cloudarena.scenarios.clusters.spec import ClustersScenario

SCENARIO = ClustersScenario

__all__ = [
    "SCENARIO",
    "UNTIL_DONE",
    "ClustersDecision",
    "ClustersRun",
    "ClustersScenario",
    "Plan",
    "Stage",
    "policy",
]
