"""The built-in policies: how many VMs each tier gets for the next period.

Parameters follow the name: ``model-based:margin=1.3:forecast=last``.
"""

from cloudarena.scenarios.tiers.policies.book import POLICIES
from cloudarena.scenarios.tiers.policies.rules import (
    Static,
    StepScaling,
    TargetTracking,
    Utilisation,
    idle,
)

# After the rules: policies are listed in the order in which they are registered.
from cloudarena.scenarios.tiers.policies.modelled import ModelBased, Oracle  # isort: skip

__all__ = [
    "POLICIES",
    "ModelBased",
    "Oracle",
    "Static",
    "StepScaling",
    "TargetTracking",
    "Utilisation",
    "idle",
]
