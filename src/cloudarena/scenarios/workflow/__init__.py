"""Where serverless workflow functions run on NUMA servers rented by the hour."""

from cloudarena.engine.checked import checked_helper
from cloudarena.scenarios.workflow import (
    heft,  # noqa: F401 registers its policies
    kernel,
    replay,  # noqa: F401 registers its policies
)
from cloudarena.scenarios.workflow.policies import enough_memory, policy
from cloudarena.scenarios.workflow.simulation import WorkflowDecision, WorkflowRun
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import Function, Nodes

SCENARIO = WorkflowScenario

finish_forecast = checked_helper(kernel.finish_forecast)
last_completion = checked_helper(kernel.last_completion)

__all__ = [
    "SCENARIO",
    "Function",
    "Nodes",
    "WorkflowDecision",
    "WorkflowRun",
    "WorkflowScenario",
    "enough_memory",
    "finish_forecast",
    "last_completion",
    "policy",
]
