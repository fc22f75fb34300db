"""What a user writes for a jobs scenario, validated."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract import Metric, Observer, Plot, RecordLevel, Scenario, Spec
from cloudarena.contract.source import SpecPath, load_workload, source_names
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.jobs.metrics import HEADLINE, HIGHLIGHTS, METRICS, PLOTS
from cloudarena.scenarios.jobs.policies import policy as built_in_policies
from cloudarena.scenarios.jobs.sources import GIVEN, Generator, Workload
from cloudarena.workloads.jobs import LARGEST_DEMAND, LONGEST_TIME, JobWorkload

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.simulation import JobsRun

Size = Annotated[float, Field(ge=0, le=LARGEST_DEMAND)]
MOST_MACHINES = 1_000_000
"""Of all types together."""
BYTES_PER_MACHINE = 350.0


class MachineType(Spec):
    """Machines that are alike. An instance runs on them for its duration / speed."""

    name: str = "machine"
    count: int = Field(1, ge=1, le=MOST_MACHINES)
    cpu: Size
    memory: Size = 1.0
    disk: Size = 1.0
    gpu: Size = 0.0
    speed: float = Field(1.0, ge=1e-6, le=1e6)


class Outage(Spec):
    """A machine is down from ``down_s`` until ``up_s``, or for good.

    Both are in seconds of the clock in which the workload has its submissions.
    """

    machine: int = Field(ge=0)
    down_s: float = Field(ge=0, le=LONGEST_TIME)
    up_s: float | None = Field(None, ge=0, le=LONGEST_TIME)


class Failures(Spec):
    """Machines fail and come back: by a law, by a list, or by a file with the list's columns.

    The law draws for each machine, from its own random stream, how long it stays up (Weibull with
    mean ``mtbf_s`` and this shape; 1 is exponential) and how long a repair takes (exponential with
    mean ``mttr_s``).
    """

    mtbf_s: float | None = Field(None, gt=0, le=LONGEST_TIME)
    mttr_s: float | None = Field(None, gt=0, le=LONGEST_TIME)
    shape: float = Field(1.0, ge=0.1, le=10)
    outages: tuple[Outage, ...] = ()
    path: SpecPath | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Failures:
        law = self.mtbf_s is not None or self.mttr_s is not None
        if law + bool(self.outages) + (self.path is not None) != 1:
            raise PydanticCustomError(
                "not_allowed", "is not allowed: either mtbf_s and mttr_s, or outages, or path"
            )
        if law and (self.mtbf_s is None or self.mttr_s is None):
            missing = "mtbf_s" if self.mtbf_s is None else "mttr_s"
            raise PydanticCustomError("not_allowed", f"{missing}: is required")
        return self


class JobsScenario(Scenario):
    """Which machine runs which task of batch jobs and of jobs whose tasks depend on each other."""

    kind: ClassVar[str] = "jobs"
    measures: ClassVar[tuple[Metric, ...]] = METRICS
    headline: ClassVar[str] = HEADLINE
    unit_of_work: ClassVar[str] = "jobs"
    highlights: ClassVar[tuple[str, ...]] = HIGHLIGHTS
    plots: ClassVar[tuple[Plot, ...]] = PLOTS
    example: ClassVar[str] = "jobs/alibaba-like-10"
    default_policy: ClassVar[str] = "first-fit"
    book: ClassVar[PolicyBook] = built_in_policies

    scenario: Literal["jobs"]
    machines: tuple[MachineType, ...] = Field(min_length=1)
    scheduling_interval: float = Field(0.0, ge=0, le=LONGEST_TIME)
    known: tuple[Literal["durations", "estimates"], ...] = ("estimates",)
    """What policies see of how long tasks run: what was said beforehand, the truth, or nothing."""
    failures: Failures | None = None
    workload: Workload

    @model_validator(mode="after")
    def _known_once(self) -> JobsScenario:
        if len(self.known) > 1:
            raise PydanticCustomError(
                "not_allowed",
                f"known: {list(self.known)} is not allowed: [durations], [estimates] or []",
            )
        return self

    @model_validator(mode="after")
    def _machines_can_be_held(self) -> JobsScenario:
        if self.machine_count > MOST_MACHINES:
            raise PydanticCustomError(
                "not_allowed",
                f"machines: {self.machine_count} of them are not allowed: at most {MOST_MACHINES}",
            )
        return self

    @model_validator(mode="after")
    def _tasks_fit(self) -> JobsScenario:
        """Refuses tasks that fit no machine; what a seed draws is checked when its run begins."""
        if isinstance(self.workload, GIVEN):
            from cloudarena.scenarios.jobs.checks import check_fits

            check_fits(self, self.load_workload(0))
        return self

    @property
    def machine_count(self) -> int:
        """How many machines there are."""
        return sum(machine.count for machine in self.machines)

    def machine_names(self) -> list[str]:
        """The name of each machine's type."""
        return list(
            itertools.chain.from_iterable([kind.name] * kind.count for kind in self.machines)
        )

    def compared_policies(self) -> list[str]:
        """The built-in policies that can run, without those that look into the future."""
        known = set(self.known)
        if "durations" in known:
            known.add("estimates")
        elif isinstance(self.workload, GIVEN) and np.isnan(self.load_workload(0).estimate).any():
            known.discard("estimates")
        return [name for name in self.book.compared_names(known) if "oracle" not in name]

    def load_workload(self, seed: int) -> JobWorkload:
        """The jobs of a seed."""
        workload: JobWorkload = load_workload(self.workload, seed)
        return workload

    @classmethod
    def union_branches(cls) -> tuple[str, ...]:
        """The sources of workloads."""
        return source_names(Workload)

    def memory_needs(self, record: RecordLevel) -> tuple[float, str]:
        """At least how many bytes a run takes: what is drawn, and what is kept of machines."""
        machines = BYTES_PER_MACHINE * self.machine_count
        if not isinstance(self.workload, Generator):
            return machines, "machines"
        jobs = self.workload.jobs
        return machines + self.workload.bytes_per_job * jobs, f"workload.jobs: {jobs}"

    def start(self, seed: int = 0, record: RecordLevel | None = None) -> JobsRun:
        """Begins a run."""
        from cloudarena.scenarios.jobs.simulation import JobsRun

        return JobsRun(self, seed, record or self.record)

    def observer(self, reward: str | None = None) -> Observer:
        """Features, masks and rewards of the choice of starts."""
        from cloudarena.scenarios.jobs.observe import JobsObserver

        return JobsObserver(self, reward or HEADLINE)
