"""VMs that come into memory as they arrive, so that a run holds the live ones only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.arrow import pa
from cloudarena.base.numpy import np
from cloudarena.workloads.vm.columns import OF_EACH_VM, VmWorkload

if TYPE_CHECKING:
    from numpy.typing import NDArray


class VmStream(NamedTuple):
    """VMs without readings, a part at a time, and what is known of all of them beforehand."""

    parts: Iterator[VmWorkload]
    """The VMs a part at a time, in order of arrival."""
    median_cores: float
    """The median of all VMs, by which it is told which free cores are stranded."""
    median_memory_gb: float


class SizeCounts:
    """How often each size occurs, for the median of more VMs than are in memory."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, sizes: NDArray[np.float64]) -> None:
        """Counts the sizes of the next VMs."""
        values, numbers = np.unique(sizes, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), numbers.tolist(), strict=True)))

    def median(self) -> float:
        """The median so far; 0 if there are none."""
        values = np.array(sorted(self._counts))
        ends = np.cumsum([self._counts[value] for value in values.tolist()])
        if len(values) == 0:
            return 0.0
        middle = ((ends[-1] - 1) // 2, ends[-1] // 2)
        low, high = np.searchsorted(ends, middle, side="right")
        return float(np.mean([values[low], values[high]]))


def joined(parts: list[VmWorkload]) -> VmWorkload:
    """Parts that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in OF_EACH_VM
        if name != "ids"
    }
    return parts[0]._replace(ids=pa.concat_arrays([part.ids for part in parts]), **columns)


def next_part(stream: VmStream, at_least: int) -> VmWorkload | None:
    """The next VMs, if there are as many about ``at_least``; None if there are none."""
    parts: list[VmWorkload] = []
    found = 0
    for part in stream.parts:
        parts.append(part)
        found += len(part.created)
        if found >= at_least:
            break
    return joined(parts) if parts else None
