"""The machines of a cluster as a user writes them, and when they fail."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Ints, whole_millionths
from cloudarena.base.numpy import np
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.jobs.columns import LARGEST_DEMAND, LONGEST_TIME
from cloudarena.workloads.prices.machine import NO_PRICE, MachinePrice

Size = Annotated[float, Field(ge=0, le=LARGEST_DEMAND)]
MOST_MACHINES = 1_000_000
"""The most machines of all types together."""


class MachineType(Spec):
    """Machines that are alike. An instance runs on them for its duration / speed."""

    name: str = "machine"
    count: int = Field(1, ge=1, le=MOST_MACHINES)
    cpu: Size
    memory: Size = 1.0
    disk: Size = 1.0
    gpu: Size = 0.0
    gpu_model: str = ""
    """What its GPUs are called; tasks may ask for a model."""
    speed: float = Field(1.0, ge=1e-6, le=1e6)
    price: MachinePrice = NO_PRICE
    """What a machine costs: bought, or rented by the hour; nothing by default."""

    @field_validator("gpu_model")
    @classmethod
    def _one_model(cls, name: str) -> str:
        if "|" in name:
            raise PydanticCustomError("not_allowed", f"{name!r} is not allowed: a name without |")
        return name

    @property
    def sizes(self) -> Ints:
        """What such a machine has of cpu, memory, disk and gpu, in millionths."""
        return whole_millionths(np.array([self.cpu, self.memory, self.disk, self.gpu]))


class Outage(Spec):
    """A machine is down from ``down_s`` until ``up_s``, or for good.

    Both are in seconds of the clock in which the workload has its submissions.
    """

    machine: int = Field(ge=0)
    down_s: float = Field(ge=0, le=LONGEST_TIME)
    up_s: float | None = Field(None, ge=0, le=LONGEST_TIME)


class Failures(Spec):
    """Machines fail and come back: at random, by a list, or by a file with the list's columns.

    A random failure model draws for each machine, from its own random stream, how long it stays up
    (Weibull with mean ``mtbf_s`` and this shape; 1 is exponential) and how long a repair takes
    (exponential with mean ``mttr_s``).
    """

    mtbf_s: float | None = Field(None, gt=0, le=LONGEST_TIME)
    mttr_s: float | None = Field(None, gt=0, le=LONGEST_TIME)
    shape: float = Field(1.0, ge=0.1, le=10)
    outages: tuple[Outage, ...] = ()
    path: SpecPath | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Failures:
        is_random = self.mtbf_s is not None or self.mttr_s is not None
        if is_random + bool(self.outages) + (self.path is not None) != 1:
            raise PydanticCustomError(
                "not_allowed", "is not allowed: either mtbf_s and mttr_s, or outages, or path"
            )
        if is_random and (self.mtbf_s is None or self.mttr_s is None):
            missing = "mtbf_s" if self.mtbf_s is None else "mttr_s"
            raise PydanticCustomError("not_allowed", f"{missing}: is required")
        return self

    @property
    def scale_s(self) -> float:
        """The scale of the Weibull time to failure, in seconds; 0 if outages are listed."""
        if self.mtbf_s is None:
            return 0.0
        return self.mtbf_s / math.gamma(1.0 + 1.0 / self.shape)
