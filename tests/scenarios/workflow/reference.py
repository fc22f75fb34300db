"""The workflow scenario once more, slow and obvious: event by event, in plain Python.

Written from the fact sheet and the issue, not from the kernel. Times, work and money are fractions,
so that simultaneous is simultaneous, a fit is a fit and an hour is an hour: 0.1 is a tenth. Nothing
is kept up to date that can be summed again.

At one instant: all completions, then starts from the queues of their nodes, then what comes in
(in order of decision), then arrivals, then decisions (in order of workflow and function), of which
each takes effect before the next.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

HOUR = 3600


def exact(value: float) -> Fraction:
    """The number as a person would write it: 0.1 is a tenth."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))


@dataclass(eq=False)
class Function:
    """A function, and what becomes of it."""

    workflow: int
    number: int
    computation: int
    memory_req: int
    parallelism: int
    parents: list[tuple[Function, int]] = field(default_factory=list)  # and bytes
    children: list[Function] = field(default_factory=list)
    node: Node | None = None
    memory: int = 0
    submission: Fraction | None = None
    not_before: Fraction | None = None
    boots: bool = False
    cold_start: Fraction | None = None
    data_transfer: Fraction | None = None
    creation: Fraction | None = None
    start: Fraction | None = None
    completion: Fraction | None = None


@dataclass(eq=False)
class Workflow:
    """A workflow that arrives."""

    arrival: Fraction
    functions: list[Function]

    def completion(self) -> Fraction:
        return max(function.completion for function in self.functions)

    def makespan(self) -> Fraction:
        return self.completion() - self.arrival


class Sharing(NamedTuple):
    """How the cores of a node are shared."""

    cores: int
    core_speed: int
    whole: bool

    def speed(self, function: Function, threads: int) -> Fraction:
        """Operations a second of a container while so many threads are on the node."""
        per_thread = Fraction(self.core_speed)
        if threads > self.cores:
            per_thread = Fraction(self.cores * self.core_speed, threads)
            per_thread = Fraction(math.floor(per_thread)) if self.whole else per_thread
        degraded = min(Fraction(1), Fraction(function.memory, function.memory_req))
        speed = degraded * per_thread * function.parallelism
        return Fraction(math.floor(speed)) if self.whole else speed

    def speeds(self, running: Iterable[Function]) -> dict[Function, Fraction]:
        """The speed of each of the containers that run together."""
        threads = sum(function.parallelism for function in running)
        return {function: self.speed(function, threads) for function in running}

    def after(
        self, left: Mapping[Function, Fraction], duration: Fraction
    ) -> dict[Function, Fraction]:
        """What is left of each container's work at the next start or finish."""
        done = {function: speed * duration for function, speed in self.speeds(left).items()}
        return {
            function: rest - (math.floor(done[function]) if self.whole else done[function])
            for function, rest in left.items()
        }

    def finishes(self, left: Mapping[Function, Fraction], time: Fraction) -> dict[Function, Any]:
        """When each would finish at its present speed; those that stand still are left out."""
        return {
            function: time + left[function] / speed
            for function, speed in self.speeds(left).items()
            if speed > 0
        }

    def forecast(
        self, left: Mapping[Function, Fraction], time: Fraction, coming: Mapping[Function, Fraction]
    ) -> dict[Function, Fraction]:
        """When each container completes, if those that come start then and nothing else does."""
        left, coming, completions = dict(left), dict(coming), {}
        while left or coming:
            finishes = self.finishes(left, time)
            event = min([*finishes.values(), *coming.values()])
            left = self.after(left, event - time)
            time = event
            for function in [f for f, finish in finishes.items() if finish == event]:
                completions[function] = event
                del left[function]
            for function in [f for f, begin in coming.items() if begin == event]:
                left[function] = Fraction(function.computation)
                del coming[function]
        return completions


