"""The built-in policies of functions: where replicas run, and how many there are."""

from cloudarena.scenarios.faas.policies.placement import POLICIES, idle
from cloudarena.scenarios.faas.policies.scaling import SCALERS

__all__ = ["POLICIES", "SCALERS", "idle"]
