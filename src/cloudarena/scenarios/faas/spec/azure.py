"""Functions out of Azure's traces of 2019 and 2021, as a user asks for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter
from pydantic_core import PydanticCustomError

from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.arrivals.azure_functions import MINUTES
from cloudarena.workloads.faas.azure_day import AzureFunction, read_functions
from cloudarena.workloads.faas.azure_weeks import read_timed_functions

SCALING = {"by": "per-request", "minimum": 0, "maximum": 1000, "expiry_s": 600.0}
"""Replicas that come with requests and go after ten minutes without, as Azure's did."""


def _of_functions(value: Any) -> Any:
    """Keys that functions of a trace have, of which the trace brings some."""
    if isinstance(value, dict):
        for key in ("name", "requests"):
            if key in value:
                raise PydanticCustomError("not_allowed", f"{key}: is not allowed: the trace has it")
        image = value.get("image", {})
        if not isinstance(image, dict):
            raise PydanticCustomError("not_allowed", f"image: {image!r} is not allowed: keys")
    return value


Each = Annotated[dict[str, Any], AfterValidator(_of_functions)]


class AzureFunctions(Spec):
    """One function for each of the busiest of a day of Azure's trace, and their invocations."""

    source: Literal["azure-2019"]
    invocations: SpecPath
    """Invocations by the minute."""
    durations: SpecPath
    """Percentiles of durations by function."""
    memory: SpecPath | None = None
    """Percentiles of memory by app, or by function; 128 MB without it."""
    count: int = Field(500, ge=1, le=10_000)
    """The most functions, the busiest first."""
    trigger: str | None = None
    """Takes functions of this trigger."""
    first_minute: int = Field(1, ge=1, le=MINUTES)
    """Begins with this minute of the day."""
    each: Each = {}  # noqa: RUF012
    """Keys that every function has, such as scaling, workers, or image: {use: ...}."""

    def made(self, duration_s: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The functions and the trace of their requests, as a spec has them."""
        minutes = max(1, int(-(-duration_s // 60)))
        found = read_functions(
            *(self.invocations, self.durations, self.memory, self.count, self.trigger),
            *(self.first_minute, minutes),
        )
        functions = [
            _function(one, {"distribution": "quantiles", "points": one.points}, self.each)
            for one in found
        ]
        trace = {
            "source": "azure-2019",
            "path": str(self.invocations.absolute()),
            "assignment": "named",
            "first_minute": self.first_minute,
            "trigger": self.trigger,
        }
        return functions, trace


class AzureInvocations(Spec):
    """One function for each of the busiest of Azure's trace of 2021, with its invocations.

    At a load scale of 1 each invocation takes as long as it took.
    """

    source: Literal["azure-2021"]
    path: SpecPath
    """The invocations: app, func, end_timestamp, duration."""
    count: int = Field(500, ge=1, le=10_000)
    """The most functions, the busiest first."""
    first_s: float = Field(0.0, ge=0, le=1e12)
    """Begins so many seconds after the first invocation."""
    each: Each = {}  # noqa: RUF012
    """Keys that every function has, such as scaling, workers, or image: {memory_mb: 256}."""

    def made(self, duration_s: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The functions and the trace of their requests, as a spec has them."""
        functions = [
            _function(one, {"distribution": "recorded", "seconds": seconds}, self.each)
            for one, seconds in read_timed_functions(
                self.path, self.count, self.first_s, duration_s
            )
        ]
        trace = {
            "source": "azure-2021",
            "path": str(self.path.absolute()),
            "assignment": "named",
            "first_s": self.first_s,
        }
        return functions, trace


def _function(one: AzureFunction, time: dict[str, Any], each: dict[str, Any]) -> dict[str, Any]:
    """A function of a trace as a spec has it, with keys that all of them have."""
    others = {key: value for key, value in each.items() if key != "image"}
    image = {"execution": time, "memory_mb": one.memory_mb, **each.get("image", {})}
    return {"name": one.name, "image": image, "scaling": SCALING, **others}


TracedFunctions: TypeAdapter[AzureFunctions | AzureInvocations] = TypeAdapter(
    Annotated[AzureFunctions | AzureInvocations, Field(discriminator="source")]
)
"""Functions that a trace brings."""
