"""What a user writes about a function: its images, its requests, and how it scales."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import nearest
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec, or_also
from cloudarena.scenarios.faas.sources import Requests
from cloudarena.scenarios.faas.spec.own import KeepName
from cloudarena.scenarios.faas.spec.shifting import Delay
from cloudarena.scenarios.faas.spec.times import EmpiricalTime, Time
from cloudarena.workloads.faas.devices import Accelerator, Architecture, Tier
from cloudarena.workloads.faas.functions import FUNCTIONS, WORKERS
from cloudarena.workloads.faas.measured import read_measured
from cloudarena.workloads.faas.profiles import NoRequests

IDLE = "idle"
"""The row, in a table of functions, of what no function has used."""
LONGEST_WINDOW = 64
"""Intervals that a scaler can look back."""

ScalerName = Literal[
    "none",
    "request-rate",
    "average-requests",
    "queue-length",
    "cpu-utilisation",
    "concurrency",
    "per-request",
]
RuleName = Literal[ScalerName, "knative", "hpa"]
PRESETS: dict[str, dict[str, Any]] = {
    "knative": {"by": "concurrency", "interval_s": 2.0, "window_s": 60.0, "panic_s": 6.0},
    "hpa": {
        "by": "cpu-utilisation",
        "interval_s": 15.0,
        "threshold": 0.8,
        "stabilisation_s": 300.0,
        "most_up": 2.0,
        "most_more": 4,
    },
}
"""Rules that are others with the settings of an autoscaler as it comes."""
KNATIVE_SHARE = 0.7
"""The share of a replica's workers that Knative wants busy."""
MOST_BINS = 1440
"""Bins that a histogram of idle times can have."""
Share = Annotated[float, Field(ge=0, le=1)]
Megabytes = Annotated[float, Field(ge=0, le=1e9)]
Cores = Annotated[float, Field(ge=0, le=1e6)]


class Use(Spec):
    """What an invocation uses while it executes: shares of the whole device."""

    cpu: Share = 0.25
    accelerator: Share = 0.0
    disk: Share = 0.0
    network: Share = 0.0
    memory: Share = 0.0


def _size_form(value: Any) -> str:
    """How a size is written; error messages leave words in angle brackets out."""
    return "<sizes>" if isinstance(value, dict) else "<size>"


Sizes = Annotated[
    Annotated[Megabytes, Tag("<size>")]
    | Annotated[dict[Architecture, Megabytes], Field(min_length=1), Tag("<sizes>")],
    Discriminator(_size_form),
]


class OnDevice(Spec):
    """What a function does on one type of device, where that is something of its own."""

    execution: Time | None = None
    use: Use | None = None
    start: Time | None = None
    """How long a container takes to start."""
    setup: Time | None = None
    """How long a container that has its data takes to be ready."""
    image: str | None = None
    """The image that this holds for; all of the function's by default."""


class Placement(Spec):
    """Where replicas of a function may be; each list that is given must hold."""

    zones: tuple[str, ...] | None = Field(None, min_length=1)
    tiers: tuple[Tier, ...] | None = Field(None, min_length=1)
    devices: tuple[str, ...] | None = Field(None, min_length=1)
    """Types of devices."""
    labels: dict[str, str] = {}  # noqa: RUF012
    """Labels that the node must have, all of them."""
    near: tuple[str, ...] = ()
    """Affinity: a node must hold a replica of one of these functions."""
    apart: tuple[str, ...] = ()
    """Anti-affinity: a node must hold none of these functions, nor take one of them later."""
    per_node: int | None = Field(None, ge=1, le=1_000_000)
    """The most replicas of this function on a node."""

    def allows(self, device: str, tier: str, zone: str, labels: Mapping[str, str]) -> bool:
        """Whether a node may hold the function, whoever else is there."""
        return (
            (self.zones is None or zone in self.zones)
            and (self.tiers is None or tier in self.tiers)
            and (self.devices is None or device in self.devices)
            and all(labels.get(key) == value for key, value in self.labels.items())
        )

    @property
    def is_free(self) -> bool:
        """Whether any node will do, whoever else is there."""
        return self.zones is self.tiers is self.devices is None and not self.labels


class Image(Spec):
    """A function of one's own: the same on all devices, or with factors of time by type."""

    name: str | None = Field(None, min_length=1, max_length=200)
    """What the image is called; by default as the function. Functions may share an image."""
    execution: Time
    cold_execution: Time | None = None
    """The time of a replica's first invocation, where it is another."""
    time_factor: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = {}  # noqa: RUF012
    """Factors by device type; a type with none has 1. With ``only``, others cannot run it."""
    only: bool = False
    use: Use = Use()
    cpu_millicores: int = Field(1000, ge=0, le=10**9)
    memory_mb: Megabytes = 100.0
    accelerator: Accelerator = "none"
    accelerator_memory_mb: Megabytes = 0.0
    image_mb: Sizes = 0.0
    """The size of the image, or sizes by architecture: then it runs on no other."""
    setup_mb: Megabytes = 0.0
    input_mb: Megabytes = 0.0
    output_mb: Megabytes = 0.0


