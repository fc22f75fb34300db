"""One server with exponential service: M/M/1, and M/M/1/C with room for C requests.

Source: L. Kleinrock, "Queueing Systems, volume 1", 1975, sections 3.2 and 3.6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_not_negative, check_positive, check_wholes, spread
from cloudarena.queueing.geometric import ends, log_ratio, mean


class Station(NamedTuple):
    """A queue in the long run. Arrays take the common shape of the arguments.

    ``in_system = throughput * response_s`` (Little's law), and ``throughput = utilisation *
    servers * service_rate``.
    """

    utilisation: Floats
    """The share of time that a server is busy."""
    blocked: Floats
    """The share of arrivals that find no room and are lost."""
    throughput: Floats
    """Requests served in a second."""
    in_system: Floats
    """The mean number of requests that wait or are served."""
    wait_s: Floats
    """The mean time before service of a request that finds room."""
    response_s: Floats
    """The mean time from arrival to departure (sojourn) of a request that finds room."""


class Accepted(NamedTuple):
    """What an M/M/1/C queue does to its arrivals: the part of ``Station`` that chains need."""

    accepted: Floats
    """The share of arrivals that find room."""
    response_s: Floats
    """The mean sojourn of those."""


def mm1(arrival_rate: ArrayLike, service_rate: ArrayLike) -> Station:
    """M/M/1: ``response = 1 / (service_rate - arrival_rate)``.

    At a load of 1 and above the queue grows without bound: times and numbers are infinite, and
    the server is always busy. Rates are in requests a second.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    arrival, service = spread(arrival_rate=arrival, service_rate=service)
    load = arrival / service
    stable = load < 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        response = np.where(stable, 1.0 / (service - arrival), np.inf)
        in_system = np.where(stable, load / (1.0 - load), np.inf)
        wait = np.where(stable, load / (service - arrival), np.inf)
    return Station(
        utilisation=np.minimum(load, 1.0)[()],
        blocked=np.zeros_like(load)[()],
        throughput=np.minimum(arrival, service)[()],
        in_system=in_system[()],
        wait_s=wait[()],
        response_s=response[()],
    )


def mm1c(arrival_rate: ArrayLike, service_rate: ArrayLike, room: ArrayLike) -> Station:
    """M/M/1/C: at most ``room`` requests, the one in service included; the others are lost.

    ``p[n]`` is proportional to ``load^n`` for n from 0 to C, ``blocked = p[C]``, and a request
    that finds room finds n others with probability ``p[n] / (1 - p[C])``, which is M/M/1/(C-1)'s
    ``p[n]``: ``response = (1 + in_system of M/M/1/(C-1)) / service_rate``. This is the formula of
    the thesis (3.5), ``1 / (mu - lambda) - C load^(C+1) / (lambda (1 - load^C))``, without its
    singularity at load 1, where it is ``(C + 1) / (2 service_rate)``.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    capacity = check_wholes("room", room, 1).astype(np.float64)
    arrival, service, capacity = spread(arrival_rate=arrival, service_rate=service, room=capacity)
    logarithm = log_ratio(arrival, service)
    states = ends(logarithm, capacity)
    found = mean(logarithm, capacity - 1.0)
    # Two equal forms; each keeps its digits on its side of load 1.
    load = np.minimum(arrival, service) / service
    utilisation = np.where(logarithm > 0.0, 1.0 - states.first, load * states.before_last)
    return Station(
        utilisation=utilisation[()],
        blocked=states.last[()],
        throughput=(utilisation * service)[()],
        in_system=mean(logarithm, capacity)[()],
        wait_s=(found / service)[()],
        response_s=((1.0 + found) / service)[()],
    )


def accept(arrival_rate: Floats, service_rate: Floats, room: Floats) -> Accepted:
    """The accepted share and their mean response of M/M/1/C, for arguments already checked."""
    logarithm = log_ratio(arrival_rate, service_rate)
    found = mean(logarithm, room - 1.0)
    return Accepted(ends(logarithm, room).before_last, (1.0 + found) / service_rate)
