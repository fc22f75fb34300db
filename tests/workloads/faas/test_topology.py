"""Topologies by hand, their routes against a plain search, latencies."""

from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.engine.distributions import constant, mean
from cloudarena.engine.flows import make_flows
from cloudarena.engine.hashing import make_key
from cloudarena.engine.max_min import join
from cloudarena.workloads.faas.devices import draw_devices
from cloudarena.workloads.faas.layouts import (
    TOPOLOGIES,
    InlineLink,
    InlineNode,
    inline_topology,
    make_topology,
)
from cloudarena.workloads.faas.topology import (
    LAN,
    MOBILE,
    NONE,
    Routes,
    Topology,
    draw_latency,
    find_routes,
    mbit,
)


def links_of(topology: Topology, routes: Routes, route: int) -> list[str]:
    """The names of a route's links."""
    return [
        topology.link_names[link]
        for link in routes.links[routes.begin[route] : routes.begin[route + 1]]
    ]


def hops_between(topology: Topology, source: int, target: int) -> int:
    """The fewest hops, by plain breadth-first search."""
    distance = {source: 0}
    queue = deque([source])
    while queue:
        vertex = queue.popleft()
        for hop in range(topology.hop_begin[vertex], topology.hop_begin[vertex + 1]):
            if topology.hop_to[hop] not in distance:
                distance[topology.hop_to[hop]] = distance[vertex] + 1
                queue.append(topology.hop_to[hop])
    return distance[target]


def test_urban_sensing_of_its_own() -> None:
    topology = make_topology("urban-sensing", seed=5)
    kinds = Counter(topology.devices)
    assert kinds["nuc"] == 3
    assert kinds["rpi3"] == kinds["tx2"] >= 12
    assert kinds["xeoncpu"] == 10
    assert topology.zones == ("cell-0", "cell-1", "cell-2", "cloudlet")
    assert [topology.devices[device] for device in topology.storage] == ["nuc"] * 3
    pull = find_routes(topology, topology.registry, 0)
    assert links_of(topology, pull, 0) == ["cell-0 down", "cell-0 shared", "rpi3-0 down"]
    assert pull.bytes_s[0] == mbit(125) == 15_156_250
    assert pull.latency_s[0] == pytest.approx(mean(MOBILE) + 2 * mean(LAN))
    request = find_routes(topology, topology.gateways[0], [0, len(topology.devices) - 1])
    assert links_of(topology, request, 0) == ["cell-0 shared", "rpi3-0 down"]
    assert links_of(topology, request, 1)[:2] == ["cell-0 up", "cloudlet down"]


def test_the_sizes_of_cells_follow_the_distribution() -> None:
    sizes = [
        Counter(make_topology("urban-sensing", seed=seed, cells=20).devices)["rpi3"] / 40
        for seed in range(20)
    ]
    assert np.mean(sizes) == pytest.approx(2.9, abs=0.2)  # boxes in a cell: 2, 3, 4, ...


def test_industrial_iot_of_its_own() -> None:
    topology = make_topology("industrial-iot")
    assert Counter(topology.devices) == {"rpi3": 3, "nuc": 1, "tx2": 1, "xeoncpu": 15}
    board, fog, server = (topology.devices.index(kind) for kind in ("rpi3", "nuc", "xeoncpu"))
    routes = find_routes(topology, [topology.registry, board, board], [fog, server, board + 1])
    assert links_of(topology, routes, 0) == ["factory-0 down", "nuc-3 down"]
    assert links_of(topology, routes, 1) == [
        *("rpi3-0 up", "factory-0 floor shared", "factory-0 cloudlet down", "xeoncpu-5 down")
    ]
    # Two boards on the floor share its link, and cross it once.
    assert links_of(topology, routes, 2) == ["rpi3-0 up", "factory-0 floor shared", "rpi3-1 down"]
    assert routes.bytes_s.tolist() == [mbit(500), mbit(300), mbit(300)]


def test_regions_are_half_a_round_trip_apart() -> None:
    topology = make_topology("cloud-regions", ["xeoncpu"] * 6, cells=3)
    assert topology.zones == ("us-east-1", "us-west-2", "ca-central-1")
    assert topology.zone.tolist() == [0, 1, 2, 0, 1, 2]
    routes = find_routes(topology, topology.gateways[0], topology.gateways)
    assert routes.latency_s == pytest.approx([0.0, 0.03863, 0.010115])
    assert np.isinf(routes.bytes_s).all()


