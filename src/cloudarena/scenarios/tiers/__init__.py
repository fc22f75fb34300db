"""How many fat and thin VMs each tier of an elastic service gets, minute by minute."""

from cloudarena.scenarios.tiers.policies import policy
from cloudarena.scenarios.tiers.simulation import Period, TiersDecision, TiersRun
from cloudarena.scenarios.tiers.spec import TiersScenario

SCENARIO = TiersScenario

__all__ = [
    "SCENARIO",
    "Period",
    "TiersDecision",
    "TiersRun",
    "TiersScenario",
    "policy",
]
