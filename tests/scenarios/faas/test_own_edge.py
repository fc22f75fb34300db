"""An edge of one's own: devices, topologies, functions, and where these may be."""

from __future__ import annotations

import json

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import CloudarenaError
from cloudarena.scenarios.faas.build.network import build_infrastructure
from tests.scenarios.faas.cases import column, function

BOX = {"cores": 2, "memory_mb": 1000, "arch": "x86", "start_s": 0}
BOX["power"] = {"model": "linear", "idle_w": 1, "cpu_w": 4}
NODES = [
    {"name": "hub", "registry": True},
    {"name": "a", "device": "box", "zone": "west", "labels": {"room": "1"}, "position": [0, 0]},
    {"name": "b", "device": "box", "zone": "east", "labels": {"room": "2"}, "position": [30, 40]},
    {"name": "c", "device": "nuc", "count": 2, "zone": "east"},
]
LINKS = [{"a": "a", "b": "hub", "mbps": 80, "back_mbps": 8}, {"a": "b", "b": "a"}]
LINKS += [{"a": "c", "b": "hub", "latency_ms": 3}]


def edge(*functions, nodes=NODES, links=LINKS, topology=None, **changes):
    """Functions on two boxes and two NUCs for 100 seconds."""
    spec = {
        "scenario": "faas",
        "duration_s": 100,
        "devices": {"define": {"box": BOX}},
        "topology": {"nodes": nodes, "links": links, **(topology or {})},
        "functions": list(functions),
        **changes,
    }
    return cloudarena.load(spec)


def where(*functions, **changes):
    """The nodes of the replicas, function by function."""
    result = simulate(edge(*functions, **changes), "first-fit")
    rows = zip(
        column(result, "replicas", "function"), column(result, "replicas", "node"), strict=True
    )
    found = {}
    for name, node in rows:
        found.setdefault(name, []).append(node)
    return found


def test_a_device_of_ones_own_draws_what_it_says():
    result = simulate(edge(function(rate=0.5, image={"use": {"cpu": 0.5}})), "first-fit")
    assert column(result, "nodes", "node") == ["a", "b", "c-0", "c-1"]
    assert column(result, "nodes", "device") == ["box", "box", "nuc", "nuc"]
    energy = column(result, "nodes", "energy_j")
    done = sum(column(result, "invocations", "executed_s"))
    assert energy[0] == pytest.approx(100 * 1 + done * 0.5 * 4)
    assert energy[1] == pytest.approx(100)


def test_published_functions_run_faster_on_what_is_like_a_published_device():
    devices = {"define": {"orin": {"like": "nx", "speed": 4}}}
    nodes = [{"name": "x", "device": "orin", "registry": True}]
    work = {"name": "python-pi", "requests": {"source": "constant", "rate": 0.1}, "start_s": 0}
    spec = edge(work, nodes=nodes, links=[], devices=devices)
    plain = edge(work, nodes=[{"name": "x", "device": "nx", "registry": True}], links=[])
    times = [column(simulate(s, "first-fit"), "invocations", "executed_s") for s in (spec, plain)]
    assert times[0][:9] == pytest.approx([t / 4 for t in times[1][:9]])
    assert spec.power_of(spec.devices.known["orin"]) == plain.power_of(plain.devices.known["nx"])


def test_routes_bandwidths_and_distances_are_those_of_the_links():
    spec = edge(function())
    topology = build_infrastructure(spec, 0).topology
    assert topology.zones == ("west", "east")
    assert [topology.names[k] for k in topology.gateways] == ["a", "b"]
    rates = dict(zip(topology.link_names, topology.link_bytes_s / (125_000 * 0.97), strict=True))
    interfaces = (
        "a to b",
        "b to a",
        *(f"{x} to {y}" for c in "01" for x, y in ((f"c-{c}", "hub"), ("hub", f"c-{c}"))),
    )
    assert rates == pytest.approx({"a to hub": 80, "hub to a": 8} | dict.fromkeys(interfaces, 1000))
    # 50 km of fibre between a and b; 3 ms to each c; nothing was said of a and the hub.
    assert sorted(topology.distribution_means_s) == pytest.approx([0.00025, 0.003])


def test_degrees_are_kilometres_on_a_sphere():
    vienna, graz = [48.21, 16.37], [47.07, 15.44]
    nodes = [
        {"name": "v", "device": "nuc", "position": vienna, "registry": True},
        {"name": "g", "device": "nuc", "position": graz},
    ]
    spec = edge(
        function(), nodes=nodes, links=[{"a": "v", "b": "g"}], topology={"positions": "degrees"}
    )
    (pair,) = spec.topology.pairs()
    assert pair[3].loc == pytest.approx(145 * 0.005 / 1000, rel=0.02)


