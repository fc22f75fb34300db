"""The state of a run before its first customer."""

from __future__ import annotations

import numpy as np

from admission.sources import Customers
from admission.spec import AdmissionScenario
from admission.state import CLOCK, World
from cloudarena.contract import RecordLevel
from cloudarena.engine.recorder import make_log


def build_world(customers: Customers, record: RecordLevel) -> World:
    """An empty queue."""
    count = len(customers.arrival_s)
    return World(
        arrival_s=customers.arrival_s,
        service_s=customers.service_s,
        departure_s=np.zeros(count),
        outcome=np.zeros(count, np.int64),
        found=np.zeros(count, np.int64),
        clock=np.zeros(1, CLOCK),
        decisions=make_log(2, 0 if record == "none" else count),
    )


def memory_needs(scenario: AdmissionScenario, record: RecordLevel) -> tuple[float, str]:
    """The arrays of the customers."""
    count = getattr(scenario.workload, "customers", 0)
    count = count if isinstance(count, int) else len(count)
    return 8.0 * 8 * count, f"workload.customers: {count}"
