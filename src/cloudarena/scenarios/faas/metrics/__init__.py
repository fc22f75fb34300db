"""What a run of functions measures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.measures import ratio
from cloudarena.contract.metric import metric, shared
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.metrics.energies import (
    node_carbon_g,
    node_energy_j,
    replica_seconds,
)
from cloudarena.scenarios.faas.metrics.responses import ResponseTimes
from cloudarena.scenarios.faas.state import Outcome, RequestState, World

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun


def unanswered_s(world: World, function: int | None = None) -> NDArray[np.float64]:
    """How long the requests that are in the system have been there."""
    slots = world.slots[world.slots["state"] != RequestState.UNUSED]
    if function is not None:
        slots = slots[slots["function"] == function]
    waited: NDArray[np.float64] = float(world.clock[0]["now"]) - slots["arrival"]
    return waited


def _arrived(run: FaasRun) -> int:
    """The requests that came."""
    return int(run.world.functions["arrived"].sum())


def _ended(run: FaasRun, outcome: Outcome) -> int:
    """The requests that have ended so."""
    return int(run.world.functions["outcomes"][:, outcome].sum())


def _lost(run: FaasRun) -> int:
    """The requests that will never have an answer."""
    return _ended(run, Outcome.REJECTED) + _ended(run, Outcome.TIMED_OUT)


def _unserved(run: FaasRun) -> int:
    """The requests that have no answer."""
    return _lost(run) + int(run.world.clock[0]["in_system"])


def _lost_s(run: FaasRun) -> NDArray[np.float64]:
    """How long, to a reward, the requests waited that will never have an answer: the whole run."""
    return np.full(_lost(run), run.scenario.duration_s)


def _times(run: FaasRun, waited: NDArray[np.float64]) -> ResponseTimes:
    """The response times, with some of which it is known that they are longer than waited."""
    answered = run.world.responses[: int(run.world.clock[0]["completed"])]
    return run.earlier.times_s(answered, waited)


@shared
def _response_times(run: FaasRun) -> ResponseTimes:
    """The mean and percentiles of response times."""
    return _times(run, unanswered_s(run.world))


@shared
def _earned_times(run: FaasRun) -> ResponseTimes:
    """The same to a reward, which counts all requests."""
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


def _cost_usd(run: FaasRun) -> float:
    """What energy, requests and memory have cost."""
    prices = run.scenario.prices
    energy = _energy_j(run) / JOULES_PER_KWH * prices.kwh_usd
    gigabyte_s = float(replica_seconds(run.world)[1].sum()) / 1e9
    answered = _ended(run, Outcome.COMPLETED)
    return energy + answered * prices.request_usd + gigabyte_s * prices.gb_second_usd


def _for_all(run: FaasRun, total: float) -> float:
    """What a total earns: it is multiplied by requests over completed, as if the others were
    served at the same price."""
    return -total * max(_arrived(run), 1) / max(_ended(run, Outcome.COMPLETED), 1)


def _earned_mean(run: FaasRun) -> float:
    waited, lost = unanswered_s(run.world), _lost_s(run)
    total = float(run.world.functions["response_s"].sum() + waited.sum()) + float(lost.sum())
    return -total / max(_ended(run, Outcome.COMPLETED) + len(waited) + len(lost), 1)


def _earned_quantile(seconds: float) -> float:
    return 0.0 if math.isnan(seconds) else -float(seconds)


def _earned_queueing(run: FaasRun) -> float:
    functions = run.world.functions
    open_s = float(unanswered_s(run.world).sum() + _lost_s(run).sum())
    total = float(functions["response_s"].sum()) + open_s
    return -(float(functions["waited_s"].sum()) + open_s) / total if total > 0.0 else 0.0


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: FaasRun) -> float:
    """(rejected + timed_out + unfinished) / requests; 0 if none came."""
    return _unserved(run) / max(_arrived(run), 1)


@metric()
def requests(run: FaasRun) -> float:
    """Requests that arrived: the sum of completed, rejected, timed_out and unfinished."""
    return _arrived(run)


@metric(better="higher", highlight=True)
def completed(run: FaasRun) -> float:
    """Requests that were answered."""
    return _ended(run, Outcome.COMPLETED)


@metric(better="lower", reward=lambda run: -float(_unserved(run)))
def rejected(run: FaasRun) -> float:
    """Requests that found no room. As a reward it counts all that have no answer."""
    return _ended(run, Outcome.REJECTED)


@metric(better="lower", reward=lambda run: -float(_unserved(run)))
def timed_out(run: FaasRun) -> float:
    """Requests that were given up after their function's timeout_s.

    As a reward it counts all that have no answer.
    """
    return _ended(run, Outcome.TIMED_OUT)


@metric(better="lower", highlight=True, reward=lambda run: -float(_unserved(run)))
def unfinished(run: FaasRun) -> float:
    """Requests in the system at the end. As a reward it counts all that have no answer."""
    return int(run.world.clock[0]["in_system"])


@metric(better="lower", label="Mean response time, s", reward=_earned_mean)
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
    reward=lambda run: _earned_quantile(_earned_times(run).p50),
)
def response_p50_s(run: FaasRun) -> float:
    """The median of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does.
    """
    return _response_times(run).p50


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of response time, s",
    reward=lambda run: _earned_quantile(_earned_times(run).p95),
)
def response_p95_s(run: FaasRun) -> float:
    """The 95th percentile of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does.
    """
    return _response_times(run).p95


@metric(
    better="lower",
    label="99th percentile of response time, s",
    reward=lambda run: _earned_quantile(_earned_times(run).p99),
)
def response_p99_s(run: FaasRun) -> float:
    """The 99th percentile of answer - arrival; a lower bound where unfinished ones may change it.

    As a reward it counts all requests, as response_mean_s does.
    """
    return _response_times(run).p99


@metric(better="lower", reward=_earned_queueing)
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
    reward=lambda run: -float(_cold(run) + _unserved(run)) / max(_arrived(run), 1),
)
def cold_start_share(run: FaasRun) -> float:
    """cold_starts / completed; undefined if none were completed.

    As a reward it is the share of all requests that were not answered by a ready replica.
    """
    return ratio(cold_starts(run), completed(run))


@metric(better="lower", reward=lambda run: -float(_cold(run) + _unserved(run)))
def cold_starts(run: FaasRun) -> float:
    """Completed requests that were taken up by a replica that was not ready when they came.

    As a reward it counts requests without an answer too.
    """
    return _cold(run)


@metric(better="lower", highlight=True, reward=lambda run: _for_all(run, _energy_j(run) / 3600.0))
def energy_wh(run: FaasRun) -> float:
    """The integral of the power of all nodes, idle ones and transfers too.

    As a reward it is multiplied by requests over completed.
    """
    return _energy_j(run) / 3600.0


@metric(
    better="lower",
    highlight=True,
    label="Energy per invocation, J",
    unit="J",
    reward=lambda run: -_energy_j(run) / max(_ended(run, Outcome.COMPLETED), 1),
)
def energy_j_per_invocation(run: FaasRun) -> float:
    """The energy of all nodes over the completed requests; undefined if there are none.

    As a reward it counts at least one request.
    """
    return ratio(_energy_j(run), completed(run))


@metric(better="lower", reward=lambda run: _for_all(run, _carbon_g(run)))
def carbon_g(run: FaasRun) -> float:
    """The integral of power times the grid's intensity.

    As a reward it is multiplied by requests over completed.
    """
    return _carbon_g(run)


@metric(better="lower", highlight=True, reward=lambda run: _for_all(run, max(_nodes_used(run), 1)))
def nodes_used(run: FaasRun) -> float:
    """Nodes that had a replica at some time.

    As a reward it is at least one, and multiplied by requests over completed.
    """
    return _nodes_used(run)


@metric(label="Mean number of replicas")
def replicas_mean(run: FaasRun) -> float:
    """Replicas that were there, on average over time."""
    seconds = float(replica_seconds(run.world)[0].sum())
    return seconds / run.now if run.now > 0 else 0.0


@metric(better="lower", reward=lambda run: _for_all(run, _cost_usd(run)))
def cost_usd(run: FaasRun) -> float:
    """Energy, requests, and memory of replicas times their prices.

    As a reward it is multiplied by requests over completed.
    """
    return _cost_usd(run)
