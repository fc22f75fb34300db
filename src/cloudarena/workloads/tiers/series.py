"""A recorded series of rates, the canonical format: a table with the columns time_s and rate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, check, read_columns, write_table
from cloudarena.workloads.tiers.source import SECONDS, RateSource


class Series(RateSource):
    """A recorded series: a file with the columns time_s and rate, each held until the next."""

    aliases = ("rates",)
    canonical: ClassVar[Mapping[str, str]] = {"path": "rates"}
    example = "my-rates.csv --out my-rates"

    source: Literal["series"]
    path: SpecPath
    """The series, CSV or Parquet."""
    scale: float = Field(1.0, gt=0)
    """Multiplies every rate."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """By the names of its columns."""
        return beginning.cells == ["time_s", "rate"]

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second; the same for every seed."""
        return self.scale * read_rates(self.path, seconds)


def write_rates(rate: Floats, folder: Path, texts: Mapping[str, str] | None = None) -> int:
    """Writes ``rates.parquet`` into a folder, a row for each change; returns how many."""
    begins = np.concatenate(([0], np.flatnonzero(rate[1:] != rate[:-1]) + 1))
    table = pa.table({"time_s": begins.astype(np.float64), "rate": rate[begins]})
    write_table(table, folder, "rates", texts)
    return len(begins)


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
