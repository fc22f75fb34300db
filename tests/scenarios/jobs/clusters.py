"""Toy clusters whose schedules can be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cloudarena
from cloudarena.contract import Result

Spec = dict[str, Any]


def task(duration: float = 10, cpu: float = 1, instances: int = 1, **more: Any) -> Spec:
    """A task of a toy cluster."""
    return {"duration": duration, "cpu": cpu, "instances": instances, **more}


def job(*tasks: Spec, submit: float = 0, **more: Any) -> Spec:
    """A job of a toy cluster."""
    return {"submit": submit, "tasks": list(tasks), **more}


def outage(machine: int, down_s: float, up_s: float | None = None) -> Spec:
    """A machine that is down for a time, or for good."""
    return {"machine": machine, "down_s": down_s, "up_s": up_s}


def cluster(
    *jobs: Spec, cpu: float = 2, count: int = 1, machines: Sequence[Spec] = (), **more: Any
) -> Spec:
    """A toy cluster with these jobs; without machines, so many alike."""
    if "outages" in more:
        more["failures"] = {"outages": list(more.pop("outages"))}
    return {
        "scenario": "jobs",
        "machines": list(machines) or [{"cpu": cpu, "count": count}],
        "workload": {"source": "inline", "jobs": list(jobs)},
        "record": "full",
        **more,
    }


def play(spec: Spec, policy: Any = "first-fit") -> Result:
    """Runs a toy cluster."""
    return cloudarena.simulate(spec, policy)


def column(result: Result, name: str, table: str = "instances") -> list[Any]:
    """A column of a table."""
    return result.tables[table][name].to_pylist()


def starts(result: Result) -> list[float]:
    """When each instance started, for the last time."""
    return column(result, "start")


def places(result: Result) -> list[int]:
    """On which machine each instance ran."""
    return column(result, "machine")
