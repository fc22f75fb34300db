"""Batches that stand in the spec itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from cloudarena.contract.spec import Spec
from cloudarena.workloads.clusters.batches import (
    MOST_SECONDS,
    MOST_TASKS,
    Batches,
    Group,
    check_batches,
)
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
    total_tasks: int | None = Field(None, ge=1, le=MOST_TASKS)
    """Tasks in all, of which each batch and class has the part that ``batches`` say."""

    def arrivals(
        self,
        seed: int,
        names: Sequence[str] = (),
        seconds: Sequence[float] = (),
        vms: int = 1,
        groups: Sequence[Group] = (),
    ) -> Batches:
        """The batches; the same for every seed."""
        times = [batch.time_s for batch in self.batches]
        return check_batches(times, self._tasks())

    def _tasks(self) -> list[list[int]]:
        """The tasks of each batch and class, in whole numbers by the largest remainders."""
        rows = [list(batch.tasks) for batch in self.batches]
        written = sum(map(sum, rows))
        if self.total_tasks is None or written == 0:
            return rows
        exact = [self.total_tasks * count / written for row in rows for count in row]
        whole = [math.floor(count) for count in exact]
        order = sorted(range(len(exact)), key=lambda k: whole[k] - exact[k])
        for k in order[: self.total_tasks - sum(whole)]:
            whole[k] += 1
        parts = iter(whole)
        return [[next(parts) for _ in row] for row in rows]
