"""Drawing workflows of a shape: functions kind by kind, the edges among them, random sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cloudarena.base.numpy import np
from cloudarena.workloads.workflow.timed import TimedWorkflow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Drawing:
    """A workflow that is being drawn.

    Run times and file sizes are given by their mean and their ``spread``, the standard deviation
    as a share of the mean; see ``around``.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._names: list[str] = []
        self._of_kind: dict[str, int] = {}
        self._runtimes: list[NDArray[np.float64]] = []
        self._edges: list[NDArray[np.int64]] = []

    def add(
        self, kind: str, count: int, mean_s: ArrayLike, spread: float = 0.0
    ) -> NDArray[np.int64]:
        """Adds functions of a kind; returns their numbers. ``mean_s`` may differ among them."""
        before = self._of_kind.get(kind, 0)
        self._of_kind[kind] = before + count
        first = len(self._names)
        self._names += [f"{kind}_{k}" for k in range(before, before + count)]
        self._runtimes.append(self.around(mean_s, spread, count))
        return np.arange(first, first + count)

    def link(self, parents: ArrayLike, children: ArrayLike, sizes: ArrayLike) -> None:
        """Adds edges: each child waits for the parent beside it and reads so many bytes."""
        size = np.rint(np.asarray(sizes, np.float64)).astype(np.int64)
        columns: Sequence[NDArray[np.int64]] = np.broadcast_arrays(
            np.asarray(parents), np.asarray(children), size
        )
        self._edges.append(np.column_stack([np.atleast_1d(column) for column in columns]))

    def around(self, mean: ArrayLike, spread: float, count: int) -> NDArray[np.float64]:
        """Normal draws around a mean; those outside half to one and a half of it are redrawn."""
        factor = self.rng.normal(1.0, spread, count)
        while (outside := np.flatnonzero(np.abs(factor - 1.0) > 0.5)).size:
            factor[outside] = self.rng.normal(1.0, spread, len(outside))
        return np.asarray(mean, np.float64) * factor

    def finish(self, name: str, runtime_scale: float = 1.0) -> TimedWorkflow:
        """The drawn workflow; all run times are multiplied by the scale."""
        unknown = np.zeros(len(self._names), np.int64)
        edges = self._edges or [np.empty((0, 3), np.int64)]
        return TimedWorkflow(
            name=name,
            function_names=tuple(self._names),
            runtime_s=np.concatenate(self._runtimes) * runtime_scale,
            memory_req=unknown,
            parallelism=unknown,
            edges=np.concatenate(edges),
        )


def groups(members: int, count: int) -> NDArray[np.int64]:
    """The group of each member, when so many groups follow each other, as even as can be."""
    return np.arange(members) * count // members
