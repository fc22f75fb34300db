"""Topologies: a graph of hops, each with a link and a latency, and the routes through it.

Vertices are devices first, then the registry, gateways, switches and the internet. A hop leads from
one vertex to the next. It may cross a link, of limited bandwidth, and take time by a distribution;
a hop without link is never a bottleneck, one without distribution takes no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.errors import SpecError
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.distributions import Distribution, log_normal, mean
from cloudarena.engine.hashing import uniform
from cloudarena.engine.variates import Distributions, draw, make_distributions
from cloudarena.workloads.faas.devices import DEVICES, Device, device_named

NONE, UNREACHED = -1, -2
GOODPUT = 0.97
"""The share of a link's bandwidth that is not protocol (ether 0.3)."""


def mbit(bandwidth: float) -> float:
    """What a link of so many Mbit/s carries, in bytes a second."""
    return bandwidth * 125_000.0 * GOODPUT


def _latency_ms(loc: float, scale: float, sigma: float) -> Distribution:
    return log_normal(sigma, loc / 1000.0, scale / 1000.0)


LAN = _latency_ms(0.35, 0.16, 0.25)
BUSINESS = _latency_ms(5.95, 1.21, 0.87)
MOBILE = _latency_ms(16.2, 8.02, 0.49)
"""One-way latencies in seconds. Source: ether (edgerun/ether, ether/qos/latency.py)."""


class Topology(NamedTuple):
    """Devices, where they are, and how they are connected."""

    devices: tuple[str, ...]
    """The type of each device; device k is vertex k."""
    names: tuple[str, ...]
    """The names of all vertices; those of devices are unique."""
    zone: NDArray[np.int64]  # (devices,): its cell, factory or region
    zones: tuple[str, ...]
    gateways: NDArray[np.int64]  # (zones,): the vertex where a zone's requests come from
    storage: NDArray[np.int64]  # the devices that hold data
    registry: int
    """The vertex that images are pulled from."""
    link_names: tuple[str, ...]
    link_bytes_s: NDArray[np.float64]
    distributions: Distributions
    distribution_means_s: NDArray[np.float64]
    hop_begin: NDArray[np.int64]  # (vertices + 1,): the hops from each vertex
    hop_to: NDArray[np.int64]
    hop_link: NDArray[np.int64]  # NONE for a hop without
    hop_distribution: NDArray[np.int64]


class Builder:
    """Puts a topology together; each connection is made once."""

    def __init__(
        self,
        devices: Sequence[str],
        names: Sequence[str] | None = None,
        known: Mapping[str, Device] = DEVICES,
    ) -> None:
        for name in devices:
            device_named(name, known)
        self.known = known
        if not devices:
            raise SpecError("devices: at least one is needed")
        self.devices = tuple(devices)
        self.names = list(names or (f"{name}-{k}" for k, name in enumerate(devices)))
        self.zone = [NONE] * len(devices)
        self.zones: list[str] = []
        self.gateways: list[int] = []
        self.storage: list[int] = []
        self.registry = NONE
        self._links: list[tuple[str, float]] = []
        self._distributions: list[Distribution] = []
        self._hops: list[tuple[int, int, int, int]] = []

    def vertex(self, name: str) -> int:
        """A new vertex that is no device."""
        self.names.append(name)
        return len(self.names) - 1

    def link(self, name: str, bytes_s: float) -> int:
        """A new link, for hops that share it."""
        if not 0 < bytes_s < math.inf:
            raise SpecError(f"links: {bytes_s:g} is not allowed: bytes a second, more than 0")
        self._links.append((name, bytes_s))
        return len(self._links) - 1

    def hop(
        self, a: int, b: int, link: int = NONE, distribution: Distribution | None = None
    ) -> None:
        """A way from a to b."""
        index = NONE
        if distribution is not None:
            if distribution not in self._distributions:
                self._distributions.append(distribution)
            index = self._distributions.index(distribution)
        self._hops.append((a, b, link, index))

    def connect(
        self,
        lower: int,
        upper: int,
        up: float | None = None,
        down: float | None = None,
        distribution: Distribution | None = None,
    ) -> None:
        """Both ways between two vertices, each with a link of its own; bytes a second."""
        name = self.names[lower]
        self.hop(lower, upper, NONE if up is None else self.link(f"{name} up", up), distribution)
        self.hop(
            upper, lower, NONE if down is None else self.link(f"{name} down", down), distribution
        )

    def attach(self, device: int, switch: int) -> None:
        """Connects a device by its interface."""
        bytes_s = self.known[self.devices[device]].nic_bytes_s * GOODPUT
        self.connect(device, switch, bytes_s, bytes_s, LAN)

    def box(self, name: str, devices: Sequence[int]) -> int:
        """A switch with devices on it, as in a rack or a box on a pole; returns the switch."""
        switch = self.vertex(name)
        for device in devices:
            self.attach(device, switch)
        return switch

    def zone_of(self, name: str, gateway: int, devices: Sequence[int]) -> None:
        """Declares a zone, where its requests come from, and which devices are in it."""
        for device in devices:
            self.zone[device] = len(self.zones)
        self.zones.append(name)
        self.gateways.append(gateway)

    def build(self) -> Topology:
        """The topology as arrays."""
        if NONE in self.zone:
            raise SpecError(f"zones: {self.names[self.zone.index(NONE)]!r} is in none")
        hops = np.array(self._hops, np.int64).reshape(-1, 4)
        hops = hops[np.argsort(hops[:, 0], kind="stable")]
        counts = np.bincount(hops[:, 0], minlength=len(self.names))
        return Topology(
            devices=self.devices,
            names=tuple(self.names),
            zone=np.array(self.zone, np.int64),
            zones=tuple(self.zones),
            gateways=np.array(self.gateways, np.int64),
            storage=np.array(self.storage, np.int64),
            registry=self.registry,
            link_names=tuple(name for name, _ in self._links),
            link_bytes_s=np.array([bytes_s for _, bytes_s in self._links], np.float64),
            distributions=make_distributions(self._distributions),
            distribution_means_s=np.array(
                [mean(distribution) for distribution in self._distributions], np.float64
            ),
            hop_begin=np.concatenate(([0], np.cumsum(counts))),
            hop_to=hops[:, 1].copy(),
            hop_link=hops[:, 2].copy(),
            hop_distribution=hops[:, 3].copy(),
        )


