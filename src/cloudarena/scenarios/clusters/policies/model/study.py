"""The closed-form model of VM clusters as a study: which share of the VMs each class has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract import Model, Spec
from cloudarena.optimizers.problem import MOST_DESIGNS, Objective
from cloudarena.scenarios.clusters.policies.model.cluster_model import (
    EXAMPLE_MEMORY,
    EXAMPLE_SECONDS,
    LIGO_TASKS,
    ClusterModel,
)
from cloudarena.scenarios.clusters.policies.model.compositions import Compositions, ShareSpace
from cloudarena.scenarios.clusters.policies.model.joint import JointCompositions
from cloudarena.scenarios.clusters.policies.model.large_spaces import designed_sample
from cloudarena.scenarios.clusters.spec import MOST_VMS, VirtualCluster, sum_of_vms
from cloudarena.workloads.clusters.batches import Group

Amount = Annotated[float, Field(gt=0, le=1e9)]


class ShareSample(Spec):
    """Shares of a space too large to try each: near the front of the mean model, and uniform."""

    hops: int = Field(1, ge=0, le=3)
    uniform: int = Field(1000, ge=0, le=1_000_000)


class Shares(Model):
    """The closed-form model of VM clusters; ``cloudarena.scenarios.clusters.ClusterModel``."""

    objectives: ClassVar[tuple[Objective, ...]] = ClusterModel.objectives
    hint: ClassVar[str] = (
        "To search shares of the VMs, write them into a study, as in `shares: {vms: 20, "
        "tasks: [300, 90], seconds: [2, 5], memory: [80, 220]}`: docs/optimize-shares.md."
    )

    vms: int = Field(ge=1, le=MOST_VMS)
    """All VMs; with ``clusters`` their sum, which may be left out."""
    clusters: tuple[VirtualCluster, ...] = Field((), max_length=1000)
    """Virtual clusters, each with VMs that only its own classes share; one of all by default."""
    cluster_of: tuple[str, ...] = ()
    """The virtual cluster of each class, by its name."""
    names: tuple[str, ...] = ()
    """The names of the classes, for the spec of the winner; they are numbered by default."""
    tasks: tuple[Amount, ...] = Field(LIGO_TASKS, min_length=1, max_length=1000)
    seconds: tuple[Amount, ...] = EXAMPLE_SECONDS
    memory: tuple[Amount, ...] = EXAMPLE_MEMORY
    """Mean memory of a VM of each class, in MB."""
    variation: float = Field(0.3, ge=0, le=10)
    allow_idle: bool = False
    sample: ShareSample | None = None
    """Which shares are tried; by default all, or, if they are too many, a designed sample."""
    total_tasks: float | None = Field(None, gt=0, le=1e12)
    """Tasks in all, of which each class has the part that ``tasks`` says; their sum by default."""

    @model_validator(mode="before")
    @classmethod
    def _sum_of_vms(cls, data: Any) -> Any:
        return sum_of_vms(data)

    @model_validator(mode="after")
    def _one_cluster_each(self) -> Shares:
        names = [one.name for one in self.clusters]
        problem = ""
        if len(set(names)) < len(names):
            problem = f"clusters: names {names} are not allowed: each once"
        elif bool(names) != bool(self.cluster_of) or (
            names and len(self.cluster_of) != len(self.tasks)
        ):
            problem = (
                f"cluster_of: {len(self.cluster_of)} names are not allowed: {len(self.tasks)} with "
                "clusters, one for each class, and none without"
            )
        elif unknown := sorted(set(self.cluster_of) - set(names)):
            problem = (
                f"cluster_of: {unknown[0]!r} is not allowed: one of {', '.join(map(repr, names))}"
            )
        for index, group in enumerate(self.groups if names and not problem else ()):
            if not 1 <= len(group.classes) <= group.vms:
                problem = (
                    f"clusters[{index}]: {group.vms} VMs for {len(group.classes)} classes are not "
                    "allowed: at least one class, and a VM for each"
                )
                break
        total = sum(one.vms for one in self.clusters)
        if names and not problem and self.vms != total:
            problem = f"vms: {self.vms} is not allowed: {total}, the sum of clusters"
        if problem:
            raise PydanticCustomError("not_allowed", problem.replace("{", "{{").replace("}", "}}"))
        return self

    @property
    def groups(self) -> tuple[Group, ...]:
        """The virtual clusters and which classes each has."""
        return tuple(
            Group(
                one.name,
                one.vms,
                tuple(c for c, whose in enumerate(self.cluster_of) if whose == one.name),
            )
            for one in self.clusters
        )

    @model_validator(mode="after")
    def _one_name_each(self) -> Shares:
        if self.names and len(set(self.names)) != len(self.tasks):
            raise PydanticCustomError(
                "not_allowed",
                f"names: {len(self.names)} names are not allowed: {len(self.tasks)}, "
                "another for each class",
            )
        return self

    def problem(self, seed: int) -> ClusterModel:
        """The model as a problem."""
        space: ShareSpace = Compositions(self.vms, len(self.tasks), self.allow_idle)
        if self.clusters:
            space = JointCompositions(self.groups, self.allow_idle)
        rest = self.scaled_tasks, self.seconds, self.memory, self.variation, seed
        whole = ClusterModel(space, *rest)
        sample = self.sample
        if sample is None and whole.size <= MOST_DESIGNS:
            return whole
        sample = sample or ShareSample()
        some = designed_sample(space, whole.load, whole.memory, sample.hops, sample.uniform, seed)
        found = ClusterModel(some, *rest)
        found.sampled_of = whole.size
        return found

    @property
    def scaled_tasks(self) -> tuple[float, ...]:
        """The tasks of each class."""
        if self.total_tasks is None:
            return self.tasks
        return tuple(count * self.total_tasks / sum(self.tasks) for count in self.tasks)

    def plain(self, design: Sequence[int]) -> dict[str, Any]:
        """The VMs of each class."""
        return {"share": list(design)}

    def spec_of(self, design: Sequence[int]) -> dict[str, Any]:
        """The clusters scenario whose run is a replication of this share in the model.

        One batch holds all tasks, and a batch draws one task time and one memory for each class, as
        a replication of the model does. A spec has whole tasks: parts of a task are rounded up, and
        the task time is shortened so that the work of the class stays what it is.
        """
        whole = [math.ceil(count) for count in self.scaled_tasks]
        names = self.names or [f"class-{number + 1}" for number in range(len(self.tasks))]
        classes = [
            {
                "name": one,
                "seconds": {
                    "kind": "gamma",
                    "mean": mean * count / rounded,
                    "cv": self.variation,
                },
                "memory_mb": {"kind": "gamma", "mean": memory, "cv": self.variation},
                **({"cluster": whose} if whose else {}),
            }
            for one, mean, count, rounded, memory, whose in zip(
                names,
                self.seconds,
                self.scaled_tasks,
                whole,
                self.memory,
                self.cluster_of or ("",) * len(whole),
                strict=True,
            )
        ]
        vms: dict[str, Any] = {"vms": self.vms}
        if self.clusters:
            vms = {"clusters": [one.model_dump() for one in self.clusters]}
        return {
            "scenario": "clusters",
            **vms,
            "allow_idle": self.allow_idle,
            "classes": classes,
            "workload": {"source": "inline", "batches": [{"time_s": 0.0, "tasks": whole}]},
            "policy": f"fixed:shares={'-'.join(map(str, design))}",
        }
