"""The policies once more, each in the most obvious way, for the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from .reference import (
    NEVER,
    Cluster,
    Sizes,
    Start,
    Task,
    copies_in,
    longest_path,
)

Policy = Callable[[Cluster], Start | None]


def machines_with_room(cluster: Cluster, task: int) -> list[int]:
    return [m for m in range(len(cluster.machines)) if cluster.fits(task, m)]


def startable(cluster: Cluster) -> list[int]:
    return [task for task in cluster.ready() if cluster.could_start(task)]


def as_many(cluster: Cluster, task: int, machine: int) -> Start:
    return task, machine, cluster.copies(task, machine)


def by(key: Callable[[Cluster, int], float]) -> Policy:
    """The first startable task in the order of a key, on the first machine with room."""

    def choose(cluster: Cluster) -> Start:
        task = min(startable(cluster), key=lambda task: (key(cluster, task), task))
        return as_many(cluster, task, machines_with_room(cluster, task)[0])

    return choose


def weight(cluster: Cluster, task: int) -> float:
    """Children, their instances, longest path in edges, descendants, their instances."""
    children = set(cluster.tasks[task].children)
    below: set[int] = set()
    new = children
    while new:
        below |= new
        new = {child for one in new for child in cluster.tasks[one].children} - below
    edges = longest_path(cluster, task, lambda _: 1) - 1
    instances = [sum(cluster.tasks[one].instances for one in group) for group in (children, below)]
    return len(children) + len(below) + sum(instances) + edges


def fcfs(cluster: Cluster) -> Start | None:
    task = cluster.ready()[0]
    if not cluster.could_start(task):
        return None
    return as_many(cluster, task, machines_with_room(cluster, task)[0])


def best_fit(cluster: Cluster) -> Start:
    task = startable(cluster)[0]
    room = machines_with_room(cluster, task)
    return as_many(cluster, task, min(room, key=lambda m: (cluster.free(m)[0], m)))


def worst_fit(cluster: Cluster) -> Start:
    task = startable(cluster)[0]
    room = machines_with_room(cluster, task)
    return task, min(room, key=lambda m: (-cluster.free(m)[0], m)), 1


def gang(cluster: Cluster) -> Start | None:
    """The first task that fits whole, has begun before, or finds the cluster idle."""
    for task in cluster.ready():
        it = cluster.tasks[task]
        begun = it.finished > 0 or any(run.task == task for run in cluster.running)
        goes_on = begun or not cluster.running
        if cluster.all_fit(task) or (goes_on and cluster.could_start(task)):
            return as_many(cluster, task, machines_with_room(cluster, task)[0])
    return None


def tetris_scores(cluster: Cluster) -> dict[tuple[int, int], Fraction]:
    """For each pair that fits: a - (mean a / mean p) p, exactly."""

    def alignment(task: int, machine: int) -> Fraction:
        demand, capacity = cluster.tasks[task].demand, cluster.machines[machine].capacity
        free = cluster.free(machine)
        return sum(
            (Fraction(demand[r] * free[r], capacity[r] ** 2) for r in range(4) if capacity[r]),
            Fraction(0),
        )

    def work_left(job: int) -> Fraction:
        left = Fraction(0)
        for number in cluster.jobs[job].tasks:
            task = cluster.tasks[number]
            unfinished = task.instances - task.finished
            shares = [Fraction(task.demand[r], total[r]) for r in range(4) if total[r]]
            left += unfinished * Fraction(task.known) * sum(shares)
        return left

    total = [sum(machine.capacity[r] for machine in cluster.machines) for r in range(4)]
    pairs = [(task, m) for task in startable(cluster) for m in machines_with_room(cluster, task)]
    a = {pair: alignment(*pair) for pair in pairs}
    p = {(task, m): work_left(cluster.tasks[task].job) for task, m in pairs}
    balance = sum(a.values()) / sum(p.values()) if sum(p.values()) else Fraction(0)
    return {pair: a[pair] - balance * p[pair] for pair in pairs}


def tetris(cluster: Cluster) -> Start:
    scores = tetris_scores(cluster)
    task, machine = max(scores, key=lambda pair: (scores[pair], -pair[0], -pair[1]))
    return task, machine, 1


def least_served(owner: Callable[[Task], int]) -> Policy:
    """One instance for whoever holds the least dominant share, of the first task that fits."""

    def choose(cluster: Cluster) -> Start:
        total = [sum(machine.capacity[r] for machine in cluster.machines) for r in range(4)]

        def dominant_share(who: int) -> Fraction:
            held = [0] * 4
            for run in cluster.running:
                if owner(cluster.tasks[run.task]) == who:
                    held = [
                        h + d for h, d in zip(held, cluster.tasks[run.task].demand, strict=True)
                    ]
            return max(Fraction(held[r], total[r]) for r in range(4) if total[r])

        task = min(
            startable(cluster), key=lambda task: (dominant_share(owner(cluster.tasks[task])), task)
        )
        return task, machines_with_room(cluster, task)[0], 1

    return choose


class Hold(NamedTuple):
    """So many instances of a task on a machine, expected from begin to before end."""

    task: int
    machine: int
    count: int
    begin: float
    end: float


def expected(cluster: Cluster) -> list[Hold]:
    """What runs, and when it is expected to end: later than now."""
    soonest = math.nextafter(cluster.now, math.inf)
    return [
        hold._replace(end=max(hold.end, soonest))
        for run in cluster.running
        for hold in [planned(cluster, run.task, run.machine, 1, run.start)]
    ]


def planned(cluster: Cluster, task: int, machine: int, count: int, begin: float) -> Hold:
    length = cluster.tasks[task].known / cluster.machines[machine].speed
    return Hold(task, machine, count, begin, begin + length)


def free_at(cluster: Cluster, holds: list[Hold], machine: int, moment: float) -> Sizes:
    """What is expected to be free of a machine at a moment."""
    free = list(cluster.machines[machine].capacity)
    for hold in holds:
        if hold.machine == machine and hold.begin <= moment < hold.end:
            for r in range(4):
                free[r] -= hold.count * cluster.tasks[hold.task].demand[r]
    return tuple(free)


def room(cluster: Cluster, holds: list[Hold], task: int, machine: int, begin: float) -> int:
    """How many waiting instances a machine can take at a moment and keep to their end."""
    if not cluster.machines[machine].up or not cluster.may_run(task, machine):
        return 0
    end = planned(cluster, task, machine, 1, begin).end
    moments = [begin, *(hold.begin for hold in holds if begin < hold.begin < end)]
    return min(
        copies_in(free_at(cluster, holds, machine, moment), cluster.tasks[task])
        for moment in moments
    )


def head_start(cluster: Cluster, holds: list[Hold], head: int) -> float:
    """When the first task can start: one instance of it, or all of a gang."""
    it = cluster.tasks[head]
    for moment in sorted({hold.end for hold in holds}):
        copies = sum(
            copies_in(free_at(cluster, holds, machine, moment), it)
            for machine in range(len(cluster.machines))
            if cluster.machines[machine].up and cluster.may_run(head, machine)
        )
        if copies >= (it.waiting() if it.gang else 1):
            return moment
    return NEVER


def easy_backfilling(cluster: Cluster) -> Start | None:
    """In order; a later task starts if, with it, the first one starts no later."""
    head, *others = cluster.ready()
    if cluster.could_start(head):
        return as_many(cluster, head, machines_with_room(cluster, head)[0])
    holds = expected(cluster)
    in_time = head_start(cluster, holds, head)
    for task in others:
        if not cluster.could_start(task):
            continue
        for machine in range(len(cluster.machines)):
            if cluster.tasks[task].gang:
                trials = [cluster.spread(task, machine)]
            else:
                copies = cluster.copies(task, machine)
                trials = [[(machine, count)] for count in range(copies, 0, -1)]
            for trial in trials:
                more = [planned(cluster, task, m, count, cluster.now) for m, count in trial]
                if head_start(cluster, holds + more, head) <= in_time:
                    return task, machine, trial[0][1]
    return None


def conservative_backfilling(cluster: Cluster) -> Start | None:
    """In order; each waiting instance is planned as early as the plans before it allow."""
    holds = expected(cluster)
    machines = range(len(cluster.machines))
    for task in cluster.ready():
        it = cluster.tasks[task]
        if it.gang:
            if cluster.could_start(task):
                for machine in machines:
                    places = cluster.spread(task, machine)
                    if all(room(cluster, holds, task, m, cluster.now) >= n for m, n in places):
                        return task, machine, it.waiting()
            holds += gang_plan(cluster, holds, task)
            continue
        for machine in machines:
            copies = room(cluster, holds, task, machine, cluster.now)
            if copies > 0:
                return task, machine, copies
        for _ in range(it.waiting()):
            holds += instance_plan(cluster, holds, task)
    return None


def moments_after(holds: list[Hold]) -> list[float]:
    """Something can begin only where something else ends."""
    return sorted({hold.end for hold in holds})


def instance_plan(cluster: Cluster, holds: list[Hold], task: int) -> list[Hold]:
    """The earliest place for one instance."""
    for moment in moments_after(holds):
        for machine in range(len(cluster.machines)):
            if room(cluster, holds, task, machine, moment) > 0:
                return [planned(cluster, task, machine, 1, moment)]
    return []


def gang_plan(cluster: Cluster, holds: list[Hold], task: int) -> list[Hold]:
    """The earliest place for all waiting instances at once, machines in order."""
    for moment in moments_after(holds):
        plan, left = [], cluster.tasks[task].waiting()
        for machine in range(len(cluster.machines)):
            here = min(left, room(cluster, holds, task, machine, moment))
            if here > 0:
                plan.append(planned(cluster, task, machine, here, moment))
            left -= here
        if left == 0:
            return plan
    return []


POLICIES: dict[str, Policy] = {
    "first-fit": by(lambda cluster, task: task),
    "fcfs": fcfs,
    "best-fit": best_fit,
    "worst-fit": worst_fit,
    "sjf": by(lambda cluster, task: cluster.tasks[task].known),
    "oracle-sjf": by(lambda cluster, task: cluster.tasks[task].duration),
    "ljf": by(lambda cluster, task: -cluster.tasks[task].known),
    "critical-path": by(lambda cluster, task: -longest_path(cluster, task, lambda it: it.known)),
    "max-weight": by(lambda cluster, task: -weight(cluster, task)),
    "gang": gang,
    "tetris": tetris,
    "drf": least_served(lambda task: task.job),
    "drf-users": least_served(lambda task: task.user),
    "easy-backfilling": easy_backfilling,
    "conservative-backfilling": conservative_backfilling,
}
