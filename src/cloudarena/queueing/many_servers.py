"""Several servers behind one queue: Erlang's B and C, M/M/c, and M/M/c/K with limited room.

Sources: A. K. Erlang 1917; L. Kleinrock, "Queueing Systems, volume 1", 1975, sections 3.4 to
3.8. Erlang B comes from the odds ``x[k] = 1 / B[k] - 1 = k / load * (1 + x[k-1])`` against all k
servers being busy: a recursion of positive numbers, which keeps its digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_not_negative, check_positive, check_wholes, spread
from cloudarena.base.errors import SpecError
from cloudarena.queueing.geometric import ends, log_ratio, mean
from cloudarena.queueing.single_server import Station

MOST_SERVERS = 10**6


def erlang_b(servers: ArrayLike, load: ArrayLike) -> Floats:
    """The share of arrivals that find all servers busy and are lost (M/M/c/c).

    ``load`` is the arrival rate times the mean service time, in erlangs. The distribution of the
    service time does not matter.
    """
    count = check_wholes("servers", servers, 0, MOST_SERVERS)
    count, offered = spread(servers=count, load=check_not_negative("load", load))
    return (1.0 / (1.0 + _odds(count, offered)))[()]


def erlang_c(servers: ArrayLike, load: ArrayLike) -> Floats:
    """The share of arrivals that must wait in M/M/c: all, from a load of ``servers`` on."""
    count = check_wholes("servers", servers, 1, MOST_SERVERS)
    count, offered = spread(servers=count, load=check_not_negative("load", load))
    return _erlang_c(count, offered)[()]


def mmc(arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike) -> Station:
    """M/M/c: ``wait = erlang_c / (servers * service_rate - arrival_rate)``.

    Each server serves ``service_rate`` requests a second. Times and numbers are infinite from a
    load of ``servers`` on.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    count = check_wholes("servers", servers, 1, MOST_SERVERS)
    arrival, service, count = spread(arrival_rate=arrival, service_rate=service, servers=count)
    capacity = count * service
    waiting = _erlang_c(count, arrival / service)
    stable = arrival < capacity
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = np.where(stable, waiting / (capacity - arrival), np.inf)
        in_system = np.where(stable, arrival * (wait + 1.0 / service), np.inf)
    throughput = np.minimum(arrival, capacity)
    return Station(
        utilisation=(throughput / capacity)[()],
        blocked=np.zeros_like(wait)[()],
        throughput=throughput[()],
        in_system=in_system[()],
        wait_s=wait[()],
        response_s=(wait + 1.0 / service)[()],
    )


def mmck(
    arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike, room: ArrayLike
) -> Station:
    """M/M/c/K: at most ``room`` requests, those in service included; the others are lost.

    With B by Erlang, ``load = arrival_rate / (servers * service_rate)`` and n - c following a
    geometric distribution cut off at ``room - servers`` while all servers are busy: ``P(n >= c) = 1
    / (1 + (1 / B - 1) g[0])``, ``blocked = P(n >= c) g[room - servers]``. M/M/1/C is ``servers`` =
    1, M/M/c/c is ``room = servers``.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    count = check_wholes("servers", servers, 1, MOST_SERVERS)
    limit = check_wholes("room", room, 1)
    arrival, service, count, limit = spread(
        arrival_rate=arrival, service_rate=service, servers=count, room=limit
    )
    if (limit < count).any():
        where = np.unravel_index(int(np.argmax(limit < count)), count.shape)
        raise SpecError(
            f"room: {limit[where]} is not allowed: at least as many as servers, {count[where]}"
        )
    capacity = count * service
    logarithm = log_ratio(arrival, capacity)
    queue = (limit - count).astype(np.float64)
    geometric = ends(logarithm, queue)
    some_idle = _odds(count, arrival / service) * geometric.first  # relative to all busy
    all_busy = 1.0 / (1.0 + some_idle)
    queued = all_busy * geometric.before_last
    with np.errstate(divide="ignore", over="ignore"):
        accepted = 1.0 / (1.0 + 1.0 / some_idle) + queued
    # Who finds all servers busy and i others in the queue waits for i + 1 departures.
    ahead = 1.0 + mean(logarithm, np.maximum(queue - 1.0, 0.0))
    wait = queued / accepted * ahead / capacity
    throughput = arrival * accepted
    return Station(
        utilisation=(throughput / capacity)[()],
        blocked=(all_busy * geometric.last)[()],
        throughput=throughput[()],
        in_system=(throughput * (wait + 1.0 / service))[()],
        wait_s=wait[()],
        response_s=(wait + 1.0 / service)[()],
    )


def _odds(servers: Ints, load: Floats) -> Floats:
    """The odds that of all servers, without a queue, some are idle: ``1 / B - 1``."""
    odds = np.zeros(load.shape)
    with np.errstate(divide="ignore", over="ignore"):
        for server in range(1, int(servers.max(initial=0)) + 1):
            odds = np.where(server <= servers, server / load * (1.0 + odds), odds)
    return odds


def _erlang_c(servers: Ints, load: Floats) -> Floats:
    # C = B / (1 - u (1 - B)) at the utilisation u = load / servers.
    with np.errstate(divide="ignore", invalid="ignore"):
        waiting = 1.0 / (1.0 + _odds(servers, load) * (1.0 - load / servers))
    return np.where(load < servers, waiting, 1.0)
