"""What a user writes for a clusters scenario, validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError
from cloudarena.contract import Metric, Observer, Plot, RecordLevel, Scenario, Spec
from cloudarena.contract.source import SpecPath, source_names
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.clusters.laws import LAWS, Law
from cloudarena.scenarios.clusters.metrics import HEADLINE, HIGHLIGHTS, METRICS, PLOTS
from cloudarena.scenarios.clusters.policies import policy as built_in_policies
from cloudarena.workloads import batches
from cloudarena.workloads.batches import Batches

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.simulation import ClustersRun

MOST_VMS = 100_000
MOST_SECONDS = batches.MOST_SECONDS


class TaskClass(Spec):
    """A class of tasks: the time of a task on one VM, and the memory of a VM that serves it."""

    name: str = Field(min_length=1)
    seconds: Law
    memory_mb: Law


class Batch(Spec):
    """Tasks of each class that arrive together."""

    time_s: float = Field(0.0, ge=0, le=MOST_SECONDS)
    tasks: tuple[Annotated[int, Field(ge=0, le=batches.MOST_TASKS)], ...] = Field(min_length=1)


class Inline(Spec):
    """Batches that stand in the spec."""

    source: Literal["inline"]
    batches: tuple[Batch, ...] = Field(min_length=1)

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches."""
        return batches.check_batches(
            [batch.time_s for batch in self.batches], [batch.tasks for batch in self.batches]
        )


class File(Spec):
    """Batches from a file with the columns time_s, class and tasks."""

    source: Literal["file"]
    path: SpecPath

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches."""
        return batches.read_batches(self.path, [one.name for one in scenario.classes])


class Generated(Spec):
    """Batches at equal distances whose mix of classes varies little or much."""

    source: Literal["generated"]
    batches: int = Field(ge=1, le=1_000_000)
    """In all; they arrive from 0 to horizon_s."""
    horizon_s: float = Field(3600.0, gt=0, le=MOST_SECONDS)
    variance: Literal["low", "high"] = "high"
    load: float = Field(0.9, gt=0, le=100)
    """Mean work over what all VMs can do in horizon_s."""
    regime_s: float = Field(600.0, ge=0.001)
    """Mean length of a regime, a time in which batches are alike, with high variance."""
    concentration: float = Field(0.25, gt=0, le=100)
    """Parameter of the Dirichlet law of the mix of a regime."""

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches under a seed."""
        return batches.generate_batches(
            self.batches,
            self.horizon_s,
            self.load * scenario.vms * self.horizon_s,
            [one.seconds.mean for one in scenario.classes],
            self.variance,
            self.regime_s,
            self.concentration,
            seed,
        )


Workload = Annotated[Inline | File | Generated, Field(discriminator="source")]


class ClustersScenario(Scenario):
    """How many of m VMs each class of tasks gets, stage by stage, and how long a stage lasts."""

    kind: ClassVar[str] = "clusters"
    measures: ClassVar[tuple[Metric, ...]] = METRICS
    headline: ClassVar[str] = HEADLINE
    unit_of_work: ClassVar[str] = "tasks"
    highlights: ClassVar[tuple[str, ...]] = HIGHLIGHTS
    plots: ClassVar[tuple[Plot, ...]] = PLOTS
    example: ClassVar[str] = "clusters/hfhc"
    default_policy: ClassVar[str] = "mean-optimum"
    book: ClassVar[PolicyBook] = built_in_policies

    scenario: Literal["clusters"]
    vms: int = Field(ge=1, le=MOST_VMS)
    allow_idle: bool = False
    """Whether VMs may be left without a class."""
    classes: tuple[TaskClass, ...] = Field(min_length=1, max_length=1000)
    workload: Workload
    memory: Literal["linear", "theta_squared"] = "linear"
    """How VMs add up to memory: ``sum d theta``, or ``sum d theta^2`` as the thesis has it."""
    information: Literal["oracle", "lagged"] = "lagged"
    """Whether batches to come are known, or only those that have arrived."""
    decide_seconds: float = Field(0.0, ge=0)
    """Seconds that a policy evaluation takes; 0 lets a stage wait for its decision."""
    stage_s: float = Field(60.0, gt=0, le=MOST_SECONDS)
    """Length of a stage, for deciders that have no opinion."""
    least_stage_s: float = Field(0.001, gt=0)
    """No stage is shorter."""

    @model_validator(mode="after")
    def _fits_together(self) -> ClustersScenario:
        names = [one.name for one in self.classes]
        problem = ""
        if len(set(names)) < len(names):
            problem = f"classes: names {names} are not allowed: each once"
        elif self.vms < len(names):
            problem = f"vms: {self.vms} is not allowed: at least {len(names)}, one for each class"
        elif self.stage_s < self.least_stage_s:
            problem = (
                f"stage_s: {self.stage_s:g} is not allowed: at least least_stage_s, "
                f"{self.least_stage_s:g}"
            )
        if isinstance(self.workload, Inline):
            for number, batch in enumerate(self.workload.batches):
                if len(batch.tasks) != len(names):
                    problem = (
                        f"workload.batches[{number}].tasks: {len(batch.tasks)} numbers are not "
                        f"allowed: {len(names)}, one for each class"
                    )
                    break
            else:
                try:
                    self.workload.arrivals(self, 0)
                except SpecError as error:
                    problem = f"workload.{error}"
        if problem:
            raise PydanticCustomError("not_allowed", problem.replace("{", "{{").replace("}", "}}"))
        return self

    def load_batches(self, seed: int) -> Batches:
        """What arrives under a seed."""
        return self.workload.arrivals(self, seed)

    @property
    def pipelined(self) -> bool:
        """Whether a stage thinks for the next one, since thinking takes time."""
        return self.decide_seconds > 0

    @classmethod
    def union_branches(cls) -> tuple[str, ...]:
        """The sources of batches and the laws of times."""
        return (*source_names(Workload), *LAWS)

    def start(self, seed: int = 0, record: RecordLevel | None = None) -> ClustersRun:
        """Begins a run."""
        from cloudarena.scenarios.clusters.simulation import ClustersRun

        return ClustersRun(self, seed, record or self.record)

    def observer(self, reward: str | None = None) -> Observer:
        """Features, masks and rewards of shares and lengths."""
        from cloudarena.scenarios.clusters.observe import ClustersObserver

        return ClustersObserver(self, reward or HEADLINE)
