"""The jobs scenario on SimPy: what a user of SimPy would write for the same model.

A broker submits the jobs, a scheduler starts by first-fit what is ready whenever something has
arrived or finished, and each instance is a process that holds its share of a machine and runs. At
one instant finishes come first, then arrivals, then the scheduler, as in
``cloudarena.scenarios.jobs.kernel``: SimPy takes events of one time in the order in which they
were scheduled, and what wakes the scheduler is scheduled last.

Gangs, failures, scheduling intervals and other policies are left out; the rest of the model is
here.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Generator
from dataclasses import dataclass, field
from operator import attrgetter

import simpy

from cloudarena.base.arrays import whole_millionths
from cloudarena.scenarios.jobs import JobsScenario
from cloudarena.workloads.jobs.columns import JobWorkload

Process = Generator[simpy.Event, None, None]


@dataclass(slots=True, eq=False)
class Job:
    """A job and its tasks."""

    submit: float
    tasks: list[Task] = field(default_factory=list)
    unfinished: int = 0
    """Tasks that have not finished."""
    finish: float | None = None


@dataclass(slots=True, eq=False)
class Task:
    """Identical instances; sizes of one of them in millionths."""

    number: int
    job: Job
    instances: int
    cpu: int
    memory: int
    disk: int
    gpu: int
    duration: float
    children: list[Task] = field(default_factory=list)
    parents_left: int = 0
    started: int = 0
    finished: int = 0


@dataclass(slots=True, eq=False)
class Machine:
    """What is free of a machine, in millionths."""

    number: int
    cpu: int
    memory: int
    disk: int
    gpu: int
    speed: float

    def fits(self, task: Task) -> bool:
        return (
            task.cpu <= self.cpu
            and task.memory <= self.memory
            and task.disk <= self.disk
            and task.gpu <= self.gpu
        )

    def take(self, task: Task) -> None:
        self.cpu -= task.cpu
        self.memory -= task.memory
        self.disk -= task.disk
        self.gpu -= task.gpu

    def give_back(self, task: Task) -> None:
        self.cpu += task.cpu
        self.memory += task.memory
        self.disk += task.disk
        self.gpu += task.gpu


class Cluster:
    """A run: machines, the broker, the scheduler, and what they have done."""

    def __init__(self, machines: list[Machine], jobs: list[Job]) -> None:
        self.env = simpy.Environment()
        self.machines = machines
        self.jobs = jobs
        self.ready: list[Task] = []
        """Tasks with instances that may start and have not, in order of index."""
        self.changed = self.env.event()
        """Wakes the scheduler."""
        self.schedule: list[tuple[int, int, int, float, float]] = []
        """Task, instance, machine, start and finish of each instance, as they finished."""
        self.env.process(self.submit_jobs())
        self.env.process(self.start_instances())

    def run(self, until: float | None = None) -> None:
        self.env.run(until)

    def submit_jobs(self) -> Process:
        """The broker."""
        for job in self.jobs:
            if job.submit > self.env.now:
                yield self.env.timeout(job.submit - self.env.now)
            self.make_ready([task for task in job.tasks if task.parents_left == 0])
            self.wake_scheduler()

    def make_ready(self, tasks: list[Task]) -> None:
        for task in tasks:
            insort(self.ready, task, key=attrgetter("number"))

    def wake_scheduler(self) -> None:
        if not self.changed.triggered:
            self.changed.succeed()

    def start_instances(self) -> Process:
        """The scheduler: first-fit, in one pass, since starts never make room for others."""
        while True:
            yield self.changed
            self.changed = self.env.event()
            exhausted = False
            for task in self.ready:
                for machine in self.machines:
                    while task.started < task.instances and machine.fits(task):
                        machine.take(task)
                        self.env.process(self.run_instance(task, task.started, machine))
                        task.started += 1
                exhausted |= task.started == task.instances
            if exhausted:
                self.ready = [task for task in self.ready if task.started < task.instances]

    def run_instance(self, task: Task, instance: int, machine: Machine) -> Process:
        """The life of an instance."""
        start = self.env.now
        yield self.env.timeout(task.duration / machine.speed)
        machine.give_back(task)
        self.schedule.append((task.number, instance, machine.number, start, self.env.now))
        task.finished += 1
        if task.finished == task.instances:
            self.finish_task(task)
        self.wake_scheduler()

    def finish_task(self, task: Task) -> None:
        """Lets the children of a finished task go on, and its job end."""
        for child in task.children:
            child.parents_left -= 1
        self.make_ready([child for child in task.children if child.parents_left == 0])
        task.job.unfinished -= 1
        if task.job.unfinished == 0:
            task.job.finish = self.env.now

    def metrics(self) -> dict[str, float]:
        """Some metrics of ``cloudarena.scenarios.jobs.metrics``, by the same formulas."""
        ended = [(job.submit, job.finish) for job in self.jobs if job.finish is not None]
        return {
            "jobs_finished": len(ended),
            "instances_finished": len(self.schedule),
            "makespan_s": max(finish for _, finish in ended),
            "completion_mean_s": sum(finish - submit for submit, finish in ended) / len(ended),
        }


def build_machines(scenario: JobsScenario) -> list[Machine]:
    """The machines of a scenario, numbered in its order."""
    kinds = [kind for kind in scenario.machines for _ in range(kind.count)]
    return [
        Machine(
            number,
            *(round(1e6 * size) for size in (kind.cpu, kind.memory, kind.disk, kind.gpu)),
            kind.speed,
        )
        for number, kind in enumerate(kinds)
    ]


def build_jobs(workload: JobWorkload) -> list[Job]:
    """The jobs of a workload as objects."""
    jobs = [Job(submit) for submit in workload.submit.tolist()]
    demand = whole_millionths(workload.demand).tolist()
    tasks = []
    for job, first, end in zip(
        jobs, workload.first_task[:-1].tolist(), workload.first_task[1:].tolist(), strict=True
    ):
        for number in range(first, end):
            instances, duration = int(workload.instances[number]), float(workload.duration[number])
            job.tasks.append(Task(number, job, instances, *demand[number], duration))
        job.unfinished = end - first
        tasks += job.tasks
    for task in tasks:
        begin, end = workload.first_parent[task.number : task.number + 2]
        task.parents_left = int(end - begin)
        for parent in workload.parents[begin:end]:
            tasks[parent].children.append(task)
    return jobs
