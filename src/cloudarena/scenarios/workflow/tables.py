"""The tables of a workflow run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrow import arrow_column, arrow_table
from cloudarena.scenarios.workflow.state import MOMENT

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.run import WorkflowRun

SERIES_ROWS = 16_384
"""Instants that the series keeps, if there are more: each 2nd, 3rd, ... of them."""


def make_tables(run: WorkflowRun) -> dict[str, pa.Table]:
    """All tables. Times are in seconds; null where it did not happen."""
    return {
        "functions": functions_table(run),
        "workflows": workflows_table(run),
        "leases": leases_table(run),
        "nodes": nodes_table(run),
        "decisions": decisions_table(run),
        "series": series_table(run),
    }


def functions_table(run: WorkflowRun) -> pa.Table:
    """One row per function, by workflow and function."""
    rows = run.world.placements
    times = ("submission", "cold_start", "transfer", "creation", "start", "completion")
    columns = {name: _or_null(rows[name]) for name in times}
    columns["data_transfer"] = columns.pop("transfer")
    order = ("submission", "cold_start", "data_transfer", "creation", "start", "completion")
    return arrow_table({**_where(run, slice(None)), **{name: columns[name] for name in order}})


def decisions_table(run: WorkflowRun) -> pa.Table:
    """One row per decision, in order: a file for ``--policy replay:FILE``."""
    demand, rows = run.world.demand, run.world.placements
    order = demand.rank[demand.workflow] + _number_in_workflow(run)
    decided = np.flatnonzero(np.isfinite(rows["submission"]))
    decided = decided[np.lexsort((order[decided], rows["submission"][decided]))]
    return arrow_table({"time_s": rows["submission"][decided], **_where(run, decided)})


def workflows_table(run: WorkflowRun) -> pa.Table:
    """One row per workflow; ``critical_path`` is the least that its makespan can be."""
    workload, world = run.workload, run.world
    names = np.array(workload.template_names, object)[workload.template]
    return arrow_table(
        {
            "workflow": workload.workflow_ids,
            "template": arrow_column(names),
            "functions": np.diff(workload.first_function),
            "arrival": workload.arrival,
            "completion": _or_null(world.progress.completion),
            "makespan": _or_null(world.progress.completion - workload.arrival),
            "critical_path": world.demand.critical_path,
        }
    )


def leases_table(run: WorkflowRun) -> pa.Table:
    """One row per lease or extension of one, in the order in which they were rented."""
    rows = run.world.leases[: run.world.clock[0]["leases"]]
    first = run.world.servers.first_node[rows["server"]]
    return arrow_table(
        {
            **_server_columns(run, rows["server"]),
            "rented": rows["time"],
            "start": rows["start"],
            "expiry": rows["expiry"],
            "hours": rows["hours"],
            "rent": rows["hours"] * run.world.nodes.hourly_rate[first],
        }
    )


def nodes_table(run: WorkflowRun) -> pa.Table:
    """One row per node and stretch of time in which nothing started or completed on it."""
    world = run.world
    idle = np.zeros(len(world.nodes.server), MOMENT)
    idle["node"], idle["free_memory"] = np.arange(len(idle)), world.nodes.memory
    rows = np.concatenate((idle, world.moments[: world.clock[0]["moments"]]))
    rows = rows[np.lexsort((rows["time"], rows["node"]))]
    end = np.full(len(rows), run.now)
    same = rows["node"][1:] == rows["node"][:-1]
    end[:-1][same] = rows["time"][1:][same]
    lasts = end > rows["time"]
    rows, end = rows[lasts], end[lasts]
    node, start = rows["node"], rows["time"]
    server = world.nodes.server[node]
    memory = world.nodes.memory[node]
    return arrow_table(
        {
            **_server_columns(run, server),
            "numa_node": node - world.servers.first_node[server],
            "start": start,
            "end": end,
            "cpu_utilisation": rows["utilisation"],
            "memory_utilisation": (memory - rows["free_memory"]) / memory,
            "load": rows["parallelism"] / world.nodes.cores[node],
            "parallelism": rows["parallelism"],
            "free_memory": rows["free_memory"],
        }
    )


def series_table(run: WorkflowRun) -> pa.Table:
    """The whole cluster over time; thinned where there are very many instants."""
    world, rows = run.world, run.world.moments[: run.world.clock[0]["moments"]]
    rows = rows[np.lexsort((rows["time"], rows["node"]))]
    leases = world.leases[: world.clock[0]["leases"]]
    first = world.servers.first_node[leases["server"]]
    rents = leases["hours"] * world.nodes.hourly_rate[first]
    completion = world.progress.completion[np.isfinite(world.progress.completion)]
    arrival = run.workload.arrival[run.workload.arrival <= run.now]
    idle = np.zeros_like(world.nodes.memory)
    changes = {
        "workflows": (
            np.concatenate((arrival, completion)),
            np.concatenate((np.ones(len(arrival)), -np.ones(len(completion)))),
        ),
        "parallelism": (rows["time"], _changes(rows["node"], rows["parallelism"], idle)),
        "memory_mb": (
            rows["time"],
            -_changes(rows["node"], rows["free_memory"], world.nodes.memory),
        ),
        "rent_usd": (leases["time"], rents),
    }
    times = np.unique(np.concatenate([time for time, _ in changes.values()]))
    times = times[:: -(-len(times) // SERIES_ROWS) or 1]
    columns: dict[str, Any] = {"time_s": times}
    for name, (time, change) in changes.items():
        order = np.argsort(time, kind="stable")
        total = np.concatenate(([0.0], np.cumsum(change[order])))
        values = total[np.searchsorted(time[order], times, side="right")]
        columns[name] = values if name == "rent_usd" else np.rint(values).astype(np.int64)
    return arrow_table(columns)


def _changes(
    node: NDArray[np.int64], values: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The difference of each row of a node from the one before, or from its first value.

    Rows stand node by node.
    """
    before = np.concatenate(([0], values[:-1]))
    begin = np.ones(len(node), bool)
    begin[1:] = node[1:] != node[:-1]
    before[begin] = first[node[begin]]
    return (values - before).astype(np.float64)


