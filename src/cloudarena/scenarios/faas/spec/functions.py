"""What a user writes about a function: its images, its requests, and how it scales."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, nearest
from cloudarena.contract.spec import Spec
from cloudarena.engine import distributions
from cloudarena.engine.distributions import Law
from cloudarena.scenarios.faas.sources import Requests
from cloudarena.workloads.faas.devices import DEVICES, Accelerator
from cloudarena.workloads.faas.functions import FUNCTIONS
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
    "per-request",
]
Share = Annotated[float, Field(ge=0, le=1)]
Megabytes = Annotated[float, Field(ge=0, le=1e9)]
Cores = Annotated[float, Field(ge=0, le=1e6)]


class ConstantTime(Spec):
    """Always the same time."""

    law: Literal["constant"]
    seconds: float = Field(gt=0, le=1e9)

    def made(self) -> Law:
        """The law."""
        return distributions.constant(self.seconds)


class ExponentialTime(Spec):
    """Exponential times."""

    law: Literal["exponential"]
    mean_s: float = Field(gt=0, le=1e9)

    def made(self) -> Law:
        """The law."""
        return distributions.exponential(self.mean_s)


class LogNormalTime(Spec):
    """``loc + scale exp(sigma Z)`` with Z normal, between ``least`` and ``most`` seconds."""

    law: Literal["log-normal"]
    sigma: float = Field(gt=0, le=10)
    loc: float = Field(0.0, ge=-1e9, le=1e9)
    scale: float = Field(gt=0, le=1e9)
    least: float = Field(0.0, ge=0, le=1e9)
    most: float = Field(1e9, gt=0, le=1e9)

    @model_validator(mode="after")
    def _within_bounds(self) -> LogNormalTime:
        try:
            self.made()
        except SpecError as error:
            raise PydanticCustomError("not_allowed", str(error)) from None
        return self

    def made(self) -> Law:
        """The law."""
        return distributions.log_normal(self.sigma, self.loc, self.scale, self.least, self.most)


Time = Annotated[ConstantTime | ExponentialTime | LogNormalTime, Field(discriminator="law")]


class Use(Spec):
    """What an invocation uses while it executes: shares of the whole device."""

    cpu: Share = 0.25
    accelerator: Share = 0.0
    disk: Share = 0.0
    network: Share = 0.0
    memory: Share = 0.0


class Image(Spec):
    """A function of one's own: the same on all devices, or with factors of time by type."""

    execution: Time
    cold_execution: Time | None = None
    """The time of a replica's first invocation, where it is another."""
    time_factor: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = {}  # noqa: RUF012
    """By device type; a type with no factor has 1. With ``only``, others cannot run it."""
    only: bool = False
    use: Use = Use()
    cpu_millicores: int = Field(1000, ge=0, le=10**9)
    memory_mb: Megabytes = 100.0
    accelerator: Accelerator = "none"
    accelerator_memory_mb: Megabytes = 0.0
    image_mb: Megabytes = 0.0
    setup_mb: Megabytes = 0.0
    input_mb: Megabytes = 0.0
    output_mb: Megabytes = 0.0

    @model_validator(mode="after")
    def _known_devices(self) -> Image:
        for name in self.time_factor:
            if name not in DEVICES:
                raise PydanticCustomError(
                    "not_allowed",
                    f"time_factor: {name!r} is not allowed: one of {', '.join(DEVICES)}."
                    + nearest(name, DEVICES),
                )
        return self


class ScalingRule(Spec):
    """How many replicas a function has; see the page of the scenario for the rules."""

    by: ScalerName = "none"
    minimum: int = Field(1, ge=0, le=1_000_000)
    maximum: int = Field(20, ge=1, le=1_000_000)
    start: int | None = Field(None, ge=0, le=1_000_000)
    """Replicas at the start; the minimum by default."""
    interval_s: float = Field(15.0, gt=0, le=1e6)
    window_s: float | None = Field(None, gt=0, le=1e9)
    """How far back a scaler looks, in whole intervals; one by default."""
    threshold: float = Field(1.0, gt=0, le=1e9)
    lower_threshold: float | None = Field(None, ge=0, le=1e9)
    """Of ``request-rate``: below it replicas are taken away; the threshold by default."""
    tolerance: float = Field(0.1, ge=0, lt=1)
    step: int = Field(0, ge=0, le=1_000_000)
    """Replicas more or less at a time; 0: as many as the rule says, for request-rate 1."""
    cooldown_s: float = Field(0.0, ge=0, le=1e9)
    """Fewer replicas only so long after the last change."""
    expiry_s: float = Field(600.0, gt=0, le=1e9)
    """Of ``per-request``: a replica beyond the minimum ends after so long without requests."""

    @model_validator(mode="after")
    def _fits_together(self) -> ScalingRule:
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
        if self.window > LONGEST_WINDOW:
            raise PydanticCustomError(
                "not_allowed",
                f"window_s: {self.window_s:g} is not allowed: at most {LONGEST_WINDOW} intervals",
            )
        if self.lower_threshold is not None and self.lower_threshold > self.threshold:
            raise PydanticCustomError(
                "not_allowed",
                f"lower_threshold: {self.lower_threshold:g} is not allowed: at most threshold, "
                f"{self.threshold:g}",
            )
        return self

    @property
    def window(self) -> int:
        """The window in intervals."""
        return max(1, round((self.window_s or self.interval_s) / self.interval_s))


class Function(Spec):
    """A function: one of the published ones by its name, or one's own with ``image``."""

    name: str = Field(min_length=1, max_length=200)
    image: Image | None = None
    requests: Requests = NoRequests(source="none")
    scaling: ScalingRule = ScalingRule()
    workers: int | None = Field(None, ge=1, le=1_000_000)
    """Requests that a replica serves at a time; 4 for published functions, else 1."""
    queue_limit: int | None = Field(None, ge=0, le=10**9)
    """Requests that wait at a replica at most; more are rejected."""
    timeout_s: float | None = Field(None, gt=0, le=1e9)
    """A request that has no answer after so long is given up."""
    start_s: float | None = Field(None, ge=0, le=1e6)
    """How long a container takes to start; by default drawn from the published times by device,"""
    setup_s: float = Field(0.0, ge=0, le=1e6)
    """and, once it has its data, to be ready."""
    pull_cores: Cores = 1.0
    """Cores that are busy while a node pulls and unpacks the image,"""
    start_cores: Cores = 1.0
    """while a container starts,"""
    setup_cores: Cores = 1.0
    """and while it fetches its data and is set up; at most all of the device."""
    memory_bound: Share = 0.3
    """The share of execution that waits for memory when the bus is saturated."""
    request_kb: float = Field(10.0, ge=0, le=1e9)
    response_kb: float = Field(10.0, ge=0, le=1e9)

    @model_validator(mode="after")
    def _has_an_image(self) -> Function:
        if self.name == IDLE:
            raise PydanticCustomError(
                "not_allowed", f"name: {IDLE!r} is not allowed: tables use it for idle nodes"
            )
        if self.image is None and self.name not in FUNCTIONS:
            raise PydanticCustomError(
                "not_allowed",
                f"name: {self.name!r} is not allowed without an image: one of "
                f"{', '.join(FUNCTIONS)}.{nearest(self.name, FUNCTIONS)}",
            )
        return self
