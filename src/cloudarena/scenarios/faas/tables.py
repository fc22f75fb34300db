"""The tables of a run of functions. Times are seconds from the start; null where it never was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrow import arrow_column, arrow_table, read_numbers
from cloudarena.scenarios.faas.metrics import unanswered_s
from cloudarena.scenarios.faas.metrics.counting import (
    arrived_by_function,
    counted_s,
    late_requests,
)
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
    node_work_j,
    replica_idle_j,
    replica_seconds,
    request_energy_j,
    wasted_memory,
)
from cloudarena.scenarios.faas.metrics.holding import held_means_s, held_rows_s
from cloudarena.scenarios.faas.metrics.watching import measured
from cloudarena.scenarios.faas.spec.functions import IDLE
from cloudarena.scenarios.faas.state import (
    FUNCTION_SERIES,
    INVOCATION,
    NODE_SERIES,
    NONE,
    PHASES,
    POWERED,
    WHOLE,
    Outcome,
    RequestState,
    Resource,
    Transfer,
)
from cloudarena.workloads.faas.devices import DEVICES
from cloudarena.workloads.faas.functions import figures_note

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun

OUTCOMES, TRANSFERS = (
    np.array([member.name.lower() for member in members], object) for members in (Outcome, Transfer)
)


def make_tables(run: FaasRun) -> dict[str, pa.Table]:
    """All tables; without full recording the first invocations and flows, and no series of each."""
    tables = {
        "invocations": invocations_table(run),
        "replicas": replicas_table(run),
        "scaling": scaling_table(run),
        "decisions": decisions_table(run),
        "nodes": nodes_table(run),
        "devices": devices_table(run),
        "functions": functions_table(run),
        "phases": phases_table(run),
        "flows": flows_table(run),
        "power": power_table(run),
    }
    if run.world.extras is not None and len(run.world.extras.supplies) > 0:
        tables["supplies"] = supplies_table(run)
    if run.measure is not None and run.record != "none":
        tables["measured"] = measured_table(run)
    if run.record == "full":
        tables |= {
            "nodes_series": nodes_series_table(run),
            "energy_series": energy_series_table(run),
            "utilisation_series": utilisation_series_table(run),
            "function_utilisation_series": function_utilisation_series_table(run),
        }
        if "supplies" in tables:
            tables["supplies_series"] = supplies_series_table(run)
    return tables


def _or_null(values: NDArray[np.float64]) -> pa.Array:
    return arrow_column(values, mask=~np.isfinite(values))


def _function_names(run: FaasRun, indices: NDArray[Any]) -> pa.Array:
    names = np.array([*(f.name for f in run.scenario.functions), ""], object)
    return arrow_column(names[indices], mask=indices < 0)


def _node_names(run: FaasRun, indices: NDArray[Any]) -> pa.Array:
    names = np.array([*run.infrastructure.names, ""], object)
    return arrow_column(names[indices], mask=indices < 0)


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
    rows["energy"][executing] += request_energy_j(run.world, there[executing])
    rows["tries"], rows["caller"] = slots["tries"][there], slots["caller_function"][there]
    rows["caller_number"] = slots["caller_number"][there]
    return rows


def invocations_table(run: FaasRun) -> pa.Table:
    """One row per request, in the order in which they ended; those in the system last.

    A request that another called has the function and the number of its caller.
    """
    done = run.world.records.invocations[: run.world.clock[0]["invocations"]]
    rows = np.concatenate((done, _unfinished_rows(run)))
    further: dict[str, Any] = {}
    if run.world.extras is not None:
        further = {
            "retries": rows["tries"],
            "caller": _function_names(run, rows["caller"]),
            "caller_request": arrow_column(rows["caller_number"], mask=rows["caller"] < 0),
        }
    if run.held:
        further["held_s"] = held_rows_s(run, rows)
    return arrow_table(
        {
            "function": _function_names(run, rows["function"]),
            "request": rows["number"],
            "outcome": arrow_column(OUTCOMES[rows["outcome"]]),
            "node": _node_names(run, rows["node"]),
            "replica": arrow_column(rows["replica"], mask=rows["replica"] < 0),
            "cold": rows["cold"],
            "arrival_s": rows["arrival"],
            "start_s": _or_null(rows["start"]),
            "finish_s": _or_null(rows["finish"]),
            "response_s": _or_null(rows["finish"] - rows["arrival"]),
            "waited_s": rows["waited"],
            "executed_s": rows["executed"],
            "energy_j": rows["energy"],
            **further,
        }
    )


def replicas_table(run: FaasRun) -> pa.Table:
    """One row per replica: when each phase of its life began, and how long each lasted."""
    world, placed = run.world, int(run.world.clock[0]["placed"])
    rows = world.records.replicas[:placed].copy()
    there, shares = replica_idle_j(world)
    replica = world.replicas["number"][there]
    rows["served"][replica], rows["idle"][replica] = world.replicas["served"][there], shares
    columns: dict[str, Any] = {
        "replica": np.arange(placed),
        "function": _function_names(run, rows["function"]),
        "image": arrow_column(_image_names(run)[rows["variant"]]),
        "node": _node_names(run, rows["node"]),
        "note": arrow_column(_notes(run, rows)),
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
    return arrow_table(columns)


def _notes(run: FaasRun, rows: NDArray[np.void]) -> list[str | None]:
    """What one should know of the published figures of an image on a device, if anything."""
    images, devices = _image_names(run), run.infrastructure.devices
    published = [bool(f.published) for f in run.scenario.functions]
    return [
        figures_note(images[row["variant"]], devices[row["node"]])
        if published[row["function"]] and devices[row["node"]] in DEVICES
        else None
        for row in rows
    ]


def _image_names(run: FaasRun) -> NDArray[Any]:
    names: list[str] = []
    for function in run.scenario.functions:
        names.extend(function.image_names)
    return np.array(names, object)


def scaling_table(run: FaasRun) -> pa.Table:
    """One row per change of the number of replicas that a function should have."""
    rows = run.world.records.changes[: run.world.clock[0]["changes"]]
    by = np.where(rows["by_scaler"], "scaler", "from-zero").astype(object)
    return arrow_table(
        {
            "time_s": rows["time"],
            "function": _function_names(run, rows["function"]),
            "before": rows["before"],
            "after": rows["after"],
            "by": arrow_column(by),
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
    return arrow_table(
        {
            "time_s": times[order],
            "decision": arrow_column(np.where(is_place, "place", "scale")[order]),
            "function": _function_names(run, function[order]),
            "node": _node_names(run, node[order]),
            "replicas": arrow_column(replicas[order], mask=is_place[order]),
        }
    )


def nodes_table(run: FaasRun) -> pa.Table:
    """One row per node: energy, carbon and use. ``cpu_utilisation`` is over all that is counted.

    ``idle_energy_j`` is what it drew with nothing to do, ``empty_energy_j`` the part of that while
    it had no replica, ``boot_energy_j`` the part while it booted. Idle, dynamic, start and network
    energy sum to ``energy_j``.
    """
    world, now = run.world, max(counted_s(run.world), 1e-300)
    nodes = world.nodes
    count, (use, busy, _) = len(nodes), node_use_s(world)
    dynamic, start = node_work_j(world)
    zones = run.infrastructure.zones or [None] * count
    return arrow_table(
        {
            "node": arrow_column(run.infrastructure.names[:count]),
            "device": arrow_column(run.infrastructure.devices),
            "zone": arrow_column(zones),
            "energy_j": node_energy_j(world),
            "idle_energy_j": node_idle_j(world),
            "empty_energy_j": node_empty_j(world),
            "boot_energy_j": node_boot_j(world),
            "dynamic_energy_j": dynamic,
            "start_energy_j": start,
            "network_energy_j": node_network_j(world),
            "carbon_g": node_carbon_g(world),
            "cpu_utilisation": use[:, Resource.CPU] / WHOLE / now,
            "busy_share": busy / now,
            "on_share": node_on_s(world) / now,
            "replicas": nodes["hosted"],
            "executed": nodes["completed"],
            "boots": nodes["boots"],
        }
    )


def supplies_table(run: FaasRun) -> pa.Table:
    """One row per node with a battery: what it holds, and what came from panels and grid.

    What panels gave less what was spilled, what came from the grid, and what the battery lost sum
    to the energy of the node.
    """
    assert run.world.extras is not None
    rows = run.world.extras.supplies
    return arrow_table(
        {
            "node": _node_names(run, rows["node"]),
            "battery_wh": rows["battery_j"] / 3600.0,
            "charge_wh": rows["charge_j"] / 3600.0,
            "solar_wh": rows["sun_j"] / 3600.0,
            "spilled_wh": rows["spilled_j"] / 3600.0,
            "grid_wh": rows["grid_j"] / 3600.0,
        }
    )


def supplies_series_table(run: FaasRun) -> pa.Table:
    """One row per interval and node with a battery: what it holds when the interval ends."""
    assert run.world.extras is not None
    extras, samples = run.world.extras, run.world.records.samples
    count = int(run.world.clock[0]["samples"])
    ends = samples["time"][:count] + samples["seconds"][:count]
    nodes = extras.supplies["node"]
    return arrow_table(
        {
            "time_s": np.repeat(ends, len(nodes)),
            "node": _node_names(run, np.tile(nodes, count)),
            "charge_wh": extras.charges[:count].ravel() / 3600.0,
        }
    )


def measured_table(run: FaasRun) -> pa.Table:
    """One row per interval: what a function of the user's measured when it ended."""
    samples = run.world.records.samples[: run.world.clock[0]["samples"]]
    rows = run.measurements
    if len(rows) < len(samples):  # the run has ended
        rows = [*rows, measured(run)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([row.get(name) for row in rows], pa.float64()) for name in names}
    return arrow_table({"time_s": samples["time"] + samples["seconds"], **columns})


