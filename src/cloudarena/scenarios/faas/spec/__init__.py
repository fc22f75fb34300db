"""What a user writes for a faas scenario, validated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import TraceError, nearest
from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.source import Source, SpecPath
from cloudarena.contract.spec import Spec, or_also
from cloudarena.scenarios.faas import KIND
from cloudarena.scenarios.faas.sources import Trace, count_windows, draw_requests
from cloudarena.scenarios.faas.spec.azure import (
    AzureFunctions,
    AzureInvocations,
    TracedFunctions,
)
from cloudarena.scenarios.faas.spec.devices import Devices
from cloudarena.scenarios.faas.spec.functions import Function, RuleName, ScalingRule
from cloudarena.scenarios.faas.spec.own import Evict, Keep, Model, Own, Router, is_own
from cloudarena.scenarios.faas.spec.power import GRIDS, Curve, Linear, NodePower, Points
from cloudarena.scenarios.faas.spec.shifting import hold
from cloudarena.scenarios.faas.spec.topology import Topology
from cloudarena.workloads.carbon import read_intensities
from cloudarena.workloads.faas.devices import Device
from cloudarena.workloads.faas.requests import Requests as Drawn
from cloudarena.workloads.faas.requests import joined
from cloudarena.workloads.resample import drawn_again

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

MOST_STEPS = 10_000_000
"""Samples, or ticks of a scaler, of a run."""
MOST_NODES = 200_000
MOST_NAMED = 62
"""Functions that others want near, or avoid: each is a bit of a whole number."""
MOST_PAIRS = 20_000_000
"""Functions times nodes."""
MOST_ROUTES = 10_000_000
"""The most routes, to and from each zone for each node."""
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


def _or_names(schema: dict[str, Any]) -> None:
    or_also(schema, "properties", "priorities", "items", type="string")


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
    most_node_w: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = {}  # noqa: RUF012
    """Watt budgets by type of device: a node that would draw more with one more invocation of the
    replica is filtered."""
    most_invocation_j: float | None = Field(None, gt=0, le=1e12)
    """A node on which an invocation would add more joules than this is filtered."""

    model_config = ConfigDict(json_schema_extra=_or_names)

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
                raise PydanticCustomError("not_allowed", f"priorities: {name!r} is a duplicate")
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

    model: Model = "shared"
    memory_saturation: float = Field(0.8, ge=1e-6, le=1)
    """The share of a device's cores whose memory-bound work saturates the memory bus."""


class Lifecycle(Spec):
    """Functions of one's own, ``FILE.py:NAME``, that say how long what all functions do takes.

    Each is told what is drawn by the spec's distribution, and returns the seconds that it takes."""

    start: Own | None = None
    """How long a container takes to start, once its image is there."""
    setup: Own | None = None
    """How long a container that has its data takes to be ready."""
    execution: Own | None = None
    """How long an invocation executes, alone on its node."""


class Grid(Spec):
    """The grid's intensity in g/kWh: one number, or rows of [second, intensity], each held."""

    g_per_kwh: Intensity = 300.0
    path: SpecPath | None = None
    """A table with the columns time_s and g_per_kwh, each held until the next."""
    series: tuple[tuple[Annotated[float, Field(ge=0, le=1e12)], Intensity], ...] = ()

    @model_validator(mode="after")
    def _rising(self) -> Grid:
        times = [time for time, _ in self.series]
        if times and (times[0] != 0 or sorted(set(times)) != times):
            raise PydanticCustomError(
                "not_allowed", f"series: times {times} are not allowed: from 0 on, rising"
            )
        if self.series and self.path is not None:
            raise PydanticCustomError("not_allowed", "series and path are not allowed together")
        return self

    def rows(self) -> tuple[tuple[float, float], ...]:
        """Rows of [second, intensity], at least one."""
        if self.path is not None:
            return read_intensities(self.path)
        return self.series or ((0.0, self.g_per_kwh),)


class Carbon(Grid):
    """The intensity of the grid, and of the grids of zones that have another."""

    zones: dict[str, Grid] = Field({}, max_length=GRIDS - 2)


class Prices(Spec):
    """What is paid for."""

    kwh_usd: Dollars = 0.25
    request_usd: Dollars = 0.0
    gb_second_usd: Dollars = 0.0
    """The price of the memory that replicas ask for."""
    device_hour_usd: dict[str, Dollars] = {}  # noqa: RUF012
    """What an hour of a device costs, by its type, for the hours in which it holds a replica; of
    a type with a price the energy is in it."""
    device_hours: Literal["used", "all"] = "used"
    """Whether devices are paid for while they hold a replica, or all the time: reserved, owned."""
    carbon_tonne_usd: Dollars = 0.0
    """The price of a tonne of CO2."""
    unserved_usd: Dollars = 0.0
    """The penalty for each request that has no answer."""