def test_each_device_of_a_city_is_there_once() -> None:
    devices = draw_devices("hybridbalanced", 200, 3)
    topology = make_topology("city", devices, seed=3)
    assert topology.devices == devices
    for device in range(len(devices)):
        assert topology.hop_begin[device + 1] - topology.hop_begin[device] == 1  # one interface
    for zone in range(len(topology.zones)):
        kinds = Counter(devices[device] for device in np.flatnonzero(topology.zone == zone))
        clouds = kinds["xeoncpu"] + kinds["xeongpu"]
        assert clouds == 0 or clouds == sum(kinds.values())
    assert sum("shared" in name for name in topology.link_names) == len(topology.zones) - 1


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("mix", ["edgesbc", "cloudgpu", "hybrid", "edgeai"])
def test_all_can_reach_all_by_the_fewest_hops(name: str, mix: str) -> None:
    topology = make_topology(name, draw_devices(mix, 40, 1), seed=1)
    devices = np.arange(40)
    assert (topology.zone >= 0).all()
    assert set(topology.zone[topology.storage]) <= set(range(len(topology.zones)))
    ends = [topology.registry, *topology.gateways[:2], *topology.storage[:2]]
    source, target = (side.reshape(-1) for side in np.meshgrid(ends, devices))
    routes = find_routes(topology, np.r_[source, target], np.r_[target, source])
    assert len(routes.bytes_s) == 2 * len(ends) * 40
    for route in range(len(routes.bytes_s)):
        links = routes.links[routes.begin[route] : routes.begin[route + 1]]
        assert len(set(links)) == len(links)
        if len(links):
            assert routes.bytes_s[route] == topology.link_bytes_s[links].min()
    for pair in range(0, len(source), 7):
        there = find_routes(topology, source[pair], target[pair])
        assert len(there.distributions) <= hops_between(topology, source[pair], target[pair])
    # The same again, and in any order.
    again = find_routes(topology, source[::-1], target[::-1])
    assert (again.bytes_s[::-1] == routes.bytes_s[: len(source)]).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12), st.data())
def test_routes_in_any_graph(edges: list[tuple[int, int]], data: st.DataObject) -> None:
    # A line through all, so that each can be reached, and ways across.
    line = [(k, k + 1) for k in range(7)]
    nodes = [InlineNode(str(k), "nuc") for k in range(8)]
    ends = [*line, *((a, b) for a, b in edges if a != b)]
    links = [InlineLink(str(a), str(b), 1.0 + a, 1.0 + b, constant(0.5)) for a, b in ends]
    topology = inline_topology(nodes, links, registry="0")
    source = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=5))
    target = data.draw(st.lists(st.integers(0, 7), min_size=len(source), max_size=len(source)))
    routes = find_routes(topology, source, target)
    for route, (a, b) in enumerate(zip(source, target, strict=True)):
        names = links_of(topology, routes, route)
        assert len(names) == hops_between(topology, a, b)
        assert routes.latency_s[route] == 0.5 * len(names)
        stops = [str(a), *(name.split(" to ")[1] for name in names)]
        assert names == [f"{k} to {m}" for k, m in pairwise(stops)]
        assert stops[-1] == str(b)


def test_routes_are_what_flows_take() -> None:
    topology = make_topology("city", draw_devices("edgeai", 30, 0))
    routes = find_routes(topology, topology.registry, np.arange(30))
    flows = make_flows(topology.link_bytes_s, routes.begin, routes.links, 30)
    for route in range(30):
        join(flows, route, 1e6, 0.0)
    used = flows.links["rate"][np.flatnonzero(flows.links["rate"])]
    assert len(used)
    assert (flows.links["rate"] <= topology.link_bytes_s * (1 + 1e-9)).all()


def test_the_way_to_oneself_is_short() -> None:
    topology = make_topology("urban-sensing")
    routes = find_routes(topology, 3, 3)
    assert (len(routes.links), routes.latency_s[0], routes.bytes_s[0]) == (0, 0.0, np.inf)


