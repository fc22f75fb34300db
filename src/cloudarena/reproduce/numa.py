"""The serverless NUMA environment: four containers that share a node, and leases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cloudarena.catalogue import load
from cloudarena.contract import Result
from cloudarena.experiments.simulate import simulate
from cloudarena.reproduce.entry import Entry, Findings, Row, Settings, exact

HOUR = 3_600_000
"""Operations of one thread in an hour."""
CLOSE = 1e-9
COMPLETION = {"A": 3.0, "B": 4.0, "C": 1.5, "D": 5.0}
UTILISATION = (0.75, 0.99925, 0.75, 0.9, 0.875, 0.375)
"""CPU utilisation until 1, 1.5, 2, 3, 4 and 5 s."""
MEMORY = (512, 1536, 1024, 1536)


def _scripted(*actions: tuple[int, int]) -> Callable[[Any], Any]:
    """A policy that places each function in turn: on which node, with how many megabytes."""
    left = list(actions)
    return lambda decision: left.pop(0)


def _flow(computation: int, arrival: float = 0.0) -> dict[str, Any]:
    """A workflow of one function."""
    function = {"computation": computation, "memory_req": 1, "parallelism": 1}
    return {"arrival": arrival, "functions": [function]}


def _played(latency: float, *flows: dict[str, Any], memory: tuple[int, ...] = ()) -> Result:
    """Runs functions on a server of two nodes of four cores, at $1.50 an hour."""
    numa = {"count": 2, "cpu": 4, "memory": 8192}
    server = {"name": "s", "hourly_rate": 1.5, "cold_start_latency": latency, "numa_nodes": numa}
    scenario = load(
        {
            "scenario": "workflow",
            "cluster": {"single_core_speed": 1000, "servers": [server]},
            "workload": list(flows),
            "record": "full",
        }
    )
    sizes = memory or (1,) * len(flows)
    return simulate(scenario, _scripted(*((0, size) for size in sizes)))


def _leases(result: Result, column: str) -> list[float]:
    """A column of the leases of a run."""
    return [float(value) for value in result.tables["leases"][column].to_pylist()]


def _example() -> list[Row]:
    """The example of the document."""
    result = simulate(
        "workflow/sharing-example", _scripted(*((0, size) for size in MEMORY)), record="full"
    )
    ends = result.tables["functions"]["completion"].to_pylist()
    rows = [
        exact(f"container {name}: completed at, s", theirs, float(ours), CLOSE)
        for (name, theirs), ours in zip(COMPLETION.items(), ends, strict=True)
    ]
    nodes = result.tables["nodes"].to_pydict()
    for until, theirs, ours in zip(
        nodes["end"], UTILISATION, nodes["cpu_utilisation"], strict=True
    ):
        rows.append(exact(f"CPU utilisation until {until:g} s", theirs, float(ours), CLOSE))
    return rows


def _renting() -> list[Row]:
    """The cases of its own tests that concern leases and boots."""
    rows = []
    one = _played(5.0, _flow(1000))
    rows.append(exact("first rent, $", 1.5, sum(_leases(one, "rent"))))
    rows.append(exact("first rent: until, s", 3600.0, _leases(one, "expiry")[0]))
    again = _played(0.0, _flow(1000), _flow(2000, 3650.0))
    rows.append(exact("after the end of a lease: until, s", 7250.0, _leases(again, "expiry")[1]))
    rows.append(
        exact(
            "1.1 hours: rented hours",
            2.0,
            _leases(_played(0.0, _flow(HOUR * 11 // 10)), "hours")[0],
        )
    )
    queue = _played(0.0, _flow(3_590_000), _flow(15_000), memory=(8192, 512))
    rows.append(exact("queue and renewal: rent, $", 3.0, sum(_leases(queue, "rent"))))
    rows.append(exact("queue and renewal: until, s", 7200.0, _leases(queue, "expiry")[1]))
    ends = queue.tables["functions"]["completion"].to_pylist()
    rows.append(exact("queue and renewal: the second ends at, s", 3605.0, float(ends[1])))
    for arrival, theirs in ((3599.9, 0.0), (3600.0, 5.0), (3650.0, 5.0)):
        cold = _played(5.0, _flow(1000), _flow(2000, arrival)).tables["functions"]["cold_start"]
        cell = f"lease until 3600 s, submission at {arrival:g} s: boot, s"
        rows.append(exact(cell, theirs, float(cold.to_pylist()[1])))
    return rows


def _run(settings: Settings) -> Findings:
    """Runs the example and the cases; there is nothing random in them."""
    why = [
        "Version 1.0.0 of the environment starts containers before their data are there and lets "
        "time go back, so its runs of whole workflows are not held here: of its own example with "
        "100 workflows 17.6 % of the functions finish faster than is possible."
    ]
    return Findings([*_example(), *_renting()], why)


ENTRY = Entry(
    "numa",
    "Containers that share a NUMA node, and leases of servers",
    "The serverless NUMA environment (serverless-workflow-arena): the worked example of its "
    "document and the cases of its tests of servers.",
    "A node of 4 cores of 1,000 operations a second and 8,192 MB; servers at $1.50 an hour with "
    "leases of whole hours. All without chance.",
    _run,
)
