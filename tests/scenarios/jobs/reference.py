"""The jobs scenario once more, slow and obvious: lists, loops and whole numbers of a millionth.

Written from the semantics, not from the kernel. Nothing is kept up to date: what is free of a
machine is its capacity less what runs on it, summed again whenever it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

RESOURCES = ("cpu", "memory", "disk", "gpu")
NEVER = math.inf

Sizes = tuple[int, ...]
Start = tuple[int, int, int]  # task, machine, how many instances; of a gang all that wait begin


def millionths(sizes: dict[str, Any], **defaults: float) -> Sizes:
    """Demand or capacity as whole numbers."""
    return tuple(round(sizes.get(name, defaults[name]) * 10**6) for name in RESOURCES)


@dataclass
class Task:
    """Identical instances, and how far they are."""

    name: str
    job: int
    user: int
    instances: int
    demand: Sizes
    duration: float
    known: float  # what policies are told of the duration; NaN if nothing
    gang: bool
    parents: list[int]
    models: tuple[str, ...] = ()  # of GPUs; none: any will do
    children: list[int] = field(default_factory=list)
    ready: float | None = None
    started: int = 0  # the lowest index that has never started
    lost: list[int] = field(default_factory=list)
    finished: int = 0
    first_start: float | None = None
    finish: float | None = None

    def waiting(self) -> int:
        return len(self.lost) + self.instances - self.started

    def next_instance(self) -> int:
        """Lost ones before new ones, the lowest index first."""
        if self.lost:
            self.lost.sort()
            return self.lost.pop(0)
        self.started += 1
        return self.started - 1


@dataclass
class Job:
    """Tasks that are submitted together."""

    name: str
    user: int
    submit: float
    tasks: list[int]
    finish: float | None = None


@dataclass
class Machine:
    """Capacity, speed, and whether it is up."""

    name: str
    capacity: Sizes
    speed: float
    model: str = ""
    up: bool = True
    starts: int = 0


class Attempt(NamedTuple):
    """An instance on a machine, from its start to its end; what it holds of which GPU."""

    task: int
    instance: int
    machine: int
    start: float
    end: float
    gpus: tuple[tuple[int, int], ...] = ()


@dataclass
class Cluster:
    """Jobs, tasks and machines at a moment."""

    jobs: list[Job]
    tasks: list[Task]
    machines: list[Machine]
    now: float = 0.0
    running: list[Attempt] = field(default_factory=list)
    finished: list[Attempt] = field(default_factory=list)
    lost: list[Attempt] = field(default_factory=list)

    def ready(self) -> list[int]:
        """Tasks with waiting instances whose parents have finished, in rising order."""
        return [
            number
            for number, task in enumerate(self.tasks)
            if task.ready is not None and task.waiting() > 0
        ]

    def held(self, machine: int) -> Sizes:
        demands = [self.tasks[run.task].demand for run in self.running if run.machine == machine]
        return tuple(sum(demand[r] for demand in demands) for r in range(4))

    def free(self, machine: int) -> Sizes:
        capacity = self.machines[machine].capacity
        return tuple(a - b for a, b in zip(capacity, self.held(machine), strict=True))

    def copies(self, task: int, machine: int) -> int:
        """How many of the task's waiting instances could begin on a machine now."""
        if not self.machines[machine].up or not self.may_run(task, machine):
            return 0
        it, free = self.tasks[task], self.free(machine)
        gpus, count = self.free_gpus(machine), 0
        while count < copies_in(free, it) and take_gpus(gpus, it.demand[3]) is not None:
            count += 1
        return count

    def may_run(self, task: int, machine: int) -> bool:
        """Whether the GPUs of a machine are of a model that a task asks for."""
        models = self.tasks[task].models
        return not models or self.machines[machine].model in models

    def free_gpus(self, machine: int) -> list[int]:
        """What is free of each GPU: 2.5 GPUs are two and a half one."""
        left, gpus = self.machines[machine].capacity[3], []
        while left > 0:
            gpus.append(min(left, 10**6))
            left -= 10**6
        for run in self.running:
            if run.machine == machine:
                for gpu, amount in run.gpus:
                    gpus[gpu] -= amount
        return gpus

    def fits(self, task: int, machine: int) -> bool:
        return self.copies(task, machine) > 0

    def all_fit(self, task: int) -> bool:
        """Whether all waiting instances fit, spread over the machines."""
        room = sum(self.copies(task, machine) for machine in range(len(self.machines)))
        return room >= self.tasks[task].waiting()

    def could_start(self, task: int) -> bool:
        if self.tasks[task].gang:
            return self.all_fit(task)
        return any(self.fits(task, machine) for machine in range(len(self.machines)))

    def spread(self, task: int, machine: int) -> list[tuple[int, int]]:
        """Where the instances of a gang begin: (machine, count), from the given machine on."""
        places, left = [], self.tasks[task].waiting()
        for m in [*range(machine, len(self.machines)), *range(machine)]:
            here = min(left, self.copies(task, m))
            if here > 0:
                places.append((m, here))
            left -= here
        assert left == 0
        return places

    def begin(self, task: int, machine: int, count: int) -> None:
        it, host = self.tasks[task], self.machines[machine]
        assert 1 <= count <= self.copies(task, machine)
        for _ in range(count):
            gpus = take_gpus(self.free_gpus(machine), it.demand[3])
            assert gpus is not None
            end = self.now + it.duration / host.speed
            self.running.append(Attempt(task, it.next_instance(), machine, self.now, end, gpus))
            host.starts += 1
        it.first_start = self.now if it.first_start is None else it.first_start


