"""What sources of jobs share: a part of a trace, estimates, generators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.base.errors import SpecError
from cloudarena.contract.source import Scan, Source, SpecPath, stamp
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import (
    LARGEST_DEMAND,
    LONGEST_TIME,
    MOST_JOBS,
    SHORTEST_TIME,
    JobWorkload,
    pick_jobs,
    slice_jobs,
)
from cloudarena.workloads.jobs.estimates import (
    FACTOR_DEVIATION,
    EstimateModel,
    with_estimates,
)
from cloudarena.workloads.jobs.window import Window
from cloudarena.workloads.resample import Resample, drawn_again, scaled_rows

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
    window: Window | None = None
    """A window of these: ``{jobs: 256}`` or ``{hours: 24}``, drawn by the seed or given."""
    resample: Resample | None = None
    """Draws the jobs again by the seed, in blocks: {blocks: day}; then replications differ."""
    scale: float = Field(1.0, gt=0, le=100)
    """Fewer jobs (thinning) or more (copies within ten minutes), drawn by the seed."""
    estimates: EstimateModel | Literal["given"] = "given"
    """What is said about run times beforehand: given, exact, modal or factor."""
    estimate_deviation: Deviation = FACTOR_DEVIATION
    """The spread of estimates by a factor."""

    @property
    def resampled(self) -> str:
        """What replications draw again of the trace, in words."""
        takes_windows = self.window is not None and self.window.is_drawn
        return drawn_again(self.resample, self.scale, takes_windows)

    @abstractmethod
    def read(self) -> tuple[JobWorkload, NamedTuple]:
        """All jobs of the file, and what was left out."""

    def load(self, seed: int) -> JobWorkload:
        """Reads the file; its jobs are the same for every seed, but for the window."""
        whole = self.model_copy(
            update={
                **{"offset": 0, "jobs": None, "window": None, "estimates": "given"},
                **{"resample": None, "scale": 1.0},
            }
        )
        return self.chosen(_read(whole, stamp(whole)), seed)

    def scan(self, seed: int) -> Scan:
        """Reads the file, and says what was left out."""
        workload, counts = self.read()
        return Scan(self.chosen(workload, seed), counts._asdict())

    def chosen(self, workload: JobWorkload, seed: int) -> JobWorkload:
        """The jobs that are taken, with their estimates."""
        taken = slice_jobs(workload, self.offset, self.jobs)
        if self.resample is not None:
            if self.resample.blocks == "window":
                raise SpecError(
                    "workload.resample.blocks: 'window' is not allowed for jobs: workload.window, "
                    "as in {hours: 24}, draws one"
                )
            span = float(taken.submit[-1]) + 1.0
            length = int(span / self.resample.block_s) * self.resample.block_s
            taken = pick_jobs(taken, *self.resample.rows(taken.submit, span, length, seed))
        if self.scale != 1.0:
            taken = pick_jobs(taken, *scaled_rows(taken.submit, self.scale, stream(seed, "scale")))
        if self.estimates != "given":
            taken = with_estimates(taken, self.estimates, seed, self.estimate_deviation)
        return taken if self.window is None else self.window.of(taken, seed)

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the format does not tell."""
        return self.untold


@lru_cache(maxsize=4)
def _read(trace: Trace, stamp: tuple[int, ...]) -> JobWorkload:
    """A whole file; kept, for the next window of it."""
    return trace.read()[0]


class Generator(Source):
    """Jobs drawn by the seed, and what was said beforehand about how long their tasks run."""

    is_generator = True
    reads_files = False
    bytes_per_job: ClassVar[float] = 500.0
    """The least memory that a run takes for each job."""

    jobs: Count
    """How many jobs arrive."""
    window: Window | None = None
    """A window of these: ``{jobs: 256}`` or ``{hours: 24}``, drawn by the seed or given."""
    estimates: EstimateModel = "factor"
    """What is said about run times beforehand: exact, modal or factor."""
    estimate_deviation: Deviation = FACTOR_DEVIATION
    """The spread of estimates by a factor."""

    def load(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed, then their estimates."""
        drawn = with_estimates(self.draw(seed), self.estimates, seed, self.estimate_deviation)
        return drawn if self.window is None else self.window.of(drawn, seed)

    def scan(self, seed: int) -> Scan:
        """Draws the jobs of a seed, and counts them."""
        workload = self.load(seed)
        counts = {"jobs": len(workload.submit), "tasks": len(workload.instances)}
        return Scan(workload, counts)

    @abstractmethod
    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
