"""Devices, their topology, and the routes between them that a run needs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Ints, locked
from cloudarena.engine.flows import make_flows
from cloudarena.engine.variates import Distributions, make_distributions
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.spec.devices import Devices
from cloudarena.scenarios.faas.spec.topology import Topology
from cloudarena.scenarios.faas.state import CLIENT, FLOW, HOLDER, NONE, Paths
from cloudarena.workloads.faas import topology as faas_topology
from cloudarena.workloads.faas.layouts import (
    InlineLink,
    InlineNode,
    inline_topology,
    make_topology,
)
from cloudarena.workloads.faas.topology import GOODPUT, Routes, find_routes, mbit

FLOWS = 256


class Infrastructure(NamedTuple):
    """What a run stands on."""

    devices: tuple[str, ...]
    """The type of each node."""
    names: tuple[str, ...]
    """The names of the nodes, and of all other points of a topology."""
    zones: tuple[str, ...]
    """The zones of the nodes; empty without a topology."""
    types: tuple[str, ...]
    """The types that there are, each once."""
    topology: faas_topology.Topology | None
    labels: tuple[dict[str, str], ...] = ()
    """The labels of the nodes; empty without a topology of one's own."""


def build_infrastructure(scenario: FaasScenario, seed: int) -> Infrastructure:
    """The devices of a run and how they are connected."""
    chosen = seed if scenario.topology.seed is None else scenario.topology.seed
    return _infrastructure(
        scenario.devices.model_dump_json(), scenario.topology.model_dump_json(), chosen
    )


@lru_cache(maxsize=2)
def _infrastructure(devices_json: str, topology_json: str, seed: int) -> Infrastructure:
    """The last ones are kept, for the next policy."""
    given = Devices.model_validate_json(devices_json)
    spec = Topology.model_validate_json(topology_json)
    if spec.kind == "own":
        return _own_infrastructure(spec, given)
    devices = given.draw(seed)
    types = tuple(sorted(set(devices)))
    if spec.kind == "none":
        counts: dict[str, int] = {}
        names = []
        for name in devices:
            names.append(f"{name}-{counts.get(name, 0)}")
            counts[name] = counts.get(name, 0) + 1
        return Infrastructure(devices, tuple(names), (), types, None)
    topology = make_topology(spec.kind, devices, seed, spec.cells, given.known)
    zones = tuple(topology.zones[zone] for zone in topology.zone)
    return Infrastructure(devices, topology.names, zones, types, topology)


def _own_infrastructure(spec: Topology, given: Devices) -> Infrastructure:
    """Nodes and links as the spec lists them."""
    nodes = [InlineNode(name, node.device, node.zone) for node in spec.nodes for name in node.names]
    device = {node.name: given.known[node.device] for node in nodes if node.device is not None}
    links = []
    for a, b, link, latency in spec.pairs():
        # No link carries more than the interfaces at its ends.
        most = [device[end].nic_bytes_s * GOODPUT for end in (a, b) if end in device]
        back = link.mbps if link.back_mbps is None else link.back_mbps
        forth_s, back_s = (
            min([*most, *([] if one is None else [mbit(one)])], default=None)
            for one in (link.mbps, back)
        )
        links.append(InlineLink(a, b, forth_s, back_s, latency))
    topology = inline_topology(
        nodes, links, spec.registry_name, spec.storage_names, spec.gateway_names, given.known
    )
    labels = [node.labels for node in spec.nodes if node.device for _ in range(node.count)]
    zones = tuple(topology.zones[zone] for zone in topology.zone)
    types = tuple(sorted(set(topology.devices)))
    return Infrastructure(topology.devices, topology.names, zones, types, topology, tuple(labels))


