"""What a run of the queue holds: integers and floats in arrays."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.recorder import Log
from cloudarena.engine.status import FIRST_REASON


class Outcome(IntEnum):
    """What has become of a customer."""

    NOT_ARRIVED = 0
    REJECTED = 1
    ACCEPTED = 2


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NEITHER_YES_NOR_NO = FIRST_REASON


class Arrival(NamedTuple):
    """What a policy sees when a customer comes."""

    customer: int
    """The index of the customer in the workload, from 0."""
    now: float
    in_system: int
    """Customers who wait or are served."""


CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("arrived", np.int64),  # how many customers have come
        ("pending", np.int64),  # 1 while the last of them is to be decided on
        ("served", np.int64),  # how many of the accepted ones have left
        ("accepted", np.int64),
        ("action", np.int64),  # the last action, for the message when it is not allowed
        ("customer_s", np.float64),  # customers in the system, integrated over time
    ]
)


class World(NamedTuple):
    """Everything a run holds."""

    arrival_s: Floats
    service_s: Floats
    departure_s: Floats  # of accepted customers, in the order in which they were accepted
    outcome: Ints
    found: Ints  # customers in the system at each arrival
    clock: NDArray[np.void]  # (1,) of CLOCK
    decisions: Log  # customer, action
