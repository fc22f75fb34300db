"""Jobs that stand in the spec itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import arrow_column
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source
from cloudarena.contract.spec import Spec
from cloudarena.workloads.jobs.columns import LONGEST_TIME, MOST_INSTANCES, JobWorkload, assemble
from cloudarena.workloads.jobs.source import Seconds, Size


class InlineTask(Spec):
    """A task written into the spec: identical instances."""

    name: str | None = None
    """``task-1``, ``task-2``, ... in its job by default."""
    instances: int = Field(1, ge=1, le=MOST_INSTANCES)
    cpu: Size = 1.0
    memory: Size = 0.0
    disk: Size = 0.0
    gpu: Size = 0.0
    gpu_models: tuple[str, ...] = ()
    """The models of GPUs that it allows; any by default."""
    duration: Seconds
    estimate: Seconds | None = None
    """What is said beforehand that it will take; the duration by default."""
    gang: bool = False
    parents: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _models_of_gpus(self) -> InlineTask:
        if self.gpu_models and self.gpu == 0:
            raise PydanticCustomError(
                "not_allowed",
                f"gpu_models: {list(self.gpu_models)} is not allowed: nothing where gpu is 0",
            )
        return self


class InlineJob(Spec):
    """A job written into the spec."""

    name: str | None = None
    """``job-1``, ``job-2``, ... by default."""
    submit: float = Field(0.0, ge=0, le=LONGEST_TIME)
    user: int = Field(0, ge=0, le=10_000_000)
    tasks: tuple[InlineTask, ...] = Field(min_length=1)

    def task_names(self) -> list[str]:
        """The names of the tasks."""
        return [task.name or f"task-{index}" for index, task in enumerate(self.tasks, 1)]

    @model_validator(mode="after")
    def _names_are_clear(self) -> InlineJob:
        names = self.task_names()
        for index, task in enumerate(self.tasks):
            if names.count(names[index]) > 1:
                raise PydanticCustomError(
                    "not_allowed",
                    f"tasks[{index}].name: {names[index]!r} is not allowed: it is a duplicate",
                )
            for parent in task.parents:
                if parent not in names:
                    raise PydanticCustomError(
                        "not_allowed",
                        f"tasks[{index}].parents: {parent!r} is not allowed: one of "
                        f"{', '.join(names)}",
                    )
        return self


class Inline(Source):
    """Jobs written into the spec."""

    reads_files = False

    source: Literal["inline"]
    jobs: tuple[InlineJob, ...] = Field(min_length=1)

    def job_names(self) -> list[str]:
        """The names of the jobs."""
        return [job.name or f"job-{index}" for index, job in enumerate(self.jobs, 1)]

    @model_validator(mode="after")
    def _names_are_clear(self) -> Inline:
        names = self.job_names()
        for index, name in enumerate(names):
            if name in names[:index]:
                raise PydanticCustomError(
                    "not_allowed", f"jobs[{index}].name: {name!r} is not allowed: it is a duplicate"
                )
        return self

    def load(self, seed: int) -> JobWorkload:
        """Lays the jobs out as columns, in order of submission; the same for every seed."""
        return self.laid_out(arrow_column)

    def scan(self, seed: int) -> Scan:
        """The jobs of the spec."""
        return Scan(self.load(seed))

    def laid_out(self, names: Callable[[list[str]], Any]) -> JobWorkload:
        """The jobs as columns; names may be left to NumPy to check them without Arrow."""
        tasks = [task for job in self.jobs for task in job.tasks]
        owner = [index for index, job in enumerate(self.jobs) for _ in job.tasks]
        edges, first = [], 0
        for job in self.jobs:
            known = job.task_names()
            for index, task in enumerate(job.tasks):
                edges += [(first + index, first + known.index(name)) for name in task.parents]
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
            gpu_models=np.array(["|".join(task.gpu_models) for task in tasks]),
            source="workload",
        )
