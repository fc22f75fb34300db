"""What a user writes about the power of nodes: models by device, tables of them, switching off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import nearest
from cloudarena.contract.source import SpecPath, from_yaml
from cloudarena.contract.spec import Spec
from cloudarena.workloads.carbon import read_levels
from cloudarena.workloads.faas.devices import Device
from cloudarena.workloads.faas.power_tables import TABLES

MOST_W = 1e6
Watts = Annotated[float, Field(ge=0, le=MOST_W)]
Seconds = Annotated[float, Field(ge=0, le=1e12)]
Utilisation = Annotated[float, Field(ge=0, le=1)]
MOST_POINTS = 21
"""Points of a curve of one's own."""
GRIDS = 16
"""Grids that a run can tell: that of all zones, those of some zones, and the last, of none."""


class Resources(Spec):
    """What the resources beside the CPU draw: at full use, or by the amount that they move."""

    accelerator_w: Watts = 0.0
    network_w: Watts = 0.0
    memory_w: Watts = 0.0
    disk_w: Watts = 0.0
    memory_w_per_mb: Watts | None = None
    """Watts for each MB that is used, in place of ``memory_w``."""
    disk_w_per_mb_s: Watts | None = None
    """Watts for each MB/s that is read or written, in place of ``disk_w``."""
    network_w_per_mb_s: Watts | None = None
    """Watts for each MB/s that is sent or received, in place of ``network_w``."""

    @model_validator(mode="after")
    def _one_way_each(self) -> Resources:
        for key, unit in (("memory", "mb"), ("disk", "mb_s"), ("network", "mb_s")):
            other = f"{key}_w_per_{unit}"
            if getattr(self, f"{key}_w") > 0 and getattr(self, other) is not None:
                raise PydanticCustomError(
                    "not_allowed", f"{other}: is not allowed together with {key}_w"
                )
        return self

    def others_w(self, device: Device) -> tuple[float, float, float, float]:
        """Watts at full use of accelerator, disk, network and memory of a device."""
        disk, network, memory = self.disk_w, self.network_w, self.memory_w
        if self.disk_w_per_mb_s is not None:
            disk = self.disk_w_per_mb_s * device.disk_bytes_s / 1e6
        if self.network_w_per_mb_s is not None:
            network = self.network_w_per_mb_s * device.nic_bytes_s / 1e6
        if self.memory_w_per_mb is not None:
            memory = self.memory_w_per_mb * device.memory_bytes / 1e6
        return self.accelerator_w, disk, network, memory


class Linear(Resources):
    """``idle + cpu u + accelerator u + network u + memory u + disk u``, in watts at full use."""

    model: Literal["linear"]
    idle_w: Watts
    cpu_w: Watts


class Points(Resources):
    """Watts at 0, 10, ..., 100 % of CPU, as SPECpower publishes them; or at any utilisations.

    Points are joined by lines.
    """

    model: Literal["points"]
    watts: tuple[Watts, ...] | None = Field(None, min_length=11, max_length=11)
    points: tuple[tuple[Utilisation, Watts], ...] | None = Field(
        None, min_length=2, max_length=MOST_POINTS
    )
    """Pairs of utilisation and watts, from 0 to 1."""

    @model_validator(mode="after")
    def _rising(self) -> Points:
        if (self.watts is None) == (self.points is None):
            raise PydanticCustomError(
                "not_allowed", "watts or points is needed, and only one of them"
            )
        if self.points is not None:
            at = [use for use, _ in self.points]
            if sorted(set(at)) != at or at[0] != 0 or at[-1] != 1:
                raise PydanticCustomError(
                    "not_allowed",
                    f"points: utilisations {at} are not allowed: from 0 to 1, rising",
                )
        levels = self.levels()
        if sorted(levels) != levels:
            key = "watts" if self.points is None else "points: watts"
            raise PydanticCustomError(
                "not_allowed", f"{key}: {levels} are not allowed: they must not fall"
            )
        return self

    def levels(self) -> list[float]:
        """The watts of the points."""
        return [watts for _, watts in self.points] if self.points else list(self.watts or ())


class Curve(Resources):
    """``idle + (busy - idle)(2u - u^r)`` for the CPU, as in vm, and the others by use."""

    model: Literal["curve"]
    idle_w: Watts
    busy_w: Watts
    r: float = Field(1.4, ge=1, le=2)

    @model_validator(mode="after")
    def _busy_above_idle(self) -> Curve:
        if self.busy_w < self.idle_w:
            raise PydanticCustomError(
                "not_allowed",
                f"busy_w: {self.busy_w:g} is not allowed: at least idle_w, {self.idle_w:g}",
            )
        return self


