"""The built-in policies of a data centre."""

from cloudarena.scenarios.vm.policies import gpu, kube, numa, numa_tuned
from cloudarena.scenarios.vm.policies.numa import on_node
from cloudarena.scenarios.vm.policies.oracle import OracleIlp
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT, idle, postpone

__all__ = [
    "POLICIES",
    "WAIT",
    "OracleIlp",
    "gpu",
    "idle",
    "kube",
    "numa",
    "numa_tuned",
    "on_node",
    "postpone",
]