class Routes(NamedTuple):
    """Ways with the fewest hops. ``begin`` and ``links`` are what ``make_flows`` takes."""

    begin: NDArray[np.int64]  # (routes + 1,)
    links: NDArray[np.int64]
    distribution_begin: NDArray[np.int64]  # (routes + 1,): the hops that take time
    distributions: NDArray[np.int64]  # their distributions, by the topology's indices
    latency_s: NDArray[np.float64]  # (routes,): one way, on average
    bytes_s: NDArray[np.float64]  # (routes,): of the narrowest link; infinity without links


def find_routes(topology: Topology, sources: ArrayLike, targets: ArrayLike) -> Routes:
    """The routes between pairs of vertices, in the order of the pairs.

    Of several ways with as few hops, the one whose hops were declared first.
    """
    pairs = np.broadcast_arrays(np.asarray(sources, np.int64), np.asarray(targets, np.int64))
    source, target = (ends.reshape(-1) for ends in pairs)
    route, hop = _hops(topology, source, target)
    link, distribution = topology.hop_link[hop], topology.hop_distribution[hop]
    has_link, has_distribution = link != NONE, distribution != NONE
    bytes_s, latency_s = np.full(len(source), np.inf), np.zeros(len(source))
    np.minimum.at(bytes_s, route[has_link], topology.link_bytes_s[link[has_link]])
    np.add.at(
        latency_s,
        route[has_distribution],
        topology.distribution_means_s[distribution[has_distribution]],
    )
    return Routes(
        begin=_begins(route[has_link], len(source)),
        links=link[has_link],
        distribution_begin=_begins(route[has_distribution], len(source)),
        distributions=distribution[has_distribution],
        latency_s=latency_s,
        bytes_s=bytes_s,
    )


def _hops(
    topology: Topology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The hops of all routes, from source to target, and the route of each."""
    starts, start = np.unique(source, return_inverse=True)
    vertices = len(topology.names)
    last_hop = np.full((len(starts), vertices), UNREACHED, np.int32)
    _search(topology.hop_begin, topology.hop_to, starts, last_hop, np.empty(vertices, np.int64))
    hop_from = np.repeat(np.arange(vertices), np.diff(topology.hop_begin))
    # Back from the targets, all routes a hop at a time.
    backwards = []
    vertex = target
    while (vertex != source).any():
        hops = last_hop[start, vertex]
        if (hops == UNREACHED).any():
            lost = int(np.argmax(hops == UNREACHED))
            ends = topology.names[source[lost]], topology.names[target[lost]]
            raise SpecError(f"links: there is no way from {ends[0]!r} to {ends[1]!r}")
        backwards.append(hops)
        vertex = np.where(hops == NONE, vertex, hop_from[hops])
    if not backwards:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    forwards = np.stack(backwards[::-1], axis=1)
    route, step = np.nonzero(forwards != NONE)
    return route, forwards[route, step].astype(np.int64)


def _begins(route: NDArray[np.int64], routes: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(route, minlength=routes))))


@jit_uncounted
def _search(
    hop_begin: NDArray[np.int64],
    hop_to: NDArray[np.int64],
    starts: NDArray[np.int64],
    last_hop: NDArray[np.int32],
    queue: NDArray[np.int64],
) -> None:
    """Breadth-first searches: the last hop to each vertex from each start; NONE at the start."""
    for row in range(len(starts)):
        last_hop[row, starts[row]] = NONE
        queue[0] = starts[row]
        taken, waiting = 0, 1
        while taken < waiting:
            vertex = queue[taken]
            taken += 1
            for hop in range(hop_begin[vertex], hop_begin[vertex + 1]):
                if last_hop[row, hop_to[hop]] == UNREACHED:
                    last_hop[row, hop_to[hop]] = hop
                    queue[waiting] = hop_to[hop]
                    waiting += 1


@jit_uncounted
def draw_latency(
    distributions: Distributions, routes: Routes, route: int, key: np.uint64, message: int
) -> float:
    """The one-way latency of a route in seconds, for the number of a message.

    The same key, from ``make_key(seed, "latency")``, and number always give the same.
    """
    latency = 0.0
    first = routes.distribution_begin[route]
    for k in range(first, routes.distribution_begin[route + 1]):
        latency += draw(distributions, routes.distributions[k], uniform(key, message, k - first))
    return latency
