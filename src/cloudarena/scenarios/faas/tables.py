"""The tables of a run of functions. Times are seconds from the begin; null where it never was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.scenarios.faas.metrics import unanswered_s
from cloudarena.scenarios.faas.metrics.energies import (
    function_energies,
    node_carbon_g,
    node_empty_j,
    node_energy_j,
    node_idle_j,
    node_network_j,
    replica_idle_j,
    replica_seconds,
    request_energy_j,
)
from cloudarena.scenarios.faas.spec.functions import IDLE
from cloudarena.scenarios.faas.state import (
    INVOCATION,
    NONE,
    PHASES,
    WHOLE,
    NodeState,
    Outcome,
    RequestState,
    Resource,
    Transfer,
)
from cloudarena.workloads.faas.functions import FUNCTIONS, figures_note

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun

OUTCOMES, TRANSFERS = (
    np.array([member.name.lower() for member in members], object) for members in (Outcome, Transfer)
)


def make_tables(run: FaasRun) -> dict[str, pa.Table]:
    """All tables; without full recording the first invocations and flows, and no nodes_series."""
    tables = {
        "invocations": invocations_table(run),
        "replicas": replicas_table(run),
        "scaling": scaling_table(run),
        "decisions": decisions_table(run),
        "nodes": nodes_table(run),
        "functions": functions_table(run),
        "flows": flows_table(run),
        "power": power_table(run),
    }
    if run.record == "full":
        tables["nodes_series"] = nodes_series_table(run)
    return tables


def _or_null(values: NDArray[np.float64]) -> pa.Array:
    return pa.array(values, mask=~np.isfinite(values))


def _function_names(run: FaasRun, numbers: NDArray[Any]) -> pa.Array:
    names = np.array([*(f.name for f in run.scenario.functions), ""], object)
    return pa.array(names[numbers], pa.string(), mask=numbers < 0)


def _node_names(run: FaasRun, numbers: NDArray[Any]) -> pa.Array:
    names = np.array([*run.ground.names, ""], object)
    return pa.array(names[numbers], pa.string(), mask=numbers < 0)


def _unfinished_rows(run: FaasRun) -> NDArray[np.void]:
    """The requests that are in the system, as rows of invocations."""
    slots = run.world.slots
    there = np.flatnonzero(slots["state"] != RequestState.UNUSED)
    rows = np.zeros(len(there), INVOCATION)
    rows["function"], rows["number"] = slots["function"][there], slots["number"][there]
    rows["outcome"], rows["cold"] = Outcome.UNFINISHED, slots["cold"][there]
    replica = slots["replica"][there]
    rows["replica"] = np.where(replica >= 0, slots["replica_number"][there], -1)
    rows["node"] = np.where(replica >= 0, slots["node"][there], -1)
    rows["arrival"], rows["start"] = slots["arrival"][there], slots["start"][there]
    rows["finish"] = np.nan
    state = slots["state"][there]
    waits = (state == RequestState.WAITING) | (state == RequestState.QUEUED)
    rows["waited"] = slots["waited"][there] + np.where(waits, run.now - slots["since"][there], 0.0)
    executing = state == RequestState.EXECUTING
    executed = slots["executed"][there]
    rows["executed"] = np.where(executing, run.now - executed, executed)
    rows["energy"] = slots["energy_j"][there]
    rows["energy"][executing] = request_energy_j(run.world, there[executing])
    return rows


def invocations_table(run: FaasRun) -> pa.Table:
    """One row per request, in the order in which they ended; those in the system last."""
    done = run.world.records.invocations[: run.world.clock[0]["invocations"]]
    rows = np.concatenate((done, _unfinished_rows(run)))
    return pa.table(
        {
            "function": _function_names(run, rows["function"]),
            "request": rows["number"],
            "outcome": pa.array(OUTCOMES[rows["outcome"]], pa.string()),
            "node": _node_names(run, rows["node"]),
            "replica": pa.array(rows["replica"], mask=rows["replica"] < 0),
            "cold": rows["cold"],
            "arrival_s": rows["arrival"],
            "start_s": _or_null(rows["start"]),
            "finish_s": _or_null(rows["finish"]),
            "response_s": _or_null(rows["finish"] - rows["arrival"]),
            "waited_s": rows["waited"],
            "executed_s": rows["executed"],
            "energy_j": rows["energy"],
        }
    )


def replicas_table(run: FaasRun) -> pa.Table:
    """One row per replica: when each phase of its life began, and how long each lasted."""
    world, placed = run.world, int(run.world.clock[0]["placed"])
    rows = world.records.replicas[:placed].copy()
    there, shares = replica_idle_j(world)
    number = world.replicas["number"][there]
    rows["served"][number], rows["idle"][number] = world.replicas["served"][there], shares
    columns: dict[str, Any] = {
        "replica": np.arange(placed),
        "function": _function_names(run, rows["function"]),
        "image": pa.array(_image_names(run)[rows["variant"]], pa.string()),
        "node": _node_names(run, rows["node"]),
        "note": pa.array(_notes(run, rows), pa.string()),
        "requests": rows["served"],
        "idle_energy_j": rows["idle"],
    }
    begins = np.column_stack([rows[phase] for phase in PHASES])
    for phase in PHASES:
        columns[f"{phase}_s"] = _or_null(rows[phase])
    # A phase lasts until the next that the replica came to, or until now.
    following, lasted = np.full(placed, run.now), {}
    for k in range(len(PHASES) - 2, -1, -1):
        later = begins[:, k + 1]
        following = np.where(np.isfinite(later), later, following)
        lasted[PHASES[k]] = _or_null(following - begins[:, k])
    columns |= {f"{phase}_time_s": lasted[phase] for phase in PHASES[:-1]}
    return pa.table(columns)


def _notes(run: FaasRun, rows: NDArray[np.void]) -> list[str | None]:
    """What one should know of the published figures of an image on a device, if anything."""
    images, devices = _image_names(run), run.ground.devices
    published = [f.image is None for f in run.scenario.functions]
    return [
        figures_note(images[row["variant"]], devices[row["node"]])
        if published[row["function"]]
        else None
        for row in rows
    ]


def _image_names(run: FaasRun) -> NDArray[Any]:
    names: list[str] = []
    for function in run.scenario.functions:
        names.extend([function.name] if function.image else FUNCTIONS[function.name].images)
    return np.array(names, object)


def scaling_table(run: FaasRun) -> pa.Table:
    """One row per change of the number of replicas that a function should have."""
    rows = run.world.records.changes[: run.world.clock[0]["changes"]]
    by = np.where(rows["by_scaler"], "scaler", "from-zero").astype(object)
    return pa.table(
        {
            "time_s": rows["time"],
            "function": _function_names(run, rows["function"]),
            "before": rows["before"],
            "after": rows["after"],
            "by": pa.array(by, pa.string()),
        }
    )


def decisions_table(run: FaasRun) -> pa.Table:
    """One row per replica that was placed and change by a scaler: for ``--policy replay:FILE``."""
    clock, records = run.world.clock[0], run.world.records
    placed, changes = records.replicas[: clock["placed"]], records.changes[: clock["changes"]]
    changes = changes[changes["by_scaler"]]
    times = np.concatenate((changes["time"], placed["scheduled"]))
    order = np.argsort(times, kind="stable")
    is_place = np.repeat([False, True], (len(changes), len(placed)))
    function = np.concatenate((changes["function"], placed["function"]))
    node = np.concatenate((np.full(len(changes), NONE), placed["node"]))
    replicas = np.concatenate((changes["after"], np.zeros(len(placed), np.int64)))
    return pa.table(
        {
            "time_s": times[order],
            "decision": pa.array(np.where(is_place, "place", "scale")[order], pa.string()),
            "function": _function_names(run, function[order]),
            "node": _node_names(run, node[order]),
            "replicas": pa.array(replicas[order], pa.int64(), mask=is_place[order]),
        }
    )


def nodes_table(run: FaasRun) -> pa.Table:
    """One row per node: energy, carbon and use. ``cpu_utilisation`` is over the whole run.

    ``idle_energy_j`` is what it drew with nothing to do, ``empty_energy_j`` the part of that while
    it had no replica.
    """
    world, now = run.world, max(run.now, 1e-300)
    nodes = world.nodes
    count, since = len(nodes), run.now - nodes["since"]
    on = np.where(nodes["state"] != NodeState.OFF, run.now - nodes["base_since"], 0.0)
    busy = np.where(nodes["running"] > 0, since, 0.0)
    cpu = since * np.minimum(nodes["load"][:, Resource.CPU] / WHOLE, 1.0)
    zones = run.ground.zones or [None] * count
    return pa.table(
        {
            "node": pa.array(run.ground.names[:count], pa.string()),
            "device": pa.array(run.ground.devices, pa.string()),
            "zone": pa.array(zones, pa.string()),
            "energy_j": node_energy_j(world),
            "idle_energy_j": node_idle_j(world),
            "empty_energy_j": node_empty_j(world),
            "network_energy_j": node_network_j(world),
            "carbon_g": node_carbon_g(world),
            "cpu_utilisation": (nodes["cpu_s"] / WHOLE + cpu) / now,
            "busy_share": (nodes["busy_s"] + busy) / now,
            "on_share": (nodes["on_s"] + on) / now,
            "replicas": nodes["hosted"],
            "boots": nodes["boots"],
        }
    )


def functions_table(run: FaasRun) -> pa.Table:
    """One row per function, and one, idle, for what nodes without replicas drew.

    ``idle_energy_j`` are shares of what nodes drew with nothing to do. Response times are as in the
    metrics: those of unfinished requests are longer than they have waited.
    """
    world = run.world
    functions, completed = world.functions, int(world.clock[0]["completed"])
    energies, empty = function_energies(world), float(node_empty_j(world).sum())
    seconds, _ = replica_seconds(world)
    count = len(functions)
    responses, responded = world.responses[:completed], world.responded[:completed]
    done = functions["outcomes"][:, Outcome.COMPLETED]
    times = np.empty((count, 4))
    for f in range(count):
        times[f] = run.earlier.times_s(responses[responded == f], unanswered_s(world, f), f)
    ended = functions["outcomes"].sum(axis=1)
    per = np.where(done > 0, done, np.nan)

    def column(values: NDArray[Any], last: float = 0) -> NDArray[Any]:
        return np.append(values, np.array(last, values.dtype))

    return pa.table(
        {
            "function": pa.array([*(f.name for f in run.scenario.functions), IDLE], pa.string()),
            "requests": column(functions["arrived"]),
            "completed": column(done),
            "rejected": column(functions["outcomes"][:, Outcome.REJECTED]),
            "timed_out": column(functions["outcomes"][:, Outcome.TIMED_OUT]),
            "unfinished": column(functions["arrived"] - ended),
            "response_mean_s": _or_null(column(times[:, 0], np.nan)),
            "response_p50_s": _or_null(column(times[:, 1], np.nan)),
            "response_p95_s": _or_null(column(times[:, 2], np.nan)),
            "response_p99_s": _or_null(column(times[:, 3], np.nan)),
            "waited_mean_s": _or_null(column(functions["waited_s"] / per, np.nan)),
            "executed_mean_s": _or_null(column(functions["executed_s"] / per, np.nan)),
            "cold_starts": column(functions["cold"]),
            "replicas_mean": column(seconds / max(run.now, 1e-300)),
            "dynamic_energy_j": column(energies.dynamic),
            "start_energy_j": column(energies.start),
            "network_energy_j": column(energies.network),
            "idle_energy_j": column(energies.idle, empty),
            "energy_j": column(sum(energies, np.zeros(count)), empty),
        }
    )


def flows_table(run: FaasRun) -> pa.Table:
    """One row per transfer over the network that has got there."""
    rows = run.world.records.moved[: run.world.clock[0]["moved"]]
    node, other, outward = rows["node"], rows["other"], rows["outward"]
    return pa.table(
        {
            "purpose": pa.array(TRANSFERS[rows["purpose"]], pa.string()),
            "function": _function_names(run, rows["function"]),
            "source": _node_names(run, np.where(outward, node, other)),
            "target": _node_names(run, np.where(outward, other, node)),
            "bytes": rows["bytes"],
            "begin_s": rows["begin"],
            "end_s": rows["end"],
        }
    )


def power_table(run: FaasRun) -> pa.Table:
    """All nodes together: means over intervals of ``sample_s`` seconds, the last may be shorter.

    ``power_w`` times ``interval_s`` sums to the energy of the run.
    """
    rows = run.world.records.samples[: run.world.clock[0]["samples"]]
    return pa.table(
        {
            "time_s": rows["time"],
            "interval_s": rows["seconds"],
            "power_w": rows["power"],
            "idle_w": rows["idle"],
            "network_w": rows["network"],
            "dynamic_w": rows["power"] - rows["idle"] - rows["network"],
            "nodes_on": rows["nodes_on"],
            "replicas": rows["replicas"],
            "running": rows["running"],
            "waiting": rows["waiting"],
        }
    )


def nodes_series_table(run: FaasRun) -> pa.Table:
    """Each node: means over the same intervals."""
    world, samples = run.world, int(run.world.clock[0]["samples"])
    count = len(world.nodes)
    return pa.table(
        {
            "tick": np.repeat(np.arange(samples), count),
            "node": pa.array(list(run.ground.names[:count]) * samples, pa.string()),
            "time_s": np.repeat(world.records.samples["time"][:samples], count),
            "interval_s": np.repeat(world.records.samples["seconds"][:samples], count),
            "power_w": world.records.nodes[:samples, :, 0].reshape(-1),
            "cpu_utilisation": world.records.nodes[:samples, :, 1].reshape(-1),
        }
    )
