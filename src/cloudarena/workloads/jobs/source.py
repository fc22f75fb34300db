"""What sources of jobs share: a part of a trace, estimates, generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.contract.source import Scan, Source, SpecPath
from cloudarena.workloads.jobs.columns import (
    LARGEST_DEMAND,
    LONGEST_TIME,
    MOST_JOBS,
    SHORTEST_TIME,
    JobWorkload,
    slice_jobs,
)
from cloudarena.workloads.jobs.estimates import (
    FACTOR_DEVIATION,
    EstimateModel,
    with_estimates,
)

Size = Annotated[float, Field(ge=0, le=LARGEST_DEMAND)]
Seconds = Annotated[float, Field(ge=SHORTEST_TIME, le=LONGEST_TIME)]
Count = Annotated[int, Field(ge=1, le=MOST_JOBS)]
Rate = Annotated[float, Field(ge=1e-6, le=1e6)]
Deviation = Annotated[float, Field(ge=0, le=10)]

NOBODY = {"users": "not told: one user for all", "gang_tasks": "not told: none"}
NO_EDGES = {"edges": "not told: none"}
"""What many formats do not tell, by figure."""


class Trace(Source):
    """A file, of which ``jobs`` jobs from number ``offset`` on are taken.

    Its estimates are those that it has, or drawn by the seed.
    """

    untold: ClassVar[Mapping[str, str]] = {**NOBODY, **NO_EDGES}
    """The figures that the format does not tell."""

    path: SpecPath
    """The trace, plain or .gz."""
    offset: int = Field(0, ge=0, le=2**62)
    """Leaves out so many of the first jobs."""
    jobs: int | None = Field(None, ge=1, le=2**62)
    """Takes so many jobs."""
    estimates: EstimateModel | Literal["given"] = "given"
    """What is said about run times beforehand: given, exact, modal or factor."""
    estimate_deviation: Deviation = FACTOR_DEVIATION
    """The spread of estimates by a factor."""

    def read(self) -> tuple[JobWorkload, NamedTuple]:
        """All jobs of the file, and what was left out."""
        raise NotImplementedError

    def load(self, seed: int) -> JobWorkload:
        """Reads the file; its jobs are the same for every seed."""
        return self.chosen(self.read()[0], seed)

    def scan(self, seed: int) -> Scan:
        """Reads the file, and says what was left out."""
        workload, counts = self.read()
        return Scan(self.chosen(workload, seed), counts._asdict())

    def chosen(self, workload: JobWorkload, seed: int) -> JobWorkload:
        """The jobs that are taken, with their estimates."""
        taken = slice_jobs(workload, self.offset, self.jobs)
        if self.estimates == "given":
            return taken
        return with_estimates(taken, self.estimates, seed, self.estimate_deviation)

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the format does not tell."""
        return self.untold


class Generator(Source):
    """Jobs drawn by the seed, and what was said beforehand about how long their tasks run."""

    is_generator = True
    reads_files = False
    bytes_per_job: ClassVar[float] = 500.0
    """At least so much memory a run takes for each job."""

    jobs: Count
    """How many jobs arrive."""
    estimates: EstimateModel = "factor"
    """What is said about run times beforehand: exact, modal or factor."""
    estimate_deviation: Deviation = FACTOR_DEVIATION
    """The spread of estimates by a factor."""

    def load(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed, then their estimates."""
        return with_estimates(self.draw(seed), self.estimates, seed, self.estimate_deviation)

    def scan(self, seed: int) -> Scan:
        """Draws the jobs of a seed, and counts them."""
        workload = self.load(seed)
        counts = {"jobs": len(workload.submit), "tasks": len(workload.instances)}
        return Scan(workload, counts)

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        raise NotImplementedError
