"""VMs in a Poisson stream: as many as there shall be, for clouds of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from cloudarena.base.arrow import arrow_column
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source
from cloudarena.engine.streams import stream
from cloudarena.workloads.vm.columns import CATEGORIES, MOST_VMS, VmWorkload, no_readings
from cloudarena.workloads.vm.readings import LAST_TICK
from cloudarena.workloads.vm.stream import SizeCounts, VmStream, joined

CORES = (1.0, 2.0, 4.0, 8.0, 16.0)
SHARES = (0.35, 0.3, 0.2, 0.1, 0.05)
"""How many VMs have how many cores: near to Azure's of 2019, and of no trace."""
GB_PER_CORE = 4.0
PART = 1 << 18
"""VMs that are drawn at a time, each part by a stream of its own."""


class Poisson(Source):
    """VMs that arrive in a Poisson stream and live exponentially long, without readings."""

    is_generator = True
    reads_files = False
    example = "--vms 100000 --per-tick 4 --lifetime-ticks 3600 --out poisson-vms"

    source: Literal["poisson-vms"]
    vms: int = Field(ge=1, le=MOST_VMS)
    """How many VMs arrive."""
    per_tick: float = Field(gt=0, le=1e6)
    """How many arrive in a tick on average."""
    lifetime_ticks: float = Field(gt=0, le=LAST_TICK)
    """How long they live on average, at least a tick."""
    cpu_percent: float = Field(0.0, ge=0, le=100)
    """What each uses of its cores all its life."""
    stream: bool = False
    """Whether VMs are drawn as they arrive, so that only live ones are in memory."""

    def load(self, seed: int) -> VmWorkload:
        """Draws all VMs."""
        return joined(list(self._draw(seed)))

    def parts(self, seed: int) -> VmStream | None:
        """The VMs a part at a time, if they are to be drawn as they arrive."""
        if not self.stream:
            return None
        sizes = SizeCounts()
        for part in self._draw(seed):
            sizes.add(part.cores)
        cores = sizes.median()
        return VmStream(self._draw(seed), cores, GB_PER_CORE * cores)

    def scan(self, seed: int) -> Scan:
        """Draws all VMs."""
        return Scan(self.load(seed), {"vms": self.vms})

    def _draw(self, seed: int) -> Iterator[VmWorkload]:
        """Draws VMs, the same ones however many of the parts are taken."""
        now = 0.0
        for number, first in enumerate(range(0, self.vms, PART)):
            rng, count = stream(seed, f"poisson {number}"), min(PART, self.vms - first)
            times = now + np.cumsum(rng.exponential(1.0 / self.per_tick, count))
            now = float(times[-1])
            lifetime = np.ceil(rng.exponential(self.lifetime_ticks, count))
            cores = rng.choice(CORES, count, p=SHARES)
            yield VmWorkload(
                ids=arrow_column(np.arange(first + 1, first + count + 1)),
                subscription=np.zeros(count, np.int64),
                deployment=np.zeros(count, np.int64),
                created=np.minimum(times, LAST_TICK - 1).astype(np.int64),
                lifetime=np.clip(lifetime, 1, LAST_TICK - 1).astype(np.int64),
                category=np.full(count, CATEGORIES.index("unknown"), np.int64),
                cores=cores,
                memory_gb=GB_PER_CORE * cores,
                first_reading=no_readings(count),
                readings=np.empty(0),
                cpu_percent=self.cpu_percent,
            )
