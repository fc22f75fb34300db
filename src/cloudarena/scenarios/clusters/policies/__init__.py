"""The built-in policies: which share of the VMs, for how long.

``shares`` has those that cost no evaluations, ``iterative`` those that choose by simulation, and
``model`` the closed-form model that they judge shares by.
"""

from cloudarena.scenarios.clusters.policies.book import POLICIES
from cloudarena.scenarios.clusters.policies.shares import (
    Equal,
    Fixed,
    Greedy,
    MeanOptimum,
    Proportional,
    by_weight,
    idle,
)

# After the shares: policies are listed in the order in which they are registered.
from cloudarena.scenarios.clusters.policies.iterative import (  # isort: skip
    Elos,
    Ilos,
    IterativeBlindPick,
    IterativeMonteCarlo,
)

__all__ = [
    "POLICIES",
    "Elos",
    "Equal",
    "Fixed",
    "Greedy",
    "Ilos",
    "IterativeBlindPick",
    "IterativeMonteCarlo",
    "MeanOptimum",
    "Proportional",
    "by_weight",
    "idle",
]
