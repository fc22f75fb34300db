"""Where replicas of functions run, at the edge and in the cloud, and how many there are."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, Slices, TradeOff

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
    decides=("faas-place", "faas-scale"),
    unit_of_work="requests",
    headline="energy_j_per_invocation",
    prices="prices.device_hour_usd, prices.kwh_usd or prices.request_usd",
    compile_s=17,
    default_policy="spec",
    load_keys=("load_scale",),
    example="faas/edge-energy",
    toy="faas/toy",
    small={"duration_s": 90},
    slices=Slices("invocations", "start_s", "finish_s", ("node",), ("function",)),
    plots=(
        Plot(
            "Power of all nodes",
            "power",
            "time_s",
            "power_w",
            "W",
            parts=("idle_w", "network_w", "dynamic_w"),
        ),
        Plot("Invocations that execute", "power", "time_s", "running", "invocations"),
        Plot("Requests that wait", "power", "time_s", "waiting", "requests"),
        Plot("Replicas", "power", "time_s", "replicas", "replicas"),
        Plot(
            "Joules for an execution, by device",
            "devices",
            "executed",
            "j_per_execution",
            "J",
            labels="device",
        ),
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
