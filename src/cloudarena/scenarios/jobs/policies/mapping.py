"""Policies that plan ahead in batches, and those that follow a plan from a file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError
from cloudarena.mapping import HEURISTICS, map_tasks
from cloudarena.scenarios.jobs.known import ESTIMATES, check_needs
from cloudarena.scenarios.jobs.policies import policy
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.workloads.columns import check_filled, is_parquet
from cloudarena.workloads.jobs import JobWorkload, jobs_of_tasks

MOST_INSTANCES = 20_000
"""In one batch: the heuristics look at all pairs of instances and machines, many times."""


def describe(heuristic: str) -> str:
    """What the batch policy of a heuristic says about itself."""
    return f"{HEURISTICS[heuristic].removesuffix('.')} (mapped in batches)."


class BatchMapping:
    """Maps all waiting instances to machines by a heuristic, anew whenever tasks become ready.

    The heuristic takes an instance on a machine as the time for which it fills the machine: its
    duration / the machine's speed * its largest share of any of the machine's resources. A machine
    is ready when what runs on it would be over at that rate. Each machine starts what was mapped
    to it, shortest first, as soon as it fits. Gangs start as soon as they fit. When a machine fails
    or comes back all is mapped anew; instances that fit no machine that is up are left out.
    """

    needs = ESTIMATES

    def __init__(self, heuristic: str) -> None:
        self.name = heuristic
        self.__doc__ = describe(heuristic)
        self._heuristic = heuristic
        self._seed = 0
        self._known: dict[int, int] = {}
        self._up: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._lists: list[deque[tuple[int, int]]] = []

    def start(self, scenario: Any, seed: int) -> None:
        """Forgets the plan of the last run."""
        estimate = scenario.load_workload(seed).estimate
        check_needs(self.name, self.needs, scenario.known, estimate)
        self._seed = seed
        self._known, self._lists = {}, []
        self._up = np.zeros(0, np.bool_)

    def __call__(self, decision: Any) -> tuple[int, int, int] | None:
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

    def _map(self, decision: Any, waiting: dict[int, int]) -> None:
        tasks, machines = decision.tasks, decision.machines
        numbers = np.array(list(waiting), np.int64)
        each = np.repeat(numbers, list(waiting.values()))
        if len(each) > MOST_INSTANCES:
            raise PolicyError(
                f"policy {self.name}: {len(each)} instances wait at {decision.now:g} s: it maps at "
                f"most {MOST_INSTANCES} at once"
            )
        self._known, self._up = waiting, machines.up.copy()
        demand = tasks.demand[each]
        possible = (demand[:, None] <= machines.capacity[None]).all(axis=2) & machines.up[None]
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
                assignment = map_tasks(times, self._heuristic, self._seed, ready).assignment
        self._lists = []
        for machine in range(len(machines.up)):
            mine = each[assignment == machine]
            found, counts = np.unique(mine, return_counts=True)
            order = np.argsort(tasks.duration[found], kind="stable")
            pairs = zip(found[order].tolist(), counts[order].tolist(), strict=True)
            self._lists.append(deque(pairs))


def fill_times(
    demand: NDArray[np.int64], duration: NDArray[np.float64], machines: Any
) -> NDArray[np.float64]:
    """For each instance and machine, the time for which it fills the machine."""
    share = (demand[:, None, :] / np.maximum(machines.capacity, 1)[None]).max(axis=2)
    times: NDArray[np.float64] = duration[:, None] / machines.speed[None] * np.maximum(share, 1e-9)
    return times


def first_ready(
    times: NDArray[np.float64], possible: NDArray[np.bool_], ready: NDArray[np.float64]
) -> NDArray[np.int64]:
    """OLB among the machines on which an instance can run."""
    ready, assignment = ready.copy(), np.zeros(len(times), np.int64)
    for number, (row, fits) in enumerate(zip(times, possible, strict=True)):
        machine = int(np.argmin(np.where(fits, ready, np.inf)))
        assignment[number] = machine
        ready[machine] += row[machine]
    return assignment


def busy_times(tasks: Any, machines: Any) -> NDArray[np.float64]:
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
    @policy.stepped(heuristic)
    class Mapped(BatchMapping):
        __doc__ = describe(heuristic)

        def __init__(self) -> None:
            super().__init__(heuristic)


for _heuristic in HEURISTICS:
    _register(_heuristic)


def task_names(workload: JobWorkload) -> list[tuple[str, str]]:
    """The names of each task's job and of the task itself, as text."""
    jobs = workload.job_ids.take(pa.array(jobs_of_tasks(workload))).to_pylist()
    tasks = workload.task_ids.to_pylist()
    return [(str(job), str(task)) for job, task in zip(jobs, tasks, strict=True)]


@policy.replay
class Replay(DecisionFile):
    """Starts from a file: columns time_s, job, task, machine, and any of task_index and instances.

    A task is found by its names or, where a job has two of one name, by its index. Instances are 1
    by default. The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        # Parquet knows whether names are numbers; in a CSV 007 is a name.
        name = None if is_parquet(path) else pa.string()
        types = {"time_s": pa.float64(), "job": name, "task": name, "machine": pa.int64()}
        super().__init__(path, types, {"task_index": pa.int64(), "instances": pa.int64()})
        check_filled(path, self._table, self._table.column_names)
        self._starts: deque[tuple[float, int, int, int]] = deque()

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the tasks of the file in the workload."""
        names = task_names(scenario.load_workload(seed))
        indices: dict[tuple[str, str], list[int]] = {}
        for index, name in enumerate(names):
            indices.setdefault(name, []).append(index)
        self._starts = deque()
        before = 0.0
        for row, values in self._rows():
            time = values["time_s"]
            if not time >= before:
                raise self._error(
                    f"time_s: {time:g} is not allowed: at least {before:g}, as before it", row
                )
            before = time
            task = self._task(row, values, names, indices)
            self._starts.append((time, task, values["machine"], values.get("instances", 1)))

    def _task(
        self,
        row: int,
        values: dict[str, Any],
        names: list[tuple[str, str]],
        indices: dict[tuple[str, str], list[int]],
    ) -> int:
        """The index of a row's task; its names must be those of the workload."""
        name = str(values["job"]), str(values["task"])
        shown = f"job {values['job']!r}, task {values['task']!r}"
        index: int | None = values.get("task_index")
        if name not in indices:
            raise self._error(f"{shown} is not in the workload", row)
        if index is None:
            if len(indices[name]) > 1:
                raise self._error(f"{shown}: {len(indices[name])} have that name: task_index says "
                                  "which", row)  # fmt: skip
            return indices[name][0]
        if index not in indices[name]:
            allowed = " or ".join(str(one) for one in indices[name][:5])
            raise self._error(f"task_index: {index} is not allowed: {shown} is {allowed}", row)
        return index

    def __call__(self, decision: Any) -> tuple[int, int, int] | None:
        """The file's next start, if it is due."""
        if self._starts and self._starts[0][0] <= decision.now:
            time, task, machine, count = self._starts.popleft()
            if time < decision.now:
                raise self._error(f"a start at {time!r} s is not allowed: nothing could start then")
            return task, machine, count
        if not decision.may_wait:
            raise self._error(f"has no start at {decision.now!r} s, when nothing else can happen")
        return None
