"""Parallel jobs on a pool of processors, ranked by a score: slow, obvious, one event at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Job:
    """A parallel job; the reference fills in when it starts."""

    submit: float
    run: float
    request: float
    processors: int
    user: int
    start: float = math.nan

    @property
    def end(self) -> float:
        """When it ends."""
        return self.start + self.run


@dataclass
class Pool:
    """The pool while it runs."""

    jobs: list[Job]
    free: int
    now: float = 0.0
    queue: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    runs: dict[int, list[float]] = field(default_factory=dict)
    """The run times of each user's finished jobs."""
    chosen: int | None = None
    expected: float = math.nan

    def predicted(self, number: int) -> float:
        """The mean of the user's last two run times, at most the request."""
        job = self.jobs[number]
        last = self.runs.get(job.user, [])[-2:]
        return min(job.request, sum(last) / len(last)) if last else job.request

    def fits(self, number: int) -> bool:
        """Whether a job could start now."""
        return self.jobs[number].processors <= self.free

    def begin(self, number: int) -> None:
        """Starts a job."""
        self.jobs[number].start = self.now
        self.free -= self.jobs[number].processors
        self.queue.remove(number)
        self.running.append(number)

    def end(self, number: int) -> None:
        """Ends a job."""
        job = self.jobs[number]
        self.running.remove(number)
        self.free += job.processors
        self.runs.setdefault(job.user, []).append(self.now - job.start)

    def expected_start(self, number: int) -> float:
        """When a job could start if what runs ended by its request."""
        free = self.free
        for other in sorted(self.running, key=lambda k: self.jobs[k].start + self.jobs[k].request):
            free += self.jobs[other].processors
            if free >= self.jobs[number].processors:
                return self.jobs[other].start + self.jobs[other].request
        raise AssertionError("a job that fits no empty pool")


Score = Callable[[Pool, int], float]


def log10(value: float) -> float:
    """The logarithm, of at least 0.1."""
    return math.log10(max(value, 0.1))


def wait(pool: Pool, number: int) -> float:
    """How long a job has waited."""
    return pool.now - pool.jobs[number].submit


SCORES: dict[str, Score] = {
    "ranked-fcfs": lambda pool, k: pool.jobs[k].submit,
    "ranked-sjf": lambda pool, k: pool.jobs[k].request,
    "smallest-area": lambda pool, k: pool.jobs[k].request * pool.jobs[k].processors,
    "predicted-area": lambda pool, k: pool.predicted(k) * pool.jobs[k].processors,
    "f1": lambda pool, k: (
        log10(pool.jobs[k].request) * pool.jobs[k].processors + 870 * log10(pool.jobs[k].submit)
    ),
    "f2": lambda pool, k: (
        math.sqrt(pool.jobs[k].request) * pool.jobs[k].processors
        + 25_600 * log10(pool.jobs[k].submit)
    ),
    "f3": lambda pool, k: (
        pool.jobs[k].request * pool.jobs[k].processors + 6_860_000 * log10(pool.jobs[k].submit)
    ),
    "f4": lambda pool, k: (
        pool.jobs[k].request * math.sqrt(pool.jobs[k].processors)
        + 530_000 * log10(pool.jobs[k].submit)
    ),
    "wfp3": lambda pool, k: (
        -((wait(pool, k) / pool.jobs[k].request) ** 3) * pool.jobs[k].processors
    ),
    "uni": lambda pool, k: (
        -(wait(pool, k) + 1e-15)
        / (math.log2(pool.jobs[k].processors + 1e-15) * pool.jobs[k].request)
    ),
}


def schedule(pool: Pool, score: Score, backfill: str) -> None:
    """Starts all that may start now."""
    while pool.queue or pool.chosen is not None:
        if backfill == "greedy":
            fitting = [number for number in pool.queue if pool.fits(number)]
            if not fitting:
                return
            pool.begin(min(fitting, key=lambda number: (score(pool, number), number)))
            continue
        if pool.chosen is None:
            pool.chosen = min(pool.queue, key=lambda number: (score(pool, number), number))
            if not pool.fits(pool.chosen):
                pool.expected = pool.expected_start(pool.chosen)
        if pool.fits(pool.chosen):
            pool.begin(pool.chosen)
            pool.chosen = None
            continue
        if backfill == "strict":
            for number in sorted(pool.queue):
                ends_before = pool.now + pool.jobs[number].request < pool.expected
                if ends_before and pool.fits(number):
                    pool.begin(number)
        return


def simulate(
    jobs: list[Job], processors: int, score: Score, backfill: str, one_by_one: bool
) -> list[float]:
    """When each job starts; jobs are in order of submission."""
    pool, arrived = Pool(jobs, processors), 0
    while arrived < len(jobs) or pool.queue:
        ends = min((jobs[number].end for number in pool.running), default=math.inf)
        arrival = jobs[arrived].submit if arrived < len(jobs) else math.inf
        pool.now = min(ends, arrival)
        # Those that started first end first, of those that end at once.
        ending = [number for number in pool.running if jobs[number].end == pool.now]
        coming = [k for k in range(arrived, len(jobs)) if jobs[k].submit == pool.now]
        if one_by_one:
            coming = coming[:1]
            ending = [] if coming else ending[:1]
        for number in ending:
            pool.end(number)
        pool.queue += coming
        arrived += len(coming)
        schedule(pool, score, backfill)
    return [job.start for job in jobs]
