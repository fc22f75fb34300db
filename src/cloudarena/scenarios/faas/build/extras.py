"""What only some specs have, as arrays: failures, calls between functions, batteries, grids."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError, nearest
from cloudarena.scenarios.faas.build.network import Infrastructure
from cloudarena.scenarios.faas.build.own import addresses
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.spec.power import GRIDS, Supply
from cloudarena.scenarios.faas.state import (
    CALL,
    COLUMNS,
    NONE,
    OUTAGE,
    PROGRESS,
    SUN,
    SUPPLY,
    Extras,
)

MOST_CALLS = 1_000_000_000
"""More requests that follow from one count as so many."""
STALLED_BYTES_S = 1e-3
"""What a link that has failed carries: a byte in a quarter of an hour."""


def grids_of(scenario: FaasScenario) -> list[tuple[tuple[float, float], ...]]:
    """The intensities of grids: that of all zones, then the zones', and the last without carbon."""
    everywhere = scenario.carbon.rows()
    if not scenario.has_extras:
        return [everywhere]
    grids = [everywhere, *(grid.rows() for grid in scenario.carbon.zones.values())]
    return [*grids, *([((0.0, 0.0),)] * (GRIDS - len(grids)))]


def build_extras(
    scenario: FaasScenario,
    infrastructure: Infrastructure,
    nodes: NDArray[np.void],
    samples: int,
    replicas: int,
) -> Extras:
    """The outages of a run by time, the calls of its functions, and supplies; grids of nodes.

    There is room for so many samples of what batteries hold, and replicas that users see.
    """
    zones = list(scenario.carbon.zones)
    for zone in zones:
        if zone not in infrastructure.zones:
            known = sorted(set(infrastructure.zones))
            raise SpecError(
                f"carbon.zones: {zone!r} is not allowed: a zone of a device.{nearest(zone, known)}"
            )
    if zones:
        own = [zones.index(zone) + 1 if zone in zones else 0 for zone in infrastructure.zones]
        nodes["grid"] = own
    outages = _outages(scenario, infrastructure)
    supplies, suns = _supplies(scenario, infrastructure, nodes)
    alone = set(supplies["node"][~supplies["has_grid"]].tolist())
    if alone & set(outages["index"][~outages["is_link"]].tolist()):
        raise SpecError("topology.failures: a node without a grid fails by its battery alone")
    return Extras(
        progress=np.zeros(1, PROGRESS),
        outages=outages,
        calls=_calls(scenario),
        supplies=supplies,
        suns=suns,
        charges=np.zeros((samples, len(supplies))),
        hooks=addresses(scenario),
        shown=np.zeros((replicas, COLUMNS)),
    )


def _supplies(
    scenario: FaasScenario, infrastructure: Infrastructure, nodes: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """The batteries of nodes, and what their panels give; such nodes fall back on their grid."""
    given: dict[int, Supply] = {}
    for name, supply in scenario.power.supplies.items():
        alike = [k for k, device in enumerate(infrastructure.devices) if device == name]
        for index in alike or _nodes(scenario, infrastructure, name, "power.supplies"):
            given[index] = supply
    rows = np.zeros(len(given), SUPPLY)
    suns: list[tuple[float, float]] = []
    for k, (index, supply) in enumerate(sorted(given.items(), key=lambda one: one[0])):
        row, capacity = rows[k], supply.battery_wh * 3600.0
        row["node"], row["grid"], row["has_grid"] = index, nodes["grid"][index], supply.grid
        row["battery_j"], row["charge_j"] = capacity, capacity * supply.charge
        row["least_j"] = capacity * supply.least_charge
        row["restart_j"], row["sun"] = capacity * supply.restart_charge, len(suns)
        suns += supply.rows()
        row["end_sun"] = len(suns)
        nodes["grid"][index], nodes["supply"][index] = GRIDS - 1, k
    return rows, np.array(suns, SUN)


def _calls(scenario: FaasScenario) -> NDArray[np.void]:
    """The calls of all functions, one row for each that an invocation makes."""
    names = [function.name for function in scenario.functions]
    calls = {function.name: function.calls for function in scenario.functions}

    @cache
    def requests(name: str) -> int:
        return min(
            1 + sum(call.count * requests(call.function) for call in calls[name]), MOST_CALLS
        )

    rows = [
        (names.index(call.function), call.wait, requests(call.function))
        for function in scenario.functions
        for call in function.calls
        for _ in range(call.count)
    ]
    return np.array(rows, CALL)


def _outages(scenario: FaasScenario, infrastructure: Infrastructure) -> NDArray[np.void]:
    """When nodes and links fail and work again, by time; what works again goes first."""
    rows: list[tuple[float, bool, bool, int, float]] = []
    here = scenario, infrastructure
    spans: dict[tuple[bool, int], list[tuple[float, float, str]]] = {}
    for failure in scenario.topology.failures:
        if failure.node is not None:
            hit = [(index, 0.0) for index in _nodes(*here, failure.node, "topology.failures")]
        else:
            hit = _links(infrastructure, *(failure.link or ("", "")))
        for index, bytes_s in hit:
            is_link, end = failure.link is not None, failure.end_s
            name = failure.node or " to ".join(failure.link or ())
            spans.setdefault((is_link, index), []).append((failure.at_s, end, name))
            rows.append((failure.at_s, True, is_link, index, STALLED_BYTES_S))
            if end < math.inf:
                rows.append((end, False, is_link, index, bytes_s))
    for times in spans.values():
        times.sort()
        for (_, end, name), (begin, _, _) in itertools.pairwise(times):
            if begin < end:
                raise SpecError(
                    f"topology.failures: {name} fails at {begin:g} s, but has not been repaired"
                )
    outages = np.zeros(len(rows), OUTAGE)
    for outage, (time, fails, is_link, index, bytes_s) in zip(outages, sorted(rows), strict=True):
        outage["time"], outage["is_over"] = time, not fails
        outage["is_link"], outage["index"], outage["bytes_s"] = is_link, index, bytes_s
    return outages


def _nodes(
    scenario: FaasScenario, infrastructure: Infrastructure, name: str, key: str
) -> list[int]:
    """The indices of the nodes of a name."""
    names = infrastructure.names[: len(infrastructure.devices)]
    alike = [node.names for node in scenario.topology.nodes if node.name == name]
    wanted = set(alike[0]) if alike else {name}
    found = [index for index, one in enumerate(names) if one in wanted]
    if not found:
        raise SpecError(f"{key}: node {name!r} is not allowed: a device.{nearest(name, names)}")
    return found


def _links(infrastructure: Infrastructure, a: str, b: str) -> list[tuple[int, float]]:
    """The links between two nodes, both ways, and what they carry."""
    topology, names = infrastructure.topology, infrastructure.names
    if topology is None:
        raise SpecError("topology.failures: link is not allowed: there is no topology")
    found = []
    for begin, end in ((a, b), (b, a)):
        if begin not in names:
            raise SpecError(
                f"topology.failures: link of {begin!r} is not allowed: a node."
                + nearest(begin, names)
            )
        vertex = names.index(begin)
        hops = range(topology.hop_begin[vertex], topology.hop_begin[vertex + 1])
        links = {topology.hop_link[hop] for hop in hops if names[topology.hop_to[hop]] == end}
        found += [(int(k), float(topology.link_bytes_s[k])) for k in sorted(links - {NONE})]
    if not found:
        raise SpecError(
            f"topology.failures: link {a} to {b} is not allowed: a link with a bandwidth"
        )
    return found
