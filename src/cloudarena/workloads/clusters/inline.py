"""Batches that stand in the spec itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from cloudarena.contract.spec import Spec
from cloudarena.workloads.clusters.batches import MOST_SECONDS, MOST_TASKS, Batches, check_batches
from cloudarena.workloads.clusters.source import BatchSource


class Batch(Spec):
    """Tasks of each class that arrive together."""

    time_s: float = Field(0.0, ge=0, le=MOST_SECONDS)
    tasks: tuple[Annotated[int, Field(ge=0, le=MOST_TASKS)], ...] = Field(min_length=1)


class Inline(BatchSource):
    """Batches that stand in the spec."""

    reads_files = False

    source: Literal["inline"]
    batches: tuple[Batch, ...] = Field(min_length=1)

    def arrivals(
        self, seed: int, names: Sequence[str] = (), seconds: Sequence[float] = (), vms: int = 1
    ) -> Batches:
        """The batches; the same for every seed."""
        return check_batches(
            [batch.time_s for batch in self.batches], [batch.tasks for batch in self.batches]
        )
