"""Where the jobs of a scenario come from: traces, generators, or the spec itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import pa
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.jobs import deeprm as job_deeprm
from cloudarena.workloads.jobs import tpch_like as job_tpch_like
from cloudarena.workloads.jobs.alibaba_like import alibaba_like
from cloudarena.workloads.jobs.columns import (
    LARGEST_DEMAND,
    LONGEST_TIME,
    MOST_INSTANCES,
    MOST_JOBS,
    SHORTEST_TIME,
    TERMINATED,
    JobWorkload,
    assemble,
    slice_jobs,
)
from cloudarena.workloads.jobs.estimates import (
    FACTOR_DEVIATION,
    EstimateModel,
    with_estimates,
)
from cloudarena.workloads.jobs.lublin import lublin_feitelson

Size = Annotated[float, Field(ge=0, le=LARGEST_DEMAND)]
Seconds = Annotated[float, Field(ge=SHORTEST_TIME, le=LONGEST_TIME)]
Count = Annotated[int, Field(ge=1, le=MOST_JOBS)]
Rate = Annotated[float, Field(ge=1e-6, le=1e6)]
Deviation = Annotated[float, Field(ge=0, le=10)]

READERS = {
    "cloudsimpy-csv": ("cloudsimpy", "load_cloudsimpy"),
    "swf": ("swf", "load_swf"),
    "borg-2019": ("borg", "load_borg"),
    "openb": ("openb", "load_openb_jobs"),
    "file": ("files", "load_job_file"),
}
"""Module and function of each reader, which are imported when a file is read: they need Arrow."""


class Trace(Spec):
    """A file, of which ``jobs`` jobs from number ``offset`` on are taken.

    Its estimates are those that it has, or drawn by the seed.
    """

    path: SpecPath
    offset: int = Field(0, ge=0, le=2**62)
    jobs: int | None = Field(None, ge=1, le=2**62)
    estimates: EstimateModel | Literal["given"] = "given"
    estimate_deviation: Deviation = FACTOR_DEVIATION

    def chosen(self, workload: JobWorkload, seed: int) -> JobWorkload:
        """The jobs that are taken, with their estimates."""
        taken = slice_jobs(workload, self.offset, self.jobs)
        if self.estimates == "given":
            return taken
        return with_estimates(taken, self.estimates, seed, self.estimate_deviation)


class TraceFile(Trace):
    """A file that one reader knows.

    CloudSimPy's list of jobs (such as Alibaba's of 2017), a log of the Parallel Workloads Archive,
    instance events of Google's Borg of 2019, pods of Alibaba's gpu-v2023, or the neutral table that
    ``cloudarena trace convert`` writes.
    """

    source: Literal["cloudsimpy-csv", "swf", "borg-2019", "openb", "file"]

    def load(self, seed: int) -> JobWorkload:
        """Reads the file; its jobs are the same for every seed."""
        module, name = READERS[self.source]
        read = getattr(import_module(f"cloudarena.workloads.jobs.{module}"), name)
        return self.chosen(read(self.path), seed)


class Alibaba2018(Trace):
    """The table batch_task of Alibaba's trace of 2018."""

    source: Literal["alibaba-2018"]
    status: str | None = TERMINATED
    """Takes tasks of this status; null takes all."""

    def load(self, seed: int) -> JobWorkload:
        """Reads the file; its jobs are the same for every seed."""
        from cloudarena.workloads.jobs.alibaba2018 import load_alibaba2018

        return self.chosen(load_alibaba2018(self.path, self.status), seed)


