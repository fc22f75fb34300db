"""What sources of workflows share: a mix of templates and arrivals, and what they do not tell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.contract.source import Scan, Source
from cloudarena.workloads.workflow.columns import (
    SINGLE_CORE_SPEED,
    WorkflowMix,
    WorkflowWorkload,
    figures_not_told,
    lay_out,
)

NotTold = tuple[tuple[str, str], ...]
"""What a source does not tell, and where it comes from: rows of a column and words."""
Resources = Literal["azure-like", "one-core"]
ProcessName = Literal["even", "poisson", "bursty", "diurnal"]
Rate = Annotated[float, Field(gt=0)]
SPEED = {"single_core_speed": "Operations that a core does in a second."}


class Counted(NamedTuple):
    """What was read or drawn."""

    mix: WorkflowMix
    untold: NotTold
    counts: Mapping[str, int] = {}


class WorkflowSource(Source):
    """Workflows that arrive, each of a template."""

    settings: ClassVar[Mapping[str, str]] = SPEED

    @abstractmethod
    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """The templates and their arrivals, and what is not told of them."""

    def load(self, seed: int, single_core_speed: float = SINGLE_CORE_SPEED) -> WorkflowWorkload:
        """The workflows of a seed as columns."""
        mix = self.mix(seed, int(single_core_speed)).mix
        return lay_out(mix.templates, mix.arrivals, mix.which)

    def scan(self, seed: int, single_core_speed: int = SINGLE_CORE_SPEED) -> Scan:
        """The templates and their arrivals, with what is not told of them."""
        mix, untold, counts = self.mix(seed, single_core_speed)
        return Scan(mix._replace(not_told=untold), counts)

    def not_told(self, seed: int) -> Mapping[str, str]:
        """The figures that follow from columns that are not told."""
        return figures_not_told(self.mix(seed, SINGLE_CORE_SPEED).untold)
