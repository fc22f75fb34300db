"""What a user writes for a jobs scenario, validated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.source import Source, load_workload
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.jobs import KIND
from cloudarena.scenarios.jobs.sources import GIVEN, Workload
from cloudarena.scenarios.jobs.spec.checks import check_fits
from cloudarena.scenarios.jobs.spec.machines import MOST_MACHINES, Failures, MachineType
from cloudarena.workloads.jobs.columns import LONGEST_TIME, JobWorkload
from cloudarena.workloads.jobs.inline import Inline
from cloudarena.workloads.jobs.stream import JobStream


class Prices(Spec):
    """What broken promises cost; machines have prices of their own."""

    late_after_s: float = Field(3600.0, ge=0, le=LONGEST_TIME)
    """A job that waits longer for its first start is late."""
    late_usd: float = Field(0.0, ge=0, le=1e9)
    """The penalty for each job that is late."""
    unserved_usd: float = Field(0.0, ge=0, le=1e9)
    """The penalty for each job that does not finish."""


class JobsScenario(Scenario):
    """Which machine runs which task of batch jobs and of jobs whose tasks depend on each other."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["jobs"]
    machines: tuple[MachineType, ...] = Field(min_length=1)
    scheduling_interval: float = Field(0.0, ge=0, le=LONGEST_TIME)
    simultaneous: Literal["together", "one-by-one"] = "together"
    """Whether all events of an instant happen before anything starts, or starts follow each."""
    known: tuple[Literal["durations", "estimates"], ...] = ("estimates",)
    """What policies see of how long tasks run: what was said beforehand, the truth, or nothing."""
    warmup_s: float = Field(0.0, ge=0, le=LONGEST_TIME)
    """The first seconds, which metrics leave out."""
    failures: Failures | None = None
    prices: Prices = Prices()
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
    def _one_way_of_instants(self) -> JobsScenario:
        if self.simultaneous == "one-by-one" and self.scheduling_interval > 0:
            raise PydanticCustomError(
                "not_allowed",
                "simultaneous: 'one-by-one' is not allowed with a scheduling_interval: together",
            )
        return self

    @model_validator(mode="after")
    def _warm_up_is_remembered(self) -> JobsScenario:
        if self.warmup_s > 0 and self.is_streamed:
            raise PydanticCustomError(
                "not_allowed",
                f"warmup_s: {self.warmup_s:g} is not allowed with stream: true: 0, since jobs that "
                "have finished are forgotten",
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
        if isinstance(self.workload, Inline):
            self.check_fits(self.workload.laid_out(np.array))
        elif isinstance(self.workload, GIVEN) and not self.is_streamed:
            self.check_fits(self.load_workload(0))
        return self

    @property
    def source(self) -> Source:
        """Where its work comes from."""
        return self.workload

    @property
    def draws_nothing(self) -> bool:
        """Whether the jobs are those of a recorded trace, and machines do not fail by chance."""
        fails = self.failures is not None and self.failures.mtbf_s is not None
        drawn = getattr(self.workload, "estimates", "given") in ("factor", "modal")
        return self.is_one_trace and not fails and not drawn

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of machines."""
        return tuple(
            MachineGroup.listed(k, one.name, one.count, one.price.hourly_usd)
            for k, one in enumerate(self.machines)
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """What policies know of how long tasks run; who knows the truth needs no estimates."""
        if "durations" in self.known:
            return ("durations", "estimates")
        stream = self.stream_workload(0) if isinstance(self.workload, GIVEN) else None
        if stream is not None:
            return self.known if stream.has_estimates else ()
        if isinstance(self.workload, GIVEN) and np.isnan(self.load_workload(0).estimate).any():
            return ()
        return self.known

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
        return [name for name in super().compared_policies() if "oracle" not in name]

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the source of its work does not tell."""
        return self.workload.not_told(seed)

    @property
    def is_streamed(self) -> bool:
        """Whether jobs come into memory as they arrive: ``stream: true`` in the workload."""
        return bool(getattr(self.workload, "stream", False)) and (
            "load_workload" not in self.__dict__
        )

    def stream_workload(self, seed: int) -> JobStream | None:
        """The jobs of a seed as they arrive, if the workload says so."""
        return self.workload.parts(seed) if self.is_streamed else None  # type: ignore[union-attr]

    def load_workload(self, seed: int) -> JobWorkload:
        """The jobs of a seed."""
        workload: JobWorkload = load_workload(self.workload, seed)
        return workload

    def check_fits(self, workload: JobWorkload) -> None:
        """Refuses jobs that the machines cannot run, or not in any time, and none that count."""
        if self.warmup_s > workload.submit[-1]:
            raise SpecError(
                f"warmup_s: {self.warmup_s:g} is not allowed: at most {workload.submit[-1]:g}, "
                "when the last job is submitted"
            )
        check_fits(self.machines, self.failures, self.scheduling_interval, workload)