def _or_a_trace(schema: dict[str, Any]) -> None:
    forms = [AzureFunctions.model_json_schema(), AzureInvocations.model_json_schema()]
    or_also(schema, "properties", "functions", anyOf=forms)


class FaasScenario(Scenario):
    """Where replicas of functions run, at the edge and in the cloud, and how many there are."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["faas"]
    duration_s: float = Field(3600.0, gt=0, le=1e9)
    warmup_s: float = Field(0.0, ge=0, le=1e9)
    """The first seconds, in which functions are deployed; metrics leave them out."""
    load_from_s: float | None = Field(None, ge=0, le=1e9)
    """When the requests of the workload begin; at the end of the warm-up by default."""
    load_scale: float = Field(1.0, gt=0, le=1e6)
    """Multiplies every request rate."""
    devices: Devices = Devices()
    topology: Topology = Topology()
    network: Network = Network()
    functions: tuple[Function, ...] = Field(min_length=1, max_length=10_000)
    trace: Trace | None = None
    """Requests for all functions, in place of their own."""
    scheduler: Scheduler = Scheduler()
    router: Router = "round-robin"
    """Which ready replica takes a request: a rule, or a function of one's own."""
    keep: Keep = "fixed"
    """How long idle replicas of functions that scale per request stay: for ``expiry_s``, by the
    idle times of the function, until they are evicted, or as a function of one's own says."""
    evict: Evict = "none"
    """Which idle replica of a function that scales per request makes room for one that requests
    wait for: none, the least recently used, that of the lowest greedy-dual rank, or of the lowest
    rank that a function of one's own gives."""
    scaler: RuleName | None = None
    """The rule by which all functions scale, in place of ``by`` of their own."""
    lifecycle: Lifecycle = Lifecycle()
    contention: Contention = Contention()
    power: NodePower = NodePower()
    carbon: Carbon = Carbon()
    prices: Prices = Prices()
    sample_s: float = Field(10.0, gt=0, le=1e9)
    """The length of the intervals over which the series of power has means."""
    measure: Own | None = None
    """A function of one's own that looks at the run at the end of each of these intervals: what it
    returns, a number or numbers by name, is the table ``measured``."""

    model_config = ConfigDict(json_schema_extra=_or_a_trace)

    @model_validator(mode="before")
    @classmethod
    def _functions_of_a_trace(cls, data: Any, info: ValidationInfo) -> Any:
        """Functions may be those of a trace, which brings their requests too."""
        if not isinstance(data, Mapping) or not isinstance(data.get("functions"), Mapping):
            return data
        if data.get("trace") is not None:
            raise PydanticCustomError(
                "not_allowed", "trace: is not allowed with functions of a trace, which brings it"
            )
        found = TracedFunctions.validate_python(data["functions"], context=info.context)
        span = data.get("duration_s", cls.model_fields["duration_s"].default)
        begin = data.get("load_from_s")
        begin = data.get("warmup_s", 0.0) if begin is None else begin
        if not isinstance(span, (int, float)) or not isinstance(begin, (int, float)):
            return data
        try:
            functions, trace = found.made(max(0.0, float(span) - float(begin)))
        except TraceError as error:
            raise PydanticCustomError("not_allowed", f"functions: {error}") from None
        return {**data, "functions": functions, "trace": trace}

    @model_validator(mode="after")
    def _load_within_the_run(self) -> FaasScenario:
        for key in ("warmup_s", "load_from_s"):
            seconds = getattr(self, key)
            if seconds is not None and seconds >= self.duration_s:
                raise PydanticCustomError(
                    "not_allowed",
                    f"{key}: {seconds:g} is not allowed: less than duration_s, {self.duration_s:g}",
                )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> FaasScenario:
        names = [function.name for function in self.functions]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("not_allowed", f"functions: {name!r} is a duplicate")
        by_request = any(self.rule_of(one).by == "per-request" for one in self.functions)
        for key, word, plain in (("keep", self.keep, "fixed"), ("evict", self.evict, "none")):
            if word != plain and not by_request:
                raise PydanticCustomError(
                    "not_allowed",
                    f"{key}: {word!r} is not allowed: no function scales by per-request",
                )
        own = self.topology.kind == "own"
        if self.devices.is_given == own:
            words = "are not allowed with nodes of one's own" if own else "is needed"
            raise PydanticCustomError("not_allowed", f"devices: mix or types {words}")
        self._neighbours_are_known(names)
        self._calls_end(names)
        if self.topology.kind == "none":
            zones = any(function.placement.zones for function in self.functions)
            for key, wanted in (
                ("network.requests: true", self.network.requests),
                ("router: 'locality'", self.router == "locality"),
                ("placement.zones", zones),
                ("carbon.zones", bool(self.carbon.zones)),
            ):
                if wanted:
                    raise PydanticCustomError(
                        "not_allowed", f"{key} is not allowed: it needs a topology"
                    )
        return self

    def _calls_end(self, names: list[str]) -> None:
        """Functions that others call are there, and none calls itself by way of others."""
        called = {one.name: [call.function for call in one.calls] for one in self.functions}
        for index, function in enumerate(self.functions):
            for name in called[function.name]:
                if name not in called:
                    raise PydanticCustomError(
                        "not_allowed",
                        f"functions[{index}].calls: {name!r} is not a function."
                        + nearest(name, names),
                    )
        for name in names:
            reached, new = set[str](), set(called[name])
            while new:
                reached |= new
                new = {after for one in new for after in called[one]} - reached
            if name in reached:
                raise PydanticCustomError(
                    "not_allowed", f"functions: {name!r} is not allowed to call itself, by others"
                )

    def _neighbours_are_known(self, names: list[str]) -> None:
        """Functions that others want near, or avoid, are there, and few enough."""
        named = set()
        for index, function in enumerate(self.functions):
            for key in ("near", "apart"):
                for name in getattr(function.placement, key):
                    if name not in names:
                        raise PydanticCustomError(
                            "not_allowed",
                            f"functions[{index}].placement.{key}: {name!r} is not a function."
                            + nearest(name, names),
                        )
                    named.add(name)
        if len(named) > MOST_NAMED:
            raise PydanticCustomError(
                "not_allowed",
                f"placement: near and apart name {len(named)} functions: at most {MOST_NAMED}",
            )

    @model_validator(mode="after")
    def _grids_of_delays_are_known(self) -> FaasScenario:
        """Whoever waits for the grid of a zone waits for one that is given."""
        known = list(self.carbon.zones)
        for index, function in enumerate(self.functions):
            if function.delay is None:
                continue
            zone, asked = function.delay.zone, function.requests.source != "none"
            if self.trace is None and not asked:
                raise PydanticCustomError(
                    "not_allowed",
                    f"functions[{index}].delay: is not allowed without requests: calls by others "
                    "are not held",
                )
            if zone is not None and zone not in known:
                listed = f"one of {', '.join(known)}." if known else "carbon.zones has none"
                raise PydanticCustomError(
                    "not_allowed",
                    f"functions[{index}].delay.zone: {zone!r} is not allowed: {listed}"
                    + nearest(zone, known),
                )
        return self

    @model_validator(mode="after")
    def _devices_are_known(self) -> FaasScenario:
        """Whatever is said of a type of device is said of one that there is."""
        table = self.power.table
        said: list[tuple[str, Iterable[str]]] = [
            ("prices.device_hour_usd", self.prices.device_hour_usd),
            ("power.devices", self.power.devices),
            ("scheduler.most_node_w", self.scheduler.most_node_w),
            ("power.caps", self.power.caps),
            ("power.table", table if isinstance(table, Mapping) else ()),
        ]
        nodes = [node.device for node in self.topology.nodes if node.device is not None]
        said.append(("topology.nodes", nodes))
        for index, function in enumerate(self.functions):
            where = f"functions[{index}]"
            said.append((f"{where}.placement.devices", function.placement.devices or ()))
            said.append((f"{where}.by_device", function.by_device))
            for image in function.own:
                said.append((f"{where}.image.time_factor", image.time_factor))
        known = self.devices.known
        for key, names in said:
            for name in names:
                if name not in known:
                    raise PydanticCustomError(
                        "not_allowed",
                        f"{key}: {name!r} is not allowed: one of {', '.join(known)}."
                        + nearest(name, known),
                    )
        return self

    @model_validator(mode="after")
    def _steps_can_be_counted(self) -> FaasScenario:
        """What happens again and again does so a number of times that a run can take."""
        least = self.duration_s / MOST_STEPS
        steps = {"sample_s": self.sample_s}
        for index, function in enumerate(self.functions):
            where, requests = f"functions[{index}]", function.requests
            if self.rule_of(function).ticks:
                steps[f"{where}.scaling.interval_s"] = self.rule_of(function).interval_s
            for key in ("step_s", "length_s"):
                if hasattr(requests, key):
                    steps[f"{where}.requests.{key}"] = getattr(requests, key)
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
        nodes = self.node_count
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

    @property
    def has_extras(self) -> bool:
        """Whether the kernel needs what only some specs have."""
        return bool(
            self.topology.failures
            or self.carbon.zones
            or self.power.supplies
            or any(self.own_functions)
            or any(one.calls or one.retries or one.failure_share for one in self.functions)
        )

    @property
    def own_functions(self) -> tuple[str | None, ...]:
        """Functions of one's own: for router, contention, ``keep``, ``evict`` and the lifecycle."""
        given = self.router, self.contention.model, self.keep, self.evict
        rules = (one if is_own(one) else None for one in given)
        return (*rules, self.lifecycle.start, self.lifecycle.setup, self.lifecycle.execution)

    def rule_of(self, function: Function) -> ScalingRule:
        """How a function scales: by the rule for all functions, or by its own."""
        return function.rule(self.scaler)

    @property
    def source(self) -> Source | None:
        """The trace of the requests, if there is one."""
        return self.trace

    @property
    def resampled(self) -> str:
        """What replications draw again of a recorded trace, in words; nothing if they do not."""
        if self.trace is None:
            return ""
        return drawn_again(getattr(self.trace, "resample", None), self.load_scale)

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of devices."""
        return tuple(
            MachineGroup(
                name,
                f"devices.types.{name}",
                count,
                self.prices.device_hour_usd.get(name, 0.0),
                entry=f"devices.types.{name}",
            )
            for name, count in (self.devices.types or {}).items()
        )

    @property
    def length_s(self) -> float:
        """How long a run lasts."""
        return self.duration_s

    def expected_requests(self) -> float:
        """How many requests are expected, of those whose rate is written down."""
        if self.trace is not None:
            return 0.0
        rates = [
            getattr(f.requests, "rate", getattr(f.requests, "mean", 0.0)) for f in self.functions
        ]
        return sum(rates) * self.load_scale * self.loaded_s

    @property
    def begin_s(self) -> float:
        """When the requests of the workload begin."""
        return self.warmup_s if self.load_from_s is None else self.load_from_s

    @property
    def loaded_s(self) -> float:
        """How long requests come."""
        return self.duration_s - self.begin_s

    @property
    def holds(self) -> bool:
        """Whether requests of some functions wait for a greener grid."""
        return any(function.delay is not None for function in self.functions)

    def draw_window(self, seed: int, window: int = 0) -> Drawn:
        """The requests of a window of the run, at the times of the run.

        Where some are held, there is one window, with all of them.
        """
        if not self.holds:
            return self._drawn(seed, window)
        parts = [self._drawn(seed, k) for k in range(self._drawn_windows())]
        return hold(self, joined(parts), seed)

    def _drawn(self, seed: int, window: int) -> Drawn:
        """The requests of a window as they come."""
        span = (self.functions, self.trace, self.loaded_s, seed, self.load_scale)
        drawn = draw_requests(*span, window)
        if self.begin_s > 0.0:
            return drawn._replace(arrival_s=drawn.arrival_s + self.begin_s)
        return drawn

    def _windows(self) -> int:
        """How many windows of requests there are."""
        return 1 if self.holds else self._drawn_windows()

    def _drawn_windows(self) -> int:
        """How many windows requests are drawn in."""
        return count_windows(self.functions, self.trace, self.loaded_s, self.load_scale)

    def load_workload(self, seed: int) -> Iterator[Drawn]:
        """The requests of a seed, window by window, so that memory does not grow with them."""
        for window in range(self._windows()):
            yield self.draw_window(seed, window)

    def requests_of(self, seed: int) -> tuple[Drawn, int]:
        """The first requests of a seed, and in how many windows the others are drawn later."""
        if "load_workload" in vars(self):  # a part of them, as windows of environments are
            part: Drawn = vars(self)["load_workload"](seed)
            return part, 0
        return self.draw_window(seed), self._windows() - 1

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What a trace does not tell, or that requests are drawn."""
        if self.trace is not None:
            return self.trace.not_told(seed)
        if any(function.requests.is_generator for function in self.functions):
            return {"all": f"drawn by the generators of the spec under seed {seed}"}
        return {}

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return self.topology.number or self.devices.number

    def power_of(self, device: Device) -> Linear | Points | Curve:
        """The power model of a type of device: that of ``power.devices``, its own, or a table's."""
        own = self.devices.define.get(device.name)
        if own is not None and own.power is not None and device.name not in self.power.devices:
            return own.power
        return self.power.model_of(device)

    def routes(self) -> int:
        """About how many routes a topology has: to and from data and clients of each zone."""
        nodes, kind = self.node_count, self.topology.kind
        if kind == "none":
            return 0
        if kind == "own":
            zones = len({node.zone for node in self.topology.nodes if node.device is not None})
            return 2 * nodes * (zones + len(self.topology.storage_names))
        zones = REGIONS if kind == "cloud-regions" else nodes // NODES_OF_A_ZONE
        return 4 * nodes * (self.topology.cells or zones)
