"""What a run of a multi-tier service holds: arrays that the kernel changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.alarms import Alarms

FAT, THIN = range(2)
SIZES = ("fat", "thin")

OFF, BOOTING, UP, DRAINING = range(4)
"""States of a VM. One that drains finishes what it holds and takes nothing new."""

EXPONENTIAL, DETERMINISTIC, LOG_NORMAL, HYPER_EXPONENTIAL = range(4)
SERVICES = ("exponential", "deterministic", "log-normal", "hyper-exponential")

IN_SYSTEM, SERVED, BLOCKED, COMING = range(4)
"""What has become of a request."""


class Rules(NamedTuple):
    """The spec's numbers that the kernel needs."""

    walk: bool
    """Routing by random walk; else down to a depth and back."""
    weighted: bool
    service: int
    variability: float
    """The squared coefficient of variation of service times, where the law has one."""
    boot_s: float
    end_s: float
    """When arrivals and prices end."""
    service_key: np.uint64
    routing_key: np.uint64
    balance_key: np.uint64


class Tiers(NamedTuple):
    """The tiers, from the first to the last."""

    forward: NDArray[np.float64]
    """The share of requests that go on to the next tier; 0 for the last."""
    room: NDArray[np.int64]
    rate: NDArray[np.float64]  # (tiers, 2): requests a second of a fat and a thin VM
    up: NDArray[np.int64]  # (tiers,): how many VMs take requests
    members: NDArray[np.int64]  # (tiers, VMs): which, at the beginning of a row
    speed: NDArray[np.float64]  # (tiers,): the sum of their rates


class Vms(NamedTuple):
    """VMs in slots that are used again."""

    state: NDArray[np.int64]
    tier: NDArray[np.int64]
    size: NDArray[np.int64]
    leaving: NDArray[np.bool_]
    """Released, but kept until another VM of the tier is up."""
    first: NDArray[np.int64]
    """Where the queue begins in its ring; the first request is being served."""
    held: NDArray[np.int64]
    """How many requests it holds."""
    queue: NDArray[np.int64]  # (VMs, most room): a ring of requests
    since: NDArray[np.float64]
    """When it was rented."""
    ready: Alarms
    """When it has booted."""
    finishes: Alarms
    """When the request that it serves is done."""


class Requests(NamedTuple):
    """All requests, in order of arrival."""

    arrival: NDArray[np.float64]
    tier: NDArray[np.int16]
    back: NDArray[np.bool_]
    """On the way back."""
    visits: NDArray[np.int32]
    state: NDArray[np.int8]
    finish: NDArray[np.float64]


SEEN = np.dtype(
    [
        ("arrived", np.int64),  # visits
        ("blocked", np.int64),
        ("served", np.int64),
        ("forward", np.int64),  # went on to the next tier
        ("turned", np.int64),  # turned back, on the way down
        ("held_s", np.float64),  # requests held times seconds
        ("busy_s", np.float64),  # VMs that serve times seconds
        ("up_s", np.float64),  # VMs that take requests times seconds
        ("sojourn_s", np.float64),  # of the visits served
        ("held", np.int64),  # now
        ("busy", np.int64),  # now
        ("since", np.float64),  # when these were last looked at
    ]
)
"""What is measured of a tier."""

CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("arrived", np.int64),  # how many requests have arrived
        ("done", np.int64),  # how many rows `finished` has
    ]
)


class World(NamedTuple):
    """Everything a run holds."""

    rules: Rules
    tiers: Tiers
    vms: Vms
    requests: Requests
    finished: NDArray[np.int64]
    """Requests in the order in which they were served."""
    entered: NDArray[np.float64]  # (requests,): when the request came to its VM
    seen: NDArray[np.void]  # (tiers,) of SEEN
    rented_s: NDArray[np.float64]  # (2,): of VMs of each size that are gone
    clock: NDArray[np.void]  # (1,) of CLOCK
