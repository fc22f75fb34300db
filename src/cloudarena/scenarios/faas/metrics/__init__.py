"""What a run of functions measures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import ratio
from cloudarena.contract.metric import metric, shared
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.metrics import holding
from cloudarena.scenarios.faas.metrics.counting import (
    all_requests,
    arrived_by_function,
    completed_by_function,
    counted_s,
    in_system,
    late_requests,
    left_undone,
    lost,
)
from cloudarena.scenarios.faas.metrics.energies import (
    grid_energy_j,
    node_carbon_g,
    node_energy_j,
    node_used_s,
    peak_w,
    replica_seconds,
    wasted_memory,
)
from cloudarena.scenarios.faas.metrics.responses import ResponseTimes
from cloudarena.scenarios.faas.state import Outcome, World

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun


def unanswered_s(world: World, function: int | None = None) -> NDArray[np.float64]:
    """How long the requests that are in the system have been there."""
    arrival = in_system(world, function)["arrival"]
    waited: NDArray[np.float64] = float(world.clock[0]["now"]) - arrival
    return waited


def _arrived(run: FaasRun) -> int:
    """The requests that count."""
    return int(arrived_by_function(run.world).sum())


def _came(run: FaasRun) -> int:
    """The requests that came, in the warm-up too."""
    return int(run.world.functions["arrived"].sum())


def _all_parts(run: FaasRun) -> float:
    """What all work left undone costs in a share of the requests that count.

    That is 1, and more with a warm-up: the share left undone is of its requests too.
    """
    to_come = all_requests(run.world) - _came(run)
    return max(1.0, (_came(run) + to_come) / max(_arrived(run) + to_come, 1))


def _ended(run: FaasRun, outcome: Outcome) -> int:
    """The requests that have ended so."""
    return int(run.world.functions["outcomes"][:, outcome].sum())


def _completed(run: FaasRun) -> int:
    """The requests that were answered, without those of the warm-up."""
    return _ended(run, Outcome.COMPLETED) - int(run.world.functions["late"].sum())


def _all_undone(run: FaasRun) -> float:
    """Minus all requests that have no answer."""
    return -float(left_undone(run.world))


def _lost_s(run: FaasRun) -> NDArray[np.float64]:
    """How long, to a reward, the requests waited that will never have an answer: the whole run."""
    return np.full(lost(run.world), run.scenario.duration_s)


def _times(run: FaasRun, waited: NDArray[np.float64]) -> ResponseTimes:
    """The response times, with some of which it is known that they are longer than waited."""
    answered = run.world.responses[: int(run.world.clock[0]["completed"])]
    return run.earlier.times_s(answered, waited, without=late_requests(run.world))


@shared
def _response_times(run: FaasRun) -> ResponseTimes:
    """The mean and percentiles of response times."""
    return _times(run, unanswered_s(run.world))


@shared
def _earned_times(run: FaasRun) -> ResponseTimes:
    """The response times of a reward, which counts all requests."""
    return _times(run, np.concatenate((unanswered_s(run.world), _lost_s(run))))


@shared
def _energy_j(run: FaasRun) -> float:
    """The energy of all nodes."""
    return float(node_energy_j(run.world).sum())


def _cold(run: FaasRun) -> int:
    """Completed requests that were taken up by a replica that was not ready when they came."""
    return int(run.world.functions["cold"].sum())


def _carbon_g(run: FaasRun) -> float:
    """The carbon of all nodes."""
    return float(node_carbon_g(run.world).sum())


def _nodes_used(run: FaasRun) -> int:
    """Nodes that had a replica at some time."""
    return int((run.world.nodes["hosted"] > 0).sum())


@shared
def _hourly_usd(run: FaasRun) -> NDArray[np.float64]:
    """What an hour of each node costs; NaN where it has no price and its energy is paid for."""
    prices = run.scenario.prices.device_hour_usd
    return np.array([prices.get(name, math.nan) for name in run.infrastructure.devices])


def _energy_usd(run: FaasRun, joules: NDArray[np.float64]) -> float:
    """The price of the energy of nodes that are not paid for by the hour."""
    hourly, kwh_usd = _hourly_usd(run), run.scenario.prices.kwh_usd
    return float(joules[np.isnan(hourly)].sum()) / JOULES_PER_KWH * kwh_usd


def _devices_usd(run: FaasRun, seconds: NDArray[np.float64]) -> float:
    """The price of hours of nodes."""
    return float(np.nansum(_hourly_usd(run) * seconds)) / 3600.0


def _cost_usd(run: FaasRun) -> float:
    """What devices, energy, requests, memory, carbon and broken promises have cost."""
    prices = run.scenario.prices
    energy = (
        _energy_usd(run, grid_energy_j(run.world))
        if prices.device_hour_usd
        else float(grid_energy_j(run.world).sum()) / JOULES_PER_KWH * prices.kwh_usd
    )
    gigabyte_s = float(replica_seconds(run.world)[1].sum()) / 1e9
    answered = _completed(run)
    cost = energy + answered * prices.request_usd + gigabyte_s * prices.gb_second_usd
    if prices.device_hour_usd:
        used = node_used_s(run.world)
        everywhere = np.full(len(used), counted_s(run.world))
        cost += _devices_usd(run, everywhere if prices.device_hours == "all" else used)
    carbon = _carbon_g(run) / 1e6 * prices.carbon_tonne_usd if prices.carbon_tonne_usd else 0.0
    return cost + carbon + left_undone(run.world) * prices.unserved_usd


def _duration_s(run: FaasRun) -> float:
    """The length of the run."""
    return run.scenario.duration_s


def _peak_j(run: FaasRun) -> float:
    """The energy of all nodes if each drew all it can for the whole run."""
    return float(peak_w(run.world).sum()) * run.scenario.duration_s


def _most_usd(run: FaasRun) -> float:
    """The cost of that, of all requests, and of all memory."""
    prices, gigabytes = run.scenario.prices, float(run.world.nodes["memory"].sum()) / 1e9
    energy = _peak_j(run) / JOULES_PER_KWH * prices.kwh_usd
    memory = gigabytes * run.scenario.duration_s * prices.gb_second_usd
    length_s = run.scenario.duration_s
    devices = _devices_usd(run, np.full(len(run.world.nodes), length_s))
    carbon_g = _peak_j(run) * float(run.world.carbon["g_per_j"].max())
    carbon = carbon_g / 1e6 * prices.carbon_tonne_usd
    return energy + _came(run) * prices.request_usd + memory + devices + carbon


def _all_memory_mb_s(run: FaasRun) -> float:
    """All memory of all nodes for the whole run."""
    return float(run.world.nodes["memory"].sum()) / 1e6 * run.scenario.duration_s


def _not_warm_p75(run: FaasRun) -> float:
    """The 75th percentile over functions of the share of requests without a warm answer."""
    functions, arrived = run.world.functions, arrived_by_function(run.world)
    asked = arrived > 0
    warm = completed_by_function(run.world)[asked] - functions["cold"][asked]
    return float(np.quantile(1.0 - warm / arrived[asked], 0.75)) if asked.any() else 0.0


def _earned_mean(run: FaasRun) -> float:
    if run.scenario.warmup_s > 0.0:
        mean = _earned_times(run).mean
        return 0.0 if math.isnan(mean) else -float(mean)
    waited, never = unanswered_s(run.world), _lost_s(run)
    total = float(run.world.functions["response_s"].sum() + waited.sum()) + float(never.sum())
    return -total / max(_ended(run, Outcome.COMPLETED) + len(waited) + len(never), 1)


def _earned_quantile(run: FaasRun, seconds: float, level: float) -> float:
    """Minus a quantile of all requests, and the share of the run beyond what it leaves out."""
    beyond = max(0.0, unserved_share(run) - (1.0 - level)) * run.scenario.duration_s
    return 0.0 if math.isnan(seconds) else -float(seconds) - beyond


def _earned_queueing(run: FaasRun) -> float:
    functions = run.world.functions
    open_s = float(unanswered_s(run.world).sum() + _lost_s(run).sum())
    total = float(functions["response_s"].sum()) + open_s
    return -(float(functions["waited_s"].sum()) + open_s) / total if total > 0.0 else 0.0


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: FaasRun) -> float:
    """The lost share: (rejected + timed_out + failed + unfinished) / requests; 0 if none came.

    Calls that a lost or unfinished request has not made, and what they would call, count on both
    sides, as requests that are not served. So do all requests of the warm-up: else who answers
    them after it, or loses them in it, could choose of how many requests it is a share.
    """
    return left_undone(run.world) / max(all_requests(run.world), 1)


@metric()
def requests(run: FaasRun) -> float:
    """Requests that arrived: completed, rejected, timed_out, failed and unfinished together.

    Those that came in the warm-up count if they were lost after it or are unfinished.
    """
    return _arrived(run)


@metric(better="higher", highlight=True)
def completed(run: FaasRun) -> float:
    """Requests that were answered, without those that came in the warm-up."""
    return _completed(run)


@metric(better="lower", reward=_all_undone)
def rejected(run: FaasRun) -> float:
    """Requests that found no room. As a reward it is all that have no answer."""
    return _ended(run, Outcome.REJECTED)


@metric(better="lower", reward=_all_undone)
def timed_out(run: FaasRun) -> float:
    """Requests that were given up after their function's timeout_s.

    As a reward it is all that have no answer.
    """
    return _ended(run, Outcome.TIMED_OUT)


@metric(better="lower", reward=_all_undone)
def failed(run: FaasRun) -> float:
    """Requests that failed for the last time: they, their node, or a call that they waited for.

    As a reward it is all that have no answer.
    """
    return _ended(run, Outcome.FAILED)


@metric()
def retries(run: FaasRun) -> float:
    """Times that a request was begun again since it, or its node, had failed."""
    return int(run.world.functions["retried"].sum())


@metric(better="lower", highlight=True, reward=_all_undone)
def unfinished(run: FaasRun) -> float:
    """Requests in the system at the end. As a reward it is all that have no answer."""
    return int(run.world.clock[0]["in_system"])


@metric(better="lower", label="Mean response time, s", reward=_earned_mean, worst=_duration_s)
def response_mean_s(run: FaasRun) -> float:
    """The mean of answer - arrival; an unfinished one counts so far and makes it a lower bound.

    Requests that were rejected or timed out have no answer and do not count: see unserved_share.
    As a reward, requests in the system count as long as they have waited, and those that were
    rejected or timed out as long as the run.
    """
    return _response_times(run).mean


@metric(
    better="lower",
    highlight=True,
    label="Median response time, s",
    reward=lambda run: _earned_quantile(run, _earned_times(run).p50, 0.5),
    worst=_duration_s,
)
def response_p50_s(run: FaasRun) -> float:
    """The median of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does, and the share of requests
    without an answer, beyond what the percentile leaves out, adds that share of the run.
    """
    return _response_times(run).p50


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of response time, s",
    reward=lambda run: _earned_quantile(run, _earned_times(run).p95, 0.95),
    worst=_duration_s,
)
def response_p95_s(run: FaasRun) -> float:
    """The 95th percentile of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does, and the share of requests
    without an answer, beyond what the percentile leaves out, adds that share of the run.
    """
    return _response_times(run).p95


@metric(
    better="lower",
    label="99th percentile of response time, s",
    reward=lambda run: _earned_quantile(run, _earned_times(run).p99, 0.99),
    worst=_duration_s,
)
def response_p99_s(run: FaasRun) -> float:
    """The 99th percentile of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does, and the share of requests
    without an answer, beyond what the percentile leaves out, adds that share of the run.
    """
    return _response_times(run).p99


@metric(label="Held for a greener grid, s")
def held_mean_s(run: FaasRun) -> float:
    """How long requests of functions with a delay were held on average before they came.

    Response times begin when a request is let go. It is 0 if no function has a delay.
    """
    return holding.held_mean_s(run)


@metric(better="lower", reward=_earned_queueing, most=_all_parts)
def queueing_share(run: FaasRun) -> float:
    """The share of completed requests' response time spent waiting for a replica or a worker.

    It is undefined if none were completed. As a reward, all the time of requests without an answer
    counts as waiting.
    """
    functions = run.world.functions
    return ratio(float(functions["waited_s"].sum()), float(functions["response_s"].sum()))


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -float(_cold(run)) / max(_arrived(run), 1),
    most=_all_parts,
)
def cold_start_share(run: FaasRun) -> float:
    """The share of cold starts: cold_starts / completed; undefined if none were completed.

    As a reward it is the share of all requests that were not answered by a ready replica.
    """
    return ratio(cold_starts(run), completed(run))


@metric(better="lower", most=_came)
def cold_starts(run: FaasRun) -> float:
    """Completed requests that were taken up by a replica that was not ready when they came.

    As a reward it counts requests without an answer too.
    """
    return _cold(run)


@metric(
    better="lower",
    label="75th percentile of functions' cold shares",
    reward=lambda run: -_not_warm_p75(run),
    most=_all_parts,
)
def cold_share_p75(run: FaasRun) -> float:
    """The 75th percentile, over functions with completed requests, of their shares of cold starts.

    It is undefined if none were completed. As a reward it is that of the shares of requests that
    were not answered by a ready replica, over functions with requests.
    """
    functions = run.world.functions
    done = completed_by_function(run.world)
    served = done > 0
    shares = functions["cold"][served] / done[served]
    return float(np.quantile(shares, 0.75)) if len(shares) else math.nan


@metric()
def memory_mb_s(run: FaasRun) -> float:
    """The memory that replicas asked for, in MB, times the seconds that they were there."""
    return float(replica_seconds(run.world)[1].sum()) / 1e6


@metric(better="lower", most=_all_memory_mb_s)
def wasted_mb_s(run: FaasRun) -> float:
    """The part of memory_mb_s in which replicas were ready and none of their workers was held.

    As a reward the share of requests without an answer adds that share of all memory.
    """
    return float(wasted_memory(run.world).sum()) / 1e6


@metric()
def evictions(run: FaasRun) -> float:
    """Idle replicas that made room for one that requests waited for."""
    return int(run.world.clock[0]["evictions"])


@metric(better="lower", highlight=True, most=lambda run: _peak_j(run) / 3600.0)
def energy_wh(run: FaasRun) -> float:
    """The integral of the power of all nodes, idle ones and transfers too.

    As a reward the share of requests without an answer adds that share of what nodes can draw.
    """
    return _energy_j(run) / 3600.0


@metric(better="lower", most=lambda run: _peak_j(run) / 3600.0)
def grid_wh(run: FaasRun) -> float:
    """The part of energy_wh that came from the grid, not from panels and batteries.

    As a reward the share of requests without an answer adds that share of what nodes can draw.
    """
    return float(grid_energy_j(run.world).sum()) / 3600.0


@metric(
    better="lower",
    highlight=True,
    label="Energy per invocation, J",
    unit="J",
    reward=lambda run: -_energy_j(run) / max(_completed(run), 1),
    most=lambda run: _peak_j(run) / max(_arrived(run), 1),
    worst=_peak_j,
)
def energy_j_per_invocation(run: FaasRun) -> float:
    """The energy of all nodes over the completed requests; undefined if there are none.

    As a reward it counts at least one request, and the share of requests without an answer adds
    that share of what nodes can draw for a request.
    """
    return ratio(_energy_j(run), completed(run))


@metric(better="lower", most=lambda run: _peak_j(run) * float(run.world.carbon["g_per_j"].max()))
def carbon_g(run: FaasRun) -> float:
    """The integral of power times the grid's intensity.

    As a reward the share of requests without an answer adds that share of what nodes can cause.
    """
    return _carbon_g(run)


@metric(better="lower", highlight=True, most=lambda run: len(run.world.nodes))
def nodes_used(run: FaasRun) -> float:
    """Nodes that had a replica at some time.

    As a reward the share of requests without an answer adds that share of all nodes.
    """
    return _nodes_used(run)


@metric(label="Mean number of replicas")
def replicas_mean(run: FaasRun) -> float:
    """Replicas that were there, on average over time."""
    seconds = float(replica_seconds(run.world)[0].sum())
    counted = counted_s(run.world)
    return seconds / counted if counted > 0 else 0.0


@metric(better="lower", highlight=True, most=_most_usd)
def cost_usd(run: FaasRun) -> float:
    """Energy, hours of devices, requests, memory of replicas and carbon times their prices.

    The energy of a device that is paid for by the hour is in its price; each request without an
    answer adds prices.unserved_usd.

    As a reward the share of requests without an answer adds that share of what all nodes and all
    requests can cost.
    """
    return _cost_usd(run)
