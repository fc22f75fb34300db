"""Two layers of queues: who waits for a thread of a server, and the threads for what they call.

A web server with so many threads, or a pool of connections: a request first waits for a thread and
holds it while it visits processors, disks and databases. The lower layer is a closed network of as
many customers as threads are taken; it is put into the upper one as one station that serves as
quickly as the network does (a flow-equivalent server).

Source: K. M. Chandy, U. Herzog and L. Woo, "Parametric analysis of queuing networks", IBM Journal
of Research and Development 19(1), 1975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_number, check_whole
from cloudarena.queueing.closed import MOST_CUSTOMERS, closed, solve


class LayeredNetwork(NamedTuple):
    """Customers, a server with threads, and the stations that these call, in the long run."""

    throughput: float
    """Requests answered in a second."""
    response_s: float
    """The mean time from a request to its answer."""
    wait_s: float
    """The mean part of it before the request has a thread."""
    threads_busy: float
    """The mean number of threads that are taken."""
    in_station: Floats
    """The mean number of threads at each station of the lower layer."""
    utilisation: Floats
    """The share of time that a server of each station is busy."""


def layered(
    demand_s: ArrayLike,
    threads: int,
    customers: int,
    think_s: float = 0.0,
    servers: ArrayLike = 1,
) -> LayeredNetwork:
    """A server with threads, called by customers who think between two requests.

    Exact with as many threads as customers, where it is ``closed``; otherwise approximate: the
    lower layer is taken to settle between two changes of the number of threads.

    Args:
        demand_s: the seconds of service that a request needs at each station of the lower layer.
        threads: how many requests are let into the lower layer at once.
        customers: how many send requests.
        think_s: the mean time from an answer to the customer's next request.
        servers: how many servers each station has.
    """
    population = check_whole("customers", customers, 1, MOST_CUSTOMERS)
    most = min(check_whole("threads", threads, 1), population)
    think = check_number("think_s", think_s, 0.0)
    lower = closed(demand_s, most, 0.0, servers)
    taken = np.minimum(np.arange(1, population + 1), most)
    weights = np.concatenate(([0.0], -np.cumsum(np.log(lower.throughput[taken - 1]))))
    throughputs, present = solve([weights], think)
    throughput = float(throughputs[-1])
    shares = _shares(weights, throughputs, think)
    busy = float(shares @ taken)
    response = float(present[-1, 0]) / throughput
    utilisation = throughput * np.atleast_1d(np.asarray(demand_s, np.float64)) / np.asarray(servers)
    return LayeredNetwork(
        throughput,
        response,
        max(0.0, response - busy / throughput),
        busy,
        shares @ lower.in_station[taken - 1],
        utilisation,
    )


def _shares(weights: Floats, throughputs: Floats, think: float) -> Floats:
    """The shares of time with 1, 2, ... requests at the server, waiting or in a thread."""
    population = len(throughputs)
    numbers = np.arange(1, population + 1)
    constant = -np.log(throughputs).sum()  # of all customers; that of none is 1
    if think == 0.0:
        return (numbers == population).astype(np.float64)
    thinkers = population - numbers
    factorials = np.concatenate(([0.0], np.cumsum(np.log(numbers))))
    logs = weights[1:] + thinkers * np.log(think) - factorials[thinkers] - constant
    return np.exp(logs)
