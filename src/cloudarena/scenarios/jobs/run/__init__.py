"""A run of a cluster: the contract around the kernel."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import is_whole, locked
from cloudarena.base.errors import InvalidAction, PolicyError, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step
from cloudarena.engine.calendar import make_calendar, with_capacity
from cloudarena.engine.segment_tree import LOWEST, set_value
from cloudarena.engine.status import DECIDE
from cloudarena.engine.ties import FIRST
from cloudarena.engine.worlds import type_of
from cloudarena.policies.array import ArrayPolicy
from cloudarena.policies.blame import blamed, name_of
from cloudarena.policies.policy import Policy
from cloudarena.scenarios.jobs import kernel
from cloudarena.scenarios.jobs.build import build_world, known_durations, known_paths
from cloudarena.scenarios.jobs.build.index import with_index, without_index
from cloudarena.scenarios.jobs.build.stream import Ledger, Told, told_of, with_more
from cloudarena.scenarios.jobs.decision import JobsDecision, Queued
from cloudarena.scenarios.jobs.kernel import queue
from cloudarena.scenarios.jobs.policies.known import DURATIONS, check_needs
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import (
    NEXT,
    NOTHING,
    ROW,
    Machines,
    NotAllowed,
    Shown,
    Start,
    Tasks,
    World,
)
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.stream import next_part

STREAM_ROWS = 1 << 18
"""The fewest jobs of a stream that are taken in at a time, and a quarter as many as in memory."""


class JobsRun(KernelRun[JobsDecision]):
    """A run of a cluster, start by start."""

    scenario: JobsScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel
    action_types: ClassVar[tuple[Any, ...]] = (numba.int64, numba.int64, numba.int64)

    def __init__(self, scenario: JobsScenario, seed: int, record: RecordLevel) -> None:
        self._stream = scenario.stream_workload(seed)
        self._ledger = None if self._stream is None else Ledger(self._stream)
        self.scenario = scenario
        self.workload = self._first_jobs(seed)
        world = build_world(scenario, self.workload, seed, record, self._stream)
        super().__init__(scenario, seed, record, world)
        self._policy: Queued | None = None
        self._shows_truth = False
        self._playing: Policy | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether jobs come into memory as they arrive."""
        return self._stream is not None

    def _first_jobs(self, seed: int) -> JobWorkload:
        """All jobs, or the first of a stream."""
        if self._stream is None or self._ledger is None:
            return self.scenario.load_workload(seed)
        part = next_part(self._stream, STREAM_ROWS)
        assert part is not None, "a stream has jobs"
        self._ledger.add(np.empty(0, np.int64), part)
        return part

    @property
    def told(self) -> Told:
        """What metrics need of each job that has been read; of a stream also of finished ones."""
        told = told_of(self.world, self.workload)
        if self._ledger is None:
            return told
        self._ledger.note(told)
        return self._ledger.told

    @property
    def all_jobs(self) -> int:
        """The jobs of the workload, also of those that have not been read."""
        return len(self.workload.submit) if self._ledger is None else self._ledger.jobs

    @property
    def all_tasks(self) -> int:
        """The tasks of the workload, also of those that have not been read."""
        return len(self.workload.instances) if self._ledger is None else self._ledger.tasks

    @property
    def now(self) -> float:
        """The time in seconds since the first submission."""
        return float(self.world.clock[0]["now"])

    def show(self) -> JobsDecision:
        """What may be started."""
        return JobsDecision(self.now, *self.views(), self.rng, self)

    def shown(self) -> tuple[Any, ...]:
        """The tasks and machines, read-only."""
        return (self._shown,)

    def encode(self, action: Any) -> Start:
        """An action as task, machine and instances."""
        if action is None:
            return NOTHING
        if isinstance(action, (tuple, list)) and len(action) in (2, 3):
            numbers = (*action, 0 if action[1] == NEXT else 1)[:3]
            if all(is_whole(number) for number in numbers):
                return int(numbers[0]), int(numbers[1]), int(numbers[2])
        raise InvalidAction(
            f"action {written(action)} is not allowed: (task, machine), (task, machine, instances) "
            "or None"
        )

    @property
    def must_start(self) -> bool:
        """Whether an action must start something, since nothing else can happen."""
        return bool(self._must_start(self.world))

    def arrays(self) -> tuple[Tasks, Machines]:
        """The tasks and machines as compiled code takes them."""
        world, clock = self.world, self.world.clock[0]
        tasks = world.tasks._replace(first=self._first, ready=world.ready[: clock["ready"]])
        active = world.finishes.payloads[: world.finishes.counters[0]]
        return tasks, world.machines._replace(now=float(clock["now"]), active=active)

    @property
    def _first(self) -> int:
        """The first task of the queue that could start; -1 if that was not asked."""
        place = int(self.world.clock[0]["first"])
        return int(self.world.queue.task_at[place]) if place >= 0 else -1

    def play(self, policy: Policy) -> None:
        """Runs to the end; a policy that is asked early is so from the first decision on.

        An index is kept for no longer than this policy decides.
        """
        if self.is_streamed and not isinstance(policy, ArrayPolicy):
            raise PolicyError(
                f"policy {name_of(policy)}: is not allowed with stream: true: a function of "
                "arrays, since the numbers of tasks change when finished jobs are forgotten"
            )
        if getattr(policy, "early", False):
            self.world.clock["early"] = 1
        self._playing = policy
        try:
            super().play(policy)
        finally:
            self._playing = None
            self.world = without_index(self.world)

    def copies(self, task: int, machine: int) -> int:
        """How many instances of a task a machine has room for now."""
        return int(queue.copies_that_fit(*self.arrays(), task, machine))

    def gang_fits(self, task: int) -> bool:
        """Whether all waiting instances of a ready task fit now."""
        return bool(queue.gang_fits(*self.arrays(), task))

    def views(self) -> tuple[Tasks, Machines]:
        """The tasks and machines as policies see them, read-only."""
        world, clock, shown = self.world, self.world.clock[0], self._shown
        return (
            shown.tasks._replace(first=self._first, ready=shown.ready[: clock["ready"]]),
            shown.machines._replace(
                now=float(clock["now"]),
                active=shown.active[: world.finishes.counters[0]],
                may_wait=bool(world.finishes.counters[0]) or not self.must_start,
            ),
        )

    def prepare(self, policy: Queued) -> None:
        """Keeps the queue in the order of a policy, and where it plays, an index by its ranking."""
        if policy is not self._policy:
            self._order_queue(policy)
        if not isinstance(policy, ArrayPolicy) or policy is not self._playing:
            return
        if policy.parameters.get("ties", FIRST) == FIRST:
            self.world = with_index(self.world, policy.ranks_by)

    def _order_queue(self, policy: Queued) -> None:
        """Keeps the queue in the order of a policy; refuses one that needs what is not known."""
        check_needs(policy.name, policy.needs, self.scenario.known, self.workload.estimate)
        self._show_durations(policy.needs == DURATIONS)
        world, tasks = self.world, self.world.tasks
        self._put_in_order(
            np.arange(len(tasks.job)) if policy.order is None else self._keys(policy)
        )
        world.clock["early"] = policy.early
        if self._status == DECIDE:
            world.clock["first"] = -1 if policy.early else queue.first_in_queue(world)
        self._policy = policy
        self._decision = None  # what is first in the queue may be another task

    def _put_in_order(self, keys: NDArray[Any]) -> None:
        """Makes the queue of the ready tasks, by a key of each task, lowest first."""
        world, tasks, waiting = self.world, self.world.tasks, self.world.queue
        waiting.task_at[:] = np.argsort(keys, kind="stable")
        waiting.position_of[waiting.task_at] = np.arange(len(tasks.job))
        for index in (waiting.waiting, waiting.fresh, waiting.dirty):
            index.nodes[:] = LOWEST
        gangs = []
        for task in world.ready[: world.clock[0]["ready"]]:
            position = waiting.position_of[task]
            if tasks.gang[task]:
                gangs.append(position)
            else:
                set_value(waiting.fresh, position, 1)
        waiting.gangs[: len(gangs)] = np.sort(gangs)
        waiting.gang_count[0] = len(gangs)

    def _show_durations(self, truth: bool) -> None:
        """Shows policies the true durations, or what the spec lets be known of them."""
        if truth == self._shows_truth:
            return
        tasks, workload = self.world.tasks, self.workload
        tasks.duration[:] = workload.duration if truth else known_durations(self.scenario, workload)
        tasks.path[:] = known_paths(workload, tasks.duration)
        self._shows_truth = truth

    def _keys(self, policy: Queued) -> NDArray[Any]:
        """The keys by which a policy orders its queue, one for each task."""
        with blamed(policy.order, policy.name):
            keys = np.asarray(policy.order(self._shown.tasks))  # type: ignore[misc]
        if keys.shape != self.world.tasks.job.shape or keys.dtype.kind not in "biuf":
            raise PolicyError(
                f"policy {policy.name}: order: {keys.dtype} numbers of shape {keys.shape} are not "
                f"allowed: one number for each of {len(self.world.tasks.job)} tasks"
            )
        return keys

    @cached_property
    def _shown(self) -> Shown:
        world = self.world
        shown = Shown(world.tasks, world.machines, world.ready, world.finishes.payloads)
        views: Shown = locked(shown)
        return views

    @cached_property
    def _must_start(self) -> Any:
        return compiled_step(kernel.must_start, numba.typeof(self.world))

    def grow(self) -> None:
        """Doubles the room for rows, and for their events, or takes in the next jobs."""
        world, old = self.world, self.world.machines.rows
        clock = world.clock[0]
        if clock["more"] and clock["arrived"] == clock["last"] and clock["deciding"] == 0:
            self._take_in()
            return
        lost_rows = int(world.clock[0]["lost_rows"])
        rows = np.zeros(2 * len(old) + len(world.machines.up) + lost_rows, ROW)
        rows[: len(old)] = old
        finishes = with_capacity(world.finishes, len(rows))
        spare = np.empty(len(rows), np.int64)
        spare[: len(old)] = world.spare_rows
        row_gpus = np.zeros((len(rows), world.row_gpus.shape[1]), np.int64)
        row_gpus[: len(old)] = world.row_gpus
        self.world = world._replace(
            machines=world.machines._replace(rows=rows),
            finishes=finishes,
            ends=make_calendar(len(rows)),
            spare_rows=spare,
            row_gpus=row_gpus,
        )
        self.__dict__.pop("_shown", None)

    def _take_in(self) -> None:
        """Takes in the next jobs of a stream, and forgets those that have finished."""
        assert self._stream is not None
        assert self._ledger is not None
        part = next_part(self._stream, max(STREAM_ROWS, len(self.workload.submit) // 4))
        if part is None:
            self.world.clock["more"] = 0
            return
        self._ledger.note(told_of(self.world, self.workload))
        before = type_of(self.world)
        self.world, self.workload, kept = with_more(
            self.world, self.workload, part, self.scenario, self.seed, self.record, self._stream
        )
        self._ledger.add(kept, part)
        assert type_of(self.world) is before, "compiled code takes one type of state"
        self.__dict__.pop("_shown", None)
        self._shows_truth = False
        if self._policy is not None:
            self._order_queue(self._policy)
        else:
            self._put_in_order(np.arange(len(self.world.tasks.job)))

    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, tasks = self.world.clock[0], self.world.tasks
        task, machine, count = int(clock["task"]), int(clock["machine"]), int(clock["count"])
        if reason == NotAllowed.MUST_START:
            return (
                "to start nothing is not allowed: nothing runs and nothing will arrive, so the "
                "ready tasks would wait for ever"
            )
        if reason == NotAllowed.NO_SUCH_TASK:
            return f"task {task} is not allowed: 0 to {len(tasks.job) - 1}"
        if reason == NotAllowed.NO_SUCH_MACHINE:
            return f"machine {machine} is not allowed: 0 to {len(self.world.machines.up) - 1}"
        if reason == NotAllowed.NOT_READY:
            return (
                f"task {self._named(task)} is not allowed: it is not ready, or has no waiting "
                "instances"
            )
        if reason == NotAllowed.NO_SUCH_RULE:
            return (
                f"to make task {self._named(task)} the next with {count} is not allowed: 0, or 1 "
                "to backfill others until it starts"
            )
        if tasks.gang[task]:
            return (
                f"task {self._named(task)} is not allowed: its {tasks.waiting[task]} instances do "
                "not all fit"
            )
        most = min(int(tasks.waiting[task]), self.copies(task, machine))
        return (
            f"{count} instances of task {self._named(task)} on machine {machine} are not allowed: "
            f"at least 1, and there is room for {most}"
        )

    def _named(self, task: int) -> str:
        """A task as messages name it: its index, as in decisions and tables, and its names."""
        job = self.workload.job_ids[int(self.world.tasks.job[task])].as_py()
        return f"{task} (job {job!r}, task {self.workload.task_ids[task].as_py()!r})"
