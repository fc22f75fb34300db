"""The scenario without a network, slow and obvious: objects, lists, and a look at everything.

Functions of one image, first-fit, round robin, scalers none and average-requests, contention, time
limits, queue limits, linear power. Times are drawn by the same keys as in the kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from cloudarena.engine.hashing import make_key, uniform
from cloudarena.engine.laws import draw, make_laws
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.workloads.faas_devices import DEVICES
from cloudarena.workloads.faas_topology import mbit


@dataclass(eq=False)
class Node:
    """A device and what is on it."""

    device: Any
    replicas: list[Any] = field(default_factory=list)
    images: dict[str, float] = field(default_factory=dict)
    energy: float = 0.0


@dataclass(eq=False)
class Request:
    """A request on its way."""

    function: int
    number: int
    arrival: float
    replica: Any = None
    start: float | None = None
    left: float = 0.0
    state: str = "waiting"
    outcome: str = "unfinished"
    finish: float | None = None


@dataclass(eq=False)
class Replica:
    """A replica: ready from a time on, with a queue."""

    function: int
    node: Node
    ready: float
    slot: int
    """Replicas that are ready at one instant go by their slots, which are used again."""
    queue: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    coming: list[Request] = field(default_factory=list)
    serves: bool = False
    drains: bool = False

    def work(self) -> int:
        """How many requests it has or is about to have."""
        return len(self.queue) + len(self.running) + len(self.coming)


class Reference:
    """A run; ``requests`` and ``nodes`` hold what became of them."""

    def __init__(self, scenario: Any, seed: int) -> None:
        self.spec, self.now = scenario, 0.0
        self.key = make_key(seed, "execution")
        names = scenario.devices.types
        self.nodes = [Node(DEVICES[n]) for n, count in names.items() for _ in range(count)]
        work = draw_requests(
            scenario.functions, None, scenario.duration_s, seed, scenario.load_scale
        )
        self.coming = list(zip(work.arrival_s.tolist(), work.function.tolist(), strict=True))
        self.requests: list[Request] = []
        count = len(scenario.functions)
        self.waiting: list[list[Request]] = [[] for _ in range(count)]
        self.members: list[list[Replica]] = [[] for _ in range(count)]
        self.turn = [0] * count
        self.wanted = [f.scaling.minimum for f in scenario.functions]
        self.placed: list[list[Replica]] = [[] for _ in range(count)]
        self.arrived = [0] * count
        self.ticks = [0] * count
        self.counts = [[0] for _ in range(count)]
        self.changed = [0.0] * count
        self.spare = list(range(255, -1, -1))

    def run(self) -> Reference:
        """Goes from event to event."""
        end = self.spec.duration_s
        self.place_all()
        while True:
            events = self.events()
            time, _, _, act = min(events, key=lambda event: event[:3])
            if time >= end:
                self.pass_time(end)
                return self
            self.pass_time(time)
            act()
            self.place_all()

    def events(self) -> list[tuple[float, int, int, Any]]:
        """All that may happen next, by time, kind and number."""
        events: list[tuple[float, int, int, Any]] = [(math.inf, 9, 0, None)]
        for f, replicas in enumerate(self.placed):
            for replica in replicas:
                if not replica.serves:
                    act = lambda r=replica: self.make_ready(r)  # noqa: E731
                    events.append((replica.ready, 1, replica.slot, act))
            rule = self.spec.functions[f].scaling
            if rule.by != "none":
                due = (self.ticks[f] + 1) * rule.interval_s
                events.append((due, 4, f, lambda f=f: self.scale(f)))
        for k, request in enumerate(self.requests):
            if request.outcome != "unfinished":
                continue
            limit = self.spec.functions[request.function].timeout_s
            if limit is not None:
                gone = request.arrival + limit
                events.append((gone, 3, k, lambda r=request: self.give_up(r)))
            if request.state == "running":
                done = self.now + request.left * self.stretch(request)
                events.append((done, 2, k, lambda r=request: self.complete(r)))
        if self.coming:
            events.append((self.coming[0][0], 5, 0, self.arrive))
        return events

    def executing(self, node: Node) -> list[Request]:
        """The requests that execute on a node."""
        return [r for x in node.replicas for r in x.running if r.state == "running"]

    def load(self, node: Node) -> float:
        """The CPU that is claimed on a node."""
        return sum(self.spec.functions[r.function].image.use.cpu for r in self.executing(node))

    def stretch(self, request: Request) -> float:
        """How much longer than alone a request takes as it stands."""
        if self.spec.contention.model == "none":
            return 1.0
        node = request.replica.node
        bus = sum(
            self.spec.functions[r.function].image.use.cpu
            * self.spec.functions[r.function].memory_bound
            for r in self.executing(node)
        )
        bus = max(1.0, bus / self.spec.contention.memory_saturation)
        bound = self.spec.functions[request.function].memory_bound
        return max(1.0, self.load(node), 1.0 + bound * (bus - 1.0))

    def pass_time(self, time: float) -> None:
        """Lets requests progress and meters count."""
        seconds = time - self.now
        for node in self.nodes:
            power = node.device.power
            node.energy += seconds * (power.idle_w + power.cpu_w * min(1.0, self.load(node)))
        running = [r for r in self.requests if r.state == "running"]
        for request, stretch in [(r, self.stretch(r)) for r in running]:
            request.left -= seconds / stretch
        self.now = time

    def place_all(self) -> None:
        """Places what is wanted, first-fit, as far as it fits."""
        for f, function in enumerate(self.spec.functions):
            while len(self.placed[f]) < self.wanted[f]:
                for node in self.nodes:
                    cpu = sum(
                        self.spec.functions[r.function].image.cpu_millicores for r in node.replicas
                    )
                    if cpu + function.image.cpu_millicores <= node.device.cores * 1000:
                        break
                else:
                    break
                replica = Replica(f, node, math.inf, self.spare.pop())
                node.replicas.append(replica)
                self.placed[f].append(replica)
                self.begin(replica)

    def begin(self, replica: Replica) -> None:
        """A replica is placed: its image is pulled, once for a node."""
        function = self.spec.functions[replica.function]
        pulled = replica.node.images.setdefault(
            function.name, self.now + self.moves(function.image.image_mb)
        )
        replica.ready = max(self.now, pulled) + function.start_s + function.setup_s
        if replica.ready == self.now:
            self.make_ready(replica)

    def moves(self, megabytes: float) -> float:
        """How long bytes take."""
        return float(megabytes * 1e6 / mbit(self.spec.network.bandwidth_mbps))

    def make_ready(self, replica: Replica) -> None:
        """A replica serves, those that waited first."""
        replica.serves = True
        self.members[replica.function].append(replica)
        self.serve(replica)

    def serve(self, replica: Replica) -> None:
        """Free workers take up the next requests."""
        workers = self.spec.functions[replica.function].workers or 1
        while replica.queue and len(replica.running) < workers:
            self.take_up(replica.queue.pop(0), replica)
        line = self.waiting[replica.function]
        while line and not replica.drains and replica.work() < workers:
            self.send(line.pop(0), replica)
        if replica.drains:
            self.stop_if_empty(replica)

    def stop_if_empty(self, replica: Replica) -> None:
        """A replica that drains ends with its last request."""
        if replica.work() == 0:
            replica.node.replicas.remove(replica)
            self.spare.append(replica.slot)

    def send(self, request: Request, replica: Replica) -> None:
        """A request goes to its replica."""
        request.replica = replica
        self.reach(request)

    def reach(self, request: Request) -> None:
        """A request is at its replica."""
        if len(request.replica.running) < (self.spec.functions[request.function].workers or 1):
            self.take_up(request, request.replica)
        else:
            request.state = "queued"
            request.replica.queue.append(request)

    def take_up(self, request: Request, replica: Replica) -> None:
        """A worker takes up a request."""
        request.start = self.now
        replica.running.append(request)
        self.fetch(request)

    def fetch(self, request: Request) -> None:
        """Data comes before a request executes."""
        self.execute(request)

    def execute(self, request: Request) -> None:
        """A request executes."""
        request.state = "running"
        law = make_laws([self.spec.functions[request.function].image.execution.made()])
        request.left = draw(law, 0, uniform(self.key, request.function, request.number))

    def arrive(self) -> None:
        """A request arrives: it waits for a replica, or is routed round robin."""
        time, f = self.coming.pop(0)
        request = Request(f, self.arrived[f], time)
        self.arrived[f] += 1
        self.requests.append(request)
        members, function = self.members[f], self.spec.functions[f]
        if not members or self.waiting[f]:
            self.waiting[f].append(request)
            if self.wanted[f] == 0:
                self.wanted[f], self.changed[f] = 1, self.now
            return
        place = self.turn[f] % len(members)
        self.turn[f] = place + 1
        limit = function.queue_limit
        if limit is not None and members[place].work() - (function.workers or 1) >= limit:
            self.finish(request, "rejected")
        else:
            self.send(request, members[place])

    def finish(self, request: Request, outcome: str) -> None:
        """A request ends."""
        request.outcome, request.finish, request.state = outcome, self.now, "gone"

    def complete(self, request: Request) -> None:
        """A request has executed, and what it has made is stored."""
        self.store(request)

    def store(self, request: Request) -> None:
        """A request is done with its worker."""
        request.replica.running.remove(request)
        self.respond(request)
        self.serve(request.replica)

    def respond(self, request: Request) -> None:
        """The response gets there."""
        self.finish(request, "completed")

    def give_up(self, request: Request) -> None:
        """A request has taken too long."""
        for line in (
            self.waiting[request.function],
            *(
                (request.replica.queue, request.replica.running, request.replica.coming)
                if request.replica
                else ()
            ),
        ):
            if request in line:
                line.remove(request)
        self.finish(request, "timed_out")
        if request.replica:
            self.serve(request.replica)

    def scale(self, f: int) -> None:
        """By average requests over the last interval."""
        rule = self.spec.functions[f].scaling
        self.ticks[f] += 1
        self.counts[f].append(self.arrived[f])
        before = self.counts[f][max(0, len(self.counts[f]) - 1 - rule.window)]
        span = min(self.ticks[f], rule.window) * rule.interval_s
        rate, wanted = (self.arrived[f] - before) / span, self.wanted[f]
        count = wanted
        if wanted > 0 and abs(rate / (wanted * rule.threshold) - 1.0) > rule.tolerance:
            count = math.ceil(rate / rule.threshold - 1e-9)
        if count < wanted and self.now - self.changed[f] < rule.cooldown_s:
            count = wanted
        busy = self.waiting[f] or any(r.running for r in self.all_of(f))
        if count == 0 and busy:
            count = 1
        count = min(max(count, rule.minimum), rule.maximum)
        if count != wanted:
            self.wanted[f], self.changed[f] = count, self.now
        while len(self.placed[f]) > count:
            idle = [r for r in self.placed[f] if not r.serves]
            replica = (idle or self.placed[f])[-1]
            self.placed[f].remove(replica)
            if replica in self.members[f]:
                place = self.members[f].index(replica)
                self.members[f].remove(replica)
                self.turn[f] -= self.turn[f] > place
            replica.drains = True
            self.stop_if_empty(replica)

    def all_of(self, f: int) -> list[Replica]:
        """All replicas of a function that are there, those that drain too."""
        return [r for node in self.nodes for r in node.replicas if r.function == f]