def take_gpus(free: list[int], wanted: int) -> tuple[tuple[int, int], ...] | None:
    """Takes whole GPUs, the first that are free, and a share of the fullest; None: no room."""
    taken = []
    for gpu, room in enumerate(free):
        if wanted >= 10**6 and room == 10**6:
            taken.append((gpu, 10**6))
            free[gpu] -= 10**6
            wanted -= 10**6
    if wanted >= 10**6:
        return None
    if wanted > 0:
        roomy = [gpu for gpu, room in enumerate(free) if room >= wanted]
        if not roomy:
            return None
        fullest = min(roomy, key=lambda gpu: free[gpu])
        taken.append((fullest, wanted))
        free[fullest] -= wanted
    return tuple(taken)


def copies_in(free: Sizes, task: Task) -> int:
    """How many waiting instances of a task fit into so much room."""
    count = 0
    while count < task.waiting() and all(
        (count + 1) * need <= room for need, room in zip(task.demand, free, strict=True)
    ):
        count += 1
    return count


class Question(NamedTuple):
    """Says what starts now."""

    cluster: Cluster
    may_wait: bool


class Outcome(NamedTuple):
    """What became of it all."""

    cluster: Cluster
    metrics: dict[str, float]
    starts: list[tuple[float, int, int, int]]  # time, task, machine, instances
    series: list[dict[str, float]]
    end: float


def build(spec: dict[str, Any]) -> Cluster:
    """The cluster of a spec with inline jobs, before anything has happened."""
    known = spec.get("known", ["estimates"])
    machines = [
        Machine(
            kind.get("name", "machine"),
            millionths(kind, cpu=0, memory=1, disk=1, gpu=0),
            kind.get("speed", 1.0),
            kind.get("gpu_model", ""),
        )
        for kind in spec["machines"]
        for _ in range(kind.get("count", 1))
    ]
    rows = [
        {"name": f"job-{number}", "submit": 0.0, "user": 0, **row}
        for number, row in enumerate(spec["workload"]["jobs"], 1)
    ]
    rows.sort(key=lambda row: row["submit"])  # stable
    jobs: list[Job] = []
    tasks: list[Task] = []
    for row in rows:
        first = len(tasks)
        names = [task.get("name", f"task-{k}") for k, task in enumerate(row["tasks"], 1)]
        for name, task in zip(names, row["tasks"], strict=True):
            duration = task["duration"]
            tasks.append(
                Task(
                    name=name,
                    job=len(jobs),
                    user=row["user"],
                    instances=task.get("instances", 1),
                    demand=millionths(task, cpu=1, memory=0, disk=0, gpu=0),
                    duration=duration,
                    known=duration
                    if "durations" in known
                    else task.get("estimate", duration)
                    if "estimates" in known
                    else math.nan,
                    gang=task.get("gang", False),
                    models=tuple(task.get("gpu_models", ())),
                    parents=[first + names.index(parent) for parent in task.get("parents", [])],
                )
            )
        numbers = list(range(first, len(tasks)))
        jobs.append(Job(row["name"], row["user"], row["submit"] - rows[0]["submit"], numbers))
    for number, task in enumerate(tasks):
        for parent in task.parents:
            tasks[parent].children.append(number)
    return Cluster(jobs, tasks, machines)


