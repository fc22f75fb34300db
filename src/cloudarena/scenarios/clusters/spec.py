"""What a user writes for a clusters scenario, validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, nearest
from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.clusters import KIND
from cloudarena.scenarios.clusters.sources import Distribution, Workload
from cloudarena.workloads.clusters.batches import MOST_SECONDS, Batches, Group
from cloudarena.workloads.clusters.inline import Inline

MOST_VMS = 100_000


class TaskClass(Spec):
    """A class of tasks: the time of a task on one VM, and the memory of a VM that serves it."""

    name: str = Field(min_length=1)
    seconds: Distribution
    memory_mb: Distribution
    cluster: str = ""
    """The virtual cluster whose VMs it has a share of, where the spec has several."""


class VirtualCluster(Spec):
    """VMs that only the classes of one virtual cluster share."""

    name: str = Field(min_length=1)
    vms: int = Field(ge=1, le=MOST_VMS)


def sum_of_vms(data: Any) -> Any:
    """Fills in ``vms`` where virtual clusters say how many there are."""
    if not isinstance(data, Mapping) or "vms" in data or not data.get("clusters"):
        return data
    try:
        vms = sum(
            one.vms if isinstance(one, VirtualCluster) else one["vms"] for one in data["clusters"]
        )
    except (TypeError, KeyError):
        vms = 1  # what is wrong with the clusters is said of them
    return {**data, "vms": vms}


class Prices(Spec):
    """What VMs cost."""

    vm_hour_usd: float = Field(0.096, ge=0, le=1e9)
    """The price of an hour of a VM; by default that of 2 vCPU and 8 GB on demand (m5.large)."""


class Outage(Spec):
    """A VM that is down for a while."""

    vm: int = Field(ge=0, lt=MOST_VMS)
    """The number of the VM, from 0; the first class has the first VMs, the next class the next.

    The first virtual cluster has the first VMs, and its classes share them in this way."""
    time_s: float = Field(ge=0, le=MOST_SECONDS)
    seconds: float = Field(gt=0, le=MOST_SECONDS)


class Failures(Spec):
    """VMs that fail and come back: at given times, at random, or both."""

    outages: tuple[Outage, ...] = Field((), max_length=100_000)
    mean_up_s: float | None = Field(None, ge=1, le=MOST_SECONDS)
    """The mean of the exponential time until a VM fails; no VM fails at random by default."""
    mean_down_s: float = Field(600.0, ge=1e-3, le=MOST_SECONDS)
    """The mean of the exponential time until it is back."""
    until_s: float | None = Field(None, gt=0, le=MOST_SECONDS)
    """When VMs cease to fail at random; by default four times as long after the last batch as all
    VMs need for all work, or the virtual cluster that needs longest for its own."""


def _vms_or_clusters(schema: dict[str, Any]) -> None:
    """Says in the JSON schema that one of the two is needed."""
    schema["required"].remove("vms")
    schema["anyOf"] = [{"required": ["vms"]}, {"required": ["clusters"]}]


class ClustersScenario(Scenario):
    """How many of m VMs each class of tasks gets, stage by stage, and how long a stage lasts."""

    model_config = ConfigDict(json_schema_extra=_vms_or_clusters)

    kind: ClassVar[Kind] = KIND

    scenario: Literal["clusters"]
    vms: int = Field(ge=1, le=MOST_VMS)
    """All VMs; with ``clusters`` their sum, which may be left out."""
    clusters: tuple[VirtualCluster, ...] = Field((), max_length=1000)
    """Virtual clusters, each with VMs that only its own classes share; one of all by default."""
    allow_idle: bool = False
    """Whether VMs may be left without a class."""
    classes: tuple[TaskClass, ...] = Field(min_length=1, max_length=1000)
    workload: Workload
    memory: Literal["linear", "theta_squared"] = "linear"
    """How memory adds up: ``sum d theta``, or ``sum d theta^2`` as the thesis has it."""
    information: Literal["oracle", "lagged"] = "lagged"
    """Whether batches to come are known, or only those that have arrived."""
    decide_seconds: float = Field(0.0, ge=0)
    """The seconds that an evaluation takes; 0 lets a stage wait for its decision."""
    stage_s: float = Field(60.0, gt=0, le=MOST_SECONDS)
    """The length of a stage, for deciders that have no opinion."""
    least_stage_s: float = Field(0.001, gt=0)
    """The shortest length of a stage."""
    prices: Prices = Prices()
    failures: Failures | None = None
    """VMs that are down for a while; none by default."""

    @model_validator(mode="before")
    @classmethod
    def _sum_of_vms(cls, data: Any) -> Any:
        return sum_of_vms(data)

    @model_serializer(mode="wrap")
    def _without_the_sum(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves ``vms`` out where it is a sum, so that a cluster's may be changed by itself."""
        data: dict[str, Any] = handler(self)
        if self.clusters:
            data.pop("vms", None)
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> ClustersScenario:
        names = [one.name for one in self.classes]
        problem = ""
        if len(set(names)) < len(names):
            problem = f"classes: names {names} are not allowed: each once"
        elif wrong := _wrong_with_clusters(self):
            problem = wrong
        elif self.vms < len(names):
            problem = f"vms: {self.vms} is not allowed: at least {len(names)}, one for each class"
        elif self.stage_s < self.least_stage_s:
            problem = (
                f"stage_s: {self.stage_s:g} is not allowed: at least least_stage_s, "
                f"{self.least_stage_s:g}"
            )
        for index, outage in enumerate(self.failures.outages if self.failures else ()):
            if outage.vm >= self.vms:
                problem = (
                    f"failures.outages[{index}].vm: {outage.vm} is not allowed: at most "
                    f"{self.vms - 1}, since numbers begin with 0"
                )
                break
        if isinstance(self.workload, Inline):
            for index, batch in enumerate(self.workload.batches):
                if len(batch.tasks) != len(names):
                    problem = (
                        f"workload.batches[{index}].tasks: {len(batch.tasks)} numbers are not "
                        f"allowed: {len(names)}, one for each class"
                    )
                    break
            else:
                try:
                    self.load_workload(0)
                except SpecError as error:
                    problem = f"workload.{error}"
        if problem:
            raise PydanticCustomError("not_allowed", problem.replace("{", "{{").replace("}", "}}"))
        return self

    def load_workload(self, seed: int) -> Batches:
        """What arrives under a seed."""
        return self.workload.arrivals(
            seed,
            [one.name for one in self.classes],
            [one.seconds.mean for one in self.classes],
            self.vms,
            self.groups,
        )

    @property
    def groups(self) -> tuple[Group, ...]:
        """The virtual clusters and which classes each has; one of all where the spec has none."""
        if not self.clusters:
            return (Group("", self.vms, tuple(range(len(self.classes)))),)
        return tuple(
            Group(
                one.name,
                one.vms,
                tuple(c for c, each in enumerate(self.classes) if each.cluster == one.name),
            )
            for one in self.clusters
        )

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the source of its work does not tell."""
        return self.workload.not_told(seed)

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of VMs, which are all alike: those of each virtual cluster."""
        if not self.clusters:
            return (MachineGroup("VMs", "vms", self.vms),)
        return tuple(
            MachineGroup(f"VMs of {one.name}", f"clusters[{index}].vms", one.vms)
            for index, one in enumerate(self.clusters)
        )

    @property
    def action_numbers(self) -> int:
        """How many whole numbers a candidate of learners is: the shares, and the length."""
        return len(self.classes) + 1

    @property
    def pipelined(self) -> bool:
        """Whether a stage thinks for the next one, since thinking takes time."""
        return self.decide_seconds > 0


