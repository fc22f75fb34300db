"""Named topologies: urban sensing, industrial IoT, cloud regions, a city; and inline ones.

Sources: ether (edgerun/ether 0.3, Rausch et al. 2020) for the first three, Raith 2021 for the city.
Each cell is there once, and each device has one interface, full duplex. A layout takes any list of
devices; without one, urban sensing and industrial IoT come with devices of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.engine.distributions import Distribution, constant
from cloudarena.engine.streams import stream
from cloudarena.workloads.faas.devices import DEVICES, Device
from cloudarena.workloads.faas.topology import (
    BUSINESS,
    LAN,
    MOBILE,
    NONE,
    Builder,
    Topology,
    mbit,
)

Known = Mapping[str, Device]
"""The types of devices that there are."""
CELLS = 3
RACK = 5
"""Servers in a rack."""
DEVICES_PER_CELL, DEVICES_PER_FACTORY = 13, 20
"""The mean devices of a cell of urban sensing, and of a factory, that bring their own."""
BOX_SIZES = {"rpi3": 3, "rpi4": 2, "rockpi": 1}
"""Boards in a box on a pole, in the city; two of any other type."""

REGIONS = (
    "us-east-1",
    "us-west-2",
    "ca-central-1",
    "sa-east-1",
    "eu-west-1",
    "eu-central-1",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-northeast-1",
)
ROUND_TRIPS_MS = (
    (77.26, 20.23, 121.78, 75.01, 92.33, 188.34, 240.2, 204.18, 163.02),
    (72.3, 183.2, 134.08, 164.34, 225.7, 170.53, 143.23, 103.37),
    (126.12, 78.92, 103.85, 199.25, 230.12, 200.24, 159.68),
    (184.63, 207.41, 304.62, 339.72, 311.6, 270.46),
    (25.79, 125.46, 180.73, 259.5, 218.64),
    (113.38, 177.0, 285.28, 249.05),
    (61.54, 145.37, 136.27),
    (92.75, 80.05),
    (107.52,),
)
"""Round trips from each region to those after it. Source: cloudping.co, 18 May 2020, by ether."""


def make_topology(
    name: str,
    devices: Sequence[str] | None = None,
    seed: int = 0,
    cells: int | None = None,
    known: Known = DEVICES,
) -> Topology:
    """A named topology.

    Args:
        name: one of ``TOPOLOGIES``.
        devices: their types. Urban sensing and industrial IoT have devices of their own.
        seed: decides who is where.
        cells: how many cells, factories or regions; by default it follows from the devices. A
            city draws the sizes of its cells, and so their number.
        known: the types of devices that there are.
    """
    check_choice("topology", name, TOPOLOGIES)
    if cells is not None and cells < 1:
        raise SpecError(f"cells: {cells} is not allowed: at least 1")
    return TOPOLOGIES[name](devices, stream(seed, "topology"), cells, known)


def _cell_size(rng: np.random.Generator) -> int:
    """Boxes in a neighbourhood: ``int(2.02 + LN(0, 0.82))``, 2.9 on average (ether)."""
    return int(2.02 + rng.lognormal(0.0, 0.82))


def _groups(devices: Sequence[int], size: int) -> list[list[int]]:
    """Devices in groups of a size, the last one smaller."""
    return [list(devices[k : k + size]) for k in range(0, len(devices), size)]


def _dealt(devices: Sequence[int], cells: int) -> list[list[int]]:
    """Devices dealt out to cells, as cards are."""
    return [list(devices[k::cells]) for k in range(cells)]


def _of(devices: Sequence[str], known: Known, *roles: str) -> list[int]:
    """The devices of some roles, in order."""
    return [k for k, device in enumerate(devices) if known[device].role in roles]


def _cloudlet(builder: Builder, name: str, servers: Sequence[int]) -> int:
    """Racks of servers on a switch, which is returned."""
    switch = builder.vertex(name)
    for number, rack in enumerate(_groups(servers, RACK)):
        builder.connect(builder.box(f"{name} rack {number}", rack), switch, distribution=LAN)
    return switch


def _neighbourhood(
    builder: Builder,
    name: str,
    boxes: Sequence[Sequence[int]],
    shared_mbit: float,
) -> int:
    """Boxes on one shared link, which all traffic of theirs crosses once; returns the gateway."""
    gateway, medium = builder.vertex(name), builder.vertex(f"{name} medium")
    shared = builder.link(f"{name} shared", mbit(shared_mbit))
    builder.hop(gateway, medium, shared)
    builder.hop(medium, gateway)
    for number, devices in enumerate(boxes):
        switch = builder.box(f"{name} box {number}", devices)
        builder.hop(switch, medium, shared, LAN)
        builder.hop(medium, switch, NONE, LAN)
    return gateway


def _internet(builder: Builder) -> int:
    """The internet, with the registry on it."""
    internet = builder.vertex("internet")
    builder.registry = builder.vertex("registry")
    builder.connect(builder.registry, internet)
    return internet


def _finished(builder: Builder) -> Topology:
    """Data lies on the first device of each zone that is not all cloud, or of each if all are."""
    members: list[list[int]] = [[] for _ in builder.zones]
    for device, zone in enumerate(builder.zone):
        if zone != NONE:
            members[zone].append(device)
    cloud = set(_of(builder.devices, builder.known, "cloud"))
    edges = [zone for zone in members if not cloud.issuperset(zone)]
    # A fog node first: it has the disk for it.
    fog = set(_of(builder.devices, builder.known, "fog"))
    builder.storage = [min(zone, key=lambda k: (k not in fog, k)) for zone in edges or members]
    return builder.build()


def _urban_sensing(
    devices: Sequence[str] | None, rng: np.random.Generator, cells: int | None, known: Known
) -> Topology:
    """Cells of boxes with two boards each, a box with accelerators, and a cloudlet of racks.

    Without devices: 3 cells; in each, n boxes of 2 Raspberry Pi 3, a NUC and 2n TX2; and 10 Xeons
    (ether's servers, which no function was measured on, have 88 cores).
    """
    if devices is None:
        made: list[str] = []
        contents: list[list[list[int]]] = []
        for _ in range(cells or CELLS):
            size, begin = _cell_size(rng), len(made)
            made += ["rpi3"] * 2 * size + ["nuc"] + ["tx2"] * 2 * size
            boards = list(range(begin, begin + 2 * size))
            contents.append([*_groups(boards, 2), list(range(begin + 2 * size, len(made)))])
        builder = Builder([*made, *["xeoncpu"] * 2 * RACK])
    else:
        builder = Builder(devices, known=known)
        boards = _of(devices, known, "board")
        others = _of(devices, known, "accelerated", "fog")
        if boards or others:
            number = cells or max(CELLS, round((len(boards) + len(others)) / DEVICES_PER_CELL))
            pairs = zip(_dealt(boards, number), _dealt(others, number), strict=True)
            contents = [[*_groups(a, 2), *([b] if b else [])] for a, b in pairs if a or b]
        else:
            contents = []
    internet = _internet(builder)
    for number, boxes in enumerate(contents):
        gateway = _neighbourhood(builder, f"cell-{number}", boxes, 500)
        builder.connect(gateway, internet, mbit(25), mbit(125), MOBILE)
        builder.zone_of(f"cell-{number}", gateway, [device for box in boxes for device in box])
    _add_cloudlet(builder, internet)
    return _finished(builder)


def _add_cloudlet(builder: Builder, internet: int) -> None:
    """The cloud servers, if there are any, in a zone behind fibre."""
    servers = _of(builder.devices, builder.known, "cloud")
    if servers:
        switch = _cloudlet(builder, "cloudlet", servers)
        builder.connect(switch, internet, mbit(1000), mbit(1000), LAN)
        builder.zone_of("cloudlet", switch, servers)


def _industrial_iot(
    devices: Sequence[str] | None, rng: np.random.Generator, cells: int | None, known: Known
) -> Topology:
    """Factories: boards on a shared link, a box with accelerators, a cloudlet on the premises.

    Without devices: one factory with 3 Raspberry Pi 3, a NUC, a TX2, and 15 Xeons.
    """
    own = ["rpi3"] * 3 + ["nuc", "tx2"] + ["xeoncpu"] * 3 * RACK
    types = own * (cells or 1) if devices is None else list(devices)
    builder = Builder(types, known=known)
    number = cells or max(1, round(len(types) / DEVICES_PER_FACTORY))
    internet = _internet(builder)
    parts = (("board",), ("accelerated", "fog"), ("cloud",))
    dealt = (_dealt(_of(types, known, *part), number) for part in parts)
    for k, (boards, compute, servers) in enumerate(zip(*dealt, strict=True)):
        if not boards + compute + servers:
            continue
        factory = builder.vertex(f"factory-{k}")
        builder.connect(factory, internet, mbit(50), mbit(500), BUSINESS)
        if boards:
            floor = _neighbourhood(builder, f"factory-{k} floor", [[d] for d in boards], 300)
            builder.connect(floor, factory, distribution=LAN)
        if compute:
            builder.connect(builder.box(f"factory-{k} box", compute), factory, distribution=LAN)
        if servers:
            cloudlet = _cloudlet(builder, f"factory-{k} cloudlet", servers)
            builder.connect(cloudlet, factory, mbit(10_000), mbit(10_000))
        builder.zone_of(f"factory-{k}", factory, boards + compute + servers)
    return _finished(builder)


def _cloud_regions(
    devices: Sequence[str] | None, rng: np.random.Generator, cells: int | None, known: Known
) -> Topology:
    """Devices dealt out to regions, each with a cloudlet; the registry is in the first.

    Between regions only latency counts: half the measured round trip.
    """
    if devices is None:
        raise SpecError("devices: are required with the topology cloud-regions")
    if cells is not None and cells > len(REGIONS):
        raise SpecError(f"cells: {cells} is not allowed: at most {len(REGIONS)} regions")
    builder = Builder(devices, known=known)
    number = min(cells or len(REGIONS), len(devices))
    switches = []
    for name, members in zip(REGIONS, _dealt(range(len(devices)), number), strict=False):
        switches.append(_cloudlet(builder, name, members))
        builder.zone_of(name, switches[-1], members)
    for k, others in enumerate(ROUND_TRIPS_MS[: number - 1]):
        for other, round_trip in zip(switches[k + 1 :], others, strict=False):
            builder.connect(other, switches[k], distribution=constant(round_trip / 2000.0))
    builder.registry = builder.vertex("registry")
    builder.connect(builder.registry, switches[0])
    return _finished(builder)


def _city(
    devices: Sequence[str] | None, rng: np.random.Generator, cells: int | None, known: Known
) -> Topology:
    """Neighbourhoods of boxes with boards, some accelerators and at most one NUC; a cloudlet.

    Accelerators and NUCs that are left over go to neighbourhoods at random.
    """
    if devices is None:
        raise SpecError("devices: are required with the topology city")
    if cells is not None:
        raise SpecError("cells: is not allowed with the topology city, which draws its cells")
    builder = Builder(devices, known=known)
    boards, boxes = _of(devices, known, "board"), []
    for kind in sorted({devices[k] for k in boards}, key=list(known).index):
        boxes += _groups([k for k in boards if devices[k] == kind], BOX_SIZES.get(kind, 2))
    boxes = [boxes[k] for k in rng.permutation(len(boxes))]
    accelerators = rng.permutation(_of(devices, known, "accelerated")).astype(int).tolist()
    fog = _of(devices, known, "fog")
    contents: list[list[list[int]]] = []
    while boxes or (not contents and accelerators + fog):
        size = _cell_size(rng)
        cell, boxes = boxes[:size], boxes[size:]
        helpers, accelerators = accelerators[:size], accelerators[size:]
        if helpers:
            cell = [*cell, helpers]
        if fog:
            cell = [[fog.pop(0)], *cell]
        contents.append(cell)
    for device in accelerators + fog:
        contents[rng.integers(len(contents))].append([device])
    internet = _internet(builder)
    for number, cell in enumerate(contents):
        gateway = _neighbourhood(builder, f"cell-{number}", cell, 10_000)
        builder.connect(gateway, internet, mbit(250), mbit(250))
        builder.zone_of(f"cell-{number}", gateway, [device for box in cell for device in box])
    _add_cloudlet(builder, internet)
    return _finished(builder)


TOPOLOGIES: dict[
    str, Callable[[Sequence[str] | None, np.random.Generator, int | None, Known], Topology]
] = {
    "urban-sensing": _urban_sensing,
    "industrial-iot": _industrial_iot,
    "cloud-regions": _cloud_regions,
    "city": _city,
}


class InlineNode(NamedTuple):
    """A node of an inline topology; one without device is a switch."""

    name: str
    device: str | None = None
    zone: str = "zone"


class InlineLink(NamedTuple):
    """A connection of two nodes by name; bytes a second each way, None without a limit."""

    a: str
    b: str
    forth_bytes_s: float | None = None
    back_bytes_s: float | None = None
    latency: Distribution | None = None


def inline_topology(
    nodes: Sequence[InlineNode],
    links: Sequence[InlineLink],
    registry: str,
    storage: Sequence[str] = (),
    gateways: Mapping[str, str] | None = None,
    known: Known = DEVICES,
) -> Topology:
    """A topology from nodes and links as they are written into a spec.

    Args:
        nodes: devices and switches, with unique names.
        links: their connections.
        registry: the node that images are pulled from.
        storage: the devices that hold data; by default as in named topologies.
        gateways: the node that a zone's requests come from; its first node by default.
        known: the types of devices that there are.
    """
    ordered = [node for node in nodes if node.device is not None]
    switches = [node for node in nodes if node.device is None]
    names = [node.name for node in ordered]
    builder = Builder([node.device or "" for node in ordered], names, known)
    vertices = {node.name: k for k, node in enumerate(ordered)}
    vertices |= {node.name: builder.vertex(node.name) for node in switches}
    if len(vertices) < len(nodes):
        names = [node.name for node in nodes]
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(f"nodes: {twice!r} is a duplicate")

    def vertex(field: str, name: str) -> int:
        if name not in vertices:
            raise SpecError(f"{field}: {name!r} is not a node.{nearest(name, vertices)}")
        return vertices[name]

    for k, link in enumerate(links):
        ends = vertex(f"links[{k}]", link.a), vertex(f"links[{k}]", link.b)
        for (a, b), bytes_s in zip(
            (ends, ends[::-1]), (link.forth_bytes_s, link.back_bytes_s), strict=True
        ):
            name = f"{builder.names[a]} to {builder.names[b]}"
            builder.hop(
                a, b, NONE if bytes_s is None else builder.link(name, bytes_s), link.latency
            )
    builder.registry = vertex("registry", registry)
    for zone in dict.fromkeys(node.zone for node in ordered):
        members = [vertices[node.name] for node in ordered if node.zone == zone]
        first = next(node.name for node in nodes if node.zone == zone)
        builder.zone_of(zone, vertex("gateways", (gateways or {}).get(zone, first)), members)
    builder.storage = [vertex("storage", name) for name in storage]
    if any(device >= len(ordered) for device in builder.storage):
        raise SpecError("storage: only devices hold data")
    return builder.build() if builder.storage else _finished(builder)