def test_latencies_are_drawn_on_demand_and_alike() -> None:
    topology = make_topology("urban-sensing")
    routes = find_routes(topology, topology.registry, [0, 1])
    key = make_key(7, "latency")
    drawn = [draw_latency(topology.distributions, routes, 0, key, number) for number in range(4000)]
    assert np.mean(drawn) == pytest.approx(routes.latency_s[0], rel=0.01)
    assert min(drawn) > 0.0162 + 2 * 0.00035
    assert draw_latency(topology.distributions, routes, 0, key, 17) == drawn[17]
    assert len(set(drawn)) == 4000


def inline() -> tuple[list[InlineNode], list[InlineLink]]:
    nodes = [
        InlineNode("hub", zone="here"),
        InlineNode("pi", "rpi4", "here"),
        InlineNode("box", "nuc", "here"),
        InlineNode("far", "xeoncpu", "there"),
    ]
    links = [
        InlineLink("pi", "hub", 10.0, 20.0, constant(0.001)),
        InlineLink("box", "hub", 100.0, 100.0),
        InlineLink("far", "hub", 50.0, 60.0, constant(0.02)),
    ]
    return nodes, links


def test_an_inline_topology() -> None:
    topology = inline_topology(*inline(), registry="far", storage=["box"])
    assert topology.names == ("pi", "box", "far", "hub")
    assert topology.zones == ("here", "there")
    assert topology.gateways.tolist() == [3, 2]
    assert (topology.registry, topology.storage.tolist()) == (2, [1])
    routes = find_routes(topology, [2, 0, 0], [0, 2, 1])
    assert routes.bytes_s.tolist() == [20.0, 10.0, 10.0]
    assert routes.latency_s == pytest.approx([0.021, 0.021, 0.001])
    assert links_of(topology, routes, 0) == ["far to hub", "hub to pi"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"registry": "farr"}, "registry: 'farr' is not a node. Did you mean 'far'"),
        ({"storage": ["hub"]}, "storage: only devices hold data"),
        ({"gateways": {"here": "x"}}, "gateways: 'x' is not a node"),
        ({"links": [InlineLink("pi", "nub")]}, r"links\[0\]: 'nub' is not a node"),
        ({"nodes": [InlineNode("a", "nuc"), InlineNode("a")]}, "nodes: 'a' is a duplicate"),
        ({"nodes": [InlineNode("a")]}, "devices: at least one is needed"),
        ({"nodes": [InlineNode("a", "nuk")]}, "device: 'nuk' is not allowed"),
        ({"links": [InlineLink("pi", "hub", 0.0)]}, "links: 0 is not allowed"),
    ],
)
def test_inline_errors(change: dict[str, object], words: str) -> None:
    nodes, links = inline()
    fields = {"nodes": nodes, "links": links, "registry": "far", **change}
    with pytest.raises(SpecError, match=words):
        inline_topology(**fields)  # type: ignore[arg-type]


def test_a_node_that_cannot_be_reached_is_named() -> None:
    nodes, links = inline()
    topology = inline_topology(nodes, links[:2], registry="far")
    with pytest.raises(SpecError, match="there is no way from 'far' to 'pi'"):
        find_routes(topology, topology.registry, 0)


@pytest.mark.parametrize(
    ("name", "devices", "cells", "words"),
    [
        ("urban", None, None, "topology: 'urban' is not allowed: one of urban-sensing"),
        ("city", None, None, "devices: are required with the topology city"),
        ("city", ["nuc"], 2, "cells: is not allowed with the topology city"),
        ("cloud-regions", None, None, "devices: are required"),
        ("cloud-regions", ["nuc"], 11, "cells: 11 is not allowed: at most 10 regions"),
        ("urban-sensing", None, 0, "cells: 0 is not allowed: at least 1"),
        ("urban-sensing", [], None, "devices: at least one is needed"),
    ],
)
def test_layouts_that_cannot_be(
    name: str, devices: list[str] | None, cells: int | None, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        make_topology(name, devices, 0, cells)


def test_the_seed_decides() -> None:
    devices = draw_devices("edgeai", 60, 0)
    first, again, other = (make_topology("city", devices, seed) for seed in (1, 1, 2))
    assert first.names == again.names
    assert (first.hop_to == again.hop_to).all()
    assert first.names != other.names or (first.zone != other.zone).any()
    assert NONE not in first.zone
