"""The policies of clusters by name."""

from cloudarena.policies import PolicyBook
from cloudarena.scenarios.clusters.replay import Replay

POLICIES = PolicyBook("clusters")
POLICIES.replay(Replay)