class Generator(Spec):
    """Jobs drawn by the seed, and what was said beforehand about how long their tasks run."""

    bytes_per_job: ClassVar[float] = 500.0
    """At least so much memory a run takes for each job."""

    jobs: Count
    estimates: EstimateModel = "factor"
    estimate_deviation: Deviation = FACTOR_DEVIATION

    def load(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed, then their estimates."""
        return with_estimates(self.draw(seed), self.estimates, seed, self.estimate_deviation)

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        raise NotImplementedError


class AlibabaLike(Generator):
    """Jobs drawn like those of Alibaba's trace of 2017."""

    bytes_per_job: ClassVar[float] = 2600.0

    source: Literal["alibaba-like"]
    rate: Rate = 1.0
    """How many times as fast as in the trace they arrive."""

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return alibaba_like(self.jobs, seed, self.rate)


class LublinFeitelson(Generator):
    """Rigid parallel jobs by the model of Lublin and Feitelson (2003)."""

    source: Literal["lublin-feitelson"]
    processors: int = Field(128, ge=32, le=2**20)
    kind: Literal["all", "batch", "interactive"] = "all"
    rate: Rate = 1.0
    estimates: EstimateModel = "modal"

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return lublin_feitelson(self.jobs, seed, self.processors, self.kind, self.rate)


class DeepRm(Generator):
    """DeepRM's Bernoulli mix of short and long jobs."""

    source: Literal["deeprm"]
    rate: float = Field(job_deeprm.RATE, ge=1e-6, le=1)
    short_share: float = Field(job_deeprm.SHORT_SHARE, ge=0, le=1)
    step_seconds: Seconds = 1.0

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return job_deeprm.deeprm(self.jobs, seed, self.rate, self.short_share, self.step_seconds)


class TpchLike(Generator):
    """Stage DAGs like those of TPC-H queries on Spark."""

    bytes_per_job: ClassVar[float] = 4000.0

    source: Literal["tpch-like"]
    mean_gap: Seconds = job_tpch_like.MEAN_GAP

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return job_tpch_like.tpch_like(self.jobs, seed, self.mean_gap)


class InlineTask(Spec):
    """A task written into the spec: identical instances."""

    name: str | None = None
    """``task-1``, ``task-2``, ... in its job by default."""
    instances: int = Field(1, ge=1, le=MOST_INSTANCES)
    cpu: Size = 1.0
    memory: Size = 0.0
    disk: Size = 0.0
    gpu: Size = 0.0
    duration: Seconds
    estimate: Seconds | None = None
    """What is said beforehand that it will take; the duration by default."""
    gang: bool = False
    parents: tuple[str, ...] = ()


class InlineJob(Spec):
    """A job written into the spec."""

    name: str | None = None
    """``job-1``, ``job-2``, ... by default."""
    submit: float = Field(0.0, ge=0, le=LONGEST_TIME)
    user: int = Field(0, ge=0, le=10_000_000)
    tasks: tuple[InlineTask, ...] = Field(min_length=1)

    def task_names(self) -> list[str]:
        """The names of the tasks."""
        return [task.name or f"task-{number}" for number, task in enumerate(self.tasks, 1)]

    @model_validator(mode="after")
    def _names_are_clear(self) -> InlineJob:
        names = self.task_names()
        for number, task in enumerate(self.tasks):
            if names.count(names[number]) > 1:
                raise PydanticCustomError(
                    "not_allowed",
                    f"tasks[{number}].name: {names[number]!r} is not allowed: it stands twice",
                )
            for parent in task.parents:
                if parent not in names:
                    raise PydanticCustomError(
                        "not_allowed",
                        f"tasks[{number}].parents: {parent!r} is not allowed: one of "
                        f"{', '.join(names)}",
                    )
        return self


class Inline(Spec):
    """Jobs written into the spec."""

    source: Literal["inline"]
    jobs: tuple[InlineJob, ...] = Field(min_length=1)

    def job_names(self) -> list[str]:
        """The names of the jobs."""
        return [job.name or f"job-{number}" for number, job in enumerate(self.jobs, 1)]

    @model_validator(mode="after")
    def _names_are_clear(self) -> Inline:
        names = self.job_names()
        for number, name in enumerate(names):
            if name in names[:number]:
                raise PydanticCustomError(
                    "not_allowed", f"jobs[{number}].name: {name!r} is not allowed: it stands twice"
                )
        return self

    def load(self, seed: int) -> JobWorkload:
        """Lays the jobs out as columns, in order of submission; the same for every seed."""
        return self.laid_out(pa.array)

    def laid_out(self, names: Callable[[list[str]], Any] = np.array) -> JobWorkload:
        """The jobs as columns; names may be left to NumPy to check them without Arrow."""
        tasks = [task for job in self.jobs for task in job.tasks]
        owner = [number for number, job in enumerate(self.jobs) for _ in job.tasks]
        edges, first = [], 0
        for job in self.jobs:
            known = job.task_names()
            for number, task in enumerate(job.tasks):
                edges += [(first + number, first + known.index(name)) for name in task.parents]
            first += len(known)
        return assemble(
            job_ids=names(self.job_names()),
            submit=np.array([job.submit for job in self.jobs]),
            job=np.array(owner),
            task_ids=names([name for job in self.jobs for name in job.task_names()]),
            instances=np.array([task.instances for task in tasks]),
            demand=np.array([(task.cpu, task.memory, task.disk, task.gpu) for task in tasks]),
            duration=np.array([task.duration for task in tasks]),
            estimate=np.array([task.estimate or task.duration for task in tasks]),
            gang=np.array([task.gang for task in tasks]),
            user=np.array([job.user for job in self.jobs]),
            edges=np.array(edges, np.int64).reshape(-1, 2),
            source="workload",
        )


Workload = Annotated[
    TraceFile | Alibaba2018 | AlibabaLike | LublinFeitelson | DeepRm | TpchLike | Inline,
    Field(discriminator="source"),
]
GIVEN = (Trace, Inline)
"""Sources that give the same jobs whatever the seed."""
