"""One server with any service distribution: M/G/1 first come, first served, or shared.

Sources: F. Pollaczek 1930 and A. Khinchine 1932 for M/G/1; L. Kleinrock, "Queueing Systems,
volume 2", 1976, section 4.4, for processor sharing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_not_negative, check_positive, spread
from cloudarena.queueing.single_server import Station


def mg1(arrival_rate: ArrayLike, service_s: ArrayLike, scv: ArrayLike) -> Station:
    """M/G/1, first come, first served: ``wait = load service (1 + scv) / (2 (1 - load))``.

    ``service_s`` is the mean service time and ``scv`` its squared coefficient of variation,
    variance over squared mean: 0 for a constant, 1 for an exponential time, ``exp(sigma^2) - 1``
    for a log-normal one. Times and numbers are infinite at a load of 1 and above.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_s", service_s)
    variability = check_not_negative("scv", scv)
    arrival, service, variability = spread(arrival_rate=arrival, service_s=service, scv=variability)
    return _station(arrival, service, 0.5 * (1.0 + variability))


def md1(arrival_rate: ArrayLike, service_s: ArrayLike) -> Station:
    """M/D/1: every service takes ``service_s``; the mean wait is half of that in M/M/1."""
    return mg1(arrival_rate, service_s, 0.0)


def mg1_ps(arrival_rate: ArrayLike, service_s: ArrayLike) -> Station:
    """M/G/1 with processor sharing: ``response = service_s / (1 - load)``.

    n requests in the system are each served at a rate of 1 / n. Only the mean of the service
    time matters. ``wait_s`` is the delay, response minus service; a request that alone would take
    x seconds takes ``x / (1 - load)`` on average.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_s", service_s)
    arrival, service = spread(arrival_rate=arrival, service_s=service)
    return _station(arrival, service, np.ones(arrival.shape))


def _station(arrival: Floats, service: Floats, factor: Floats) -> Station:
    """The queue whose mean wait is ``factor * load * service / (1 - load)``."""
    load = arrival * service
    stable = load < 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = np.where(stable, factor * load * service / (1.0 - load), np.inf)
        in_system = np.where(stable, arrival * (wait + service), np.inf)
    return Station(
        utilisation=np.minimum(load, 1.0)[()],
        blocked=np.zeros_like(wait)[()],
        throughput=np.minimum(arrival, 1.0 / service)[()],
        in_system=in_system[()],
        wait_s=wait[()],
        response_s=(wait + service)[()],
    )
