"""Where replicas of functions run, at the edge and in the cloud, and how many there are."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, TradeOff

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.decision import PlaceDecision as PlaceDecision
    from cloudarena.scenarios.faas.decision import ScaleDecision as ScaleDecision
    from cloudarena.scenarios.faas.policies import POLICIES as POLICIES
    from cloudarena.scenarios.faas.run import FaasRun as FaasRun
    from cloudarena.scenarios.faas.spec import FaasScenario as FaasScenario
    from cloudarena.scenarios.faas.state import Nodes as Nodes
    from cloudarena.scenarios.faas.state import Replica as Replica
    from cloudarena.scenarios.faas.state import Scaling as Scaling

KIND = Kind(
    name="faas",
    package=__name__,
    description="where replicas of functions run, at the edge and in the cloud, and how many",
    unit_of_work="requests",
    headline="energy_j_per_invocation",
    compile_s=50,
    default_policy="spec",
    example="faas/edge-energy",
    toy="faas/toy",
    small={"duration_s": 90},
    plots=(
        Plot("Power of all nodes", "power", "time_s", "power_w", "W"),
        Plot("Invocations that execute", "power", "time_s", "running", "invocations"),
        Plot("Requests that wait", "power", "time_s", "waiting", "requests"),
        Plot("Replicas", "power", "time_s", "replicas", "replicas"),
    ),
    trade_offs=(
        TradeOff("Energy against response time", x="response_p95_s", y="energy_j_per_invocation"),
    ),
)

__getattr__ = exports(
    __name__,
    FaasScenario="spec",
    PlaceDecision="decision",
    ScaleDecision="decision",
    FaasRun="run",
    Nodes="state",
    Replica="state",
    Scaling="state",
    POLICIES="policies",
)
