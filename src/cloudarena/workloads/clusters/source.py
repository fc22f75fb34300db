"""What sources of batches share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from cloudarena.contract.source import Scan, Source
from cloudarena.workloads.clusters.batches import Batches, Group


class BatchSource(Source):
    """Batches of tasks of several classes."""

    @abstractmethod
    def arrivals(
        self,
        seed: int,
        names: Sequence[str] = (),
        seconds: Sequence[float] = (),
        vms: int = 1,
        groups: Sequence[Group] = (),
    ) -> Batches:
        """The batches under a seed.

        Args:
            seed: decides what is random.
            names: the classes of the scenario; those of the source by default.
            seconds: the mean time of a task of each class.
            vms: how many VMs the scenario has.
            groups: its virtual clusters; one of all VMs and classes by default.
        """

    def scan(self, seed: int) -> Scan:
        """The batches, with the classes of the source."""
        return Scan(self.arrivals(seed))