class Call(Spec):
    """Another function that each invocation of a function calls."""

    function: str
    count: int = Field(1, ge=1, le=1000)
    wait: bool = True
    """Whether the caller waits for the answer, with its worker held, and fails without one."""


class IdleTimes(Spec):
    """How ``hybrid-histogram`` counts the idle times of a function, and what it makes of them."""

    range_s: float = Field(14_400.0, gt=0, le=1e9)
    """Longer idle times are only counted; how long a replica stays when they tell nothing."""
    bin_s: float = Field(60.0, gt=0, le=1e9)
    head: Share = 0.05
    """The share of idle times that may be shorter than the time without a replica."""
    tail: Share = 0.99
    """The share of idle times at which the replica ends."""
    margin: float = Field(0.1, ge=0, lt=1)
    """The share of time by which it is there before and stays after."""
    least_variation: float = Field(2.0, ge=0, le=1e6)
    """The least coefficient of variation of the bins' counts at which they tell something."""

    @model_validator(mode="after")
    def _fits_together(self) -> IdleTimes:
        if self.head > self.tail:
            raise PydanticCustomError(
                "not_allowed", f"head: {self.head:g} is not allowed: at most tail, {self.tail:g}"
            )
        if not 1 <= self.bins <= MOST_BINS:
            raise PydanticCustomError(
                "not_allowed",
                f"bin_s: {self.bin_s:g} is not allowed: range_s, {self.range_s:g}, must be 1 to "
                f"{MOST_BINS} bins",
            )
        return self

    @property
    def bins(self) -> int:
        """The number of bins."""
        return round(self.range_s / self.bin_s)


