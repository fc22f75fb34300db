"""What a user writes about how nodes are connected: a named topology, or one's own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, TraceError, nearest
from cloudarena.contract.spec import Spec, or_also
from cloudarena.engine.distributions import Distribution, constant
from cloudarena.scenarios.faas.spec.times import Time
from cloudarena.workloads.faas.graphs import read_graph

Kilometres = Annotated[float, Field(ge=-1e5, le=1e5)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Megabits = Annotated[float, Field(gt=0, le=1e9)]
EARTH_KM = 6371.0
MOST_NODES = 200_000


class Node(Spec):
    """A node of one's own topology: a device, or a switch if it has none."""

    name: Name
    device: str | None = None
    """The type of device; null: a switch, an access point, a registry, the internet."""
    count: int = Field(1, ge=1, le=MOST_NODES)
    """The number of nodes alike, called name-0, name-1, ...; links to the name go to each."""
    zone: Name = "zone"
    labels: dict[str, str] = {}  # noqa: RUF012
    position: tuple[Kilometres, Kilometres] | None = None
    """Where it is: kilometres, or degrees of latitude and longitude; see ``positions``."""
    registry: bool = False
    """Whether images are pulled from it."""
    storage: bool = False
    """Whether it holds the functions' data."""
    gateway: bool = False
    """Whether its zone's requests come in there."""

    @property
    def names(self) -> list[str]:
        """The names of all of its kind."""
        return [self.name] if self.count == 1 else [f"{self.name}-{k}" for k in range(self.count)]


