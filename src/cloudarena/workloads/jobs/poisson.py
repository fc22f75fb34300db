"""Jobs in a Poisson stream: as many as there shall be, for clusters of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from cloudarena.base.arrow import arrow_column
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME, SHORTEST_TIME, JobWorkload, assemble
from cloudarena.workloads.jobs.source import Rate, Seconds
from cloudarena.workloads.jobs.stream import JobStream, joined

CPU = (1.0, 2.0, 4.0, 8.0, 16.0)
SHARES = (0.35, 0.3, 0.2, 0.1, 0.05)
"""How many jobs ask for how much CPU: those of ``poisson-vms``, of no trace."""
MEMORY_PER_CPU = 4.0
PART = 1 << 18
"""Jobs that are drawn at a time, each part by a stream of its own."""
MOST_JOBS = 10**8


class PoissonJobs(Source):
    """Jobs of one instance that arrive in a Poisson stream and run exponentially long."""

    is_generator = True
    reads_files = False
    example = "--jobs 100000 --rate 4 --duration-s 3600 --out poisson-jobs"

    source: Literal["poisson-jobs"]
    jobs: int = Field(ge=1, le=MOST_JOBS)
    """How many jobs arrive."""
    rate: Rate
    """How many arrive in a second on average."""
    duration_s: Seconds
    """How long they run on average; that it is known beforehand."""
    stream: bool = False
    """Whether jobs are drawn as they arrive, so that only unfinished ones are in memory."""

    def load(self, seed: int) -> JobWorkload:
        """Draws all jobs."""
        return joined(list(self._draw(seed)))

    def parts(self, seed: int) -> JobStream | None:
        """The jobs a part at a time, if they are to be drawn as they arrive."""
        if not self.stream:
            return None
        return JobStream(self._draw(seed), self.jobs, self.jobs, np.zeros(1, np.int64), True)

    def scan(self, seed: int) -> Scan:
        """Draws all jobs."""
        return Scan(self.load(seed), {"jobs": self.jobs, "tasks": self.jobs})

    def _draw(self, seed: int) -> Iterator[JobWorkload]:
        """Draws jobs, the same ones however many of the parts are taken."""
        now, begin = 0.0, 0.0
        for number, first in enumerate(range(0, self.jobs, PART)):
            rng, count = stream(seed, f"poisson {number}"), min(PART, self.jobs - first)
            times = now + np.cumsum(rng.exponential(1.0 / self.rate, count))
            times[0] = max(times[0], np.nextafter(now, np.inf))  # no instant is in two parts
            now = float(times[-1])
            begin = float(times[0]) if first == 0 else begin
            cpu = rng.choice(CPU, count, p=SHARES)
            none, duration = np.zeros(count), rng.exponential(self.duration_s, count)
            duration = np.clip(duration, SHORTEST_TIME, LONGEST_TIME)
            yield assemble(
                job_ids=arrow_column(np.arange(first + 1, first + count + 1)),
                submit=times,
                job=np.arange(count),
                task_ids=arrow_column(np.ones(count, np.int64)),
                instances=np.ones(count, np.int64),
                demand=np.column_stack((cpu, MEMORY_PER_CPU * cpu, none, none)),
                duration=duration,
                estimate=duration,
                begin=begin,
            )
