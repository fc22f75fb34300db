"""The end of the warm-up: all that metrics count begins at zero.

What goes on then is not disturbed. A total is set to minus what of it is under way and in no meter
yet, so that it reads zero, and later what came after. Of the requests that came before, those that
were answered by then do not count. Those in the system count with all of their time in response
times, each in the place of the shortest, and if they are lost. Their answers do not count. So
nobody gains by putting off until after the warm-up what came in it. What was left undone counts
from the start of the run, and so do the requests of which it is a share: nobody gains by losing
them in the warm-up, nor can anybody choose of how many requests it is a share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.scenarios.faas.metrics.energies import (
    function_energies,
    function_phases_j,
    node_boot_j,
    node_carbon_g,
    node_empty_j,
    node_energy_j,
    node_idle_j,
    node_network_j,
    node_on_s,
    node_use_s,
    node_used_s,
    node_work_j,
    replica_seconds,
    wasted_memory,
)
from cloudarena.scenarios.faas.state import LOST, WHOLE, Outcome, RequestState, World


def counted_s(world: World) -> float:
    """How long metrics have counted: since the end of the warm-up, or the start before it."""
    clock = world.clock[0]
    return float(clock["now"]) - float(clock["counted_from_s"])


def arrived_by_function(world: World) -> NDArray[np.int64]:
    """The requests of each function that count."""
    functions = world.functions
    arrived: NDArray[np.int64] = functions["arrived"] - functions["early"] - functions["late"]
    return arrived


def completed_by_function(world: World) -> NDArray[np.int64]:
    """Requests that were answered, of each."""
    done: NDArray[np.int64] = world.functions["outcomes"][:, Outcome.COMPLETED]
    return done - world.functions["late"]


def calls_to_come(world: World) -> int:
    """The calls that requests in the system have not made yet, and what follows from them."""
    if world.extras is None or len(world.extras.calls) == 0:
        return 0
    sums = np.concatenate(([0], np.cumsum(world.extras.calls["requests"])))
    slots = in_system(world)
    slots = slots[~slots["again"]]
    ends = world.functions["end_call"][slots["function"]]
    return int((sums[ends] - sums[slots["reached"]]).sum())


def in_system(world: World, function: int | None = None) -> NDArray[Any]:
    """The slots of requests that have not ended; of one function, or all."""
    slots = world.slots[world.slots["state"] != RequestState.UNUSED]
    return slots if function is None else slots[slots["function"] == function]


def late_requests(world: World, function: int | None = None) -> int:
    """The requests of the warm-up that were answered after it, or are in the system."""
    slots, begin = in_system(world, function), world.clock[0]["counted_from_s"]
    answered = world.functions["late"][slice(None) if function is None else function]
    return int(answered.sum()) + int((slots["late"] | (slots["arrival"] < begin)).sum())


def all_requests(world: World) -> int:
    """The requests that came or would have, in the warm-up too: the same, whatever is decided.

    What a request calls again, since it was begun again, counts once.
    """
    functions = world.functions
    came = functions["arrived"] - functions["again"] + functions["uncalled"]
    return int(came.sum()) + calls_to_come(world)


def lost(world: World) -> int:
    """The requests that came and were lost, in the warm-up too, or would have come and never will.

    What was called again counts too.
    """
    functions = world.functions
    never = functions["outcomes"][:, LOST].sum() + functions["missed"].sum()
    return int(never + functions["uncalled"].sum())


def left_undone(world: World) -> int:
    """The requests that have no answer, or not yet, of all that came or would have."""
    functions = world.functions
    repeated = int(functions["again"].sum() - functions["again_done"].sum())
    return lost(world) + int(world.clock[0]["in_system"]) + calls_to_come(world) - repeated


def begin_counting(world: World) -> None:
    """Sets all that metrics count to zero; series go on as they were."""
    clock, functions = world.clock[0], world.functions
    _begin_nodes(world)
    spent = function_energies(world)
    for name, used in zip(("dynamic", "start", "network", "idle"), spent, strict=True):
        functions[f"{name}_j"] -= used
    functions["phase_j"] -= function_phases_j(world)
    seconds, memory = replica_seconds(world)
    functions["replica_s"] -= seconds
    functions["memory_s"] -= memory
    functions["wasted_s"] -= wasted_memory(world)
    if len(world.records.spent) > 0:
        world.records.spent[0] -= np.column_stack(spent)
    functions["early"] += functions["outcomes"].sum(axis=1)
    functions["missed"] += functions["outcomes"][:, LOST].sum(axis=1)
    for name in (
        "outcomes",
        "late",
        "cold",
        "response_s",
        "waited_s",
        "executed_s",
        "retried",
    ):
        functions[name] = 0
    for name in ("completed", "invocations", "moved"):
        clock[name] = 0
    clock["evictions"] = 0
    if world.extras is not None:
        for name in ("sun_j", "spilled_j", "grid_j"):
            world.extras.supplies[name] = 0.0
        nodes = world.extras.supplies["node"]
        world.extras.supplies["network_j"] = world.nodes["network_j"][nodes]
    clock["warm"], clock["counted_from_s"] = False, clock["now"]


def _begin_nodes(world: World) -> None:
    """Sets the meters of the nodes to zero, and those of the last sample back by as much."""
    nodes, shown = world.nodes, world.records.meters[0]
    dynamic, start = node_work_j(world)
    used_s, carbon, empty, boot = (
        read(world) for read in (node_used_s, node_carbon_g, node_empty_j, node_boot_j)
    )
    energy, idle, network = (read(world) for read in (node_energy_j, node_idle_j, node_network_j))
    on, (use, busy, running) = node_on_s(world), node_use_s(world)
    for name, used in (
        *(("energy_j", energy), ("base_j", idle), ("network_j", network), ("on_s", on)),
        *(("use_s", use), ("busy_s", busy), ("running_s", running), ("used_s", used_s)),
        *(("carbon_g", carbon), ("empty_j", empty), ("boot_j", boot)),
        *(("dynamic_j", dynamic), ("start_j", start)),
    ):
        nodes[name] -= used
    nodes["hosted"], nodes["boots"], nodes["completed"] = nodes["replicas"], 0, 0
    for name, used in (
        *(("energy", energy), ("idle", idle), ("network", network)),
        *(("on", on), ("running", running), ("use", use / WHOLE)),
    ):
        shown[name] -= used
