"""Classes of nodes: those of one type of device on which the same functions may be placed.

The kernel looks up what an image does on a node by the node's class. Where a function may be in one
zone and not in another, nodes of one type fall into several classes, and the image does not run on
some of them; so placement costs no more than before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError
from cloudarena.scenarios.faas.build.network import Infrastructure
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import NONE


class Classes(NamedTuple):
    """Which classes there are, and which one each node is of."""

    kinds: list[tuple[str, tuple[bool, ...]]]
    """The type of device, and whether each function that is particular may be there."""
    of_node: list[int]
    particular: list[int]
    """The functions that may not be everywhere."""


def classes_of(scenario: FaasScenario, infrastructure: Infrastructure) -> Classes:
    """The classes of the nodes; without placement rules they are the types of devices."""
    known, count = scenario.devices.known, len(infrastructure.devices)
    zones = infrastructure.zones or ("",) * count
    labels = infrastructure.labels or ({},) * count
    particular = [k for k, f in enumerate(scenario.functions) if not f.placement.is_free]
    rules = [scenario.functions[k].placement for k in particular]
    seen: dict[tuple[str, str, tuple[tuple[str, str], ...]], tuple[str, tuple[bool, ...]]] = {}
    kinds = []
    for device, zone, given in zip(infrastructure.devices, zones, labels, strict=True):
        key = (device, zone, tuple(sorted(given.items())))
        if key not in seen:
            tier = known[device].tier
            seen[key] = device, tuple(rule.allows(device, tier, zone, given) for rule in rules)
        kinds.append(seen[key])
    ordered = sorted(set(kinds))
    index = {kind: k for k, kind in enumerate(ordered)}
    for k, which in enumerate(particular):
        if not any(allowed[k] for _, allowed in ordered):
            name = scenario.functions[which].name
            raise SpecError(f"functions: {name!r} may be placed on no node: see its placement")
    return Classes(ordered, [index[kind] for kind in kinds], particular)


def forbid(scenario: FaasScenario, fits: NDArray[np.void], classes: Classes) -> None:
    """Takes the images of particular functions from the classes on which they may not be."""
    ends = np.cumsum([len(function.image_names) for function in scenario.functions])
    for k, which in enumerate(classes.particular):
        begin = ends[which] - len(scenario.functions[which].image_names)
        for kind, (_, allowed) in enumerate(classes.kinds):
            if not allowed[k]:
                fits["distribution"][begin : ends[which], kind] = NONE
