"""The scenario without a network, slow and obvious: objects, lists, and a look at everything.

Functions of one image, first-fit, round robin, scalers none, average-requests and per-request,
contention, cold starts that claim CPU, transfers that draw power, time limits, queue limits, linear
power, a grid whose intensity changes. Times are drawn by the same keys as in the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cloudarena.engine.hashing import make_key, name_key, uniform
from cloudarena.engine.laws import draw, make_laws
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.workloads.faas.devices import DEVICES
from cloudarena.workloads.faas.functions import start_time
from cloudarena.workloads.faas.topology import mbit

Act = Callable[[], None]


@dataclass(eq=False)
class Node:
    """A device and what is on it."""

    device: Any
    replicas: list[Any] = field(default_factory=list)
    images: dict[str, float] = field(default_factory=dict)
    """When each is there; those on their way too."""
    transfers: list[tuple[Any, int]] = field(default_factory=list)
    """Without a network: for whom, and for which function."""
    energy: float = 0.0
    idle: float = 0.0
    network: float = 0.0
    carbon: float = 0.0


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
    """A replica, its phase and its queue."""

    function: int
    order: int
    node: Node
    slot: int
    """What happens to replicas at one instant goes by their slots, which are used again."""
    phase: str = "pulling"
    pulls: bool = False
    idle_since: float | None = None
    queue: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    coming: list[Request] = field(default_factory=list)
    drains: bool = False

    @property
    def serves(self) -> bool:
        """Whether it has been ready."""
        return self.phase == "running"

    def work(self) -> int:
        """How many requests it has or is about to have."""
        return len(self.queue) + len(self.running) + len(self.coming)


@dataclass(eq=False)
class Timer:
    """Something that happens at a time, in the order of its kind."""

    time: float
    kind: int
    number: int
    owner: Any
    act: Act


class Reference:
    """A run; ``requests``, ``nodes`` and ``used`` hold what became of them."""

    def __init__(self, scenario: Any, seed: int) -> None:
        self.spec, self.now, self.seed = scenario, 0.0, seed
        self.keys = [name_key(function.name) for function in scenario.functions]
        names = scenario.devices.types
        self.nodes = [Node(DEVICES[n]) for n, count in names.items() for _ in range(count)]
        work = draw_requests(
            scenario.functions, None, scenario.duration_s, seed, scenario.load_scale
        )
        self.coming = list(zip(work.arrival_s.tolist(), work.function.tolist(), strict=True))
        self.requests: list[Request] = []
        self.timers: list[Timer] = []
        count = len(scenario.functions)
        self.waiting: list[list[Request]] = [[] for _ in range(count)]
        self.members: list[list[Replica]] = [[] for _ in range(count)]
        self.turn = [0] * count
        self.wanted = [f.scaling.minimum for f in scenario.functions]
        self.placed: list[list[Replica]] = [[] for _ in range(count)]
        self.begun = [0] * count
        self.arrived = [0] * count
        self.ticks = [0] * count
        self.counts = [[0] for _ in range(count)]
        self.changed = [0.0] * count
        self.spare = list(range(255, -1, -1))
        self.used = [
            dict.fromkeys(("dynamic", "start", "network", "idle"), 0.0) for _ in range(count)
        ]

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
        for timer in self.timers:
            events.append((timer.time, timer.kind, timer.number, lambda t=timer: self.ring(t)))
        for f, replicas in enumerate(self.placed):
            rule = self.spec.functions[f].scaling
            for replica in replicas if rule.by == "per-request" else ():
                if replica.idle_since is not None:
                    end = replica.idle_since + rule.expiry_s
                    events.append((end, 1, replica.slot, lambda r=replica: self.expire(r)))
            if rule.by == "average-requests":
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

    def ring(self, timer: Timer) -> None:
        """What was to happen happens."""
        self.timers.remove(timer)
        timer.act()

    def after(self, seconds: float, kind: int, number: int, owner: Any, act: Act) -> None:
        """Something happens later, or at once."""
        if seconds > 0:
            self.timers.append(Timer(self.now + seconds, kind, number, owner, act))
        else:
            act()

    def forget(self, owner: Any) -> None:
        """What was on its way for somebody is given up."""
        self.timers = [timer for timer in self.timers if timer.owner is not owner]
        for node in self.nodes:
            node.transfers = [moves for moves in node.transfers if moves[0] is not owner]

    def executing(self, node: Node) -> list[Request]:
        """The requests that execute on a node."""
        return [r for x in node.replicas for r in x.running if r.state == "running"]

    def cold_claim(self, replica: Replica) -> float:
        """The CPU that the cold start of a replica claims."""
        function, cores = self.spec.functions[replica.function], replica.node.device.cores
        busy = {
            "pulling": function.pull_cores if replica.pulls else 0.0,
            "starting": function.start_cores,
            "setting up": function.setup_cores,
            "running": 0.0,
        }[replica.phase]
        return round(min(1.0, busy / cores) * 1e6) / 1e6

    def claims(self, node: Node) -> list[tuple[int, str, float]]:
        """The CPU that is claimed on a node: by which function, for what, how much."""
        executing = [
            (r.function, "dynamic", self.spec.functions[r.function].image.use.cpu)
            for r in self.executing(node)
        ]
        return executing + [(r.function, "start", self.cold_claim(r)) for r in node.replicas]

    def load(self, node: Node) -> float:
        """The CPU that is claimed on a node."""
        return sum(claim for _, _, claim in self.claims(node))

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
        load = self.load(node)
        return max(1.0, load if load > 1.0 + 1e-9 else 1.0, 1.0 + bound * (bus - 1.0))

    def traffic(self, node: Node) -> list[tuple[int, float]]:
        """What crosses a node's interface: for which function, bytes a second."""
        return [(f, mbit(self.spec.network.bandwidth_mbps)) for _, f in node.transfers]

    def pass_time(self, time: float) -> None:
        """Lets requests progress and meters count."""
        seconds = time - self.now
        grid = self.grid(time) - self.grid(self.now)
        for node in self.nodes:
            power = self.spec.power.devices[node.device.name]
            load = self.load(node)
            dynamic = power.cpu_w * min(1.0, load)
            network = 0.0
            for f, rate in self.traffic(node):
                watts = power.network_w * rate / node.device.nic_bytes_s
                network += watts
                self.used[f]["network"] += watts * seconds
            for f, what, claim in self.claims(node):
                if claim > 0:
                    self.used[f][what] += dynamic * claim / load * seconds
            for replica in node.replicas:
                share = power.idle_w / len(node.replicas)
                self.used[replica.function]["idle"] += share * seconds
            node.idle += power.idle_w * seconds
            node.network += network * seconds
            node.energy += (power.idle_w + dynamic + network) * seconds
            node.carbon += (power.idle_w + dynamic + network) * grid
        running = [r for r in self.requests if r.state == "running"]
        for request, stretch in [(r, self.stretch(r)) for r in running]:
            request.left -= seconds / stretch
        self.now = time

    def grid(self, time: float) -> float:
        """The integral of the grid's intensity in g / J up to a time."""
        rows = [*self.spec.carbon.series, (math.inf, 0.0)]
        spans = itertools.pairwise(rows)
        return sum(g * max(0.0, min(time, end) - begin) for (begin, g), (end, _) in spans) / 3.6e6

    def place_all(self) -> None:
        """Places what is wanted, first-fit, as far as it fits."""
        for f, function in enumerate(self.spec.functions):
            rule = function.scaling
            if rule.by == "per-request":
                needed = math.ceil(len(self.waiting[f]) / (function.workers or 1))
                wanted = max(len(self.members[f]) + needed, len(self.placed[f]), rule.minimum)
                self.wanted[f] = min(wanted, rule.maximum)
            while len(self.placed[f]) < self.wanted[f]:
                for node in self.nodes:
                    cpu = sum(
                        self.spec.functions[r.function].image.cpu_millicores for r in node.replicas
                    )
                    if cpu + function.image.cpu_millicores <= node.device.cores * 1000:
                        break
                else:
                    break
                replica = Replica(f, self.begun[f], node, self.spare.pop())
                self.begun[f] += 1
                node.replicas.append(replica)
                self.placed[f].append(replica)
                self.begin(replica)

    def begin(self, replica: Replica) -> None:
        """A replica is placed: its image is pulled, once for a node."""
        function, node = self.spec.functions[replica.function], replica.node
        if function.name not in node.images:
            replica.pulls = True
            seconds = self.moves(function.image.image_mb)
            node.images[function.name] = self.now + seconds
            if seconds > 0:
                node.transfers.append((function.name, replica.function))
        seconds = node.images[function.name] - self.now
        self.after(seconds, 1, replica.slot, replica, lambda: self.pulled(replica))

    def pulled(self, replica: Replica) -> None:
        """The image of a replica is there."""
        name = self.spec.functions[replica.function].name
        node = replica.node
        node.transfers = [moves for moves in node.transfers if moves[0] != name]
        self.starts(replica)

    def moves(self, megabytes: float) -> float:
        """How long bytes take."""
        return float(megabytes * 1e6 / mbit(self.spec.network.bandwidth_mbps))

    def starts(self, replica: Replica) -> None:
        """A container starts, then fetches what it needs first, then is set up."""
        function = self.spec.functions[replica.function]
        replica.phase, replica.pulls = "starting", False
        seconds = function.start_s
        if seconds is None:
            share = uniform(
                make_key(self.seed, "start"), self.keys[replica.function], replica.order
            )
            seconds = draw(make_laws([start_time(replica.node.device.name)]), 0, share)

        def set_up() -> None:
            replica.phase = "setting up"
            size = function.image.setup_mb
            self.move_data(False, replica.function, replica.node, size, replica, fetched)

        def fetched() -> None:
            ready = lambda: self.make_ready(replica)  # noqa: E731
            self.after(function.setup_s, 1, replica.slot, replica, ready)

        self.after(seconds, 1, replica.slot, replica, set_up)

    def move_data(
        self, stores: bool, f: int, node: Node, megabytes: float, owner: Any, then: Act
    ) -> None:
        """Data of a function moves to or from a node, by itself."""
        if megabytes == 0:
            then()
            return
        moves = (owner, f)
        node.transfers.append(moves)
        is_replica = isinstance(owner, Replica)
        number = owner.slot if is_replica else self.requests.index(owner)

        def moved() -> None:
            node.transfers.remove(moves)
            then()

        self.after(self.moves(megabytes), 1 if is_replica else 2, number, owner, moved)

    def make_ready(self, replica: Replica) -> None:
        """A replica serves, those that waited first."""
        replica.phase = "running"
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
        elif replica.serves and replica.work() == 0:
            replica.idle_since = self.now

    def stop_if_empty(self, replica: Replica) -> None:
        """A replica that drains ends with its last request; one that is not ready at once."""
        if not replica.serves:
            self.forget(replica)
        if replica.work() == 0:
            replica.node.replicas.remove(replica)
            self.spare.append(replica.slot)
            if replica.pulls:
                self.hand_over_pull(replica)

    def hand_over_pull(self, replica: Replica) -> None:
        """A pull goes on for the next that waits for it, or is given up."""
        name, node = self.spec.functions[replica.function].name, replica.node
        heirs = [
            r for r in node.replicas if r.phase == "pulling" and r.function == replica.function
        ]
        if heirs:
            heirs[0].pulls = True
        else:
            del node.images[name]
            self.forget_pull(node, name)

    def forget_pull(self, node: Node, name: str) -> None:
        """Nobody waits for an image any more."""
        node.transfers = [moves for moves in node.transfers if moves[0] != name]

    def expire(self, replica: Replica) -> None:
        """A replica beyond the minimum has been idle for too long."""
        replica.idle_since = None
        if (
            len(self.placed[replica.function])
            > self.spec.functions[replica.function].scaling.minimum
        ):
            self.remove(replica)

    def send(self, request: Request, replica: Replica) -> None:
        """A request goes to its replica."""
        request.replica = replica
        replica.idle_since = None
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
        request.state = "fetching"
        size = self.spec.functions[request.function].image.input_mb
        then = lambda: self.execute(request)  # noqa: E731
        self.move_data(False, request.function, request.replica.node, size, request, then)

    def execute(self, request: Request) -> None:
        """A request executes."""
        request.state = "running"
        law = make_laws([self.spec.functions[request.function].image.execution.made()])
        key = make_key(self.seed, "execution")
        request.left = draw(law, 0, uniform(key, self.keys[request.function], request.number))

    def arrive(self) -> None:
        """A request arrives: it waits for a replica, or is routed."""
        time, f = self.coming.pop(0)
        request = Request(f, self.arrived[f], time)
        self.arrived[f] += 1
        self.requests.append(request)
        members, function = self.members[f], self.spec.functions[f]
        workers = function.workers or 1
        if function.scaling.by == "per-request":
            free = [r for r in members if r.work() < workers] if not self.waiting[f] else []
            room = (function.scaling.maximum - len(members)) * workers
            if free:
                self.send(request, max(free, key=self.placed[f].index))
            elif len(self.waiting[f]) >= room:
                self.finish(request, "rejected")
            else:
                self.waiting[f].append(request)
            return
        if not members or self.waiting[f]:
            self.waiting[f].append(request)
            if self.wanted[f] == 0:
                self.wanted[f], self.changed[f] = 1, self.now
            return
        place = self.turn[f] % len(members)
        self.turn[f] = place + 1
        limit = function.queue_limit
        if limit is not None and members[place].work() - workers >= limit:
            self.finish(request, "rejected")
        else:
            self.send(request, members[place])

    def finish(self, request: Request, outcome: str) -> None:
        """A request ends."""
        request.outcome, request.finish, request.state = outcome, self.now, "gone"

    def complete(self, request: Request) -> None:
        """A request has executed, and what it has made is stored."""
        request.state = "storing"
        size = self.spec.functions[request.function].image.output_mb
        then = lambda: self.store(request)  # noqa: E731
        self.move_data(True, request.function, request.replica.node, size, request, then)

    def store(self, request: Request) -> None:
        """A request is done with its worker."""
        request.replica.running.remove(request)
        self.respond(request)
        self.serve(request.replica)

    def respond(self, request: Request) -> None:
        """The response gets there."""
        self.finish(request, "completed")

    def give_up(self, request: Request) -> None:
        """A request has taken too long; what moved for it is given up with it."""
        self.forget(request)
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
            self.remove((idle or self.placed[f])[-1])

    def remove(self, replica: Replica) -> None:
        """A replica takes no more requests, and ends when it has none."""
        f = replica.function
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