@dataclass(eq=False)
class Node:
    """A NUMA node and the containers that run on it, come to it, and wait for its memory."""

    server: Server
    number: int
    memory: int
    sharing: Sharing
    left: dict[Function, Fraction] = field(default_factory=dict)
    clock: Fraction = Fraction(0)  # the last start or finish
    coming: list[Function] = field(default_factory=list)
    queue: list[Function] = field(default_factory=list)
    history: list[tuple[Any, ...]] = field(default_factory=list)

    def free_memory(self) -> int:
        return self.memory - sum(function.memory for function in self.left)

    def parallelism(self) -> int:
        return sum(function.parallelism for function in self.left)

    def utilisation(self) -> Fraction:
        capacity = self.sharing.cores * self.sharing.core_speed
        return sum(self.sharing.speeds(self.left).values(), Fraction(0)) / capacity

    def state(self) -> tuple[Any, ...]:
        """Utilisation of the cores and the memory, load, threads, free memory."""
        used, threads = Fraction(self.memory - self.free_memory(), self.memory), self.parallelism()
        load = Fraction(threads, self.sharing.cores)
        return self.utilisation(), used, load, threads, self.free_memory()

    def finishes(self) -> dict[Function, Fraction]:
        return self.sharing.finishes(self.left, self.clock)

    def forecast(self, *more: tuple[Function, Fraction]) -> dict[Function, Fraction]:
        """When all that runs or comes completes, and what else would come at some time."""
        coming = {function: function.creation for function in self.coming}
        return self.sharing.forecast(self.left, self.clock, {**coming, **dict(more)})

    def work_until(self, now: Fraction) -> None:
        self.left = self.sharing.after(self.left, now - self.clock)
        self.clock = now

    def start(self, function: Function, now: Fraction) -> None:
        self.work_until(now)
        self.left[function] = Fraction(function.computation)
        function.start = now

    def finish(self, function: Function, now: Fraction) -> None:
        self.work_until(now)
        del self.left[function]
        function.completion = now

    def create(self, function: Function, now: Fraction, admission: str) -> None:
        """The data is there: the container starts, or waits for memory."""
        waits = function.memory > self.free_memory() or (admission == "strict" and self.queue)
        if waits:
            self.queue.append(function)
        else:
            self.start(function, now)

    def examine_queue(self, now: Fraction, admission: str) -> None:
        for function in list(self.queue):
            if function.memory <= self.free_memory():
                self.queue.remove(function)
                self.start(function, now)
            elif admission != "backfill":
                return

    def record(self, now: Fraction) -> None:
        """Notes the state from now on."""
        if self.history and self.history[-1][0] == now:
            self.history.pop()
        self.history.append((now, *self.state()))


@dataclass(eq=False)
class Server:
    """A server that is rented by the hour."""

    kind: str
    number: int
    hourly_rate: Fraction
    latency: Fraction
    nodes: list[Node] = field(default_factory=list)
    expiry: Fraction = Fraction(0)
    boot_end: Fraction = Fraction(0)

    def boot_left(self, now: Fraction) -> Fraction:
        """How long a function that is sent here now has to wait for the server."""
        return self.latency if now >= self.expiry else max(Fraction(0), self.boot_end - now)

    def renew(self, now: Fraction) -> Lease | None:
        """Rents whole hours more if a container that runs or comes would outlast the lease."""
        latest = max([t for node in self.nodes for t in node.forecast().values()], default=now)
        if latest <= self.expiry:
            return None
        start = max(now, self.expiry)
        hours = math.ceil((latest - start) / HOUR)
        self.expiry = start + HOUR * hours
        return Lease(self, now, start, self.expiry, hours, hours * self.hourly_rate)


class Lease(NamedTuple):
    """Hours of a server."""

    server: Server
    rented: Fraction
    start: Fraction
    expiry: Fraction
    hours: int
    rent: Fraction


class Bandwidths(NamedTuple):
    """Bytes a second, and whether the data of all parents come one after the other."""

    memory: Fraction
    numa: Fraction
    network: Fraction
    one_by_one: bool

    def between(self, one: Node, other: Node) -> Fraction:
        if one is other:
            return self.memory
        return self.numa if one.server is other.server else self.network

    def transfer(self, function: Function, node: Node) -> Fraction:
        """How long the data of a function takes to a node."""
        times = [size / self.between(it.node, node) for it, size in function.parents]
        return sum(times, Fraction(0)) if self.one_by_one else max(times, default=Fraction(0))


class Question(NamedTuple):
    """Says where a function goes, with how much memory."""

    now: Fraction
    function: Function
    workflow: Workflow
    nodes: list[Node]
    bandwidths: Bandwidths
    remaining_path: Fraction
    critical_path: Fraction