def _milliseconds(value: Any) -> Any:
    """A number is always the same latency."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"distribution": "constant", "seconds": value} if value > 0 else None
    return value


def _or_a_number(schema: dict[str, Any]) -> None:
    or_also(schema, "properties", "latency_ms", type="number", minimum=0)


class Link(Spec):
    """A connection of two nodes, both ways."""

    model_config = ConfigDict(json_schema_extra=_or_a_number)

    a: Name
    b: Name
    mbps: Megabits | None = None
    """Bandwidth from a to b, and back unless ``back_mbps`` says otherwise.

    No link carries more than the interfaces of the devices at its ends; null: no other limit."""
    back_mbps: Megabits | None = None
    latency_ms: Annotated[Time | None, BeforeValidator(_milliseconds)] = None
    """One way: a number, or a distribution of milliseconds; by default by the distance."""


class Failure(Spec):
    """A node, or a link between two nodes, that fails and works again."""

    node: Name | None = None
    """A node by its name in the tables; the common name of nodes alike means all of them."""
    link: tuple[Name, Name] | None = None
    """The nodes at its ends; it fails both ways."""
    at_s: float = Field(ge=0, le=1e9)
    for_s: float | None = Field(None, gt=0, le=1e9)
    """How long; by default for good."""

    @model_validator(mode="after")
    def _of_one_thing(self) -> Failure:
        if (self.node is None) == (self.link is None):
            raise PydanticCustomError("not_allowed", "one of node and link is needed")
        return self

    @property
    def end_s(self) -> float:
        """When it works again."""
        return math.inf if self.for_s is None else self.at_s + self.for_s


def _or_a_name(schema: dict[str, Any]) -> None:
    schema["properties"]["path"] = {"type": "string", "description": "A file of nodes and links."}
    or_also(schema, type="string")


class Topology(Spec):
    """How the devices are connected: by a name, or by nodes and links of one's own.

    None: each transfer moves by itself.
    """

    model_config = ConfigDict(json_schema_extra=_or_a_name)

    kind: Literal["none", "urban-sensing", "industrial-iot", "cloud-regions", "city", "own"] = (
        "none"
    )
    cells: int | None = Field(None, ge=1, le=10_000)
    """How many cells, factories or regions; by default it follows from the devices."""
    seed: int | None = Field(None, ge=0, le=2**63 - 1)
    """Decides devices and topology; the seed of the run by default."""
    nodes: tuple[Node, ...] = ()
    """The nodes of one's own."""
    links: tuple[Link, ...] = ()
    registry: str | None = None
    """The node that images are pulled from."""
    storage: tuple[str, ...] = ()
    """The devices that hold data; by default one of each zone that is not all cloud."""
    gateways: dict[str, str] = {}  # noqa: RUF012
    """The node at which a zone's requests come in; the first of the zone by default."""
    positions: Literal["km", "degrees"] = "km"
    ms_per_km: float = Field(0.005, ge=0, le=1e3)
    """The latency of a link between positions whose own is not given: light in fibre."""
    failures: tuple[Failure, ...] = ()
    """Nodes and links that fail at given times."""

    @model_validator(mode="before")
    @classmethod
    def _a_name_is_a_kind(cls, data: Any, info: ValidationInfo) -> Any:
        """A word is the kind, or a file with nodes and links, which make it one's own."""
        if isinstance(data, str):
            if not data.endswith((".yaml", ".yml", ".graphml", ".json")):
                return {"kind": data}
            data = {"path": data}
        if isinstance(data, Mapping) and "path" in data:
            data = dict(data)
            folder = (info.context or {}).get("folder")
            try:
                data = {**read_graph(str(data.pop("path")), folder), **data}
            except (SpecError, TraceError) as error:
                raise PydanticCustomError("not_allowed", str(error)) from None
        if isinstance(data, Mapping) and data.get("nodes") and "kind" not in data:
            return {**data, "kind": "own"}
        return data

    @model_validator(mode="after")
    def _own_is_whole(self) -> Topology:
        if self.kind != "own":
            for key in ("nodes", "links", "registry", "storage", "gateways"):
                if getattr(self, key):
                    raise PydanticCustomError(
                        "not_allowed", f"{key}: is not allowed with the topology {self.kind}"
                    )
            return self
        if self.cells is not None:
            raise PydanticCustomError(
                "not_allowed", "cells: is not allowed with nodes of one's own"
            )
        if self.number == 0:
            raise PydanticCustomError("not_allowed", "nodes: at least one device is needed")
        names = [name for node in self.nodes for name in node.names]
        names += [node.name for node in self.nodes if node.count > 1]
        twice = {name for name in names if names.count(name) > 1} if len(names) < 5000 else set()
        if twice or len(set(names)) < len(names):
            shown = min(twice) if twice else "a name"
            raise PydanticCustomError("not_allowed", f"nodes: {shown!r} is a duplicate")
        known = set(names)
        single = {name for node in self.nodes for name in node.names}
        for k, link in enumerate(self.links):
            for end in (link.a, link.b):
                if end not in known:
                    raise PydanticCustomError(
                        "not_allowed", f"links[{k}]: {end!r} is not a node.{nearest(end, known)}"
                    )
        said = [("storage", name) for name in self.storage]
        said += [("gateways", name) for name in self.gateways.values()]
        said += [("registry", self.registry)] if self.registry else []
        for key, name in said:
            if name not in single:
                raise PydanticCustomError(
                    "not_allowed", f"{key}: {name!r} is not a node.{nearest(name, single)}"
                )
        zones = {node.zone for node in self.nodes if node.device is not None}
        for zone in self.gateways:
            if zone not in zones:
                raise PydanticCustomError(
                    "not_allowed",
                    f"gateways: {zone!r} is not a zone of a device.{nearest(zone, zones)}",
                )
        registries = [node.name for node in self.nodes if node.registry]
        if len(registries) + (self.registry is not None) != 1:
            raise PydanticCustomError(
                "not_allowed",
                "registry: one is needed: the name of the node that images are pulled from, or "
                "registry: true at the node",
            )
        return self

    @cached_property
    def number(self) -> int:
        """How many devices the nodes of one's own are."""
        return sum(node.count for node in self.nodes if node.device is not None)

    @property
    def registry_name(self) -> str:
        """The node that images are pulled from, of one's own topology."""
        flagged = (node.names[0] for node in self.nodes if node.registry)
        return self.registry or next(flagged)

    @property
    def storage_names(self) -> list[str]:
        """The devices that hold data, of one's own topology."""
        flagged = [name for node in self.nodes if node.storage for name in node.names]
        return list(dict.fromkeys([*self.storage, *flagged]))

    @property
    def gateway_names(self) -> dict[str, str]:
        """The node at which each zone's requests come in, where that is said."""
        flagged = {node.zone: node.names[0] for node in reversed(self.nodes) if node.gateway}
        return {**flagged, **self.gateways}

    def pairs(self) -> Iterator[tuple[str, str, Link, Distribution | None]]:
        """Each connection of two nodes by name, its link, and its latency in seconds."""
        groups = {node.name: node for node in self.nodes}
        owner = {name: node for node in self.nodes for name in node.names}
        for link in self.links:
            ends = [groups[end].names if end in groups else [end] for end in (link.a, link.b)]
            latency = None
            if link.latency_ms is not None:
                latency = _scaled(link.latency_ms.made())
            for a in ends[0]:
                for b in ends[1]:
                    found = latency
                    if found is None:
                        kilometres = self.distance_km(owner[a], owner[b])
                        if kilometres > 0 and self.ms_per_km > 0:
                            found = constant(kilometres * self.ms_per_km / 1000.0)
                    yield a, b, link, found

    def distance_km(self, a: Node, b: Node) -> float:
        """How far two nodes are apart; 0 where a position is not known."""
        if a.position is None or b.position is None:
            return 0.0
        if self.positions == "km":
            return math.dist(a.position, b.position)
        (north, east), (other_north, other_east) = (
            tuple(map(math.radians, position)) for position in (a.position, b.position)
        )
        half = math.sin((other_north - north) / 2) ** 2
        half += math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
        return 2.0 * EARTH_KM * math.asin(math.sqrt(min(1.0, half)))


def _scaled(milliseconds: Distribution) -> Distribution:
    """A distribution of milliseconds as one of seconds."""
    return milliseconds._replace(
        loc=milliseconds.loc / 1000.0,
        scale=milliseconds.scale / 1000.0,
        least=milliseconds.least / 1000.0,
        most=milliseconds.most / 1000.0,
    )
