"""What a user writes for a faas scenario, validated."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import Scenario
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.faas import KIND
from cloudarena.scenarios.faas.sources import Trace
from cloudarena.scenarios.faas.spec.devices import Devices, NodePower, Topology
from cloudarena.scenarios.faas.spec.functions import Function

PredicateName = Literal["fits-resources", "can-run", "has-accelerator", "free-accelerator-memory"]
PriorityName = Literal[
    "balanced-resources",
    "least-requested",
    "image-locality",
    "data-locality",
    "locality-type",
    "capability",
    "execution-time",
    "contention",
    "energy-efficiency",
    "least-power",
]
RouterName = Literal["round-robin", "least-loaded", "random", "locality", "newest"]

MOST_STEPS = 10_000_000
"""Samples, or ticks of a scaler, of a run."""
MOST_NODES = 200_000
MOST_PAIRS = 20_000_000
"""Functions times nodes."""
MOST_ROUTES = 10_000_000
"""To and from each zone for each node."""
NODES_OF_A_ZONE, REGIONS = 10, 10
"""About so many nodes has a zone that follows from the devices; regions, unless they are given."""
MOST_PLACEMENTS = 1_000_000_000
"""Replicas at the start times nodes, which are looked at for each."""
MOST_REQUESTS = 10_000_000_000
MOST_ROWS = 1_000_000_000
"""Samples times nodes, when everything is recorded."""
Intensity = Annotated[float, Field(ge=0, le=1e6)]
Dollars = Annotated[float, Field(ge=0, le=1e6)]


class Network(Spec):
    """What crosses the network. Without a topology, bytes move at ``bandwidth_mbps`` each."""

    requests: bool = False
    """Whether requests and responses cross it; else they are there at once."""
    bandwidth_mbps: float = Field(1000.0, gt=0, le=1e9)
    preloaded: bool = False
    """Whether all images are on all nodes at the start; else they are pulled."""
    copies: int | None = Field(None, ge=1, le=1_000_000)
    """How many storage nodes hold each function's data; all by default."""


class Priority(Spec):
    """A priority and its weight."""

    name: PriorityName
    weight: float = Field(1.0, ge=-1000, le=1000)


class Scheduler(Spec):
    """Predicates that a node must pass, and priorities whose weighted sum chooses among them."""

    predicates: tuple[PredicateName, ...] = get_args(PredicateName)
    priorities: tuple[Priority, ...] = (
        Priority(name="balanced-resources"),
        Priority(name="least-requested"),
        Priority(name="image-locality"),
    )
    delay_s: float = Field(0.0, ge=0, le=1e6)
    """How long the scheduler takes for a replica."""
    horizon_s: float = Field(600.0, gt=0, le=1e9)
    """How long a replica is expected to stay: priorities spread the energy of its cold start."""

    @model_validator(mode="before")
    @classmethod
    def _names_are_priorities(cls, data: Any) -> Any:
        """A bare name of a priority has the weight 1."""
        if isinstance(data, dict) and isinstance(data.get("priorities"), (list, tuple)):
            given = [{"name": p} if isinstance(p, str) else p for p in data["priorities"]]
            return {**data, "priorities": given}
        return data

    @model_validator(mode="after")
    def _each_once(self) -> Scheduler:
        names = [priority.name for priority in self.priorities]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("not_allowed", f"priorities: {name!r} stands twice")
        if "can-run" not in self.predicates:
            raise PydanticCustomError(
                "not_allowed",
                f"predicates: {list(self.predicates)} are not allowed: can-run must be there",
            )
        return self

    def weights(self) -> dict[str, float]:
        """The weight of each priority that is given."""
        return {priority.name: priority.weight for priority in self.priorities}


class Contention(Spec):
    """How invocations on a node slow each other down; see the page of the scenario."""

    model: Literal["shared", "none"] = "shared"
    memory_saturation: float = Field(0.8, ge=1e-6, le=1)
    """The share of a device's cores whose memory-bound work saturates the memory bus."""


class Carbon(Spec):
    """The grid's intensity in g/kWh: one number, or rows of [second, intensity], each held."""

    g_per_kwh: Intensity = 300.0
    series: tuple[tuple[Annotated[float, Field(ge=0, le=1e12)], Intensity], ...] = ()

    @model_validator(mode="after")
    def _rising(self) -> Carbon:
        times = [time for time, _ in self.series]
        if times and (times[0] != 0 or sorted(set(times)) != times):
            raise PydanticCustomError(
                "not_allowed", f"series: times {times} are not allowed: from 0 on, rising"
            )
        return self


