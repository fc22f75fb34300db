"""Which machine takes a VM: a month of a data centre, energy, oversubscription."""

from cloudarena.scenarios.vm.kernel import REFUSE, Machines, Request
from cloudarena.scenarios.vm.oracle import OracleIlp
from cloudarena.scenarios.vm.policies import policy, postpone
from cloudarena.scenarios.vm.simulation import VmDecision, VmSimulation
from cloudarena.scenarios.vm.spec import VmScenario

SCENARIO = VmScenario

__all__ = [
    "REFUSE",
    "SCENARIO",
    "Machines",
    "OracleIlp",
    "Request",
    "VmDecision",
    "VmScenario",
    "VmSimulation",
    "policy",
    "postpone",
]