class Outcome(NamedTuple):
    """What became of it all."""

    metrics: dict[str, Any]
    workflows: list[Workflow]
    critical_paths: list[Fraction]
    nodes: list[Node]
    leases: list[Lease]
    decisions: list[Function]
    series: list[dict[str, Any]]
    end: Fraction


def make_nodes(spec: Any) -> list[Node]:
    """All NUMA nodes, in the order of the spec."""
    nodes = []
    for kind in spec.cluster.servers:
        for number in range(kind.count):
            rate, latency = exact(kind.hourly_rate), exact(kind.cold_start_latency)
            server = Server(kind.name, number, rate, latency)
            cpu, speed = kind.numa_nodes.cpu, spec.cluster.single_core_speed
            for place in range(kind.numa_nodes.count):
                sharing = Sharing(cpu, speed, spec.work == "integer")
                server.nodes.append(Node(server, place, kind.numa_nodes.memory, sharing))
            nodes += server.nodes
    return nodes


def make_workflows(rows: Iterable[Mapping[str, Any]]) -> list[Workflow]:
    """The workflows as a user writes them into a spec."""
    workflows = []
    for w, row in enumerate(rows):
        functions = [
            Function(w, k, it["computation"], it["memory_req"], it.get("parallelism", 1))
            for k, it in enumerate(row["functions"])
        ]
        for parent, child, size in row.get("edges", ()):
            functions[child].parents.append((functions[parent], size))
            functions[parent].children.append(functions[child])
        workflows.append(Workflow(exact(row.get("arrival", 0)), functions))
    return workflows


def remaining_path(function: Function, core_speed: int) -> Fraction:
    """From the start of a function to the end of its workflow on idle cores, without transfers."""
    after = [remaining_path(child, core_speed) for child in function.children]
    own = Fraction(function.computation, function.parallelism * core_speed)
    return own + max(after, default=Fraction(0))


def critical_path(workflow: Workflow, core_speed: int) -> Fraction:
    return max(remaining_path(function, core_speed) for function in workflow.functions)


def steps(
    spec: Any, rows: Iterable[Mapping[str, Any]]
) -> Generator[Question, tuple[int, ...], Outcome]:
    """Runs a spec, asking for (node, memory) at each decision, or (node, memory, not_before)."""
    nodes, workflows = make_nodes(spec), make_workflows(rows)
    cluster, speed = spec.cluster, spec.cluster.single_core_speed
    bandwidths = Bandwidths(
        exact(cluster.memory_bandwidth),
        exact(cluster.numa_bandwidth),
        exact(cluster.network_bandwidth),
        spec.transfer == "sum",
    )
    paths = [critical_path(workflow, speed) for workflow in workflows]
    to_arrive = list(workflows)
    leases: list[Lease] = []
    decisions: list[Function] = []
    series: list[dict[str, Any]] = []
    now = Fraction(0)
    for node in nodes:
        node.record(now)

    while True:
        times = [workflow.arrival for workflow in to_arrive]
        for node in nodes:
            times += [*node.finishes().values(), *(function.creation for function in node.coming)]
        if not times:
            break
        now = min(times)
        submitted: list[Function] = []

        freed: list[Node] = []
        for node in nodes:
            finished = [function for function, time in node.finishes().items() if time == now]
            for function in finished:
                node.finish(function, now)
            freed += [node] if finished else []
            for function in finished:
                submitted += [
                    child
                    for child in function.children
                    if all(parent.completion is not None for parent, _ in child.parents)
                    and child not in submitted
                ]
        for node in freed:
            node.examine_queue(now, spec.admission)
        for server in dict.fromkeys(node.server for node in freed):
            leases += filter(None, [server.renew(now)])

        for function in list(decisions):
            if function.creation == now and function in function.node.coming:
                function.node.coming.remove(function)
                function.node.create(function, now, spec.admission)

        for workflow in [workflow for workflow in to_arrive if workflow.arrival == now]:
            to_arrive.remove(workflow)
            submitted += [function for function in workflow.functions if not function.parents]

        for function in sorted(submitted, key=lambda it: (it.workflow, it.number)):
            function.submission = now
            workflow, path = workflows[function.workflow], paths[function.workflow]
            place, memory, *held = yield Question(
                now, function, workflow, nodes, bandwidths, remaining_path(function, speed), path
            )
            function.not_before = held[0] if held else None
            node = nodes[place]
            function.node, function.memory = node, memory
            function.boots = now >= node.server.expiry
            function.cold_start = node.server.latency if function.boots else Fraction(0)
            if function.boots:
                node.server.boot_end = now + node.server.latency
            function.data_transfer = bandwidths.transfer(function, node)
            function.creation = max(now, node.server.boot_end) + function.data_transfer
            if function.not_before is not None:
                function.creation = max(function.creation, function.not_before)
            decisions.append(function)
            if function.creation == now:
                node.create(function, now, spec.admission)
            else:
                node.coming.append(function)
            leases += filter(None, [node.server.renew(now)])

        for node in nodes:
            node.record(now)
        series.append(
            {
                "time_s": now,
                "workflows": sum(
                    workflow.arrival <= now
                    and any(function.completion is None for function in workflow.functions)
                    for workflow in workflows
                ),
                "parallelism": sum(node.parallelism() for node in nodes),
                "memory_mb": sum(node.memory - node.free_memory() for node in nodes),
                "rent_usd": sum((lease.rent for lease in leases), Fraction(0)),
            }
        )

    metrics = measure(spec, workflows, paths, nodes, leases, now)
    return Outcome(metrics, workflows, paths, nodes, leases, decisions, series, now)


