"""What a user writes for a workflow scenario, validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.source import from_yaml, load_workload
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.workflow import KIND
from cloudarena.scenarios.workflow.sources import WRITTEN, Workload
from cloudarena.workloads.workflow.columns import SINGLE_CORE_SPEED, WorkflowWorkload

LARGEST_MEMORY = 10**8
"""MB of a NUMA node."""


class NumaNodes(Spec):
    """The NUMA nodes of a server, all alike; memory in MB."""

    count: int = Field(1, ge=1, le=10_000)
    cpu: int = Field(ge=1, le=100_000)
    memory: int = Field(ge=1, le=LARGEST_MEMORY)


class ServerType(Spec):
    """Servers that are alike, rented by the hour; seconds to boot."""

    name: str
    count: int = Field(1, ge=0, le=100_000)
    hourly_rate: float = Field(gt=0, le=1e6)
    cold_start_latency: float = Field(ge=0, le=1e6)
    numa_nodes: NumaNodes


class Cluster(Spec):
    """Servers, and how fast they and what is between them is: bytes and operations a second."""

    memory_bandwidth: float = Field(100e9, ge=1, le=1e18)
    numa_bandwidth: float = Field(50e9, ge=1, le=1e18)
    network_bandwidth: float = Field(10e9, ge=1, le=1e18)
    single_core_speed: int = Field(SINGLE_CORE_SPEED, ge=1, le=10**12)
    servers: tuple[ServerType, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _makes_sense(self) -> Cluster:
        if not self.memory_bandwidth > self.numa_bandwidth > self.network_bandwidth:
            raise PydanticCustomError(
                "not_allowed",
                f"memory_bandwidth {self.memory_bandwidth:g}, numa_bandwidth "
                f"{self.numa_bandwidth:g}, network_bandwidth {self.network_bandwidth:g} are not "
                "allowed: each must be more than the next",
            )
        names = [server.name for server in self.servers]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise PydanticCustomError(
                    "not_allowed",
                    f"servers[{index}].name: {name!r} is not allowed: it is a duplicate",
                )
        if sum(server.count for server in self.servers) == 0:
            raise PydanticCustomError("not_allowed", "servers: at least one server is needed")
        return self


class Objective(Spec):
    """What ``weighted_cost`` weighs: seconds of unfinished workflows against dollars of rent."""

    weight: float = Field(0.5, ge=0, le=1)
    rent_scale: float = Field(10.0, ge=0)


class WorkflowScenario(Scenario):
    """Where serverless workflow functions run on NUMA servers rented by the hour."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["workflow"]
    cluster: Annotated[Cluster, BeforeValidator(from_yaml)]
    work: Literal["integer", "real"] = "integer"
    transfer: Literal["sum", "parallel"] = "sum"
    admission: Literal["bypass", "strict", "backfill"] = "bypass"
    memory_options: tuple[Annotated[int, Field(ge=1, le=LARGEST_MEMORY)], ...] = Field(
        (128, 256, 512, 1024), min_length=1
    )
    objective: Objective = Objective()
    workload: Workload

    @model_validator(mode="after")
    def _options_rise(self) -> WorkflowScenario:
        if sorted(set(self.memory_options)) != list(self.memory_options):
            raise PydanticCustomError(
                "not_allowed",
                f"memory_options: {list(self.memory_options)} is not allowed: rising numbers",
            )
        return self

    @model_validator(mode="after")
    def _functions_can_end(self) -> WorkflowScenario:
        """Refuses circles of functions; what is in files is checked when it is read."""
        if isinstance(self.workload, WRITTEN):
            self.workload.made()
        return self

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of servers."""
        return tuple(
            MachineGroup(one.name, f"cluster.servers[{k}].count", one.count, one.hourly_rate)
            for k, one in enumerate(self.cluster.servers)
        )

    @property
    def servers(self) -> list[tuple[ServerType, int]]:
        """Each server: its type, and its number among those of the type."""
        return [(kind, index) for kind in self.cluster.servers for index in range(kind.count)]

    @property
    def node_count(self) -> int:
        """How many NUMA nodes there are."""
        return sum(kind.numa_nodes.count for kind, _ in self.servers)

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the source of its work does not tell."""
        assert not isinstance(self.workload, tuple)  # a list has become a source
        return self.workload.not_told(seed)

    def load_workload(self, seed: int) -> WorkflowWorkload:
        """The workflows of a seed."""
        workload: WorkflowWorkload = load_workload(
            self.workload, seed, self.cluster.single_core_speed
        )
        return workload
