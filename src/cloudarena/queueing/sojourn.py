"""The distribution of the response time (sojourn), from arrival to departure: tails and quantiles.

All first come, first served. Everything here is exact; quantiles are solved for to 12 digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import (
    check_level,
    check_not_negative,
    check_positive,
    check_wholes,
    spread,
)
from cloudarena.queueing.geometric import log_ratio, reaches
from cloudarena.queueing.many_servers import MOST_SERVERS, erlang_c
from cloudarena.queueing.quantiles import quantile_of_tail
from cloudarena.queueing.single_server import accept

HIGHEST_LEVEL = 1.0 - 1e-9
ACCURACY = 1e-12
SPREAD = 9.0
"""Standard deviations of a Poisson number beyond which, and 40 more, less than 1e-17 lies."""
MOST_CELLS = 4_000_000
"""Terms of sums that are in memory at a time."""


def mm1_tail(seconds: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike) -> Floats:
    """``P(T > t) = exp(-(service_rate - arrival_rate) t)`` in M/M/1; 1 where it is overloaded."""
    time = check_not_negative("seconds", seconds)
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    time, arrival, service = spread(seconds=time, arrival_rate=arrival, service_rate=service)
    return np.exp(-np.maximum(service - arrival, 0.0) * time)[()]


def mm1_quantile(level: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike) -> Floats:
    """``-log(1 - level) / (service_rate - arrival_rate)``; infinite where it is overloaded."""
    share = check_level("level", level, HIGHEST_LEVEL)
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    share, arrival, service = spread(level=share, arrival_rate=arrival, service_rate=service)
    with np.errstate(divide="ignore"):
        return (-np.log1p(-share) / np.maximum(service - arrival, 0.0))[()]


def mm1c_tail(
    seconds: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike, room: ArrayLike
) -> Floats:
    """``P(T > t)`` of a request that finds room in M/M/1/C: a mixture of Erlang distributions.

    Who finds n others leaves after n + 1 services, so ``P(T > t)`` is the sum over k < C of
    ``P(k services end within t) * P(at least k others are found)``: Poisson weights times the
    tail of a cut geometric distribution. All terms are positive, at any load.
    """
    time = check_not_negative("seconds", seconds)
    return _mm1c_tail(*_with_room("seconds", time, arrival_rate, service_rate, room))[()]


def mm1c_quantile(
    level: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike, room: ArrayLike
) -> Floats:
    """The time within which a share ``level`` of the requests that find room are served."""
    share = check_level("level", level, HIGHEST_LEVEL)
    share, arrival, service, capacity = _with_room("level", share, arrival_rate, service_rate, room)
    shape = share.shape
    share, arrival, service, capacity = (
        values.ravel() for values in (share, arrival, service, capacity)
    )
    return quantile_of_tail(
        lambda time, distributions: _mm1c_tail(
            time, arrival[distributions], service[distributions], capacity[distributions]
        ),
        share,
        accept(arrival, service, capacity).response_s,
        ACCURACY,
    ).reshape(shape)[()]


def mmc_tail(
    seconds: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike
) -> Floats:
    """``P(T > t)`` in M/M/c: ``exp(-mu t) (1 + C (1 - exp(-mu t (c - 1 - a))) / (c - 1 - a))``.

    C is Erlang's C at a load of a erlangs. With probability C a request waits an exponential
    time of rate ``c mu - lambda``, and then it is served. 1 where it is overloaded.
    """
    time = check_not_negative("seconds", seconds)
    return _mmc_tail(*_with_servers("seconds", time, arrival_rate, service_rate, servers))[()]


def mmc_quantile(
    level: ArrayLike, arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike
) -> Floats:
    """The time within which a share ``level`` is served; infinite where it is overloaded."""
    share = check_level("level", level, HIGHEST_LEVEL)
    share, arrival, service, count = _with_servers(
        "level", share, arrival_rate, service_rate, servers
    )
    shape = share.shape
    share, arrival, service, count = (values.ravel() for values in (share, arrival, service, count))
    stable = arrival < count * service
    arrival = np.where(stable, arrival, 0.0)
    quantile = quantile_of_tail(
        lambda time, distributions: _mmc_tail(
            time, arrival[distributions], service[distributions], count[distributions]
        ),
        share,
        1.0 / service,
        ACCURACY,
    )
    return np.where(stable, quantile, np.inf).reshape(shape)[()]


def _with_room(
    name: str, values: Floats, arrival_rate: ArrayLike, service_rate: ArrayLike, room: ArrayLike
) -> tuple[Floats, ...]:
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    capacity = check_wholes("room", room, 1).astype(np.float64)
    named = {name: values, "arrival_rate": arrival, "service_rate": service, "room": capacity}
    return spread(**named)


def _with_servers(
    name: str, values: Floats, arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike
) -> tuple[Floats, ...]:
    arrival = check_not_negative("arrival_rate", arrival_rate)
    service = check_positive("service_rate", service_rate)
    count = check_wholes("servers", servers, 1, MOST_SERVERS).astype(np.float64)
    named = {name: values, "arrival_rate": arrival, "service_rate": service, "servers": count}
    return spread(**named)


def _mm1c_tail(time: Floats, arrival: Floats, service: Floats, room: Floats) -> Floats:
    shape, room = time.shape, room.ravel()
    expected, logarithm = (service * time).ravel(), log_ratio(arrival, service).ravel()
    # Of the numbers of services within t only those near the expected one have any weight.
    reach = np.ceil(SPREAD * np.sqrt(expected)) + 40.0
    first = np.maximum(np.floor(expected) - reach, 0.0)
    tail = np.empty(expected.shape)
    step = max(1, int(MOST_CELLS / (2.0 * reach.max(initial=0.0) + 2.0)))
    for begin in range(0, len(tail), step):
        part = slice(begin, begin + step)
        width = int((np.floor(expected[part]) + reach[part] - first[part]).max()) + 1
        served = first[part, None] + np.arange(width, dtype=np.float64)
        mean = expected[part, None]
        weights = np.exp(xlogy(served, mean) - mean - gammaln(served + 1.0))
        found = reaches(logarithm[part, None], room[part, None] - 1.0, served)
        # Dividing takes the rounding of the exponent out, which grows with the mean.
        tail[part] = (weights * found).sum(axis=1) / weights.sum(axis=1)
    return tail.reshape(shape)


def _mmc_tail(time: Floats, arrival: Floats, service: Floats, servers: Floats) -> Floats:
    load = arrival / service
    stable = load < servers
    served = service * time
    # The sum of two exponential times, of the rates 1 and c - a in units of the service rate: the
    # slower one in front, so that what multiplies it does not grow.
    drain = np.where(stable, servers - load, 1.0)
    gap = np.abs(drain - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(gap == 0.0, served, -np.expm1(-served * gap) / gap)
    waited = erlang_c(servers, load) * np.exp(-served * np.minimum(drain, 1.0)) * spread
    return np.where(stable, np.exp(-served) + waited, 1.0)
