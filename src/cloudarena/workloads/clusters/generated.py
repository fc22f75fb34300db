"""Batches drawn by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from cloudarena.contract.source import Scan
from cloudarena.workloads.clusters.batches import (
    MOST_SECONDS,
    Batches,
    Group,
    generate_batches,
    side_by_side,
)
from cloudarena.workloads.clusters.source import BatchSource


class Generated(BatchSource):
    """Batches at equal distances whose mix of classes varies little or much."""

    is_generator = True
    reads_files = False
    settings: ClassVar[Mapping[str, str]] = {
        "seconds": "The mean time of a task of a class, once for each class.",
        "vms": "How many VMs the work is reckoned for.",
    }
    example = "--batches 60 --seconds 1 --seconds 3 --vms 16 --out batches"

    source: Literal["generated"]
    batches: int = Field(ge=1, le=1_000_000)
    """The number of batches in all; they arrive from 0 to horizon_s."""
    horizon_s: float = Field(3600.0, gt=0, le=MOST_SECONDS)
    """When the next batch after the last one would arrive, in seconds."""
    variance: Literal["low", "high"] = "high"
    """How much the mix of classes varies: low or high."""
    load: float = Field(0.9, gt=0, le=100)
    """The mean work over what all VMs can do in horizon_s; of each virtual cluster by itself."""
    regime_s: float = Field(600.0, ge=0.001)
    """The mean length of a regime, a time in which batches are alike, with high variance."""
    concentration: float = Field(0.25, gt=0, le=100)
    """The parameter of the Dirichlet distribution of the mix of a regime."""

    def arrivals(
        self,
        seed: int,
        names: Sequence[str] = (),
        seconds: Sequence[float] = (),
        vms: int = 1,
        groups: Sequence[Group] = (),
    ) -> Batches:
        """The batches under a seed; those of each virtual cluster are drawn for its own VMs."""
        if len(groups) < 2:
            return self._drawn(seed, seconds or (1.0, 1.0), vms)
        parts = [
            self._drawn(seed, [seconds[c] for c in one.classes], one.vms, one.name)
            for one in groups
        ]
        return side_by_side(parts, groups)

    def _drawn(self, seed: int, seconds: Sequence[float], vms: int, whose: str = "") -> Batches:
        """The batches of some classes on so many VMs."""
        return generate_batches(
            self.batches,
            self.horizon_s,
            self.load * vms * self.horizon_s,
            seconds,
            self.variance,
            self.regime_s,
            self.concentration,
            seed,
            whose,
        )

    def scan(self, seed: int, seconds: tuple[float, ...] = (1.0, 1.0), vms: int = 16) -> Scan:
        """The batches under a seed, of classes that are numbered from 1."""
        made = self.arrivals(seed, seconds=seconds, vms=vms)
        names = tuple(f"class-{number}" for number in range(1, made.tasks.shape[1] + 1))
        return Scan(made._replace(names=names))
