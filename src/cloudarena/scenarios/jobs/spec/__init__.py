"""What a user writes for a jobs scenario, validated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import Scenario
from cloudarena.contract.source import load_workload
from cloudarena.scenarios.jobs import KIND
from cloudarena.scenarios.jobs.sources import GIVEN, Workload
from cloudarena.scenarios.jobs.spec.checks import check_fits
from cloudarena.scenarios.jobs.spec.machines import MOST_MACHINES, Failures, MachineType
from cloudarena.workloads.jobs.columns import LONGEST_TIME, JobWorkload
from cloudarena.workloads.jobs.inline import Inline


class JobsScenario(Scenario):
    """Which machine runs which task of batch jobs and of jobs whose tasks depend on each other."""

    kind: ClassVar[Kind] = KIND

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
        if isinstance(self.workload, Inline):
            self.check_fits(self.workload.laid_out())
        elif isinstance(self.workload, GIVEN):
            self.check_fits(self.load_workload(0))
        return self

    @property
    def facts(self) -> tuple[str, ...]:
        """What policies know of how long tasks run; who knows the truth needs no estimates."""
        if "durations" in self.known:
            return ("durations", "estimates")
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

    def load_workload(self, seed: int) -> JobWorkload:
        """The jobs of a seed."""
        workload: JobWorkload = load_workload(self.workload, seed)
        return workload

    def check_fits(self, workload: JobWorkload) -> None:
        """Refuses jobs that the machines cannot run, or not in any time."""
        check_fits(self.machines, self.failures, self.scheduling_interval, workload)
