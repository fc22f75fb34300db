"""What is decided in a cluster of batch jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from cloudarena.base.arrays import Flags, Ints
from cloudarena.scenarios.jobs.state import Machines, Tasks

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


class Queued(Protocol):
    """A policy that has a queue in an order of its own, and may need to know how long tasks run."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def needs(self) -> str:
        """What the spec must let be known."""

    @property
    def order(self) -> Callable[[Any], Any] | None:
        """Gives the key by which the queue is kept, lowest first; None keeps it by number."""

    @property
    def early(self) -> bool:
        """Whether it is asked as soon as a task is ready, also where none could start now."""


@dataclass(frozen=True, slots=True)
class JobsDecision:
    """The decision which ready task starts on which machine.

    The action is ``(task, machine)`` for one instance, ``(task, machine, instances)`` for more, or
    None to start nothing more at this instant. A gang starts whole; its instances fill the
    machines in order, from the given one on. With ``(task, NEXT)`` the task is next: it starts as
    soon as it fits, in order of the machines, and until then nothing else does; with
    ``(task, NEXT, 1)`` but those that by their known durations end before it is expected to start.
    The arrays are read-only views that change with the next ``apply``; sizes are in millionths.
    """

    kind: ClassVar[str] = "start"
    now: float
    tasks: Tasks
    machines: Machines
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""
    _run: JobsRun = field(repr=False)

    @property
    def ready(self) -> Ints:
        """The ready tasks with waiting instances, in order of job arrival, then task."""
        return self.tasks.ready

    @property
    def fits(self) -> Flags:
        """Whether an instance of a ready task fits a machine: (ready tasks, machines).

        A gang fits wherever one of its instances does, if all of them fit somewhere.
        """
        demand = self.tasks.demand[self.ready]
        pairs: Flags = np.all(demand[:, None] <= self.machines.free[None], axis=2)
        if self.machines.gpu_free.shape[1] > 0:
            for row, machine in np.argwhere(pairs):
                pairs[row, machine] = self.copies(int(self.ready[row]), int(machine)) > 0
        for row in np.flatnonzero(self.tasks.gang[self.ready]):
            pairs[row] &= self._run.gang_fits(int(self.ready[row]))
        return pairs

    def copies(self, task: int, machine: int) -> int:
        """How many instances of a task a machine has room for now."""
        return self._run.copies(task, machine)

    @property
    def may_wait(self) -> bool:
        """Whether nothing may be started: not when nothing else can happen any more."""
        return not self._run.must_start

    def arguments(self, policy: Queued) -> tuple[Tasks, Machines]:
        """What a policy that is a function of arrays is shown, with its queue in its order."""
        self._run.prepare(policy)
        return self._run.views()