def build_paths(
    scenario: FaasScenario, infrastructure: Infrastructure
) -> tuple[Paths, Distributions]:
    """The routes of pulls, of data and of requests, and the distributions of their latencies."""
    topology = infrastructure.topology
    if topology is None:
        return _no_paths(len(infrastructure.devices), len(scenario.functions))
    count, buckets = len(infrastructure.devices), len(scenario.functions)
    nodes, storage = np.arange(count), topology.storage
    clients = _clients(topology, count)
    routes = _routes(topology, count)
    shape = (len(storage), count)
    fetch = count + np.arange(len(storage) * count).reshape(shape)
    store = fetch + len(storage) * count
    ask = count * (1 + 2 * len(storage)) + np.arange(len(clients) * count).reshape(-1, count)
    held = held_by(buckets, len(storage), scenario.network.copies)
    # Of the holders of a bucket the nearest: by the time of a megabyte, then the first.
    cost = routes.latency_s[fetch] + 1e6 / routes.bytes_s[fetch]
    cost[storage[:, None] == nodes[None, :]] = -1.0
    nearest = np.where(held[:, :, None], cost[None, :, :], np.inf).argmin(axis=1)
    own = storage[nearest] == nodes[None, :]
    column = np.broadcast_to(nodes, nearest.shape)
    holders = np.zeros(nearest.shape, HOLDER)
    holders["point"] = storage[nearest]
    holders["fetch"] = np.where(own, NONE, fetch[nearest, column])
    holders["store"] = np.where(own, NONE, store[nearest, column])
    holders["byte_s"] = np.where(own, 0.0, 1.0 / routes.bytes_s[fetch[nearest, column]])
    messages = np.zeros(ask.shape, CLIENT)
    messages["ask"], messages["answer"] = ask, ask + len(clients) * count
    messages["latency_s"] = routes.latency_s[ask]
    paths = Paths(
        flows=make_flows(topology.link_bytes_s, routes.begin, routes.links, FLOWS),
        purposes=np.zeros(FLOWS, FLOW),
        asked=np.zeros(FLOWS, FLOW),
        holders=holders,
        clients=messages,
        points=np.asarray(clients, np.int64),
        registry=int(topology.registry),
        routes=routes,
    )
    return paths, topology.distributions


def _clients(topology: faas_topology.Topology, count: int) -> Ints:
    """The points at which requests come in: gateways, or all nodes where there are none."""
    return topology.gateways if len(topology.gateways) else np.arange(count)


_FOUND: list[tuple[faas_topology.Topology, int, Routes]] = []
"""The routes that were found last, for the next run on the same infrastructure."""


def _routes(topology: faas_topology.Topology, count: int) -> Routes:
    """The routes of pulls, data and requests; runs on the same infrastructure share them."""
    for known, nodes, routes in _FOUND:
        if known is topology and nodes == count:
            return routes
    routes = _find_routes(topology, count)
    _FOUND[1:] = _FOUND[:1]
    _FOUND[:1] = [(topology, count, routes)]
    return routes


def _find_routes(topology: faas_topology.Topology, count: int) -> Routes:
    nodes, storage, clients = np.arange(count), topology.storage, _clients(topology, count)
    # Rows: registry to all; storage to all; all to storage; clients to all; all to clients.
    sources = np.concatenate(
        (
            np.full(count, topology.registry),
            np.repeat(storage, count),
            np.tile(nodes, len(storage)),
            np.repeat(clients, count),
            np.tile(nodes, len(clients)),
        )
    )
    targets = np.concatenate(
        (
            nodes,
            np.tile(nodes, len(storage)),
            np.repeat(storage, count),
            np.tile(nodes, len(clients)),
            np.repeat(clients, count),
        )
    )
    found: Routes = locked(find_routes(topology, sources, targets))
    return found


def held_by(buckets: int, holders: int, copies: int | None) -> np.ndarray:
    """The storage index, (buckets, holders): the copies of bucket b begin at holder b."""
    copies = holders if copies is None else min(copies, holders)
    index = np.zeros((buckets, holders), bool)
    for bucket in range(buckets):
        index[bucket, (bucket + np.arange(copies)) % holders] = True
    return index


def _no_paths(nodes: int, buckets: int) -> tuple[Paths, Distributions]:
    """Arrays of the right kinds for a run without a network."""
    none, begin = np.zeros(0, np.int64), np.zeros(2, np.int64)
    paths = Paths(
        flows=make_flows(np.ones(1), begin, none, 1),
        purposes=np.zeros(1, FLOW),
        asked=np.zeros(1, FLOW),
        holders=np.zeros((buckets, nodes), HOLDER),
        clients=np.zeros((1, nodes), CLIENT),
        points=np.zeros(1, np.int64),
        registry=0,
        routes=locked(Routes(begin, none, begin, none, np.zeros(1), np.ones(1))),
    )
    return paths, make_distributions([])