class ScalingRule(Spec):
    """How many replicas a function has; see the page of the scenario for the rules."""

    by: RuleName = "none"
    minimum: int = Field(1, ge=0, le=1_000_000)
    maximum: int = Field(20, ge=1, le=1_000_000)
    start: int | None = Field(None, ge=0, le=1_000_000)
    """Replicas at the start; the minimum by default."""
    interval_s: float = Field(15.0, gt=0, le=1e6)
    ask: bool = False
    """Whether a scaler of one's own is asked every ``interval_s`` with ``none`` and
    ``per-request`` too, of which the latter takes its answer as the fewest; others always ask."""
    window_s: float | None = Field(None, gt=0, le=1e9)
    """How far back a scaler looks, in whole intervals; one by default."""
    threshold: float = Field(1.0, gt=0, le=1e9)
    lower_threshold: float | None = Field(None, ge=0, le=1e9)
    """The rate below which ``request-rate`` takes replicas away; the threshold by default."""
    tolerance: float = Field(0.1, ge=0, lt=1)
    step: int = Field(0, ge=0, le=1_000_000)
    """Replicas more or less at a time; 0: as many as the rule says, for request-rate 1."""
    cooldown_s: float = Field(0.0, ge=0, le=1e9)
    """Fewer replicas only so long after the last change."""
    stabilisation_s: float = Field(0.0, ge=0, le=1e9)
    """Fewer replicas only as few as the most that was suggested so long back, in intervals; before
    the first suggestion, as there were at the start."""
    panic_s: float | None = Field(None, gt=0, le=1e9)
    """The window in which ``concurrency`` looks for surges; a tenth of ``window_s`` by default."""
    panic_threshold: float = Field(2.0, ge=1, le=1e6)
    """A surge asks for so many times the ready replicas."""
    most_up: float = Field(1000.0, gt=1, le=1e6)
    """How many times the ready replicas ``concurrency`` asks for at most; of ``cpu-utilisation``,
    how many times the replicas there are at most an interval later, ready or not."""
    most_more: int = Field(0, ge=0, le=1_000_000)
    """How many more of them at most, where that is more than ``most_up`` times."""
    most_down: float = Field(2.0, gt=1, le=1e6)
    """The part of the ready replicas that ``concurrency`` keeps at least: one over this."""
    expiry_s: float = Field(600.0, gt=0, le=1e9)
    """The idle time after which ``per-request`` ends a replica beyond the minimum."""
    keep: KeepName | None = None
    """How long ``per-request`` keeps an idle replica: ``expiry_s``, by the function's idle times,
    or until it is evicted; by default as ``keep`` of the scenario says."""
    idle_times: IdleTimes = IdleTimes()
    """What ``hybrid-histogram`` looks at."""

    @model_validator(mode="after")
    def _fits_together(self) -> ScalingRule:
        if self.keep is not None and self.by != "per-request":
            raise PydanticCustomError(
                "not_allowed",
                f"keep: {self.keep!r} is not allowed with by: {self.by}: it needs per-request",
            )
        if self.maximum < self.minimum:
            raise PydanticCustomError(
                "not_allowed",
                f"maximum: {self.maximum} is not allowed: at least minimum, {self.minimum}",
            )
        if self.start is not None and not self.minimum <= self.start <= self.maximum:
            raise PydanticCustomError(
                "not_allowed",
                f"start: {self.start} is not allowed: from {self.minimum} to {self.maximum}",
            )
        for key, intervals in (("window_s", self.window), ("stabilisation_s", self.stabilisation)):
            if intervals > LONGEST_WINDOW:
                raise PydanticCustomError(
                    "not_allowed",
                    f"{key}: {getattr(self, key):g} is not allowed: at most {LONGEST_WINDOW} "
                    "intervals",
                )
        if self.panic_window > self.window:
            raise PydanticCustomError(
                "not_allowed",
                f"panic_s: {self.panic_s:g} is not allowed: at most window_s, "
                f"{self.window * self.interval_s:g}",
            )
        if self.lower_threshold is not None and self.lower_threshold > self.threshold:
            raise PydanticCustomError(
                "not_allowed",
                f"lower_threshold: {self.lower_threshold:g} is not allowed: at most threshold, "
                f"{self.threshold:g}",
            )
        return self

    @property
    def ticks(self) -> bool:
        """Whether a scaler is asked every interval."""
        return self.ask or self.by not in ("none", "per-request")

    def expanded(self, workers: int, by: str | None = None) -> ScalingRule:
        """Puts the settings that a name stands for in its place; what is written goes before them.

        The name is that of the rule, or another.
        """
        name = by or self.by
        written = {key: getattr(self, key) for key in self.model_fields_set if key != "by"}
        settings = dict(PRESETS.get(name, {"by": name}))
        if name == "knative":
            settings["threshold"] = KNATIVE_SHARE * workers
        if settings["by"] != "per-request":
            written.pop("keep", None)
        return ScalingRule.model_validate({**settings, **written})

    @property
    def window(self) -> int:
        """The window in intervals."""
        return max(1, round((self.window_s or self.interval_s) / self.interval_s))

    @property
    def panic_window(self) -> int:
        """The window for surges in intervals."""
        seconds = self.window * self.interval_s / 10 if self.panic_s is None else self.panic_s
        return max(1, round(seconds / self.interval_s))

    @property
    def stabilisation(self) -> int:
        """The time of stabilisation in intervals."""
        return round(self.stabilisation_s / self.interval_s)


def _shorter(schema: dict[str, Any]) -> None:
    """A name of a function that is called, and ``from`` for ``like``."""
    or_also(schema, "properties", "calls", "items", type="string")
    schema["properties"]["from"] = schema["properties"]["like"]