def _number_in_workflow(run: WorkflowRun) -> NDArray[np.int64]:
    demand = run.world.demand
    return np.arange(len(demand.workflow)) - demand.first_function[demand.workflow]


def _where(run: WorkflowRun, chosen: Any) -> dict[str, Any]:
    """The columns that name functions and say where they were placed."""
    world = run.world
    workflow = world.demand.workflow[chosen]
    node = world.progress.node[chosen]
    server = np.where(node >= 0, world.nodes.server[node], 0)
    missing = node < 0
    columns = _server_columns(run, server, missing)
    numa_node = node - world.servers.first_node[server]
    return {
        "workflow": run.workload.workflow_ids.take(arrow_column(workflow)),
        "function": _number_in_workflow(run)[chosen],
        **columns,
        "numa_node": arrow_column(numa_node, mask=missing),
        "memory": arrow_column(world.placements["memory"][chosen], mask=missing),
        "not_before": _or_null(world.placements["not_before"][chosen]),
    }


def _server_columns(
    run: WorkflowRun, server: NDArray[np.int64], missing: NDArray[np.bool_] | None = None
) -> dict[str, pa.Array]:
    servers = run.scenario.servers
    names = np.array([kind.name for kind, _ in servers], object)
    numbers = np.array([number for _, number in servers], np.int64)
    return {
        "server_type": arrow_column(names[server], mask=missing),
        "server": arrow_column(numbers[server], mask=missing),
    }


def _or_null(values: NDArray[np.float64]) -> pa.Array:
    return arrow_column(values, mask=~np.isfinite(values))
