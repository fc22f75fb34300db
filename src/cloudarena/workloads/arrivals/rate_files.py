"""Arrival rates from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import TraceError
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, check, read_columns


def read_rates(path: Path, seconds: int) -> Floats:
    """A recorded series: columns time_s (rising, from 0) and rate, each held until the next."""
    table = read_columns(path, {"time_s": NUMBER, "rate": NUMBER})
    if len(table) == 0:
        raise TraceError(f"{path}: has no rates")
    time, rate = writable(table["time_s"]), writable(table["rate"])
    check(path, "rate", rate, (rate >= 0) & np.isfinite(rate), "at least 0")
    rising = np.concatenate(([time[0] == 0.0], np.diff(time) > 0))
    check(path, "time_s", time, rising, "from 0 on, rising")
    held = np.searchsorted(time, np.arange(seconds) + 0.5, side="right") - 1
    return rate[held]
