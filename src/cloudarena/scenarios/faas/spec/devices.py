"""What a user writes about nodes: their devices, published ones and one's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import nearest
from cloudarena.contract.spec import Spec
from cloudarena.engine.distributions import constant
from cloudarena.scenarios.faas.spec.power import PowerModel
from cloudarena.scenarios.faas.spec.times import Time
from cloudarena.workloads.faas.devices import (
    DEVICES,
    MIX_NAMES,
    NIC_BYTES_S,
    Accelerator,
    Architecture,
    Device,
    Power,
    Tier,
    draw_devices,
)

MEGABIT = 125_000.0
"""Bytes a second of a megabit a second."""


def _form(value: Any) -> str:
    """How a mix is written; error messages leave words in angle brackets out."""
    return "<weights>" if isinstance(value, dict) else "<name>"


Weights = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1e9)]], Field(min_length=1), Tag("<weights>")
]
Mix = Annotated[Annotated[str, Tag("<name>")] | Weights, Discriminator(_form)]


class OwnDevice(Spec):
    """A type of device of one's own; what it does not say is as of the type that it is like."""

    like: str | None = None
    """A published type: what is not said here, and how published functions run, is as on it."""
    speed: float = Field(1.0, gt=0, le=1e6)
    """How many times as fast as that type it runs published functions."""
    description: str = ""
    cores: int | None = Field(None, ge=1, le=100_000)
    memory_mb: float | None = Field(None, gt=0, le=1e9)
    arch: Architecture | None = None
    """The architecture of its images."""
    accelerator: Accelerator | None = None
    accelerator_memory_mb: float | None = Field(None, ge=0, le=1e9)
    disk_mb_s: float | None = Field(None, gt=0, le=1e6)
    network_mbps: float | None = Field(None, gt=0, le=1e9)
    """What its interface carries, each way."""
    tier: Tier | None = None
    start_s: float | None = Field(None, ge=0, le=1e6)
    """How long a container takes to start on it, always."""
    start: Time | None = None
    """How long a container takes to start on it, by a distribution."""
    power: PowerModel | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.like is not None and self.like not in DEVICES:
            raise PydanticCustomError(
                "not_allowed",
                f"like: {self.like!r} is not allowed: one of {', '.join(DEVICES)}."
                + nearest(self.like, DEVICES),
            )
        for key in ("cores", "memory_mb", "arch", "power"):
            if self.like is None and getattr(self, key) is None:
                raise PydanticCustomError(
                    "not_allowed", f"{key}: is required, for it is like no published device"
                )
        if self.like is None and self.speed != 1.0:
            raise PydanticCustomError("not_allowed", "speed: is not allowed without like")
        if self.start_s is not None and self.start is not None:
            raise PydanticCustomError("not_allowed", "start: is not allowed together with start_s")
        return self

    def made(self, name: str) -> Device:
        """The type of device that the spec describes."""
        base = DEVICES[self.like] if self.like else None
        accelerator = self.accelerator or (base.accelerator if base else "none")
        memory = self.accelerator_memory_mb
        if memory is None:
            memory = base.accelerator_memory_bytes / 1e6 if base and accelerator != "none" else 0.0
        start = self.start.made() if self.start is not None else None
        if self.start_s is not None:
            start = constant(self.start_s)
        disk, network = self.disk_mb_s, self.network_mbps
        return Device(
            name=name,
            description=self.description,
            architecture=self.arch or _of(base, "architecture", "x86"),
            cores=self.cores or _of(base, "cores", 1),
            clock_mhz=_of(base, "clock_mhz", 0),
            memory_bytes=round(self.memory_mb * 1e6)
            if self.memory_mb
            else _of(base, "memory_bytes", 0),
            accelerator=accelerator,
            accelerator_memory_bytes=round(memory * 1e6),
            disk=_of(base, "disk", "ssd"),
            tier=self.tier or _of(base, "tier", "edge"),
            nic_bytes_s=network * MEGABIT if network else _of(base, "nic_bytes_s", NIC_BYTES_S),
            own_disk_bytes_s=disk * 1e6 if disk else 0.0,
            like=self.like or "",
            speed=self.speed,
            own_power=None if base else Power(0.0, 0.0, 0.0, 0.0, 0.0),
            own_start=start,
        )


def _of(base: Device | None, field: str, otherwise: Any) -> Any:
    return getattr(base, field) if base is not None else otherwise


class Devices(Spec):
    """A count of devices by a mix: a name, or weights by type. Or counts by type, in order.

    With a topology that lists its nodes, neither: it says what each of them is.
    """

    define: dict[str, OwnDevice] = {}  # noqa: RUF012
    """Types of one's own, by name."""
    count: int | None = Field(None, ge=1, le=1_000_000)
    mix: Mix | None = None
    types: dict[str, Annotated[int, Field(ge=1, le=1_000_000)]] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> Devices:
        if self.types is not None and self.mix is not None:
            raise PydanticCustomError("not_allowed", "mix or types is needed, and only one of them")
        if (self.count is None) != (self.mix is None):
            raise PydanticCustomError("not_allowed", "count goes with mix, and mix with count")
        for name in self.define:
            if name in DEVICES:
                raise PydanticCustomError(
                    "not_allowed", f"define: {name!r} is not allowed: it is a published type"
                )
        if isinstance(self.mix, str) and self.mix not in MIX_NAMES:
            raise PydanticCustomError(
                "not_allowed",
                f"mix: {self.mix!r} is not allowed: one of {', '.join(MIX_NAMES)}."
                + nearest(self.mix, MIX_NAMES),
            )
        weights = self.mix if isinstance(self.mix, dict) else {}
        for name in (*weights, *(self.types or {})):
            if name not in self.known:
                raise PydanticCustomError(
                    "not_allowed",
                    f"device {name!r} is not allowed: one of {', '.join(self.known)}."
                    + nearest(name, self.known),
                )
        if weights and not sum(weights.values()) > 0:
            raise PydanticCustomError("not_allowed", "mix: no device has a share")
        return self

    @cached_property
    def known(self) -> Mapping[str, Device]:
        """All types that there are: the published ones, then one's own."""
        return DEVICES | {name: one.made(name) for name, one in self.define.items()}

    @property
    def is_given(self) -> bool:
        """Whether it says what devices there are."""
        return self.mix is not None or self.types is not None

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
        return draw_devices(self.mix, self.count, seed, self.known)
