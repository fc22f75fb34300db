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
from cloudarena.engine.calendar import with_capacity
from cloudarena.engine.index import LOWEST, put, put_number
from cloudarena.engine.status import DECIDE
from cloudarena.policies.blame import blamed
from cloudarena.scenarios.jobs import kernel
from cloudarena.scenarios.jobs.build import build_world, known_durations, known_paths
from cloudarena.scenarios.jobs.decision import JobsDecision, Queued
from cloudarena.scenarios.jobs.kernel import queue
from cloudarena.scenarios.jobs.policies.known import DURATIONS, check_needs
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import (
    NOTHING,
    ROW,
    Machines,
    NotAllowed,
    Shown,
    Start,
    Tasks,
    World,
)


class JobsRun(KernelRun[JobsDecision]):
    """A run of a cluster, start by start."""

    scenario: JobsScenario
    world: World
    kernel: ClassVar[ModuleType] = kernel
    action_types: ClassVar[tuple[Any, ...]] = (numba.int64, numba.int64, numba.int64)

    def __init__(self, scenario: JobsScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        world = build_world(scenario, self.workload, seed, record)
        super().__init__(scenario, seed, record, world)
        self._policy: Queued | None = None
        self._shows_truth = False

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
            numbers = (*action, 1)[:3]
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
        tasks = world.tasks._replace(
            first=int(world.queue.task_at[clock["first"]]), ready=world.ready[: clock["ready"]]
        )
        active = world.finishes.payloads[: world.finishes.counters[0]]
        return tasks, world.machines._replace(now=float(clock["now"]), active=active)

    def gang_fits(self, task: int) -> bool:
        """Whether all waiting instances of a ready task fit now."""
        return bool(queue.gang_fits(*self.arrays(), task))

    def views(self) -> tuple[Tasks, Machines]:
        """The same, read-only."""
        world, clock, shown = self.world, self.world.clock[0], self._shown
        first = int(world.queue.task_at[clock["first"]])
        return (
            shown.tasks._replace(first=first, ready=shown.ready[: clock["ready"]]),
            shown.machines._replace(
                now=float(clock["now"]), active=shown.active[: world.finishes.counters[0]]
            ),
        )

    def prepare(self, policy: Queued) -> None:
        """Keeps the queue in the order of a policy; refuses one that needs what is not known."""
        if policy is self._policy:
            return
        check_needs(policy.name, policy.needs, self.scenario.known, self.workload.estimate)
        self._show_durations(policy.needs == DURATIONS)
        world, tasks, waiting = self.world, self.world.tasks, self.world.queue
        keys = np.arange(len(tasks.job)) if policy.order is None else self._keys(policy)
        waiting.task_at[:] = np.argsort(keys, kind="stable")
        waiting.place_of[waiting.task_at] = np.arange(len(tasks.job))
        for index in (waiting.waiting, waiting.fresh, waiting.dirty):
            index.nodes[:] = LOWEST
        gangs = []
        for task in world.ready[: world.clock[0]["ready"]]:
            place = waiting.place_of[task]
            if tasks.gang[task]:
                gangs.append(place)
            else:
                put(waiting.waiting, place, tasks.demand[task], -1)
                put_number(waiting.fresh, place, 1)
        waiting.gangs[: len(gangs)] = np.sort(gangs)
        if self._status == DECIDE:
            world.clock["first"] = queue.first_in_queue(world)
        self._policy = policy
        self._decision = None  # what is first in the queue may be another task

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
        """Doubles the room for rows, and for their events."""
        world, old = self.world, self.world.machines.rows
        lost_rows = int(world.clock[0]["lost_rows"])
        rows = np.zeros(2 * len(old) + len(world.machines.up) + lost_rows, ROW)
        rows[: len(old)] = old
        finishes = with_capacity(world.finishes, len(rows))
        spare = np.empty(len(rows), np.int64)
        spare[: len(old)] = world.spare_rows
        machines = world.machines._replace(rows=rows)
        self.world = world._replace(machines=machines, finishes=finishes, spare_rows=spare)
        self.__dict__.pop("_shown", None)

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
        if tasks.gang[task]:
            return (
                f"task {self._named(task)} is not allowed: its {tasks.waiting[task]} instances do "
                "not all fit"
            )
        most = min(
            int(tasks.waiting[task]), int(queue.copies_that_fit(*self.arrays(), task, machine))
        )
        return (
            f"{count} instances of task {self._named(task)} on machine {machine} are not allowed: "
            f"at least 1, and there is room for {most}"
        )

    def _named(self, task: int) -> str:
        """A task as messages name it: its index, as in decisions and tables, and its names."""
        job = self.workload.job_ids[int(self.world.tasks.job[task])].as_py()
        return f"{task} (job {job!r}, task {self.workload.task_ids[task].as_py()!r})"
