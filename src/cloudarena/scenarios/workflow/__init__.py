"""Where serverless workflow functions run on NUMA servers rented by the hour."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, Slices

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.decision import WorkflowDecision as WorkflowDecision
    from cloudarena.scenarios.workflow.policies import POLICIES as POLICIES
    from cloudarena.scenarios.workflow.policies import enough_memory as enough_memory
    from cloudarena.scenarios.workflow.policies import finish_forecast as finish_forecast
    from cloudarena.scenarios.workflow.policies import last_completion as last_completion
    from cloudarena.scenarios.workflow.run import WorkflowRun as WorkflowRun
    from cloudarena.scenarios.workflow.spec import WorkflowScenario as WorkflowScenario
    from cloudarena.scenarios.workflow.state import Function as Function
    from cloudarena.scenarios.workflow.state import Nodes as Nodes

KIND = Kind(
    name="workflow",
    package=__name__,
    description="where serverless workflow functions run on NUMA servers rented by the hour",
    unit_of_work="workflows",
    headline="weighted_cost",
    prices="cluster.servers[0].hourly_rate",
    compile_s=10,
    default_policy="earliest-finish",
    load_keys=("workload.rate",),
    example="workflow/demo",
    toy="workflow/toy",
    small={"workload.workflows": 4, "workload.functions": 30},
    slices=Slices(
        "functions",
        "start",
        "completion",
        ("server_type", "server", "numa_node"),
        ("workflow", "function"),
        is_gantt=True,
    ),
    plots=(
        Plot("Workflows in progress", "series", "time_s", "workflows", "workflows"),
        Plot("Threads of running functions", "series", "time_s", "parallelism", "threads"),
        Plot("Memory held", "series", "time_s", "memory_mb", "MB"),
        Plot("Rent so far", "series", "time_s", "rent_usd", "$"),
    ),
)

__getattr__ = exports(
    __name__,
    WorkflowScenario="spec",
    WorkflowDecision="decision",
    WorkflowRun="run",
    Function="state",
    Nodes="state",
    POLICIES="policies",
    enough_memory="policies",
    finish_forecast="policies",
    last_completion="policies",
)