def outages_of(spec: dict[str, Any]) -> list[tuple[float, int, int]]:
    """Events (time, 0 for up and 1 for down, machine); at one time up comes before down.

    Outages and submissions are on one clock; the run begins with the first submission.
    """
    begin = min(row.get("submit", 0.0) for row in spec["workload"]["jobs"])
    events = []
    for outage in (spec.get("failures") or {}).get("outages", []):
        up = NEVER if outage.get("up_s") is None else outage["up_s"]
        if up > begin:
            events.append((max(0, outage["down_s"] - begin), 1, outage["machine"]))
            events.append((up - begin, 0, outage["machine"]))
    return sorted(event for event in events if event[0] < NEVER)


def next_on_grid(time: float, interval: float) -> float:
    """The first multiple of the interval that is not before a time."""
    if interval == 0:
        return time
    k = math.floor(time / interval) - 2
    while k * interval < time:
        k += 1
    return k * interval


def finish(cluster: Cluster, run: Attempt) -> None:
    """An instance ends; its task and its job may be over, and the task's children ready."""
    cluster.running.remove(run)
    cluster.finished.append(run)
    task = cluster.tasks[run.task]
    task.finished += 1
    if task.finished < task.instances:
        return
    task.finish = cluster.now
    for child in task.children:
        if all(cluster.tasks[parent].finish is not None for parent in cluster.tasks[child].parents):
            cluster.tasks[child].ready = cluster.now
    job = cluster.jobs[task.job]
    if all(cluster.tasks[number].finish is not None for number in job.tasks):
        job.finish = cluster.now


def fail(cluster: Cluster, machine: int) -> None:
    """A machine goes down; what runs on it is lost and waits again."""
    cluster.machines[machine].up = False
    for run in [run for run in cluster.running if run.machine == machine]:
        cluster.running.remove(run)
        cluster.lost.append(run._replace(end=cluster.now))
        cluster.tasks[run.task].lost.append(run.instance)


def steps(spec: dict[str, Any]) -> Generator[Question, Start | None, Outcome]:
    """Runs a spec, asking at each decision what starts."""
    cluster = build(spec)
    outages = outages_of(spec)
    coming = list(cluster.jobs)
    due = NEVER
    starts: list[tuple[float, int, int, int]] = []
    series: list[dict[str, float]] = []
    while any(job.finish is None for job in cluster.jobs):
        moments = [run.end for run in cluster.running] + [due]
        moments += [job.submit for job in coming[:1]] + [time for time, _, _ in outages[:1]]
        if min(moments) == NEVER:
            break
        now = cluster.now = min(moments)
        happened = False
        for run in [run for run in cluster.running if run.end == now]:
            finish(cluster, run)
            happened = True
        while outages and outages[0][0] == now:
            _, down, machine = outages.pop(0)
            if down:
                fail(cluster, machine)
            else:
                cluster.machines[machine].up = True
            happened = True
        while coming and coming[0].submit == now:
            for number in coming.pop(0).tasks:
                if not cluster.tasks[number].parents:
                    cluster.tasks[number].ready = now
            happened = True
        if happened:
            due = next_on_grid(now, spec.get("scheduling_interval", 0))
        if all(job.finish is not None for job in cluster.jobs):
            due = now  # the run ends, on whatever grid
        if due > now:
            continue
        due = NEVER
        while any(cluster.could_start(task) for task in cluster.ready()):
            everything_up = all(machine.up for machine in cluster.machines)
            action = yield Question(cluster, bool(cluster.running or coming or not everything_up))
            if action is None:
                break
            task, machine, count = action
            if cluster.tasks[task].gang:
                places = cluster.spread(task, machine)
                machine, count = places[0][0], cluster.tasks[task].waiting()
            else:
                places = [(machine, count)]
            for place, here in places:
                cluster.begin(task, place, here)
            starts.append((now, task, machine, count))
        series.append(look(cluster, coming))
    return Outcome(
        cluster, measure(cluster, spec.get("warmup_s", 0.0)), starts, series, cluster.now
    )


