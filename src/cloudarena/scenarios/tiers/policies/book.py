"""The policies of tiers by name."""

from cloudarena.policies import PolicyBook
from cloudarena.scenarios.tiers.replay import Replay

POLICIES = PolicyBook("tiers")
POLICIES.replay(Replay)
