"""Open networks of queues: traffic equations and Jackson's product form.

Source: J. R. Jackson, "Networks of Waiting Lines", Operations Research 5(4), 1957.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import (
    check_not_negative,
    check_positive,
    check_shape,
    check_share,
    check_wholes,
)
from cloudarena.base.errors import SpecError
from cloudarena.queueing.many_servers import MOST_SERVERS, mmc
from cloudarena.queueing.single_server import Station

ROUNDING = 1e-9
"""How far the probabilities of a row may exceed 1."""


class JacksonNetwork(NamedTuple):
    """An open network of M/M/c stations in the long run."""

    flows: Floats
    """Requests a second that come to each station, from outside and from stations."""
    visits: Floats
    """The mean number of times that a request comes to each station."""
    stations: Station
    """Each station as an M/M/c queue of its flow; times are those of one visit."""
    in_system: float
    """The mean number of requests in the network."""
    response_s: float
    """The mean time from the arrival of a request from outside until it leaves."""


def traffic(external: ArrayLike, routing: ArrayLike) -> Floats:
    """The flow to each station: ``flow[j] = external[j] + sum over i of flow[i] routing[i, j]``.

    ``external`` is in requests a second; ``routing[i, j]`` is the probability that a request goes
    from station i to j; what a row lacks to 1 leaves the network. ``external`` may have leading
    axes: one network, many loads.
    """
    arrivals = np.atleast_1d(check_not_negative("external", external))
    matrix = check_share("routing", routing)
    stations = arrivals.shape[-1]
    check_shape("routing", matrix, (stations, stations), f"{stations} x {stations}, as external")
    rows = matrix.sum(axis=1)
    if (rows > 1.0 + ROUNDING).any():
        row = int(np.argmax(rows))
        raise SpecError(f"routing[{row}]: the sum {rows[row]:g} is not allowed: at most 1")
    kept = _never_leaves(matrix)
    if kept is not None:
        raise SpecError(
            f"routing[{kept}]: {matrix[kept].tolist()} is not allowed: "
            f"requests at station {kept} never leave the network"
        )
    flows = np.linalg.solve(np.eye(stations) - matrix.T, arrivals[..., None])[..., 0]
    return np.maximum(flows, 0.0)


def jackson(
    external: ArrayLike, routing: ArrayLike, service_rate: ArrayLike, servers: ArrayLike = 1
) -> JacksonNetwork:
    """An open Jackson network: stations behave as independent M/M/c queues of their flows.

    Numbers of requests are exact, and so are mean times, by Little's law. Infinite where a station
    gets more than it can serve. The distribution of the response time is not a matter of product
    form: visits of a request that comes back are not independent.
    """
    flows = traffic(external, routing)
    arrivals = np.atleast_1d(np.asarray(external, np.float64))
    if arrivals.ndim != 1:
        raise SpecError(f"external: the shape {arrivals.shape} is not allowed: one rate a station")
    total = arrivals.sum()
    if total <= 0.0:
        raise SpecError("external: 0 is not allowed: a rate of more than 0 at some station")
    rates = check_positive("service_rate", service_rate)
    counts = check_wholes("servers", servers, 1, MOST_SERVERS)
    for name, values in (("service_rate", rates), ("servers", counts)):
        if values.ndim:
            check_shape(name, values, flows.shape, "one number, or one for each station")
    stations = mmc(flows, rates, counts)
    in_system = float(np.sum(stations.in_system))
    return JacksonNetwork(flows, flows / total, stations, in_system, in_system / total)


def _never_leaves(matrix: Floats) -> int | None:
    """The first station from which no way leads out, or None."""
    leaves = matrix.sum(axis=1) < 1.0 - ROUNDING
    leads_to = matrix > 0.0
    for _ in range(len(matrix)):
        leaves = leaves | (leads_to & leaves).any(axis=1)
    return None if leaves.all() else int(np.argmin(leaves))