def _wrong_with_clusters(scenario: ClustersScenario) -> str:
    """What is wrong with the virtual clusters and the classes in them; empty if nothing is."""
    names = [one.name for one in scenario.clusters]
    if len(set(names)) < len(names):
        return f"clusters: names {names} are not allowed: each once"
    for index, one in enumerate(scenario.classes):
        key = f"classes[{index}].cluster"
        if one.cluster and not names:
            return f"{key}: {one.cluster!r} is not allowed: the spec has no clusters"
        if names and not one.cluster:
            return f"{key}: is required: one of {', '.join(map(repr, names))}"
        if names and one.cluster not in names:
            allowed = ", ".join(map(repr, names))
            hint = nearest(one.cluster, names)
            return f"{key}: {one.cluster!r} is not allowed: one of {allowed}.{hint}"
    for index, group in enumerate(scenario.groups if names else ()):
        if not group.classes:
            return f"clusters[{index}].name: {group.name!r} is not allowed: no class is in it"
        if group.vms < len(group.classes):
            return (
                f"clusters[{index}].vms: {group.vms} is not allowed: at least "
                f"{len(group.classes)}, one for each class"
            )
    total = sum(one.vms for one in scenario.clusters)
    if names and scenario.vms != total:
        return (
            f"vms: {scenario.vms} is not allowed: {total}, the sum of clusters; it may be left out"
        )
    return ""