def look(cluster: Cluster, coming: list[Job]) -> dict[str, float]:
    """A row of the series."""
    held = [cluster.held(machine) for machine in range(len(cluster.machines))]
    return {
        "time_s": cluster.now,
        "jobs": sum(job.finish is None for job in cluster.jobs) - len(coming),
        "ready_tasks": len(cluster.ready()),
        **{name: sum(sizes[r] for sizes in held) / 10**6 for r, name in enumerate(RESOURCES)},
        "machines_up": sum(machine.up for machine in cluster.machines),
    }


def longest_path(cluster: Cluster, task: int, length: Callable[[Task], float]) -> float:
    """The longest sum of lengths from a task to the end of its job."""
    children = cluster.tasks[task].children
    beyond = [longest_path(cluster, child, length) for child in children]
    return length(cluster.tasks[task]) + max(beyond, default=0)


def shortest(cluster: Cluster, job: Job) -> float:
    """The time of a job whose instances all start at once on the fastest machine."""
    speed = max(machine.speed for machine in cluster.machines)
    return max(longest_path(cluster, task, lambda it: it.duration) for task in job.tasks) / speed


def held_seconds(cluster: Cluster, r: int, machine: int | None = None, begin: float = 0.0) -> float:
    """The integral over time of what is held of a resource, by what was lost as well.

    With a warm-up, by the jobs that were submitted after it.
    """
    return math.fsum(
        cluster.tasks[run.task].demand[r] * (run.end - run.start)
        for run in cluster.finished + cluster.lost
        if machine in (None, run.machine)
        and cluster.jobs[cluster.tasks[run.task].job].submit >= begin
    )


def quantile(values: list[float], share: float) -> float:
    """Linear between the two nearest of the sorted values."""
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    low, high = sorted(values)[below], sorted(values)[above]
    return low + (high - low) * (place - below)


class Bound(float):
    """A number of which only a lower bound is known."""


def mean(exact: list[float], so_far: list[float]) -> float:
    """A mean of exact values and of lower bounds, which make it a lower bound."""
    values = exact + so_far
    if not values:
        return math.nan
    return (Bound if so_far else float)(math.fsum(values) / len(values))


def quantile_of(exact: list[float], so_far: list[float], share: float) -> float:
    """The quantile if the bounds took for ever; a bound itself if it falls among them."""
    if not exact + so_far:
        return math.nan
    last = math.ceil(share * (len(exact) + len(so_far) - 1))
    if last < len(exact):
        return quantile(sorted(exact) + [max(exact)] * len(so_far), share)
    return Bound(quantile(exact + so_far, share))


def span(cluster: Cluster) -> float:
    """Over how long use is counted: the makespan; if jobs are left for good, the whole run."""
    if all(job.finish is not None for job in cluster.jobs):
        return max(job.finish for job in cluster.jobs)
    return cluster.now


class Span(NamedTuple):
    """A time of a job, task or instance: when it was submitted and ended, and how long it was."""

    submit: float
    end: float
    is_open: bool
    length: float


def counted(begin: float, spans: list[Span]) -> tuple[list[float], list[float]]:
    """The lengths of what counts: what has ended, and what has not.

    As many as were submitted after the warm-up: the longest of these and of what ended after it.
    """
    many = sum(one.submit >= begin for one in spans)
    here = [
        one for one in spans if begin == 0 or one.submit >= begin or one.is_open or one.end > begin
    ]
    here.sort(key=lambda one: (one.is_open, one.length), reverse=True)
    here = here[:many]
    return [s.length for s in here if not s.is_open], [s.length for s in here if s.is_open]