class Function(Spec):
    """A function: one of the published ones by its name, or one's own with ``image``."""

    model_config = ConfigDict(json_schema_extra=_shorter)

    name: str = Field(min_length=1, max_length=200)
    like: str | None = None
    """The published function that it is, under a name of its own; ``from`` says the same."""
    image: Image | None = None
    images: tuple[Image, ...] = ()
    """Images of one's own, the best first: a node takes the first that it can."""
    by_device: dict[str, OnDevice] = {}  # noqa: RUF012
    """What is different on a type of device, such as one of your own."""
    measured: SpecPath | None = None
    """A table of invocations: device, seconds, and any of cpu, gpu, disk, network, memory.

    On the devices that it names, times are drawn from its rows, and use is their mean."""
    placement: Placement = Placement()
    requests: Requests = NoRequests(source="none")
    delay: Delay | None = None
    """How long its requests may be held until the grid is greener; those of callers are not."""
    scaling: ScalingRule = ScalingRule()
    workers: int | None = Field(None, ge=1, le=1_000_000)
    """Requests that a replica serves at a time; 4 for published functions, else 1."""
    queue_limit: int | None = Field(None, ge=0, le=10**9)
    """Requests that wait at a replica at most; more are rejected."""
    timeout_s: float | None = Field(None, gt=0, le=1e9)
    """A request that has no answer after so long is given up."""
    failure_share: Share = 0.0
    """The share of invocations that fail, at the end of their execution."""
    retries: int = Field(0, ge=0, le=1000)
    """How often a request that has failed, or whose node has, is begun again."""
    calls: tuple[Call, ...] = ()
    """The functions that an invocation calls once it has executed; a name alone calls it once."""
    start_s: float | None = Field(None, ge=0, le=1e6)
    """How long a container takes to start; by default drawn from published times by device."""
    start: Time | None = None
    """How long a container takes to start, by a distribution."""
    setup_s: float = Field(0.0, ge=0, le=1e6)
    """How long a container that has its data takes to be ready."""
    setup: Time | None = None
    """How long that takes, by a distribution."""
    pull_cores: Cores = 1.0
    """Cores that are busy while a node pulls and unpacks the image; at most all of the device."""
    start_cores: Cores = 1.0
    """Cores that are busy while a container starts; at most all of the device."""
    setup_cores: Cores = 1.0
    """Cores that are busy while a container fetches its data and is set up; at most all."""
    memory_bound: Share = 0.3
    """The share of execution that waits for memory when the bus is saturated."""
    request_kb: float = Field(10.0, ge=0, le=1e9)
    response_kb: float = Field(10.0, ge=0, le=1e9)

    @model_validator(mode="before")
    @classmethod
    def _from_is_like(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "from" in data and "like" not in data:
            return {("like" if key == "from" else key): value for key, value in data.items()}
        return data

    @model_validator(mode="before")
    @classmethod
    def _names_are_calls(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("calls"), (list, tuple)):
            calls = [{"function": one} if isinstance(one, str) else one for one in data["calls"]]
            return {**data, "calls": calls}
        return data

    @model_validator(mode="after")
    def _has_an_image(self) -> Function:
        if self.name == IDLE:
            raise PydanticCustomError(
                "not_allowed", f"name: {IDLE!r} is not allowed: tables use it for idle nodes"
            )
        key, name = ("name", self.name) if self.like is None else ("like", self.like)
        if not self.own and name not in FUNCTIONS:
            raise PydanticCustomError(
                "not_allowed",
                f"{key}: {name!r} is not allowed without an image: one of "
                f"{', '.join(FUNCTIONS)}.{nearest(name, FUNCTIONS)}",
            )
        if (self.image is not None) + bool(self.images) + (self.like is not None) > 1:
            raise PydanticCustomError(
                "not_allowed", "only one of like, image and images is allowed"
            )
        names = self.image_names
        for image in names:
            if names.count(image) > 1:
                raise PydanticCustomError("not_allowed", f"images: {image!r} is a duplicate")
        for device, entry in self.by_device.items():
            if entry.image is not None and entry.image not in names:
                raise PydanticCustomError(
                    "not_allowed",
                    f"by_device.{device}.image: {entry.image!r} is not allowed: one of "
                    f"{', '.join(names)}.{nearest(entry.image, names)}",
                )
        self.rule()
        for time, seconds in (("start", self.start_s is not None), ("setup", self.setup_s > 0)):
            if getattr(self, time) is not None and seconds:
                raise PydanticCustomError(
                    "not_allowed", f"{time}: is not allowed together with {time}_s"
                )
        return self

    @property
    def own(self) -> tuple[Image, ...]:
        """Images of one's own; none for a published function."""
        return (self.image,) if self.image is not None else self.images

    @property
    def served_at_a_time(self) -> int:
        """Requests that a replica serves at a time."""
        return self.workers or (1 if self.own else WORKERS)

    def rule(self, by: str | None = None) -> ScalingRule:
        """How many replicas it has, by its own rule or by another that is named."""
        return self.scaling.expanded(self.served_at_a_time, by)

    @property
    def published(self) -> str:
        """The published function that it is; the empty string for one's own."""
        return "" if self.own else self.like or self.name

    @property
    def image_names(self) -> tuple[str, ...]:
        """The names of its images, as they are ranked."""
        if not self.own:
            return FUNCTIONS[self.published].images
        alone = len(self.own) == 1
        return tuple(
            one.name or (self.name if alone else f"{self.name}-{k}")
            for k, one in enumerate(self.own)
        )

    @cached_property
    def on_devices(self) -> Mapping[str, OnDevice]:
        """What is different on some devices; what is written goes before what was measured."""
        if self.measured is None:
            return self.by_device
        found = {}
        for device, (seconds, use) in read_measured(self.measured).items():
            cpu, accelerator, disk, network, memory = use
            shares = Use(
                cpu=cpu, accelerator=accelerator, disk=disk, network=network, memory=memory
            )
            time = EmpiricalTime(distribution="empirical", seconds=seconds)
            entry = OnDevice(execution=time, use=shares)
            written = self.by_device.get(device)
            changes = {} if written is None else written.model_dump(exclude_none=True)
            found[device] = OnDevice.model_validate({**dict(entry), **changes})
        return {**self.by_device, **found}
