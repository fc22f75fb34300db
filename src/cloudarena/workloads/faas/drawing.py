"""A topology as a tree of text: what lies behind what, seen from the registry of images."""

from __future__ import annotations

from itertools import groupby

from cloudarena.workloads.faas.topology import GOODPUT, NONE, Topology

MEGABIT = 125_000.0 * GOODPUT
"""Bytes a second of a megabit a second."""
MOST_LINES = 120
"""Lines of a drawing; what is below is left out, and said."""


def draw_topology(topology: Topology) -> str:
    """The tree of the shortest ways from the registry; leaves that are alike are one line."""
    count = len(topology.names)
    parent, hop_to = [NONE] * count, [NONE] * count
    children: list[list[int]] = [[] for _ in range(count)]
    order, seen = [topology.registry], {topology.registry}
    for vertex in order:
        for hop in range(topology.hop_begin[vertex], topology.hop_begin[vertex + 1]):
            other = int(topology.hop_to[hop])
            if other not in seen:
                seen.add(other)
                order.append(other)
                children[vertex].append(other)
                parent[other], hop_to[other] = vertex, hop
    lines = [_name(topology, topology.registry) + ", the registry"]
    _branch(topology, children, hop_to, topology.registry, "", lines)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES:,} lines more"]
    crossing = sum(
        1
        for vertex in range(count)
        for hop in range(topology.hop_begin[vertex], topology.hop_begin[vertex + 1])
        if parent[int(topology.hop_to[hop])] != vertex and parent[vertex] != topology.hop_to[hop]
    )
    if crossing:
        lines.append(f"{crossing // 2:,} further connections are not on these shortest ways")
    return "\n".join(lines)


def _branch(
    topology: Topology,
    children: list[list[int]],
    hop_to: list[int],
    vertex: int,
    indent: str,
    lines: list[str],
) -> None:
    """What lies behind a vertex, line by line."""

    def alike(child: int) -> tuple[str, ...]:
        if children[child] or child >= len(topology.devices):
            return (str(child),)
        marks = _marks(topology, child)
        return topology.devices[child], _way(topology, hop_to[child]), marks

    ordered = sorted(children[vertex], key=lambda child: (len(children[child]) > 0, alike(child)))
    groups = [list(group) for _, group in groupby(ordered, key=alike)]
    for k, group in enumerate(groups):
        is_last = k == len(groups) - 1
        words = _name(topology, group[0])
        if len(group) > 1:
            device = topology.devices[group[0]]
            words = f"{len(group)} {device}: {words} to {topology.names[group[-1]]}"
        elif group[0] < len(topology.devices):
            words += f", {topology.devices[group[0]]}"
        words += _marks(topology, group[0])
        way = _way(topology, hop_to[group[0]])
        lines.append(f"{indent}{'└─' if is_last else '├─'} {words}{f'  ({way})' if way else ''}")
        deeper = indent + ("   " if is_last else "│  ")
        _branch(topology, children, hop_to, group[0], deeper, lines)


def _name(topology: Topology, vertex: int) -> str:
    return topology.names[vertex]


def _marks(topology: Topology, vertex: int) -> str:
    """What a vertex is for: it holds data, or a zone's requests come in there."""
    words = []
    if vertex in topology.storage:
        words.append("holds data")
    words += [
        f"requests of {zone}"
        for zone, gateway in zip(topology.zones, topology.gateways, strict=True)
        if gateway == vertex
    ]
    return "".join(f", {word}" for word in words)


def _way(topology: Topology, hop: int) -> str:
    """The bandwidth towards a vertex and the mean latency."""
    words = []
    if topology.hop_link[hop] != NONE:
        words.append(f"{topology.link_bytes_s[topology.hop_link[hop]] / MEGABIT:,.6g} Mbit/s")
    if topology.hop_distribution[hop] != NONE:
        seconds = topology.distribution_means_s[topology.hop_distribution[hop]]
        words.append(f"{1000 * seconds:.3g} ms")
    return ", ".join(words)
