"""What nodes and functions have used so far, with what is under way; nothing is changed by it.

The energy of a node is its idle energy, that of what executed and started there, and that of
transfers over its interface. All of it belongs to somebody: the first goes in equal parts to the
replicas that are there, the others to the function that they were for. What a node draws without
replicas is nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.scenarios.faas.state import (
    NONE,
    POWERED,
    WHOLE,
    ImageState,
    NodeState,
    Phase,
    RequestState,
    Resource,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.state import World

Joules = NDArray[np.float64]


class FunctionEnergies(NamedTuple):
    """The energies of each function, in joules."""

    dynamic: Joules
    """The energy of its executions."""
    start: Joules
    """The energy of the CPU that its cold starts claimed."""
    network: Joules
    """The energy of what moved for it, at the nodes at both ends."""
    idle: Joules
    """The shares of its replicas in what nodes draw with nothing to do."""


def _since(world: World, meter: str = "since") -> NDArray[np.float64]:
    """The seconds since a meter of each node was read."""
    seconds: NDArray[np.float64] = float(world.clock[0]["now"]) - world.nodes[meter]
    return seconds


def _transfers_j(world: World) -> Joules:
    """What transfers under way have used that is in no meter yet, with or without a topology."""
    watts = world.nodes["transfers"] * world.nodes["transfer_w"]
    energy: Joules = watts * _since(world, "transfers_since") + _flows(world)[0]
    return energy


def _flows(world: World) -> tuple[Joules, Joules]:
    """What flows under way have used that is in no meter yet: of nodes, and of functions."""
    nodes, functions = np.zeros(len(world.nodes)), np.zeros(len(world.functions))
    if not world.rules[0]["network"]:
        return nodes, functions
    flows, now = world.paths.flows, float(world.clock[0]["now"])
    moving = np.flatnonzero(flows.slots["route"] != NONE)
    what, route = world.paths.purposes[moving], flows.routes[flows.slots["route"][moving]]
    with np.errstate(invalid="ignore"):
        served = route["served"] + route["rate"] * (now - route["clock"])
    left = np.maximum(0.0, flows.slots["target"][moving] - served)
    left = np.where(np.isinf(route["rate"]), 0.0, left)
    amount = np.where(what["node"] == what["other"], 0.0, what["bytes"] - left - what["metered"])
    for end in ("node", "other"):
        own = what[end] < len(nodes)
        used = amount[own] * world.nodes["byte_j"][what[end][own]]
        np.add.at(nodes, what[end][own], used)
        np.add.at(functions, what["function"][own], used)
    return nodes, functions


def node_network_j(world: World) -> Joules:
    """The energy of transfers over each node's interface so far."""
    energy: Joules = world.nodes["network_j"] + _transfers_j(world)
    return energy


def node_energy_j(world: World) -> Joules:
    """The energy of each node so far."""
    nodes = world.nodes
    energy: Joules = nodes["energy_j"] + nodes["power_w"] * _since(world) + _transfers_j(world)
    return energy


def grid_energy_j(world: World) -> Joules:
    """The part of the energy of each node that came from the grid so far."""
    energy = node_energy_j(world)
    if world.extras is not None:
        supplies = world.extras.supplies
        energy[supplies["node"]] = supplies["grid_j"]
    return energy


def peak_w(world: World) -> NDArray[np.float64]:
    """What each node draws with all it has busy, and a transfer each way."""
    nodes = world.nodes
    coefficients = nodes["coefficient_w"]
    cpu = np.maximum(coefficients[:, Resource.CPU], nodes["points"].max(axis=1))
    others = coefficients.sum(axis=1) - coefficients[:, Resource.CPU]
    base = np.max([nodes[name] for name in ("idle_w", "boot_w", "off_w")], axis=0)
    watts: NDArray[np.float64] = base + cpu + others + 2.0 * nodes["transfer_w"]
    return watts


def node_idle_j(world: World) -> Joules:
    """What each node has drawn so far with nothing to do: idle, off or booting."""
    nodes = world.nodes
    energy: Joules = nodes["base_j"] + nodes["base_w"] * _since(world, "base_since")
    return energy


