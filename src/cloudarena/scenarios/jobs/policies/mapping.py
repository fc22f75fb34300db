"""The mapping heuristics as policies: all waiting instances are planned in a batch."""

from __future__ import annotations

from collections import deque

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.errors import PolicyError
from cloudarena.mapping import HEURISTICS, map_tasks
from cloudarena.scenarios.jobs.decision import JobsDecision
from cloudarena.scenarios.jobs.policies.known import ESTIMATES, check_needs
from cloudarena.scenarios.jobs.policies.placement import POLICIES
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import Machines, Start, Tasks

MOST_INSTANCES = 20_000
"""The most instances of a batch: heuristics look at all pairs with machines, many times."""


def describe(heuristic: str) -> str:
    """What the batch policy of a heuristic says about itself."""
    return f"{HEURISTICS[heuristic].removesuffix('.')} (mapped in batches)."


class BatchMapping:
    """Maps all waiting instances to machines by a heuristic, again whenever tasks become ready.

    The heuristic takes an instance on a machine as the time for which it fills the machine: its
    duration / the machine's speed * its largest share of any of the machine's resources. A machine
    is ready when what runs on it would be over at that rate. Each machine starts what was mapped
    to it, shortest first, as soon as it fits. Gangs start as soon as they fit. When a machine fails
    or comes back all is mapped again; instances that fit no machine that is up are left out.
    """

    needs = ESTIMATES

    def __init__(self, heuristic: str) -> None:
        self.name = heuristic
        self.__doc__ = describe(heuristic)
        self._heuristic = heuristic
        self._seed = 0
        self._known: dict[int, int] = {}
        self._up: Flags = np.zeros(0, np.bool_)
        self._lists: list[deque[tuple[int, int]]] = []

    def start(self, scenario: JobsScenario, seed: int) -> None:
        """Forgets the plan of the last run."""
        estimate = scenario.load_workload(seed).estimate
        check_needs(self.name, self.needs, scenario.known, estimate)
        self._seed = seed
        self._known, self._lists = {}, []
        self._up = np.zeros(0, np.bool_)

    def __call__(self, decision: JobsDecision) -> Start | None:
        """The next instances that fit the machine they were mapped to."""
        tasks = decision.tasks
        waiting = {int(task): int(tasks.waiting[task]) for task in decision.ready}
        for task in decision.ready[tasks.gang[decision.ready]]:
            if decision.fits[np.searchsorted(decision.ready, task)].any():
                return int(task), 0, 1
            del waiting[int(task)]
        more = any(count > self._known.get(task, 0) for task, count in waiting.items())
        if more or not np.array_equal(self._up, decision.machines.up):
            self._map(decision, waiting)
        free = decision.machines.free
        for machine, queued in enumerate(self._lists):
            for k, (task, count) in enumerate(queued):
                need = tasks.demand[task]
                copies = int((free[machine] // np.maximum(need, 1))[need > 0].min(initial=count))
                if copies > 0 and decision.machines.gpu_free.shape[1] > 0:
                    copies = min(copies, decision.copies(task, machine))
                if not decision.machines.up[machine] or copies <= 0:
                    continue
                here = min(count, copies)
                if here == count:
                    del queued[k]
                else:
                    queued[k] = (task, count - here)
                self._known[task] -= here
                return task, machine, here
        return None

    def _map(self, decision: JobsDecision, waiting: dict[int, int]) -> None:
        tasks, machines = decision.tasks, decision.machines
        tasks_waiting = np.array(list(waiting), np.int64)
        each = np.repeat(tasks_waiting, list(waiting.values()))
        if len(each) > MOST_INSTANCES:
            raise PolicyError(
                f"policy {self.name}: {len(each)} instances wait at {decision.now:g} s: it maps at "
                f"most {MOST_INSTANCES} at once"
            )
        self._known, self._up = waiting, machines.up.copy()
        demand = tasks.demand[each]
        possible = (demand[:, None] <= machines.capacity[None]).all(axis=2) & machines.up[None]
        possible &= (tasks.gpu_models[each][:, None] >> machines.gpu_model[None] & 1).astype(bool)
        each, demand = each[possible.any(axis=1)], demand[possible.any(axis=1)]
        possible = possible[possible.any(axis=1)]
        assignment = np.zeros(0, np.int64)
        if len(each):
            times = fill_times(demand, tasks.duration[each], machines)
            ready = busy_times(tasks, machines)
            if self._heuristic == "olb" and not possible.all():
                assignment = first_ready(times, possible, ready)
            else:
                # Far longer than anywhere else where it cannot run.
                never = 1e3 * times.max() * len(times) + ready.max()
                times = np.where(possible, times, never)
                found = map_tasks(times, self._heuristic, self._seed, ready).assignment
                assignment = moved_to_fit(found, times, possible, ready)
        self._lists = []
        for machine in range(len(machines.up)):
            mine = each[assignment == machine]
            found, counts = np.unique(mine, return_counts=True)
            order = np.argsort(tasks.duration[found], kind="stable")
            pairs = zip(found[order].tolist(), counts[order].tolist(), strict=True)
            self._lists.append(deque(pairs))


def fill_times(demand: Ints, duration: Floats, machines: Machines) -> Floats:
    """The time for which each instance fills each machine."""
    share = (demand[:, None, :] / np.maximum(machines.capacity, 1)[None]).max(axis=2)
    times: Floats = duration[:, None] / machines.speed[None] * np.maximum(share, 1e-9)
    return times


def first_ready(times: Floats, possible: Flags, ready: Floats) -> Ints:
    """OLB among the machines on which an instance can run."""
    ready, assignment = ready.copy(), np.zeros(len(times), np.int64)
    for index, (row, fits) in enumerate(zip(times, possible, strict=True)):
        machine = int(np.argmin(np.where(fits, ready, np.inf)))
        assignment[index] = machine
        ready[machine] += row[machine]
    return assignment


def moved_to_fit(assignment: Ints, times: Floats, possible: Flags, ready: Floats) -> Ints:
    """A mapping in which every instance can run where it is.

    A search that begins at random may end with one that cannot: it goes to the machine on which it
    would end first.
    """
    wrong = np.flatnonzero(~possible[np.arange(len(assignment)), assignment])
    if len(wrong) == 0:
        return assignment
    fixed, finish = assignment.copy(), ready.copy()
    right = np.setdiff1d(np.arange(len(assignment)), wrong)
    np.add.at(finish, assignment[right], times[right, assignment[right]])
    for one in wrong:
        machine = int(np.argmin(np.where(possible[one], finish + times[one], np.inf)))
        fixed[one] = machine
        finish[machine] += times[one, machine]
    return fixed


def busy_times(tasks: Tasks, machines: Machines) -> Floats:
    """How long each machine would be filled by the rest of what runs on it."""
    rows = machines.rows[machines.active]
    busy = np.zeros(len(machines.up))
    left = rows["start"] + tasks.duration[rows["task"]] / machines.speed[rows["machine"]]
    left = np.maximum(left - machines.now, 0.0)
    capacity = np.maximum(machines.capacity[rows["machine"]], 1)
    share = (tasks.demand[rows["task"]] / capacity).max(axis=1) * rows["count"]
    np.add.at(busy, rows["machine"], left * share)
    return busy


def _register(heuristic: str) -> None:
    @POLICIES.stepped(heuristic)
    class Mapped(BatchMapping):
        __doc__ = describe(heuristic)

        def __init__(self) -> None:
            super().__init__(heuristic)


_register("olb")
_register("met")
_register("mct")
_register("min-min")
_register("max-min")
_register("duplex")
_register("sufferage")
_register("ga")
_register("sa")
_register("gsa")
_register("tabu")
_register("a-star")
