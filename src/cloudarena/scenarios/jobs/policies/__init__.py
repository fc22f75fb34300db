"""The built-in policies of a cluster."""

from cloudarena.scenarios.jobs.policies.backfilling import easy_backfilling
from cloudarena.scenarios.jobs.policies.conservative import ConservativeBackfilling
from cloudarena.scenarios.jobs.policies.mapping import BatchMapping
from cloudarena.scenarios.jobs.policies.placement import POLICIES, idle
from cloudarena.scenarios.jobs.policies.ranking import ranked

__all__ = [
    "POLICIES",
    "BatchMapping",
    "ConservativeBackfilling",
    "easy_backfilling",
    "idle",
    "ranked",
]