def node_empty_j(world: World) -> Joules:
    """The part of that while it had no replica."""
    nodes = world.nodes
    watts = np.where(nodes["replicas"] == 0, nodes["base_w"], 0.0)
    energy: Joules = nodes["empty_j"] + watts * _since(world, "base_since")
    return energy


def node_used_s(world: World) -> NDArray[np.float64]:
    """How long each node has held a replica so far."""
    nodes = world.nodes
    now = np.where(nodes["replicas"] == 0, 0.0, _since(world, "base_since"))
    seconds: NDArray[np.float64] = nodes["used_s"] + now
    return seconds


def node_on_s(world: World) -> NDArray[np.float64]:
    """How long each node has been on or has booted so far."""
    nodes = world.nodes
    is_on = np.isin(nodes["state"], (NodeState.ON, NodeState.BOOTING))
    now = np.where(is_on, _since(world, "base_since"), 0.0)
    seconds: NDArray[np.float64] = nodes["on_s"] + now
    return seconds


def node_use_s(world: World) -> tuple[NDArray[np.float64], ...]:
    """Each node's use of resources in millionths, busy time and time of invocations so far."""
    nodes, since = world.nodes, _since(world)
    load = np.minimum(nodes["load"][:, :POWERED], WHOLE)
    return (
        nodes["use_s"] + load * since[:, None],
        nodes["busy_s"] + np.where(nodes["running"] > 0, since, 0.0),
        nodes["running_s"] + nodes["running"] * since,
    )


def node_carbon_g(world: World) -> NDArray[np.float64]:
    """The carbon of each node so far."""
    nodes, clock = world.nodes, world.clock[0]
    grid = nodes["grid"]
    intensity = world.carbon["g_per_j"][int(clock["carbon_row"])][grid]
    by_now = clock["carbon"][grid]
    watts = nodes["transfers"] * nodes["transfer_w"]
    carbon: NDArray[np.float64] = (
        nodes["carbon_g"]
        + nodes["power_w"] * (by_now - nodes["carbon"])
        + watts * (by_now - nodes["transfers_carbon"])
        + _flows(world)[0] * intensity
    )
    return carbon


def node_boot_j(world: World) -> Joules:
    """What each node has drawn while it booted: a part of its idle energy."""
    nodes = world.nodes
    booting = np.where(nodes["state"] == NodeState.BOOTING, nodes["base_w"], 0.0)
    energy: Joules = nodes["boot_j"] + booting * _since(world, "base_since")
    return energy


def _claimed(world: World, since: str = "claim_j") -> tuple[NDArray[np.int64], Joules]:
    """The slots of the replicas that are there, and what their cold starts have used uncounted."""
    nodes, replicas = world.nodes, world.replicas
    there = np.flatnonzero(replicas["state"] != Phase.FREE)
    node = replicas["node"][there]
    units = (
        nodes["unit_j"][node, Resource.CPU]
        + nodes["unit_w"][node, Resource.CPU] * _since(world)[node]
    )
    return there, replicas["claim"][there] * (units - replicas[since][there])


def node_work_j(world: World) -> tuple[Joules, Joules]:
    """What executions and what cold starts have used on each node so far."""
    dynamic, start = (world.nodes[f"{name}_j"].copy() for name in ("dynamic", "start"))
    there, claimed = _claimed(world)
    np.add.at(start, world.replicas["node"][there], claimed)
    running = np.flatnonzero(world.slots["state"] == RequestState.EXECUTING)
    np.add.at(dynamic, world.slots["node"][running], request_energy_j(world, running))
    return dynamic, start


def function_phases_j(world: World) -> Joules:
    """What the cold starts of each function have used, (functions, 3): pull, start, set-up."""
    energy: Joules = world.functions["phase_j"].copy()
    there, claimed = _claimed(world, "phase_unit_j")
    where = world.replicas["function"][there], world.replicas["claim_phase"][there]
    np.add.at(energy, where, claimed)
    return energy


