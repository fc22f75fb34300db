"""What a run of functions measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import UNSERVED, ratio
from cloudarena.contract import Metric, Plot, TradeOff
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.energies import node_carbon_g, node_energy_j
from cloudarena.scenarios.faas.names import COMPLETED, FREE, REJECTED, TIMED_OUT, UNUSED

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.responses import Responses
    from cloudarena.scenarios.faas.spec import FaasScenario
    from cloudarena.scenarios.faas.state import World

METRICS = (
    Metric("requests", "requests that arrived; those below sum to it"),
    Metric("completed", "requests that were answered", "higher"),
    Metric(UNSERVED, "(rejected + timed_out + unfinished) / requests; 0 if none came", "lower"),
    Metric("rejected", "requests that found no room", "lower"),
    Metric("timed_out", "requests that were given up after their function's timeout_s", "lower"),
    Metric("unfinished", "requests in the system at the end", "lower"),
    Metric(
        "response_mean_s",
        "mean of answer - arrival; an unfinished one counts so far and makes it a lower bound; "
        "those that were rejected or timed out have no answer and do not count: see unserved_share",
        "lower",
    ),
    Metric("response_p50_s", "its median", "lower"),
    Metric("response_p95_s", "its 95th percentile", "lower"),
    Metric("response_p99_s", "its 99th percentile", "lower"),
    Metric(
        "queueing_share",
        "share of the completed requests' response time spent waiting for a replica or a worker",
        "lower",
    ),
    Metric("cold_start_share", "cold_starts / completed; undefined if none were", "lower"),
    Metric(
        "cold_starts",
        "completed requests that were taken up by a replica that was not ready when they came",
        "lower",
    ),
    Metric(
        "energy_wh",
        "integral of the power of all nodes, idle ones and transfers too",
        "lower",
    ),
    Metric(
        "energy_j_per_invocation",
        "that energy over the completed requests; undefined if there are none",
        "lower",
    ),
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
    UNSERVED,
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


def unanswered_s(world: World, function: int | None = None) -> NDArray[np.float64]:
    """How long the requests that are in the system have been there."""
    slots = world.slots[world.slots["state"] != UNUSED]
    if function is not None:
        slots = slots[slots["function"] == function]
    waited: NDArray[np.float64] = float(world.clock[0]["now"]) - slots["arrival"]
    return waited


def measure(scenario: FaasScenario, world: World, earlier: Responses) -> dict[str, float]:
    """The metrics so far; ``earlier`` are response times that the world no longer holds."""
    clock, functions = world.clock[0], world.functions
    completed, rejected, timed_out = (
        int(functions["outcomes"][:, outcome].sum()) for outcome in (COMPLETED, REJECTED, TIMED_OUT)
    )
    arrived, unfinished = int(functions["arrived"].sum()), int(clock["in_system"])
    total = float(functions["response_s"].sum())
    times = earlier.times_s(world.responses[: int(clock["completed"])], unanswered_s(world))
    energy = float(node_energy_j(world).sum())
    cold = int(functions["cold"].sum())
    seconds = float(replica_seconds(world)[0].sum())
    now = float(clock["now"])
    values = (
        arrived,
        completed,
        (rejected + timed_out + unfinished) / max(arrived, 1),
        rejected,
        timed_out,
        unfinished,
        *times,
        ratio(float(functions["waited_s"].sum()), total),
        ratio(cold, completed),
        cold,
        energy / 3600.0,
        ratio(energy, completed),
        float(node_carbon_g(world).sum()),
        int((world.nodes["hosted"] > 0).sum()),
        seconds / now if now > 0 else 0.0,
        cost_usd(scenario, world),
    )
    return {metric.name: value for metric, value in zip(METRICS, values, strict=True)}