def measure(
    spec: Any,
    workflows: list[Workflow],
    paths: list[Fraction],
    nodes: list[Node],
    leases: list[Lease],
    end: Fraction,
) -> dict[str, Any]:
    """The metrics, from what was written down."""
    functions = [function for workflow in workflows for function in workflow.functions]
    makespans = [workflow.makespan() for workflow in workflows]
    slowdowns = [span / path for span, path in zip(makespans, paths, strict=True)]
    rent = sum((lease.rent for lease in leases), Fraction(0))
    weight, scale = exact(spec.objective.weight), exact(spec.objective.rent_scale)
    busy = Fraction(0)  # core-seconds
    for node in nodes:
        for record, until in pieces(node, end):
            busy += (until - record[0]) * record[1] * node.sharing.cores
    return {
        "unserved_share": Fraction(0),
        "workflows": len(workflows),
        "functions": len(functions),
        "makespan_sum_s": sum(makespans),
        "makespan_mean_s": sum(makespans) / len(makespans),
        "makespan_p50_s": quantile(makespans, Fraction(1, 2)),
        "makespan_p95_s": quantile(makespans, Fraction(95, 100)),
        "slowdown_mean": sum(slowdowns) / len(slowdowns),
        "cost_usd": rent,
        "rent_usd": rent,
        "weighted_cost": weight * sum(makespans) + (1 - weight) * scale * rent,
        "mean_cpu_utilisation": busy / (sum(node.sharing.cores for node in nodes) * end),
        "memory_wait_s": sum(function.start - function.creation for function in functions),
        "transfer_s": sum(function.data_transfer for function in functions),
        "cold_starts": sum(function.boots for function in functions),
    }


def quantile(values: Iterable[Fraction], share: Fraction) -> Fraction:
    """By linear interpolation between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


def pieces(node: Node, end: Fraction) -> list[tuple[tuple[Any, ...], Fraction]]:
    """The states of a node, each with when it ends; one that does not change is one."""
    changes = [
        record
        for before, record in zip([None, *node.history], node.history, strict=False)
        if before is None or before[1:] != record[1:]
    ]
    ends = [record[0] for record in changes[1:]] + [end]
    return [
        (record, until) for record, until in zip(changes, ends, strict=True) if until > record[0]
    ]


def simulate(
    spec: Any,
    rows: Iterable[Mapping[str, Any]],
    placements: Mapping[tuple[int, int], tuple[int, ...]],
) -> Outcome:
    """Runs a spec with given placements by (workflow, function)."""
    run = steps(spec, rows)
    try:
        question = next(run)
        while True:
            function = question.function
            question = run.send(placements[function.workflow, function.number])
    except StopIteration as end:
        return end.value
