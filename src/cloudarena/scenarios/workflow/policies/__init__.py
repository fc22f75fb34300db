"""The built-in policies of serverless workflows, and what policies of users may call."""

from cloudarena.engine.checked import checked_helper
from cloudarena.scenarios.workflow import kernel
from cloudarena.scenarios.workflow.kernel import leases
from cloudarena.scenarios.workflow.policies.heft import Heft
from cloudarena.scenarios.workflow.policies.placement import POLICIES, enough_memory, idle

finish_forecast = checked_helper(kernel.finish_forecast)
last_completion = checked_helper(leases.last_completion)

__all__ = ["POLICIES", "Heft", "enough_memory", "finish_forecast", "idle", "last_completion"]
