"""The contract around the kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.arrays import is_whole, locked
from cloudarena.base.errors import InvalidAction, PolicyError
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, compiled_step
from cloudarena.engine.calendar import with_capacity
from cloudarena.engine.index import LOWEST, put, put_number
from cloudarena.policies import ArrayPolicy
from cloudarena.policies.blame import blamed
from cloudarena.scenarios.jobs import kernel, queue
from cloudarena.scenarios.jobs.build import (
    build_world,
    known_durations,
    known_paths,
    make_rows,
)
from cloudarena.scenarios.jobs.known import DURATIONS, check_needs
from cloudarena.scenarios.jobs.metrics import measure
from cloudarena.scenarios.jobs.policies import policy
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import Machines, Shown, Tasks
from cloudarena.scenarios.jobs.tables import make_tables


class JobsDecision:
    """Which ready task starts on which machine?

    The action is ``(task, machine)`` for one instance, ``(task, machine, instances)`` for more, or
    None to start nothing more at this instant. A gang starts whole; its instances fill the
    machines in order, from the given one on. The arrays are read-only views that change with the
    next ``apply``; sizes are in millionths.
    """

    kind: ClassVar[str] = "start"
    __slots__ = ("_run", "machines", "now", "rng", "tasks")

    def __init__(self, run: JobsRun) -> None:
        self._run = run
        self.now = run.now
        self.tasks, self.machines = run.views()
        self.rng = run.rng

    @property
    def ready(self) -> NDArray[np.int64]:
        """The ready tasks with waiting instances, in order of job arrival, then task."""
        return self.tasks.ready

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Whether an instance of a ready task fits a machine: (ready tasks, machines).

        A gang fits wherever one of its instances does, if all of them fit somewhere.
        """
        demand = self.tasks.demand[self.ready]
        pairs: NDArray[np.bool_] = np.all(demand[:, None] <= self.machines.free[None], axis=2)
        for row in np.flatnonzero(self.tasks.gang[self.ready]):
            pairs[row] &= queue.gang_fits(*self._run.arrays(), self.ready[row])
        return pairs

    @property
    def may_wait(self) -> bool:
        """Whether nothing may be started: not when nothing else can happen any more."""
        return not self._run.must_start

    def arguments(self, policy: ArrayPolicy) -> tuple[Tasks, Machines, np.random.Generator]:
        """What a policy that is a function of arrays takes, with its queue in its order."""
        self._run.prepare(policy)
        return (*self._run.views(), self.rng)


class JobsRun(KernelRun):
    """A run of a cluster."""

    scenario: JobsScenario
    ended, deciding, full = kernel.ENDED, kernel.DECIDE, kernel.ROWS_FULL
    kernel_play = staticmethod(kernel.play)
    book = policy

    def __init__(self, scenario: JobsScenario, seed: int, record: RecordLevel) -> None:
        self.workload = scenario.load_workload(seed)
        world = build_world(scenario, self.workload, seed, record)
        super().__init__(scenario, seed, record, world)
        self._policy: ArrayPolicy | None = None
        self._shows_truth = False

    @property
    def now(self) -> float:
        """The time in seconds since the first submission."""
        return float(self.world.clock[0]["now"])

    @property
    def decision(self) -> JobsDecision | None:
        """What may be started; None when the run has ended."""
        return JobsDecision(self) if self.is_deciding else None

    @property
    def must_start(self) -> bool:
        """Whether an action must start something, since nothing else can happen."""
        return bool(self._must_start(self.world))

    def apply(self, action: Any) -> None:
        """Starts instances, or nothing more at this instant."""
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        self._go_on(self._step(self._act, *_start_of(action)))

    def arrays(self) -> tuple[Tasks, Machines]:
        """The tasks and machines as compiled code takes them."""
        world, clock = self.world, self.world.clock[0]
        tasks = world.tasks._replace(
            first=int(world.queue.task_at[clock["first"]]), ready=world.ready[: clock["ready"]]
        )
        active = world.finishes.payloads[: world.finishes.counters[0]]
        return tasks, world.machines._replace(now=float(clock["now"]), active=active)

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

    def prepare(self, policy: ArrayPolicy) -> None:
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
        if self._status == self.deciding:
            world.clock["first"] = queue.first_in_queue(world)
        self._policy = policy

    def _show_durations(self, truth: bool) -> None:
        """Shows policies the true durations, or what the spec lets be known of them."""
        if truth == self._shows_truth:
            return
        tasks, workload = self.world.tasks, self.workload
        tasks.duration[:] = workload.duration if truth else known_durations(self.scenario, workload)
        tasks.path[:] = known_paths(workload, tasks.duration)
        self._shows_truth = truth

    def _keys(self, policy: ArrayPolicy) -> NDArray[Any]:
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

    def _state(self) -> tuple[Any, ...]:
        return self.world, self._shown

    @cached_property
    def _must_start(self) -> Any:
        return compiled_step(kernel.must_start, numba.typeof(self.world))

    @cached_property
    def _act(self) -> Any:
        return compiled_step(kernel.act, numba.typeof(self.world), *[numba.int64] * 3)

    def _prepare(self, policy: ArrayPolicy) -> None:
        self.prepare(policy)

    def _first_decision(self) -> int:
        return int(self._act(self.world, -1, -1, 0))

    def _make_room(self) -> None:
        """Doubles the room for rows, and for their events."""
        world, old = self.world, self.world.machines.rows
        rows = make_rows(2 * len(old) + len(world.machines.up) + int(world.clock[0]["lost_rows"]))
        rows[: len(old)] = old
        finishes = with_capacity(world.finishes, len(rows))
        spare = np.empty(len(rows), np.int64)
        spare[: len(old)] = world.spare_rows
        machines = world.machines._replace(rows=rows)
        self.world = world._replace(machines=machines, finishes=finishes, spare_rows=spare)
        self.__dict__.pop("_shown", None)

    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""
        clock, tasks = self.world.clock[0], self.world.tasks
        task, machine, count = int(clock["task"]), int(clock["machine"]), int(clock["count"])
        if status == kernel.MUST_START:
            return (
                "to start nothing is not allowed: nothing runs and nothing will arrive, so the "
                "ready tasks would wait for ever"
            )
        if status == kernel.NO_SUCH_TASK:
            return f"task {task} is not allowed: 0 to {len(tasks.job) - 1}"
        if status == kernel.NO_SUCH_MACHINE:
            return f"machine {machine} is not allowed: 0 to {len(self.world.machines.up) - 1}"
        if status == kernel.NOT_READY:
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

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self.world, self.workload)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        return make_tables(self)


def _start_of(action: Any) -> tuple[int, int, int]:
    """An action as task, machine and instances."""
    if action is None:
        return -1, -1, 0
    if isinstance(action, (tuple, list)) and len(action) in (2, 3):
        numbers = (*action, 1)[:3]
        if all(is_whole(number) for number in numbers):
            return int(numbers[0]), int(numbers[1]), int(numbers[2])
    raise InvalidAction(
        f"action {action!r} is not allowed: (task, machine), (task, machine, instances) or None"
    )