SUMMED = (
    *("energy_j", "idle_energy_j", "empty_energy_j", "boot_energy_j", "dynamic_energy_j"),
    *("start_energy_j", "network_energy_j", "carbon_g", "replicas", "executed", "boots"),
)
"""Columns of nodes that devices have sums of."""


def devices_table(run: FaasRun) -> pa.Table:
    """One row per type of device: sums over its nodes, and joules for each execution.

    ``dynamic_j_per_execution`` is what an execution that has ended used itself on average,
    ``j_per_execution`` all that its nodes drew; both are null where none has ended.
    """
    nodes = nodes_table(run)
    names = np.array(run.infrastructure.devices, object)
    types = list(run.infrastructure.types)
    member = np.array([[name == one for name in names] for one in types])
    sums = {name: member @ read_numbers(nodes[name]) for name in SUMMED}
    count = member.sum(axis=1)
    executed = np.where(sums["executed"] > 0, sums["executed"], np.nan)
    return arrow_table(
        {
            "device": arrow_column(types),
            "nodes": count,
            **sums,
            "cpu_utilisation": member @ read_numbers(nodes["cpu_utilisation"]) / count,
            "dynamic_j_per_execution": _or_null(member @ run.world.nodes["dynamic_j"] / executed),
            "j_per_execution": _or_null(sums["energy_j"] / executed),
        }
    )


