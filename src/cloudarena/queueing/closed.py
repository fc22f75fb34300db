"""Closed networks: so many customers go round between thinking and stations of servers.

One class of customers: the normalising constants of the product form, by convolution and in
logarithms, which are sums of positive numbers for stations of several servers too, where mean value
analysis loses its digits; then the arrival theorem. Several classes: mean value analysis.

Sources: J. P. Buzen, "Computational algorithms for closed queueing networks with exponential
servers", 1973; M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queueing
networks", 1980.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import (
    check_not_negative,
    check_number,
    check_shape,
    check_whole,
    check_wholes,
)
from cloudarena.base.errors import SpecError
from cloudarena.queueing.many_servers import MOST_SERVERS

MOST_CUSTOMERS = 10_000
MOST_STATES = 200_000
"""How many combinations of customers of several classes are gone through."""


class ClosedNetwork(NamedTuple):
    """A closed network in the long run, for every number of customers from 1 on.

    The first axis is the number of customers less one: ``throughput[-1]`` is with all of them.
    """

    throughput: Floats
    """Rounds that all customers end in a second."""
    response_s: Floats
    """The mean time of a round without the thinking."""
    in_station: Floats
    """The mean number of customers at each station."""
    utilisation: Floats
    """The share of time that a server of each station is busy."""


class ClosedClasses(NamedTuple):
    """A closed network of several classes of customers in the long run."""

    throughput: Floats
    """Rounds of each class in a second."""
    response_s: Floats
    """The mean time of a round of each class without the thinking; NaN where it has nobody."""
    in_station: Floats
    """The mean number of customers at each station, all classes together."""
    utilisation: Floats
    """The share of time that each station is busy."""


def closed(
    demand_s: ArrayLike, customers: int, think_s: float = 0.0, servers: ArrayLike = 1
) -> ClosedNetwork:
    """A closed network of stations first come, first served, or shared: exact.

    Args:
        demand_s: the seconds of service that a round needs at each station: visits times the mean
            service time, which is exponential where stations serve first come, first served.
        customers: how many go round.
        think_s: the mean time that a customer spends outside of all stations in a round.
        servers: how many servers each station has.
    """
    demands = np.atleast_1d(check_not_negative("demand_s", demand_s))
    check_shape("demand_s", demands, (demands.size,), "one number for each station")
    population = check_whole("customers", customers, 1, MOST_CUSTOMERS)
    think = check_number("think_s", think_s, 0.0)
    counts = np.broadcast_to(_counts(servers, demands), demands.shape)
    if not demands.any() and think == 0.0:
        raise SpecError("demand_s: 0 is not allowed: some station or think_s of more than 0")
    weights = [_weights(demand, _rates(population, count)) for demand, count in
               zip(demands, counts, strict=True)]  # fmt: skip
    throughput, in_station = solve(weights, think)
    utilisation = throughput[:, None] * demands / counts
    response = np.arange(1, population + 1) / throughput - think
    return ClosedNetwork(throughput, response, in_station, utilisation)


def closed_classes(
    demand_s: ArrayLike, customers: ArrayLike, think_s: ArrayLike = 0.0
) -> ClosedClasses:
    """A closed network of several classes at stations of one server: exact.

    ``demand_s`` has a row for each class and a column for each station, ``customers`` and
    ``think_s`` a number for each class. Stations share their server, or serve first come, first
    served with the same exponential service time for all classes.
    """
    demands = np.atleast_2d(check_not_negative("demand_s", demand_s))
    counts = np.atleast_1d(check_wholes("customers", customers, 0, MOST_CUSTOMERS))
    classes = len(demands)
    check_shape("demand_s", demands, (classes, demands.shape[-1]), "classes x stations")
    check_shape("customers", counts, (classes,), "one number for each class")
    thinks = np.broadcast_to(check_not_negative("think_s", think_s), (classes,))
    if math.prod(int(count) + 1 for count in counts) > MOST_STATES:
        raise SpecError(
            f"customers: {counts.tolist()} is not allowed: at most {MOST_STATES:,} combinations"
        )
    for row, (demand, think) in enumerate(zip(demands, thinks, strict=True)):
        if not demand.any() and think == 0.0:
            raise SpecError(
                f"demand_s[{row}]: 0 is not allowed: some station or think_s of more than 0"
            )
    queues = {(0,) * classes: np.zeros(demands.shape[1])}
    throughput, response = np.zeros(classes), np.full(classes, np.nan)
    for state in itertools.product(*(range(int(count) + 1) for count in counts)):
        if not any(state):
            continue
        throughput, response = np.zeros(classes), np.full(classes, np.nan)
        present = np.zeros(demands.shape[1])
        for one in (one for one in range(classes) if state[one]):
            # The arrival theorem: who arrives sees the network as it is without them.
            without = (*state[:one], state[one] - 1, *state[one + 1 :])
            visit = demands[one] * (1.0 + queues[without])
            response[one] = visit.sum()
            throughput[one] = state[one] / (thinks[one] + response[one])
            present += throughput[one] * visit
        queues[state] = present
    last = queues[tuple(int(count) for count in counts)]
    return ClosedClasses(throughput, response, last, throughput @ demands)


def solve(weights: list[Floats], think: float) -> tuple[Floats, Floats]:
    """The throughput and the mean numbers at stations, for every number of customers from 1 on.

    ``weights[i][n]`` is the logarithm of the product form's factor of n customers at station i.
    """
    population = len(weights[0]) - 1
    before = [_thinking(population, think)]
    for weight in weights:
        before.append(_convolved(before[-1], weight))
    constants = before[-1]
    throughput = np.exp(constants[:-1] - constants[1:])
    in_station = np.zeros((population, len(weights)))
    after = np.full(population + 1, -np.inf)
    after[0] = 0.0
    numbers = np.arange(population + 1)
    with np.errstate(divide="ignore"):
        logs = np.log(numbers)
    for station in range(len(weights) - 1, -1, -1):
        others = _convolved(before[station], after)
        present = _convolved(others, weights[station] + logs)
        in_station[:, station] = np.exp(present[1:] - constants[1:])
        after = _convolved(after, weights[station])
    return throughput, in_station


def _counts(servers: ArrayLike, demands: Floats) -> Ints:
    counts = check_wholes("servers", servers, 1, MOST_SERVERS)
    if counts.ndim:
        check_shape("servers", counts, demands.shape, "one number, or one for each station")
    return counts


def _rates(population: int, servers: int) -> Floats:
    """How many servers work while 1, 2, ... customers are at a station."""
    return np.minimum(np.arange(1, population + 1), servers).astype(np.float64)


def _weights(demand: float, rates: Floats) -> Floats:
    """The logarithms of ``demand^n / (rate[1] ... rate[n])``."""
    with np.errstate(divide="ignore"):
        return np.concatenate(([0.0], np.cumsum(np.log(demand) - np.log(rates))))


def _thinking(population: int, think: float) -> Floats:
    """The factor of those who think: a station with a server for everybody."""
    return _weights(think, np.arange(1.0, population + 1.0))


def _convolved(first: Floats, second: Floats) -> Floats:
    """The logarithms of the convolution of two sequences of which logarithms are given."""
    size = len(first)
    total = np.empty(size)
    for number in range(size):
        terms = first[: number + 1] + second[number::-1]
        largest = terms.max()
        if largest == -np.inf:
            total[number] = -np.inf
        else:
            total[number] = largest + np.log(np.exp(terms - largest).sum())
    return total
