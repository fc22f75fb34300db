"""Documents of which each is a template: Pegasus DAX and WfCommons files."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from pydantic import Field

from cloudarena.contract.source import SpecPath
from cloudarena.workloads.workflow.arrivals import (
    ARRIVALS,
    RATE,
    arrivals_not_told,
    at_once,
    by_process,
)
from cloudarena.workloads.workflow.source import (
    Counted,
    ProcessName,
    Rate,
    Resources,
    WorkflowSource,
)
from cloudarena.workloads.workflow.timed import RESOURCES, TimedWorkflow, documents_as_templates


class Documents(WorkflowSource):
    """Workflows in files, each a template.

    All arrive at 0, or ``workflows`` of them by an arrival process. Memory and parallelism, where a
    file does not tell them, are drawn by the seed.
    """

    arguments = ("paths",)

    paths: tuple[SpecPath, ...] = Field(min_length=1)
    """A workflow each, plain or .gz."""
    resources: Resources = RESOURCES  # type: ignore[assignment]
    """Memory and parallelism, where not known: azure-like or one-core."""
    workflows: int | None = Field(None, ge=1)
    """How many arrive, each of a file at random; without it each once, at 0."""
    arrivals: ProcessName = ARRIVALS  # type: ignore[assignment]
    """How they arrive: even, poisson, bursty or diurnal."""
    rate: Rate = RATE
    """Workflows that arrive in a second on average."""

    @staticmethod
    @abstractmethod
    def read(path: Path) -> TimedWorkflow:
        """Reads a document as a workflow."""

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Reads the files, and draws the rest."""
        made, told = documents_as_templates(
            self.read, self.paths, self.resources, single_core_speed, seed
        )
        if self.workflows is None:
            mix = at_once(made, single_core_speed)
        else:
            process = (self.workflows, seed, self.arrivals, self.rate)
            mix = by_process(made, *process, single_core_speed)
        words = arrivals_not_told(self.workflows, self.arrivals, self.rate, seed)
        return Counted(mix, (*told, ("arrivals", words)))