def phases_table(run: FaasRun) -> pa.Table:
    """One row per phase: what all nodes drew for it. They sum to the energy of the run.

    ``boot`` is what nodes drew while they booted, ``idle`` what they drew else with nothing to do,
    on or off; ``pull``, ``start`` and ``setup`` are the CPU of cold starts, ``execute`` executions,
    ``network`` what crossed interfaces.
    """
    world = run.world
    phases = function_phases_j(world).sum(axis=0)
    boot = node_boot_j(world).sum()
    dynamic, _ = node_work_j(world)
    rows = {
        "boot": boot,
        "idle": node_idle_j(world).sum() - boot,
        "pull": phases[0],
        "start": phases[1],
        "setup": phases[2],
        "execute": dynamic.sum(),
        "network": node_network_j(world).sum(),
    }
    total = float(node_energy_j(world).sum())
    joules = np.array(list(rows.values()))
    return arrow_table(
        {
            "phase": arrow_column(list(rows)),
            "energy_j": joules,
            "share": joules / total if total > 0 else np.zeros(len(joules)),
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
    phases = function_phases_j(world)
    seconds, _ = replica_seconds(world)
    count = len(functions)
    responses, responded = world.responses[:completed], world.responded[:completed]
    done = functions["outcomes"][:, Outcome.COMPLETED]
    times = np.empty((count, 4))
    for f in range(count):
        answered, waited = responses[responded == f], unanswered_s(world, f)
        times[f] = run.earlier.times_s(answered, waited, f, late_requests(world, f))
    arrived, completed_late = arrived_by_function(world), functions["late"]
    ended = functions["outcomes"].sum(axis=1) - completed_late
    per = np.where(done > 0, done, np.nan)
    counted = done - completed_late

    def column(values: NDArray[Any], last: float = 0) -> NDArray[Any]:
        return np.append(values, np.array(last, values.dtype))

    held = {"held_mean_s": _or_null(column(held_means_s(run), np.nan))} if run.held else {}
    return arrow_table(
        {
            "function": arrow_column([*(f.name for f in run.scenario.functions), IDLE]),
            "requests": column(arrived),
            "completed": column(counted),
            "rejected": column(functions["outcomes"][:, Outcome.REJECTED]),
            "timed_out": column(functions["outcomes"][:, Outcome.TIMED_OUT]),
            "failed": column(functions["outcomes"][:, Outcome.FAILED]),
            "unfinished": column(arrived - ended),
            "response_mean_s": _or_null(column(times[:, 0], np.nan)),
            "response_p50_s": _or_null(column(times[:, 1], np.nan)),
            "response_p95_s": _or_null(column(times[:, 2], np.nan)),
            "response_p99_s": _or_null(column(times[:, 3], np.nan)),
            "waited_mean_s": _or_null(column(functions["waited_s"] / per, np.nan)),
            "executed_mean_s": _or_null(column(functions["executed_s"] / per, np.nan)),
            "cold_starts": column(functions["cold"]),
            "cold_share": _or_null(
                column(functions["cold"] / np.where(counted > 0, counted, np.nan), np.nan)
            ),
            "wasted_mb_s": column(wasted_memory(world) / 1e6),
            "replicas_mean": column(seconds / max(counted_s(world), 1e-300)),
            "dynamic_energy_j": column(energies.dynamic),
            "start_energy_j": column(energies.start),
            "pull_cpu_energy_j": column(phases[:, 0]),
            "startup_cpu_energy_j": column(phases[:, 1]),
            "setup_cpu_energy_j": column(phases[:, 2]),
            "network_energy_j": column(energies.network),
            "idle_energy_j": column(energies.idle, empty),
            "energy_j": column(sum(energies, np.zeros(count)), empty),
            **held,
        }
    )


def flows_table(run: FaasRun) -> pa.Table:
    """One row per transfer over the network that has got there."""
    rows = run.world.records.moved[: run.world.clock[0]["moved"]]
    node, other, outward = rows["node"], rows["other"], rows["outward"]
    nodes = run.world.nodes
    if run.world.rules[0]["network"]:
        ends = np.append(nodes["byte_j"], np.zeros(len(run.infrastructure.names) - len(nodes)))
        energy = np.where(node == other, 0.0, rows["bytes"] * (ends[node] + ends[other]))
    else:
        energy = (rows["end"] - rows["begin"]) * nodes["transfer_w"][node]
    return arrow_table(
        {
            "purpose": arrow_column(TRANSFERS[rows["purpose"]]),
            "function": _function_names(run, rows["function"]),
            "source": _node_names(run, np.where(outward, node, other)),
            "target": _node_names(run, np.where(outward, other, node)),
            "bytes": rows["bytes"],
            "energy_j": energy,
            "begin_s": rows["begin"],
            "end_s": rows["end"],
        }
    )


def power_table(run: FaasRun) -> pa.Table:
    """All nodes together: means over intervals of ``sample_s`` seconds, the last may be shorter.

    ``power_w`` times ``interval_s`` sums to the energy of the run, and of its warm-up.
    """
    rows = run.world.records.samples[: run.world.clock[0]["samples"]]
    return arrow_table(
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


def _intervals(run: FaasRun, names: list[str], key: str) -> dict[str, Any]:
    """The first columns of a series: a row for each interval and name."""
    samples, count = int(run.world.clock[0]["samples"]), len(names)
    rows = run.world.records.samples[:samples]
    return {
        "tick": np.repeat(np.arange(samples), count),
        key: arrow_column(names * samples),
        "time_s": np.repeat(rows["time"], count),
        "interval_s": np.repeat(rows["seconds"], count),
    }


def _energy_columns(run: FaasRun, watts: NDArray[np.float64]) -> dict[str, Any]:
    """The joules of each interval, and up to its end, of mean watts (samples, names)."""
    seconds = run.world.records.samples["seconds"][: len(watts)]
    joules = watts * seconds[:, None]
    return {
        "energy_j": joules.reshape(-1),
        "cumulative_j": np.cumsum(joules, axis=0).reshape(-1),
    }


def nodes_series_table(run: FaasRun) -> pa.Table:
    """Each node: means over the same intervals, and the joules of each and so far."""
    samples, count = int(run.world.clock[0]["samples"]), len(run.world.nodes)
    figures = run.world.records.nodes[:samples]
    power, idle, network = figures[..., 0], figures[..., 1], figures[..., 2]
    return arrow_table(
        {
            **_intervals(run, list(run.infrastructure.names[:count]), "node"),
            "power_w": power.reshape(-1),
            "cpu_utilisation": figures[..., 3].reshape(-1),
            "idle_w": idle.reshape(-1),
            "network_w": network.reshape(-1),
            "dynamic_w": (power - idle - network).reshape(-1),
            **_energy_columns(run, power),
        }
    )


def energy_series_table(run: FaasRun) -> pa.Table:
    """Each function, and the row idle for what nodes without replicas drew: watts and joules.

    Watts are means over the intervals; all functions and idle sum to the power of all nodes.
    """
    samples = int(run.world.clock[0]["samples"])
    figures = run.world.records.functions[:samples]
    total = run.world.records.samples["power"][:samples]
    rest = np.zeros((samples, 1, FUNCTION_SERIES))
    rest[:, 0, 3] = total - figures.sum(axis=(1, 2))
    parts = np.concatenate((figures, rest), axis=1)
    names = [*(function.name for function in run.scenario.functions), IDLE]
    return arrow_table(
        {
            **_intervals(run, names, "function"),
            "dynamic_w": parts[..., 0].reshape(-1),
            "start_w": parts[..., 1].reshape(-1),
            "network_w": parts[..., 2].reshape(-1),
            "idle_w": parts[..., 3].reshape(-1),
            "power_w": parts.sum(axis=2).reshape(-1),
            **_energy_columns(run, parts.sum(axis=2)),
        }
    )


def utilisation_series_table(run: FaasRun) -> pa.Table:
    """Each node: the mean utilisation of each resource over the same intervals."""
    samples, count = int(run.world.clock[0]["samples"]), len(run.world.nodes)
    figures = run.world.records.nodes[:samples, :, NODE_SERIES - POWERED :]
    names = list(run.infrastructure.names[:count])
    return arrow_table({**_intervals(run, names, "node"), **_resources(figures)})


def function_utilisation_series_table(run: FaasRun) -> pa.Table:
    """Each function: what it used of each resource on average over the same intervals.

    In whole nodes, executions and cold starts together: all functions sum to all nodes.
    """
    figures = run.world.records.uses[: int(run.world.clock[0]["samples"])]
    names = [function.name for function in run.scenario.functions]
    return arrow_table({**_intervals(run, names, "function"), **_resources(figures)})


def _resources(figures: NDArray[np.float64]) -> dict[str, Any]:
    """A column for each resource, of (samples, names, resources)."""
    return {
        resource.name.lower(): figures[..., resource].reshape(-1)
        for resource in Resource
        if resource < POWERED
    }