def replica_idle_j(world: World) -> tuple[NDArray[np.int64], Joules]:
    """The slots of the replicas that are there, and their shares of idle energy so far."""
    nodes, replicas = world.nodes, world.replicas
    there = np.flatnonzero(replicas["state"] != Phase.FREE)
    node = replicas["node"][there]
    since = _since(world, "base_since")
    share = nodes["share_j"][node] + nodes["share_w"][node] * since[node]
    return there, share - replicas["share_j"][there]


def request_energy_j(world: World, slots: NDArray[np.int64]) -> Joules:
    """What requests that execute, by their slots, have used so far."""
    nodes, requests = world.nodes, world.slots[slots]
    replica = world.replicas[requests["replica"]]
    node = replica["node"]
    claim = world.fits["claim"][replica["variant"], nodes["device_type"][node], :POWERED]
    units = nodes["unit_j"][node] + nodes["unit_w"][node] * _since(world)[node][:, None]
    used: Joules = (claim * (units - requests["unit_j"])).sum(axis=1)
    return used


def function_energies(world: World) -> FunctionEnergies:
    """What each function has used so far."""
    functions, replicas = world.functions, world.replicas
    dynamic, start, idle = (functions[f"{name}_j"].copy() for name in ("dynamic", "start", "idle"))
    there, shares = replica_idle_j(world)
    np.add.at(idle, replicas["function"][there], shares)
    np.add.at(start, replicas["function"][there], _claimed(world)[1])
    running = np.flatnonzero(world.slots["state"] == RequestState.EXECUTING)
    np.add.at(dynamic, world.slots["function"][running], request_energy_j(world, running))
    return FunctionEnergies(dynamic, start, _network_j(world), idle)


def _network_j(world: World) -> Joules:
    """The energy of what moved for each function."""
    now, watts = float(world.clock[0]["now"]), world.nodes["transfer_w"]
    energy: Joules = world.functions["network_j"] + _flows(world)[1]
    if world.rules[0]["network"]:
        return energy
    slots, replicas = world.slots, world.replicas
    moving = np.flatnonzero(
        np.isin(slots["state"], (RequestState.DOWNLOADING, RequestState.UPLOADING))
    )
    used = (now - slots["since"][moving]) * watts[slots["node"][moving]]
    np.add.at(energy, slots["function"][moving], used)
    fetching = np.flatnonzero((replicas["state"] != Phase.FREE) & replicas["fetching"])
    used = (now - replicas["fetching_s"][fetching]) * watts[replicas["node"][fetching]]
    np.add.at(energy, replicas["function"][fetching], used)
    node, image = np.nonzero(world.images["state"] == ImageState.ON_ITS_WAY)
    pulls = world.images[node, image]
    np.add.at(energy, pulls["function"], (now - pulls["since"]) * watts[node])
    return energy


def wasted_memory(world: World) -> NDArray[np.float64]:
    """Byte-seconds of the memory of replicas that were ready and idle, of each function so far."""
    replicas, wasted = world.replicas, world.functions["wasted_s"].copy()
    there = (replicas["state"] != Phase.FREE) & (replicas["busy"] == 0)
    idle = np.flatnonzero(there & np.isfinite(replicas["idle_s"]))
    seconds = float(world.clock[0]["now"]) - replicas["idle_s"][idle]
    held = world.variants["memory"][replicas["variant"][idle]] * seconds
    np.add.at(wasted, replicas["function"][idle], held)
    return wasted


def replica_seconds(world: World) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds of replicas, and byte-seconds of their memory, of each function so far."""
    functions, replicas = world.functions, world.replicas
    now = float(world.clock[0]["now"])
    seconds, memory = functions["replica_s"].copy(), functions["memory_s"].copy()
    there = np.flatnonzero(replicas["state"] != Phase.FREE)
    lived = now - replicas["since"][there]
    np.add.at(seconds, replicas["function"][there], lived)
    held = world.variants["memory"][replicas["variant"][there]] * lived
    np.add.at(memory, replicas["function"][there], held)
    return seconds, memory
