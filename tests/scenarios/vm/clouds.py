"""Toy clouds whose numbers can be worked out on paper.

One tick is one hour and the power curve has r = 1, so a machine draws ``100 + 100 u`` watts and
uses as many watt-hours in a tick; a core costs $1 an hour, a GB $0.10, a kWh $1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import cloudarena
from cloudarena.contract import Result
from cloudarena.scenarios.vm import VmDecision, VmScenario

LINEAR = {"idle_w": 100, "busy_w": 200, "r": 1}
ONE_MACHINE = ({"count": 1, "cores": 4, "memory_gb": 16, "power": LINEAR},)


def vm(
    created: int,
    lifetime: int,
    cores: float = 1,
    readings: Iterable[float] = (),
    category: str = "unknown",
    memory_gb: float = 1,
) -> dict[str, Any]:
    """A VM of a toy cloud."""
    return {
        "created": created,
        "lifetime": lifetime,
        "cores": cores,
        "memory_gb": memory_gb,
        "category": category,
        "readings": list(readings),
    }


def batch(
    created: int, lifetime: int, cores: float = 1, readings: Iterable[float] = (), **more: Any
) -> dict[str, Any]:
    """A delay-insensitive VM of a toy cloud."""
    return vm(created, lifetime, cores, readings, category="delay-insensitive", **more)


def machine(cores: float, memory_gb: float = 64, count: int = 1, **power: float) -> dict[str, Any]:
    """Machines of a toy cloud."""
    return {"count": count, "cores": cores, "memory_gb": memory_gb, "power": {**LINEAR, **power}}


def cloud(
    *vms: dict[str, Any],
    ticks: int = 6,
    machines: Iterable[dict[str, Any]] = ONE_MACHINE,
    **more: Any,
) -> VmScenario:
    """A toy cloud with these VMs."""
    return cloudarena.load(
        {
            "scenario": "vm",
            "ticks": ticks,
            "tick_seconds": 3600,
            "machines": list(machines),
            "prices": {"core_hour_usd": 1, "gb_hour_usd": 0.1, "kwh_usd": 1, "pue": 1},
            "workload": {"source": "inline", "vms": list(vms)},
            "record": "full",
            **more,
        }
    )


def scripted(*actions: int) -> Callable[[VmDecision], int]:
    """A policy that plays these actions, one for each decision."""
    left = list(actions)
    return lambda decision: left.pop(0)


def play(scenario: VmScenario, *actions: int) -> Result:
    """Runs a toy cloud first-fit, or by these actions."""
    return cloudarena.simulate(scenario, scripted(*actions) if actions else "first-fit")


def column(result: Result, name: str, table: str = "vms") -> list[Any]:
    """A column of a table."""
    return result.tables[table][name].to_pylist()


def outcomes(result: Result) -> list[str]:
    """What became of each VM."""
    return column(result, "outcome")
