"""What a user writes about nodes: their devices, how they are connected, and what they draw."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import nearest
from cloudarena.contract.spec import Spec
from cloudarena.workloads.faas.devices import DEVICES, MIX_NAMES, draw_devices

Watts = Annotated[float, Field(ge=0, le=1e6)]


def _form(value: Any) -> str:
    """How a mix is written; error messages leave words in angle brackets out."""
    return "<weights>" if isinstance(value, dict) else "<name>"


Weights = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1e9)]], Field(min_length=1), Tag("<weights>")
]
Mix = Annotated[Annotated[str, Tag("<name>")] | Weights, Discriminator(_form)]


class Devices(Spec):
    """So many devices by a mix: a name, or weights by type. Or counts by type, in their order."""

    count: int | None = Field(None, ge=1, le=1_000_000)
    mix: Mix | None = None
    types: dict[str, Annotated[int, Field(ge=1, le=1_000_000)]] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> Devices:
        if (self.types is None) == (self.mix is None):
            raise PydanticCustomError("not_allowed", "mix or types is needed, and only one of them")
        if (self.count is None) != (self.mix is None):
            raise PydanticCustomError("not_allowed", "count goes with mix, and mix with count")
        if isinstance(self.mix, str) and self.mix not in MIX_NAMES:
            raise PydanticCustomError(
                "not_allowed",
                f"mix: {self.mix!r} is not allowed: one of {', '.join(MIX_NAMES)}."
                + nearest(self.mix, MIX_NAMES),
            )
        weights = self.mix if isinstance(self.mix, dict) else {}
        for name in (*weights, *(self.types or {})):
            if name not in DEVICES:
                raise PydanticCustomError(
                    "not_allowed",
                    f"device {name!r} is not allowed: one of {', '.join(DEVICES)}."
                    + nearest(name, DEVICES),
                )
        if weights and not sum(weights.values()) > 0:
            raise PydanticCustomError("not_allowed", "mix: no device has a share")
        return self

    @property
    def number(self) -> int:
        """How many devices there are."""
        return self.count or sum((self.types or {}).values())

    def draw(self, seed: int) -> tuple[str, ...]:
        """The type of each device."""
        if self.types is not None:
            return tuple(name for name, count in self.types.items() for _ in range(count))
        assert self.mix is not None
        assert self.count is not None
        return draw_devices(self.mix, self.count, seed)


class Topology(Spec):
    """How the devices are connected; none: each transfer moves by itself."""

    kind: Literal["none", "urban-sensing", "industrial-iot", "cloud-regions", "city"] = "none"
    cells: int | None = Field(None, ge=1, le=10_000)
    """How many cells, factories or regions; by default it follows from the devices."""
    seed: int | None = Field(None, ge=0, le=2**63 - 1)
    """Decides devices and topology; the seed of the run by default."""

    @model_validator(mode="before")
    @classmethod
    def _a_name_is_a_kind(cls, data: Any) -> Any:
        return {"kind": data} if isinstance(data, str) else data


class Linear(Spec):
    """``idle + cpu u + accelerator u + network u + memory u + disk u``, in watts at full use."""

    model: Literal["linear"]
    idle_w: Watts
    cpu_w: Watts
    accelerator_w: Watts = 0.0
    network_w: Watts = 0.0
    memory_w: Watts = 0.0
    disk_w: Watts = 0.0


class Points(Spec):
    """Watts at 0, 10, ..., 100 % of CPU, as SPECpower publishes them, joined by lines."""

    model: Literal["points"]
    watts: tuple[Watts, ...] = Field(min_length=11, max_length=11)
    accelerator_w: Watts = 0.0
    network_w: Watts = 0.0
    memory_w: Watts = 0.0
    disk_w: Watts = 0.0

    @model_validator(mode="after")
    def _rising(self) -> Points:
        if sorted(self.watts) != list(self.watts):
            raise PydanticCustomError(
                "not_allowed", f"watts: {list(self.watts)} are not allowed: they must not fall"
            )
        return self


class Curve(Spec):
    """``idle + (busy - idle)(2u - u^r)`` for the CPU, as in vm, and the others by use."""

    model: Literal["curve"]
    idle_w: Watts
    busy_w: Watts
    r: float = Field(1.4, ge=1, le=2)
    accelerator_w: Watts = 0.0
    network_w: Watts = 0.0
    memory_w: Watts = 0.0
    disk_w: Watts = 0.0

    @model_validator(mode="after")
    def _busy_above_idle(self) -> Curve:
        if self.busy_w < self.idle_w:
            raise PydanticCustomError(
                "not_allowed",
                f"busy_w: {self.busy_w:g} is not allowed: at least idle_w, {self.idle_w:g}",
            )
        return self


class NodePower(Spec):
    """Power models by device type, where they are not the published ones; and switching off."""

    devices: dict[str, Annotated[Linear | Points | Curve, Field(discriminator="model")]] = {}  # noqa: RUF012
    off_after_s: float | None = Field(None, ge=0, le=1e9)
    """A node without replicas is switched off after so long; null: never."""
    off_w: Watts = 0.0
    boot_s: float = Field(30.0, ge=0, le=1e9)
    boot_w: Watts | None = None
    """While it boots; idle and a busy CPU by default."""

    @model_validator(mode="after")
    def _known(self) -> NodePower:
        for name in self.devices:
            if name not in DEVICES:
                raise PydanticCustomError(
                    "not_allowed",
                    f"devices: {name!r} is not allowed: one of {', '.join(DEVICES)}."
                    + nearest(name, DEVICES),
                )
        return self
