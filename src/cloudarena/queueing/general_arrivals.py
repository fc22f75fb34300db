"""Queues with any arrivals and any service, from means and variabilities: approximations.

Sources: J. F. C. Kingman, "The single server queue in heavy traffic", 1961; A. O. Allen,
"Probability, Statistics, and Queueing Theory", 1990, section 5.3.5, for Allen's and Cunneen's
formula; W. Krämer and M. Langenbach-Belz, "Approximate formulae for the delay in the queueing
system GI/G/1", 1976, for arrivals that are more regular than a Poisson process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.checks import check_not_negative, check_positive, check_wholes, spread
from cloudarena.queueing.many_servers import MOST_SERVERS, mmc
from cloudarena.queueing.single_server import Station


def gg1(
    arrival_rate: ArrayLike,
    service_s: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
    regular: bool = True,
) -> Station:
    """G/G/1, by Kingman: ``wait = load service (arrival_scv + service_scv) / (2 (1 - load))``.

    It is exact for Poisson arrivals (``arrival_scv`` of 1), and ever better the higher the load.
    The arguments are those of ``ggc`` with one server.
    """
    return ggc(arrival_rate, service_s, 1, arrival_scv, service_scv, regular)


def ggc(
    arrival_rate: ArrayLike,
    service_s: ArrayLike,
    servers: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
    regular: bool = True,
) -> Station:
    """G/G/c, by Allen and Cunneen: the wait of M/M/c, times the mean of both variabilities.

    Args:
        arrival_rate: requests a second.
        service_s: the mean service time.
        servers: how many serve from one queue.
        arrival_scv: the squared coefficient of variation of the times between arrivals: variance
            over squared mean, 0 for a clockwork, 1 for a Poisson process.
        service_scv: the same of the service time.
        regular: whether waits are shortened by Krämer's and Langenbach-Belz's factor where
            ``arrival_scv`` is below 1, since Kingman's formula is too long there.
    """
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_s", service_s)
    count = check_wholes("servers", servers, 1, MOST_SERVERS)
    between = check_not_negative("arrival_scv", arrival_scv)
    within = check_not_negative("service_scv", service_scv)
    arrival, service, count, between, within = spread(
        arrival_rate=arrival,
        service_s=service,
        servers=count,
        arrival_scv=between,
        service_scv=within,
    )
    exponential = mmc(arrival, 1.0 / service, count)
    factor = 0.5 * (between + within)
    if regular:
        load = arrival * service / count
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            exponent = -2.0 * (1.0 - load) * (1.0 - between) ** 2 / (3.0 * load * 2.0 * factor)
            shorter = np.where((load > 0.0) & (factor > 0.0), np.exp(exponent), 1.0)
        factor = np.where((between < 1.0) & (load < 1.0), factor * shorter, factor)
    stable = np.isfinite(exponential.wait_s)
    with np.errstate(invalid="ignore"):
        wait = np.where(stable, exponential.wait_s * factor, np.inf)
        in_system = np.where(stable, arrival * (wait + service), np.inf)
    return exponential._replace(
        in_system=in_system[()], wait_s=wait[()], response_s=(wait + service)[()]
    )
