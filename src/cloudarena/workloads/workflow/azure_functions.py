"""Templates that arrive as functions are invoked on Azure in 2019."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from cloudarena.contract.source import SpecPath
from cloudarena.workloads.arrivals.azure_functions import read_invocations
from cloudarena.workloads.workflow.arrivals import by_invocations, invoked
from cloudarena.workloads.workflow.files import read_workflow_file
from cloudarena.workloads.workflow.source import Counted, WorkflowSource


class AzureFunctions(WorkflowSource):
    """A day of Azure Functions 2019 as arrivals; each function there is a template at random."""

    settings: ClassVar[Mapping[str, str]] = {}
    example = "d01.csv --templates workflows.json --out azure"

    source: Literal["azure-functions-2019"]
    path: SpecPath
    """Invocations by minute, CSV or .csv.gz."""
    templates: SpecPath
    """A workflows.json: what arrives."""
    trigger: str | None = None
    """Takes functions of this trigger."""
    share: float = Field(1.0, gt=0, le=1)
    """Takes this share of the invocations."""
    first_minute: int = Field(1, ge=1)
    """Begins with this minute of the day."""
    minutes: int | None = Field(None, ge=1)
    """Takes so many minutes."""
    spread: Literal["uniform", "even"] = "uniform"
    """How arrivals are spread within a minute: uniform or even."""

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Reads the files, and draws the instants within each minute."""
        read = read_workflow_file(self.templates)
        invocations = read_invocations(self.path, self.trigger)
        mix = by_invocations(
            read.templates,
            invocations,
            seed,
            self.share,
            self.first_minute,
            self.minutes,
            self.spread,
            read.single_core_speed,
        )
        told = (row for row in read.not_told if row[0] != "arrivals")
        untold = (*told, ("arrivals", invoked(self.spread, seed)))
        return Counted(mix, untold, {"invoked_functions": len(invocations.function)})
