"""Where serverless workflow functions run on NUMA servers rented by the hour."""

from cloudarena.scenarios.workflow import heft, replay  # noqa: F401 they register policies
from cloudarena.scenarios.workflow.kernel import finish_forecast, last_completion
from cloudarena.scenarios.workflow.policies import enough_memory, policy
from cloudarena.scenarios.workflow.simulation import WorkflowDecision, WorkflowSimulation
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import Function, Nodes

SCENARIO = WorkflowScenario

__all__ = [
    "SCENARIO",
    "Function",
    "Nodes",
    "WorkflowDecision",
    "WorkflowScenario",
    "WorkflowSimulation",
    "enough_memory",
    "finish_forecast",
    "last_completion",
    "policy",
]