def two(**placement):
    """Two replicas of f."""
    return function(name="f", placement=placement, scaling={"minimum": 2, "maximum": 2})


@pytest.mark.parametrize(
    ("placement", "nodes"),
    [
        ({}, ["a", "a"]),
        ({"zones": ["east"]}, ["b", "b"]),
        ({"tiers": ["fog"]}, ["c-0", "c-0"]),
        ({"devices": ["nuc"]}, ["c-0", "c-0"]),
        ({"labels": {"room": "2"}}, ["b", "b"]),
        ({"per_node": 1}, ["a", "b"]),
        ({"zones": ["east"], "per_node": 1}, ["b", "c-0"]),
        ({"zones": ["east"], "tiers": ["fog"], "per_node": 1}, ["c-0", "c-1"]),
    ],
)
def test_a_function_is_where_its_placement_lets_it_be(placement, nodes):
    assert where(two(**placement))["f"] == nodes


def test_functions_want_each_other_near_or_avoid_each_other():
    near = function(name="g", image={"cpu_millicores": 0}, placement={"near": ["f"]})
    assert where(two(zones=["east"]), near)["g"] == ["b"]
    assert where(near, two(zones=["east"]))["g"] == ["b"]  # it waits for the other
    apart = function(name="g", placement={"apart": ["f"]})
    assert where(two(), apart)["g"] == ["b"]
    assert where(apart, two())["f"] == ["b", "b"]  # who is avoided does not come later either


def test_the_same_function_is_deployed_twice_and_pulls_its_image_once():
    work = {"requests": {"source": "constant", "rate": 0.1}, "placement": {"devices": ["nuc"]}}
    functions = [{"name": name, "from": "python-pi", **work} for name in ("one", "two")]
    spec = edge(*functions)
    result = simulate(spec, "first-fit")
    assert set(column(result, "replicas", "image")) == {"python-pi"}
    assert column(result, "flows", "purpose").count("pull") == 1
    assert cloudarena.load(spec.model_dump(mode="json")).functions == spec.functions


def test_images_are_taken_by_architecture_and_rank():
    images = [
        {"execution": {"distribution": "constant", "seconds": 1}, "image_mb": {"aarch64": 1}},
        {
            "execution": {"distribution": "constant", "seconds": 2},
            "image_mb": {"x86": 2},
            "name": "x",
        },
    ]
    work = function() | {"images": images}
    work.pop("image")
    result = simulate(edge(work), "first-fit")
    assert column(result, "replicas", "image") == ["x"]
    assert column(result, "invocations", "executed_s")[0] == 2


def test_times_and_use_are_drawn_from_what_was_measured(tmp_path):
    rows = ["box,0.5,0.2,0", "box,0.7,0.4,0", "nuc,9,1,0"]
    (tmp_path / "m.csv").write_text("device,seconds,cpu,gpu\n" + "\n".join(rows) + "\n")
    work = function(rate=1.0, measured=str(tmp_path / "m.csv"))
    result = simulate(edge(work), "first-fit")
    joules, seconds = (column(result, "invocations", c) for c in ("energy_j", "executed_s"))
    assert {round(s, 9) for s in seconds if s > 0} == {0.5, 0.7}
    assert joules == pytest.approx([0.3 * 4 * s for s in seconds])


def test_start_and_setup_are_distributions_by_device():
    by_device = {"box": {"setup": {"distribution": "constant", "seconds": 3}}}
    work = function(by_device=by_device, setup_s=1.0)
    work["start_s"], work["start"] = None, {"distribution": "constant", "seconds": 2}
    times = simulate(edge(work), "first-fit").tables["replicas"].to_pylist()[0]
    assert (times["starting_time_s"], times["setting_up_time_s"]) == pytest.approx((2, 3))
    elsewhere = work | {"placement": {"devices": ["nuc"]}}
    times = simulate(edge(elsewhere), "first-fit").tables["replicas"].to_pylist()[0]
    assert (times["starting_time_s"], times["setting_up_time_s"]) == pytest.approx((2, 1))


GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d4" for="edge" attr.name="latency_ms" attr.type="double"/>
  <key id="d3" for="edge" attr.name="mbps" attr.type="long"/>
  <key id="d2" for="node" attr.name="registry" attr.type="boolean"/>
  <key id="d1" for="node" attr.name="zone" attr.type="string"/>
  <key id="d0" for="node" attr.name="device" attr.type="string"/>
  <key id="d5" for="node" attr.name="room" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="hub"><data key="d2">True</data></node>
    <node id="a"><data key="d0">nuc</data><data key="d1">west</data><data key="d5">1</data></node>
    <edge source="hub" target="a"><data key="d3">100</data><data key="d4">2.5</data></edge>
  </graph>
