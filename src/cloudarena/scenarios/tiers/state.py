"""What a run of a multi-tier service holds: arrays that the kernel changes.

Tiers, VMs and requests are rows of records: a kernel of few arrays is called and calls quickly,
and what is said of a request lies together in memory.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.indexed_heap import IndexedHeap


class Size(IntEnum):
    """The two sizes of VMs that every tier has."""

    FAT = 0
    THIN = 1


class VmState(IntEnum):
    """The state of a VM; one that drains finishes what it holds and takes nothing new."""

    OFF = 0
    BOOTING = 1
    UP = 2
    DRAINING = 3


class Service(IntEnum):
    """The distribution of service times."""

    EXPONENTIAL = 0
    DETERMINISTIC = 1
    LOG_NORMAL = 2
    HYPER_EXPONENTIAL = 3


class Outcome(IntEnum):
    """What has become of a request."""

    COMING = 0
    IN_SYSTEM = 1
    SERVED = 2
    BLOCKED = 3


class Rules(NamedTuple):
    """The spec's numbers that the kernel needs."""

    walk: bool
    """Whether requests are routed by random walk; else down to a depth and back."""
    weighted: bool
    """Whether VMs get requests in proportion to their rates; else all as many."""
    service: int
    """The distribution of service times, a ``Service``."""
    variability: float
    """The squared coefficient of variation of service times, where the distribution has one."""
    end_s: float
    """The time at which arrivals and prices end."""
    period_s: float
    periods: int
    boot_s: float
    first: int
    """The first request after the warm-up."""
    sla_s: float
    by_quantile: bool
    """Whether the SLA bounds a quantile of the response times; else their mean."""
    level: float
    penalty_usd: float
    fat_minute_usd: float
    thin_minute_usd: float
    most_fat: int
    """The most fat VMs in all tiers together."""
    most_thin: int
    service_key: np.uint64
    routing_key: np.uint64
    balance_key: np.uint64


TIER = np.dtype(
    [
        ("forward", np.float64),  # the share of requests that go on; 0 for the last tier
        ("room", np.int64),  # requests that a VM holds at most
        ("up", np.int64),  # VMs that take requests
        ("since", np.float64),  # since when so many are up
        ("held", np.int64),  # requests in it at the last look
        # What is measured from the start of the run; from `held_s` on, up to the last look.
        ("arrived", np.int64),  # visits
        ("blocked", np.int64),
        ("forwarded", np.int64),  # visits after which the request went on to the next tier
        ("turned", np.int64),  # and, on the way down, after which it turned back
        ("up_s", np.float64),  # VMs that take requests times seconds
        ("held_s", np.float64),  # requests held times seconds
        ("busy_s", np.float64),  # VMs that take requests and serve one times seconds
        ("sojourn_s", np.float64),  # of the visits served
    ]
)
"""A tier, from the first to the last."""
MEASURED = TIER.names[TIER.names.index("arrived") :]  # type: ignore[index,union-attr]

VM = np.dtype(
    [
        ("state", np.int64),
        ("tier", np.int64),
        ("size", np.int64),
        ("rate", np.float64),  # requests a second,
        ("mean_s", np.float64),  # so this is what a service takes on average
        ("leaving", np.int64),  # released, but kept until another VM of the tier is up
        ("since", np.float64),  # when it was rented
        ("first", np.int64),  # the request that is being served, if it holds any,
        ("last", np.int64),  # the one that came last,
        ("held", np.int64),  # and how many it holds
        ("begun", np.float64),  # when it was last done with a request,
        ("ends", np.float64),  # and when it will be with all that it holds
        # What was measured since the last look at it.
        ("served", np.int64),  # visits
        ("sojourn_s", np.float64),  # how long these took,
        ("busy_from", np.float64),  # since when it has not been idle, or was looked at,
        ("busy_s", np.float64),  # seconds in which it was busy before that,
        ("open_s", np.float64),  # and what the visit that was going on then had had by then
    ]
)
"""A VM, in a slot that is used again."""

REQUEST = np.dtype(
    [
        ("arrival", np.float64),
        ("entered", np.float64),  # when it came to its VM
        ("finish", np.float64),  # when its visit ends; in the end, when it was served or blocked
        ("behind", np.int64),  # the request that came to its VM after it
        ("visits", np.int32),
        ("tier", np.int16),
        ("state", np.int8),
        ("back", np.int8),  # on the way back
    ]
)
"""A request, in order of arrival."""

CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("arrived", np.int64),  # how many requests have arrived
        ("done", np.int64),  # how many of `responses` there are,
        ("counted", np.int64),  # and how many of those came after the warm-up
        ("oldest", np.int64),  # no request before this one is in the service
        ("period", np.int64),  # how many periods are over
        ("changes", np.int64),  # VMs started or released by decisions
        ("kept", np.int64),  # how many periods kept the SLA
        ("rent_usd", np.float64),  # at the end of the last period
    ]
)

PERIOD = np.dtype(
    [
        ("begin", np.float64),
        ("end", np.float64),
        ("until", np.float64),  # of the last period, when all requests were gone
        ("requests", np.int64),
        ("done", np.int64),  # where its response times begin
        ("rent_usd", np.float64),  # of the run, at its end
        ("response_s", np.float64),  # the sum of its response times
        ("keeps_sla", np.int64),
    ]
)
"""A period that is over."""
LOOK = np.dtype(
    [
        ("counts", np.int64, (2,)),
        ("held_at_end", np.int64),
        ("served", np.int64, (2,)),
        ("service_s", np.float64, (2,)),
        *((name, TIER.fields[name][0]) for name in MEASURED),  # type: ignore[index]
    ]
)
"""What was measured of a tier from the start of the run to the end of a period."""


class World(NamedTuple):
    """Everything a run holds."""

    rules: Rules
    tiers: NDArray[np.void]  # (tiers,) of TIER
    members: NDArray[np.int64]  # (tiers, VMs): those that take requests begin a row,
    speeds: NDArray[np.float64]  # (tiers, VMs): and the sum of their rates up to each
    vms: NDArray[np.void]  # (VMs,) of VM
    ready: IndexedHeap
    """The times at which VMs have booted."""
    finishes: IndexedHeap
    """The times at which the requests that VMs serve are done."""
    requests: NDArray[np.void]  # (requests,) of REQUEST
    responses: NDArray[np.float64]
    """The response times, in the order in which requests were served."""
    served: NDArray[np.int64]  # (tiers, 2): visits served by VMs of each size,
    service_s: NDArray[np.float64]  # (tiers, 2): and how long these took, without waiting
    rented_s: NDArray[np.float64]  # (2,): of VMs of each size that are gone
    clock: NDArray[np.void]  # (1,) of CLOCK
    visits: NDArray[np.float64]  # (tiers,): how often a request comes to each, on average
    vm_rates: NDArray[np.float64]  # (tiers, 2): requests a second
    limits: NDArray[np.int64]  # (tiers, 2): the most VMs there may be
    start: NDArray[np.int64]  # (2 * tiers,): VMs at the start
    counts: NDArray[np.int64]  # (tiers, 2): VMs in force
    periods: NDArray[np.void]  # (periods,) of PERIOD
    looks: NDArray[np.void]  # (periods, tiers) of LOOK
