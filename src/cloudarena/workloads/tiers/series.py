"""A recorded series of rates, the canonical format: a table with the columns time_s and rate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, check, read_columns, write_table
from cloudarena.workloads.resample import Resample, drawn_again
from cloudarena.workloads.tiers.source import SECONDS, RateSource

LARGEST_RATE = 1e7
"""Requests a second, as in other sources."""


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
    start_s: float = Field(0.0, ge=0, le=1e12)
    """Begins so many seconds after the beginning of the series."""
    resample: Resample | None = None
    """Draws the series again by the seed, in blocks: {blocks: day}; then replications differ."""

    @property
    def resampled(self) -> str:
        """What replications draw again of the trace, in words; a scale alone draws nothing."""
        return "" if self.resample is None else drawn_again(self.resample, self.scale)

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by the names of its columns."""
        return beginning.cells == ["time_s", "rate"]

    def load(self, seed: int, seconds: int = SECONDS) -> Floats:
        """The rate in each second; the same for every seed, unless it is resampled."""
        begin = int(self.start_s)
        if self.resample is None:
            return self.scale * read_rates(self.path, begin + seconds)[begin:]
        span = series_span(self.path) - begin
        rates = read_rates(self.path, begin + span)[begin:]
        pieces = self.resample.pieces(span, seconds, seed)
        drawn = np.concatenate([rates[int(begin) : int(end)] for begin, end in pieces])
        return self.scale * drawn[:seconds]


def write_rates(rate: Floats, folder: Path, texts: Mapping[str, str] | None = None) -> int:
    """Writes ``rates.parquet`` into a folder, a row for each change; returns how many."""
    begins = np.concatenate(([0], np.flatnonzero(rate[1:] != rate[:-1]) + 1))
    table = pa.table({"time_s": begins.astype(np.float64), "rate": rate[begins]})
    write_table(table, folder, "rates", texts)
    return len(begins)


def series_span(path: Path) -> int:
    """The seconds of a recorded series; its last rate is held as long as the one before."""
    time = writable(read_columns(path, {"time_s": NUMBER, "rate": NUMBER})["time_s"])
    last = float(time[-1] - time[-2]) if len(time) > 1 else 60.0
    return int(time[-1] + last)


def read_rates(path: Path, seconds: int) -> Floats:
    """A recorded series: columns time_s (rising, from 0) and rate, each held until the next."""
    table = read_columns(path, {"time_s": NUMBER, "rate": NUMBER})
    if len(table) == 0:
        raise TraceError(f"{path}: has no rates")
    time, rate = writable(table["time_s"]), writable(table["rate"])
    check(path, "rate", rate, (rate >= 0) & (rate <= LARGEST_RATE), f"0 to {LARGEST_RATE:,.0f}")
    rising = np.concatenate(([time[0] == 0.0], np.diff(time) > 0))
    check(path, "time_s", time, rising, "from 0 on, rising")
    held = np.searchsorted(time, np.arange(seconds) + 0.5, side="right") - 1
    return rate[held]