class Prices(Spec):
    """What is paid for."""

    kwh_usd: Dollars = 0.25
    request_usd: Dollars = 0.0
    gb_second_usd: Dollars = 0.0
    """For the memory that replicas ask for."""


class FaasScenario(Scenario):
    """Where replicas of functions run, at the edge and in the cloud, and how many there are."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["faas"]
    duration_s: float = Field(3600.0, gt=0, le=1e9)
    load_scale: float = Field(1.0, gt=0, le=1e6)
    """Multiplies every request rate."""
    devices: Devices
    topology: Topology = Topology()
    network: Network = Network()
    functions: tuple[Function, ...] = Field(min_length=1, max_length=10_000)
    trace: Trace | None = None
    """Requests for all functions, in place of their own."""
    scheduler: Scheduler = Scheduler()
    router: RouterName = "round-robin"
    contention: Contention = Contention()
    power: NodePower = NodePower()
    carbon: Carbon = Carbon()
    prices: Prices = Prices()
    sample_s: float = Field(10.0, gt=0, le=1e9)
    """The length of the intervals over which the series of power has means."""

    @model_validator(mode="after")
    def _fits_together(self) -> FaasScenario:
        names = [function.name for function in self.functions]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("not_allowed", f"functions: {name!r} stands twice")
        if self.topology.kind == "none":
            for key, wanted in (
                ("network.requests: true", self.network.requests),
                ("router: 'locality'", self.router == "locality"),
            ):
                if wanted:
                    raise PydanticCustomError(
                        "not_allowed", f"{key} is not allowed: it needs a topology"
                    )
        return self

    @model_validator(mode="after")
    def _steps_can_be_counted(self) -> FaasScenario:
        """What happens again and again does so a number of times that a run can take."""
        least = self.duration_s / MOST_STEPS
        steps = {"sample_s": self.sample_s}
        for number, function in enumerate(self.functions):
            place, requests = f"functions[{number}]", function.requests
            if function.scaling.by not in ("none", "per-request"):
                steps[f"{place}.scaling.interval_s"] = function.scaling.interval_s
            for key in ("step_s", "burst_seconds"):
                if hasattr(requests, key):
                    steps[f"{place}.requests.{key}"] = getattr(requests, key)
        for key, seconds in steps.items():
            if seconds < least:
                raise PydanticCustomError(
                    "not_allowed",
                    f"{key}: {seconds:g} is not allowed: at least duration_s / {MOST_STEPS:,}, "
                    f"{least:g}",
                )
        return self

    @model_validator(mode="after")
    def _a_run_can_hold_it(self) -> FaasScenario:
        """Numbers that would fill the memory, or take for ever, are refused before anything is."""
        nodes = self.devices.number
        start = sum(
            f.scaling.minimum if f.scaling.start is None else f.scaling.start
            for f in self.functions
        )
        samples = self.duration_s / self.sample_s if self.record == "full" else 0.0
        for key, value, most in (
            ("devices", nodes, MOST_NODES),
            ("functions times devices", len(self.functions) * nodes, MOST_PAIRS),
            ("topology: routes of devices and zones", self.routes(), MOST_ROUTES),
            ("replicas at the start times devices", start * nodes, MOST_PLACEMENTS),
            ("requests", self.expected_requests(), MOST_REQUESTS),
            ("record: full, samples times devices", samples * nodes, MOST_ROWS),
        ):
            if value > most:
                raise PydanticCustomError(
                    "not_allowed", f"{key}: {value:,.15g} is not allowed: at most {most:,}"
                )
        return self

    def expected_requests(self) -> float:
        """How many requests are expected, of those whose rate is written down."""
        if self.trace is not None:
            return 0.0
        rates = [
            getattr(f.requests, "rate", getattr(f.requests, "mean", 0.0)) for f in self.functions
        ]
        return sum(rates) * self.load_scale * self.duration_s

    def routes(self) -> int:
        """About how many routes a topology has: to and from data and clients of each zone."""
        nodes, kind = self.devices.number, self.topology.kind
        if kind == "none":
            return 0
        zones = REGIONS if kind == "cloud-regions" else nodes // NODES_OF_A_ZONE
        return 4 * nodes * (self.topology.cells or zones)
