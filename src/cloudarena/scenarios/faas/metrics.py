"""What a run of functions measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Metric, Plot, TradeOff
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.names import (
    COMPLETED,
    EXECUTING,
    FREE,
    POWERED,
    REJECTED,
    TIMED_OUT,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.responses import Responses
    from cloudarena.scenarios.faas.spec import FaasScenario
    from cloudarena.scenarios.faas.state import World

METRICS = (
    Metric("requests", "requests that arrived; those below sum to it"),
    Metric("completed", "requests that were answered", "higher"),
    Metric("rejected", "requests that found no room", "lower"),
    Metric("timed_out", "requests that were given up after their function's timeout_s", "lower"),
    Metric("unfinished", "requests in the system at the end", "lower"),
    Metric("response_mean_s", "mean of answer - arrival over the completed", "lower"),
    Metric("response_p50_s", "its median", "lower"),
    Metric("response_p95_s", "its 95th percentile", "lower"),
    Metric("response_p99_s", "its 99th percentile", "lower"),
    Metric(
        "queueing_share",
        "share of the completed requests' response time spent waiting for a replica or a worker",
        "lower",
    ),
    Metric("cold_start_share", "cold_starts / completed", "lower"),
    Metric(
        "cold_starts",
        "completed requests that were taken up by a replica that was not ready when they came",
        "lower",
    ),
    Metric("energy_wh", "integral of the power of all nodes, idle ones too", "lower"),
    Metric("energy_j_per_invocation", "that energy over the completed requests", "lower"),
    Metric("carbon_g", "integral of power times the grid's intensity", "lower"),
    Metric("nodes_used", "nodes that had a replica at some time", "lower"),
    Metric("replicas_mean", "replicas that were there, on average over time"),
    Metric(
        "cost_usd",
        "energy, requests, and memory of replicas times their prices",
        "lower",
    ),
)

HEADLINE = "energy_j_per_invocation"
HIGHLIGHTS = (
    "completed",
    "unfinished",
    "response_p50_s",
    "response_p95_s",
    "cold_start_share",
    "energy_wh",
    "energy_j_per_invocation",
    "nodes_used",
)
PLOTS = (
    Plot("Power of all nodes", "power", "time_s", "power_w", "W"),
    Plot("Invocations that execute", "power", "time_s", "running", "invocations"),
    Plot("Requests that wait", "power", "time_s", "waiting", "requests"),
    Plot("Replicas", "power", "time_s", "replicas", "replicas"),
)
TRADE_OFFS = (
    TradeOff("Energy against response time", x="response_p95_s", y="energy_j_per_invocation"),
)


def node_energy_j(world: World) -> NDArray[np.float64]:
    """The energy of each node so far."""
    nodes, now = world.nodes, float(world.clock[0]["now"])
    energy: NDArray[np.float64] = nodes["energy_j"] + nodes["power_w"] * (now - nodes["since"])
    return energy


def node_carbon_g(world: World) -> NDArray[np.float64]:
    """The carbon of each node so far."""
    nodes, now = world.nodes, float(world.clock[0]["carbon"])
    carbon: NDArray[np.float64] = nodes["carbon_g"] + nodes["power_w"] * (now - nodes["carbon"])
    return carbon


def function_energy_j(world: World) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Dynamic and idle energy of each function so far, with what is under way."""
    functions, nodes, replicas, slots = world.functions, world.nodes, world.replicas, world.slots
    now = float(world.clock[0]["now"])
    dynamic, idle = functions["dynamic_j"].copy(), functions["idle_j"].copy()
    there = np.flatnonzero(replicas["state"] != FREE)
    node = replicas["node"][there]
    share = nodes["share_j"][node] + nodes["share_w"][node] * (now - nodes["since"][node])
    np.add.at(idle, replicas["function"][there], share - replicas["share_j"][there])
    running = np.flatnonzero(slots["state"] == EXECUTING)
    replica = slots["replica"][running]
    node, variant = replicas["node"][replica], replicas["variant"][replica]
    claim = world.fits["claim"][variant, nodes["device_type"][node], :POWERED]
    units = nodes["unit_j"][node] + nodes["unit_w"][node] * (now - nodes["since"][node])[:, None]
    used = (claim * (units - slots["unit_j"][running])).sum(axis=1)
    np.add.at(dynamic, slots["function"][running], used)
    return dynamic, idle


def replica_seconds(world: World) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds of replicas, and byte-seconds of their memory, of each function so far."""
    functions, replicas = world.functions, world.replicas
    now = float(world.clock[0]["now"])
    seconds, memory = functions["replica_s"].copy(), functions["memory_s"].copy()
    there = np.flatnonzero(replicas["state"] != FREE)
    lived = now - replicas["since"][there]
    np.add.at(seconds, replicas["function"][there], lived)
    held = world.variants["memory"][replicas["variant"][there]] * lived
    np.add.at(memory, replicas["function"][there], held)
    return seconds, memory


def cost_usd(scenario: FaasScenario, world: World) -> float:
    """What energy, requests and memory have cost so far."""
    prices = scenario.prices
    energy = float(node_energy_j(world).sum()) / JOULES_PER_KWH * prices.kwh_usd
    completed = int(world.functions["outcomes"][:, COMPLETED].sum())
    gigabyte_s = float(replica_seconds(world)[1].sum()) / 1e9
    return energy + completed * prices.request_usd + gigabyte_s * prices.gb_second_usd


def measure(scenario: FaasScenario, world: World, earlier: Responses) -> dict[str, float]:
    """The metrics so far; ``earlier`` are response times that the world no longer holds."""
    clock, functions = world.clock[0], world.functions
    completed, rejected, timed_out = (
        int(functions["outcomes"][:, outcome].sum()) for outcome in (COMPLETED, REJECTED, TIMED_OUT)
    )
    responses = world.responses[: int(clock["completed"])]
    total = float(functions["response_s"].sum())
    p50, p95, p99 = earlier.quantiles_s(responses)
    energy = float(node_energy_j(world).sum())
    cold = int(functions["cold"].sum())
    seconds = float(replica_seconds(world)[0].sum())
    now = float(clock["now"])
    values = (
        int(functions["arrived"].sum()),
        completed,
        rejected,
        timed_out,
        int(clock["in_system"]),
        total / completed if completed else 0.0,
        float(p50),
        float(p95),
        float(p99),
        float(functions["waited_s"].sum()) / total if total > 0 else 0.0,
        cold / completed if completed else 0.0,
        cold,
        energy / 3600.0,
        energy / completed if completed else 0.0,
        float(node_carbon_g(world).sum()),
        int((world.nodes["hosted"] > 0).sum()),
        seconds / now if now > 0 else 0.0,
        cost_usd(scenario, world),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}
