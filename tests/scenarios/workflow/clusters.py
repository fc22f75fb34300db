"""Toy clusters whose numbers can be worked out on paper.

A core does 1,000 operations a second; memory, NUMA bus and network carry 400, 200 and 100 bytes a
second; a server costs $1.50 an hour and is there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import cloudarena
from cloudarena.contract import Result
from cloudarena.scenarios.workflow import WorkflowDecision, WorkflowScenario

HOUR_OPERATIONS = 3_600_000
"""What one thread does in an hour."""


def fn(computation: int, memory_req: int = 1, parallelism: int = 1) -> dict[str, int]:
    """A function of a toy workflow."""
    return {"computation": computation, "memory_req": memory_req, "parallelism": parallelism}


def flow(
    *functions: dict[str, int], arrival: float = 0, edges: Iterable[tuple[int, int, int]] = ()
) -> dict[str, Any]:
    """A toy workflow."""
    return {"arrival": arrival, "functions": list(functions), "edges": [list(e) for e in edges]}


def chain(*functions: dict[str, int], arrival: float = 0, size: int = 0) -> dict[str, Any]:
    """A toy workflow of functions that wait for each other in turn."""
    edges = [(k, k + 1, size) for k in range(len(functions) - 1)]
    return flow(*functions, arrival=arrival, edges=edges)


def server(
    name: str = "s",
    count: int = 1,
    nodes: int = 1,
    cpu: int = 4,
    memory: int = 8192,
    rate: float = 1.5,
    latency: float = 0,
) -> dict[str, Any]:
    """Servers of a toy cluster."""
    return {
        "name": name,
        "count": count,
        "hourly_rate": rate,
        "cold_start_latency": latency,
        "numa_nodes": {"count": nodes, "cpu": cpu, "memory": memory},
    }


def spec_of(
    *workflows: dict[str, Any],
    servers: Iterable[dict[str, Any]] = (),
    cluster: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The spec of a toy cluster with these workflows."""
    return {
        "scenario": "workflow",
        "cluster": {
            "memory_bandwidth": 400,
            "numa_bandwidth": 200,
            "network_bandwidth": 100,
            "single_core_speed": 1000,
            "servers": list(servers) or [server()],
            **(cluster or {}),
        },
        "workload": list(workflows),
        "record": "full",
        **more,
    }


def toy(*workflows: dict[str, Any], **more: Any) -> WorkflowScenario:
    """A toy cluster with these workflows."""
    return cloudarena.load(spec_of(*workflows, **more))


def scripted(*actions: Any) -> Callable[[WorkflowDecision], Any]:
    """A policy that plays these actions, one for each decision; a number is a node, with 1 MB."""
    left = [(action, 1) if isinstance(action, int) else action for action in actions]
    return lambda decision: left.pop(0)


def play(scenario: WorkflowScenario, *actions: Any) -> Result:
    """Runs a toy cluster by these actions."""
    return cloudarena.simulate(scenario, scripted(*actions))


def column(result: Result, name: str, table: str = "functions") -> list[Any]:
    """A column of a table."""
    return result.tables[table][name].to_pylist()


def rows(result: Result, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of a table, row by row."""
    return list(zip(*(column(result, name, table) for name in names), strict=True))


def leases(result: Result) -> list[tuple[Any, ...]]:
    """When which hours were rented."""
    return rows(result, "leases", "server", "rented", "start", "expiry", "hours", "rent")