</graphml>
"""
NODE_LINK = {
    "directed": False,
    "multigraph": False,
    "graph": {},
    "nodes": [
        {"id": "hub", "registry": True},
        {"id": "a", "device": "nuc", "zone": "west", "room": "1"},
    ],
    "edges": [{"source": "hub", "target": "a", "mbps": 100, "latency_ms": 2.5}],
}
YAML = """nodes:
- {name: hub, registry: true}
- {name: a, device: nuc, zone: west, labels: {room: "1"}}
links: [{a: hub, b: a, mbps: 100, latency_ms: 2.5}]
"""


def test_a_topology_is_the_same_from_every_kind_of_file(tmp_path):
    texts = {"t.graphml": GRAPHML, "t.json": json.dumps(NODE_LINK), "t.yaml": YAML}
    found = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        spec = {"scenario": "faas", "topology": name, "functions": [function()]}
        found.append(cloudarena.load(spec, folder=tmp_path).topology)
    assert found[0] == found[1] == found[2]
    assert found[0].nodes[1].labels == {"room": "1"}
    assert found[0].links[0].mbps == 100


def test_the_topology_is_drawn(cloudarena, tmp_path):
    code, out, err = cloudarena("trace", "describe", "faas/my-edge")
    assert code == 0, err
    assert "6 orin: camera-1-0 to camera-1-5  (1,000 Mbit/s, 0.4 ms)" in out
    assert "box-1, gateway, holds data" in out


BAD = {
    "define: 'nuc' is not allowed: it is a published type": {"devices": {"define": {"nuc": BOX}}},
    "like: 'nxx' is not allowed": {"devices": {"define": {"box": {"like": "nxx"}}}},
    "power: is required, for it is like no published device": {
        "devices": {"define": {"box": {k: v for k, v in BOX.items() if k != "power"}}}
    },
    "devices: mix or types are not allowed with nodes of one's own": {
        "devices": {"define": {"box": BOX}, "types": {"nuc": 1}}
    },
    "topology.nodes: 'boxx' is not allowed: one of": {
        "nodes": [{"name": "a", "device": "boxx", "registry": True}],
        "links": [],
    },
    "nodes: 'a' is a duplicate": {"nodes": [*NODES, {"name": "a"}]},
    "links[0]: 'aa' is not a node": {"links": [{"a": "aa", "b": "hub"}]},
    "registry: one is needed": {"nodes": NODES[1:], "links": []},
    "gateways: 'north' is not a zone of a device": {"topology": {"gateways": {"north": "hub"}}},
    "storage: 'hubb' is not a node": {"topology": {"storage": ["hubb"]}},
    "nodes: at least one device is needed": {"nodes": NODES[:1], "links": []},
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_with_an_edge_is_said(message):
    with pytest.raises(CloudarenaError) as error:
        edge(function(), **BAD[message])
    assert message in str(error.value)


BAD_FUNCTIONS = {
    "like: 'resnet' is not allowed without an image": {"like": "resnet", "image": None},
    "only one of like, image and images is allowed": {"like": "python-pi"},
    "placement.near: 'h' is not a function": {"placement": {"near": ["h"]}},
    "placement.devices: 'boxx' is not allowed": {"placement": {"devices": ["boxx"]}},
    "by_device: 'boxx' is not allowed": {"by_device": {"boxx": {}}},
    "setup: is not allowed together with setup_s": {
        "setup_s": 1,
        "setup": {"distribution": "constant", "seconds": 1},
    },
    "may be placed on no node": {"placement": {"labels": {"room": "9"}}},
    "m.csv: does not exist": {"measured": "m.csv"},
}


@pytest.mark.parametrize("message", BAD_FUNCTIONS)
def test_what_is_wrong_with_a_function_is_said(message):
    with pytest.raises(CloudarenaError) as error:
        edge({**function(), **BAD_FUNCTIONS[message]}).start(0)
    assert message in str(error.value)


def test_nodes_that_cannot_be_reached_are_named():
    with pytest.raises(CloudarenaError, match="there is no way from 'hub' to 'c-0'"):
        edge(function(), links=LINKS[:2]).start(0)


def test_the_old_key_of_a_distribution_is_read():
    new, old = ({key: "constant", "seconds": 2} for key in ("distribution", "law"))
    functions = [function(image={"execution": time}, setup=time) for time in (new, old)]
    links = [[*LINKS[:2], {"a": "c", "b": "hub", "latency_ms": time}] for time in (new, old)]
    assert edge(functions[0], links=links[0]) == edge(functions[1], links=links[1])
    both = function(image={"execution": {**new, **old}})
    with pytest.raises(CloudarenaError, match="law"):
        edge(both)
