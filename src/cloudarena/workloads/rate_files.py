"""Arrival rates from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import TraceError
from cloudarena.workloads.columns import check, read_columns
from cloudarena.workloads.readings import writable


def read_rates(path: Path, seconds: int) -> Floats:
    """A recorded series: columns time_s (rising, from 0) and rate, each held until the next."""
    table = read_columns(path, {"time_s": pa.float64(), "rate": pa.float64()})
    if len(table) == 0:
        raise TraceError(f"{path}: has no rates")
    time, rate = writable(table["time_s"]), writable(table["rate"])
    check(path, "rate", rate, (rate >= 0) & np.isfinite(rate), "at least 0")
    rising = np.concatenate(([time[0] == 0.0], np.diff(time) > 0))
    check(path, "time_s", time, rising, "from 0 on, rising")
    held = np.searchsorted(time, np.arange(seconds) + 0.5, side="right") - 1
    return rate[held]
