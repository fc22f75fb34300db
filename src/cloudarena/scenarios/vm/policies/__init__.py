"""The built-in policies of a data centre."""

from cloudarena.scenarios.vm.policies.oracle import OracleIlp
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT, idle, postpone

__all__ = ["POLICIES", "WAIT", "OracleIlp", "idle", "postpone"]
