"""The built-in policies of a cluster."""

from cloudarena.scenarios.jobs.policies.backfilling import easy_backfilling
from cloudarena.scenarios.jobs.policies.conservative import ConservativeBackfilling
from cloudarena.scenarios.jobs.policies.mapping import BatchMapping
from cloudarena.scenarios.jobs.policies.placement import POLICIES, idle

__all__ = ["POLICIES", "BatchMapping", "ConservativeBackfilling", "easy_backfilling", "idle"]