def measure(cluster: Cluster, begin: float = 0.0) -> dict[str, float]:
    """The metrics at the end, from what was written down; before ``begin`` nothing counts."""
    end = cluster.now
    left = [job for job in cluster.jobs if job.finish is None]
    spent, waits, slow, bounded = [], [], [], []
    for job in cluster.jobs:
        open_ended = job.finish is None
        until = end if open_ended else job.finish
        time = until - job.submit
        best = shortest(cluster, job)
        of = (job.submit, until, open_ended)
        spent.append(Span(*of, time))
        slow.append(Span(*of, max(1, time / best) if open_ended else time / best))
        bounded.append(Span(*of, max(1, time / max(10, best))))
        started = [t.first_start for t in map(cluster.tasks.__getitem__, job.tasks)
                   if t.first_start is not None]  # fmt: skip
        first = min(started, default=end)
        waits.append(Span(job.submit, first, not started, first - job.submit))
    in_system, in_system_slow, from_start, from_start_slow = [], [], [], []
    for task in cluster.tasks:
        open_ended = task.finish is None
        until = end if open_ended else task.finish
        submit = cluster.jobs[task.job].submit
        begun = until if task.first_start is None else task.first_start
        of = (submit, until, open_ended)
        in_system.append(Span(*of, until - submit))
        in_system_slow.append(Span(*of, (until - submit) / task.duration))
        from_start.append(Span(*of, until - begun))
        from_start_slow.append(Span(*of, (until - begun) / task.duration))

    def submitted(task: Task) -> float:
        return cluster.jobs[task.job].submit

    instances = [
        Span(submitted(task), run.start, False, run.start - task.ready)
        for run in cluster.finished + cluster.running
        for task in [cluster.tasks[run.task]]
    ]
    instances += [Span(submitted(t), end, True, end - t.ready) for t in cluster.tasks
                  if t.ready is not None for _ in range(t.waiting())]  # fmt: skip
    waits, spent, slow, bounded, instances = (
        counted(begin, spans) for spans in (waits, spent, slow, bounded, instances)
    )
    in_system, in_system_slow, from_start, from_start_slow = (
        counted(begin, spans) for spans in (in_system, in_system_slow, from_start, from_start_slow)
    )
    squares = math.fsum(value**2 for value in slow[0])
    total = [sum(machine.capacity[r] for machine in cluster.machines) for r in range(4)]
    jobs = [job for job in cluster.jobs if job.submit >= begin]
    jobs_left = [job for job in jobs if job.finish is None]
    seconds = max(0.0, span(cluster) - begin)
    lost = [run for run in cluster.lost if run.end > begin or begin == 0]
    return {
        "unserved_share": len(left) / len(cluster.jobs),
        "jobs": len(jobs),
        "jobs_finished": len(jobs) - len(jobs_left),
        "instances": sum(task.instances for task in cluster.tasks if submitted(task) >= begin),
        "instances_finished": sum(
            submitted(cluster.tasks[run.task]) >= begin for run in cluster.finished
        ),
        "makespan_s": Bound(seconds) if left else seconds,
        "cost_usd": Bound(0.0) if left else 0.0,  # machines without a price
        "wait_mean_s": mean(*waits),
        "wait_p50_s": quantile_of(*waits, 0.5),
        "wait_p95_s": quantile_of(*waits, 0.95),
        "completion_mean_s": mean(*spent),
        "completion_p50_s": quantile_of(*spent, 0.5),
        "completion_p95_s": quantile_of(*spent, 0.95),
        "slowdown_mean": mean(*slow),
        "bounded_slowdown_mean": mean(*bounded),
        "bounded_slowdown_p95": quantile_of(*bounded, 0.95),
        "fairness_jain": math.nan if left else math.fsum(slow[0]) ** 2 / (len(slow[0]) * squares),
        **{
            f"mean_{name}_utilisation": held_seconds(cluster, r, begin=begin) / (total[r] * seconds)
            if total[r] and seconds
            else 0.0
            for r, name in enumerate(RESOURCES)
        },
        "lost_instances": len(lost),
        "lost_work_s": math.fsum(run.end - run.start for run in lost),
        "instance_wait_mean_s": mean(*instances),
        "task_completion_mean_s": mean(*in_system),
        "task_slowdown_mean": mean(*in_system_slow),
        "task_completion_from_first_start_s": mean(*from_start),
        "task_slowdown_from_first_start": mean(*from_start_slow),
    }


def simulate(spec: dict[str, Any], policy: Callable[[Cluster], Start | None]) -> Outcome:
    """Runs a spec under a policy."""
    run = steps(spec)
    try:
        question = next(run)
        while True:
            action = policy(question.cluster)
            assert action is not None or question.may_wait
            question = run.send(action)
    except StopIteration as end:
        return end.value