PowerModel = Annotated[Linear | Points | Curve, Field(discriminator="model")]


def _table(value: Any, info: ValidationInfo) -> Any:
    """The models of a table: a name, a path to a YAML file, or the models themselves.

    A file may hold a whole ``power:`` block, as ``cloudarena power fit --out`` writes it.
    """
    if isinstance(value, str) and not value.endswith((".yaml", ".yml")):
        if value not in TABLES:
            raise PydanticCustomError(
                "not_allowed",
                f"{value!r} is not allowed: one of {', '.join(TABLES)}, or a YAML file."
                + nearest(value, TABLES),
            )
        return value
    found = from_yaml(value, info)
    for key in ("power", "devices"):
        if isinstance(found, Mapping) and list(found) == [key]:
            found = found[key]
    return found


class Supply(Spec):
    """The battery and the panels of a node."""

    battery_wh: float = Field(gt=0, le=1e9)
    charge: float = Field(1.0, ge=0, le=1)
    """The share of the battery that is charged at the start."""
    solar_w: Watts = 0.0
    """What its panels give, always."""
    solar_path: SpecPath | None = None
    """A table of what they give: the columns time_s and watts, each held until the next."""
    solar_series: tuple[tuple[Seconds, Watts], ...] = ()
    """Rows of [second, watts], likewise."""
    solar_scale: float = Field(1.0, ge=0, le=1e6)
    """Multiplies what panels give: the size of the panels, if the table is for one of them."""
    grid: bool = True
    """Whether it draws from the grid when its battery is empty; else it fails then."""
    least_charge: float = Field(0.0, ge=0, le=1)
    """The share of the battery below which it takes no replica."""
    restart_charge: float = Field(0.1, gt=0, le=1)
    """The share at which a node that has failed works again."""

    @model_validator(mode="after")
    def _rising(self) -> Supply:
        times = [time for time, _ in self.solar_series]
        if times and (times[0] != 0 or sorted(set(times)) != times):
            raise PydanticCustomError(
                "not_allowed", f"solar_series: times {times} are not allowed: from 0 on, rising"
            )
        if (self.solar_w > 0) + (self.solar_path is not None) + bool(times) > 1:
            raise PydanticCustomError(
                "not_allowed", "only one of solar_w, solar_path and solar_series is allowed"
            )
        return self

    def rows(self) -> tuple[tuple[float, float], ...]:
        """Rows of [second, watts] of the panels, at least one."""
        given = self.solar_series or ((0.0, self.solar_w),)
        if self.solar_path is not None:
            given = read_levels(self.solar_path, "watts", MOST_W)
        return tuple((time, watts * self.solar_scale) for time, watts in given)


class NodePower(Spec):
    """Power models by device type, where they are not the published ones; and switching off."""

    table: Annotated[str | dict[str, PowerModel], BeforeValidator(_table)] = "study"
    """Where models come from that ``devices`` does not give: a name, or a YAML file of models."""
    devices: dict[str, PowerModel] = {}  # noqa: RUF012
    off_after_s: float | None = Field(None, ge=0, le=1e9)
    """A node without replicas is switched off after so long; null: never."""
    off_w: Watts = 0.0
    boot_s: float = Field(30.0, ge=0, le=1e9)
    boot_w: Watts | None = None
    """While it boots; idle and a busy CPU by default."""
    caps: dict[str, Watts] = {}  # noqa: RUF012
    """The most that nodes of a type of device can draw, transfers apart: what executes on one that
    would draw more is slowed down."""
    supplies: dict[str, Supply] = {}  # noqa: RUF012
    """Batteries and panels, by type of device or name of a node."""

    def model_of(self, device: Device) -> Linear | Points | Curve:
        """The model of a device: its own, that of the table, or the published one."""
        for name in (device.name, device.figures):
            if name in self.devices:
                return self.devices[name]
            if isinstance(self.table, Mapping) and name in self.table:
                return self.table[name]
        if isinstance(self.table, str) and device.figures in TABLES[self.table]:
            return Linear(model="linear", **TABLES[self.table][device.figures])
        return Linear(model="linear", **device.power._asdict())
