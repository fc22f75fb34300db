"""Things that are rented for whole periods, such as servers by the hour."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.tolerance import time_tolerance

HOUR_S = 3600.0


@jit_uncounted
def clock_error(time: float) -> float:
    """How far a time may be off that is a sum of a few floats: less than it is rounded by."""
    return max(1e-10, time_tolerance(time))


@jit_uncounted
def periods_needed(start: float, until: float, period_s: float) -> int:
    """How many whole periods from ``start`` on cover the time ``until``; rounding is no period."""
    return int(np.ceil((until - start - clock_error(until)) / period_s))
