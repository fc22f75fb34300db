"""The faas scenario on SimPy: what a user of SimPy would write for the same model.

A process per request, which waits for a worker of its replica, claims shares of the node, executes
and is interrupted when others slow it down; a process per replica, which lives through its phases;
a process per function, which scales it. Nodes boot, are switched off when they are empty, and meter
their power whenever it changes, for each function: of what executes, of cold starts, which claim
CPU, and of data that is fetched. Placement is by highest performance (HPST).

Left out, and not used by the scenario that is compared: networks, pulls, time-outs, queue limits,
other routers than least-loaded, other scalers than average-requests, scaling from zero, carbon.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import simpy

from cloudarena.scenarios.faas import FaasRun
from cloudarena.scenarios.faas.state import POWERED, WHOLE, Resource

Process = Generator[simpy.Event, Any, None]
SLOTS = 1024
BUS, CPU, MEMORY = int(Resource.BUS), int(Resource.CPU), int(Resource.MEMORY)


@dataclass(slots=True, eq=False)
class Image:
    """An image of a function, and what it does on each type of device."""

    cpu: int
    memory: int
    accelerator: int
    accelerator_memory: int
    setup_bytes: float
    memory_bound: float
    claims: list[tuple[int, ...] | None]
    """Of cpu, accelerator, disk, network, memory and bus, in millionths; None: cannot run."""
    cold_claims: list[list[int]]
    """By device: CPU while a replica pulls, starts and is set up, in millionths."""
    mean_s: list[float]
    times: list[list[float]]
    """By device and number of the request, alone on the node."""


@dataclass(slots=True, eq=False)
class Function:
    """A function, its replicas and the requests that wait for one."""

    spec: Any
    workers: int
    images: list[Image]
    wanted: int
    starts: list[list[float]]
    """How long containers take to start: by device, and the order of replicas."""
    replicas: list[Replica] = field(default_factory=list)
    """Without those that drain, the oldest first,"""
    ready: list[Replica] = field(default_factory=list)
    """and those of them that take requests."""
    waiting: deque[simpy.Event] = field(default_factory=deque)
    arrived: int = 0
    begun: int = 0
    changed: float = 0.0
    responses: list[float] = field(default_factory=list)
    dynamic_j: float = 0.0
    start_j: float = 0.0
    network_j: float = 0.0
    idle_j: float = 0.0


class Node:
    """A device: what is free, what executes, and what it draws."""

    def __init__(self, platform: Platform, row: Any) -> None:
        self.platform, self.env = platform, platform.env
        self.device = int(row["device_type"])
        self.accelerator = int(row["accelerator"])
        self.free_cpu, self.free_memory = int(row["free_cpu"]), int(row["free_memory"])
        self.free_accelerator_memory = int(row["free_accelerator_memory"])
        self.idle_w, self.off_w, self.boot_w = (
            float(row[name]) for name in ("idle_w", "off_w", "boot_w")
        )
        self.boot_s = float(row["boot_s"])
        self.coefficients: list[float] = row["coefficient_w"].tolist()
        self.transfer_w, self.transfers = float(row["transfer_w"]), 0
        self.state = "on"
        self.booted = 0.0
        self.replicas = 0
        self.emptied = 0.0
        self.running: dict[Invocation, None] = {}
        self.load = [0] * (BUS + 1)
        self.over = [1.0] * (BUS + 1)
        self.since, self.power, self.energy = 0.0, self.idle_w, 0.0
        self.share_w, self.share_j = self.idle_w, 0.0
        self.unit_w, self.unit_j = [0.0] * POWERED, [0.0] * POWERED
        self.env.process(self.switch_off())

    def meter(self) -> None:
        """Adds up what was drawn since the last change."""
        seconds = self.env.now - self.since
        if seconds > 0.0:
            self.since = self.env.now
            self.energy += (self.power + self.transfers * self.transfer_w) * seconds
            self.share_j += self.share_w * seconds
            for r in range(POWERED):
                self.unit_j[r] += self.unit_w[r] * seconds

    def set_power(self) -> None:
        """Finds what is drawn from now on."""
        base = {"on": self.idle_w, "off": self.off_w, "booting": self.boot_w}[self.state]
        self.share_w = base / self.replicas if self.replicas else base
        self.power = base
        for r in range(POWERED):
            part = self.coefficients[r] * min(self.load[r], WHOLE) / WHOLE
            self.unit_w[r] = part / self.load[r] if self.load[r] else 0.0
            self.power += part

    def change_load(self, claim: tuple[int, ...], sign: int) -> None:
        """An invocation begins or ends; those whose speed has changed are interrupted."""
        for r in range(BUS + 1):
            self.load[r] += sign * claim[r]
        self.set_power()
        if not self.platform.contention:
            return
        over = [max(1.0, load / WHOLE) for load in self.load]
        if over != self.over:
            self.over = over
            for invocation in self.running:
                if invocation.stretch != self.stretch(invocation.image):
                    invocation.process.interrupt()

    def stretch(self, image: Image) -> float:
        """How many times longer than alone an invocation takes."""
        claim = image.claims[self.device]
        assert claim is not None
        worst = 1.0 + image.memory_bound * (self.over[BUS] - 1.0)
        for r in range(MEMORY):
            if claim[r] > 0:
                worst = max(worst, self.over[r])
        return worst

    def fits(self, image: Image) -> bool:
        """Whether the predicates let a replica run here."""
        return (
            image.claims[self.device] is not None
            and image.cpu <= self.free_cpu
            and image.memory <= self.free_memory
            and (
                image.accelerator == 0
                or (
                    image.accelerator == self.accelerator
                    and image.accelerator_memory <= self.free_accelerator_memory
                )
            )
        )

    def hold(self, image: Image, sign: int) -> None:
        """A replica comes or goes; the node boots for the first one."""
        self.meter()
        self.free_cpu -= sign * image.cpu
        self.free_memory -= sign * image.memory
        self.free_accelerator_memory -= sign * image.accelerator_memory
        self.replicas += sign
        if self.state == "off":
            self.state, self.booted = "booting", self.env.now + self.boot_s
            self.env.process(self.boot())
        elif self.state == "on" and self.replicas == 0:
            self.env.process(self.switch_off())
        self.set_power()

    def boot(self) -> Process:
        yield self.env.timeout(self.boot_s)
        self.meter()
        self.state = "on"
        if self.replicas == 0:
            self.env.process(self.switch_off())
        self.set_power()

    def switch_off(self) -> Process:
        """Off when the node has been empty for long enough."""
        emptied = self.emptied = self.env.now
        yield self.env.timeout(self.platform.off_after_s)
        if self.replicas == 0 and self.state == "on" and self.emptied == emptied:
            self.meter()
            self.state = "off"
            self.set_power()


class Replica:
    """A replica, from when it is placed."""

    def __init__(self, platform: Platform, function: Function, image: Image, node: Node) -> None:
        self.platform, self.env = platform, platform.env
        self.function, self.image, self.node = function, image, node
        self.work = 0
        """Requests that it has."""
        self.order = function.begun
        function.begun += 1
        self.claimed, self.claim_j, self.moves_since = 0, 0.0, math.inf
        self.slot = platform.slots.pop()
        self.ready_s = math.inf
        self.is_ready = self.drains = False
        self.workers = simpy.Resource(self.env, function.workers)
        node.hold(image, 1)
        self.share_j = node.share_j
        function.replicas.append(self)
        self.life = self.env.process(self.live())

    def live(self) -> Process:
        """Scheduled until its node has booted, then starts, sets up and takes requests."""
        function, node = self.function, self.node
        _, start, set_up = self.image.cold_claims[node.device]
        try:
            if node.state == "booting":
                yield self.env.timeout(node.booted - self.env.now)
            self.claim(start)
            yield self.env.timeout(function.starts[node.device][self.order])
            self.claim(set_up)
            if self.image.setup_bytes > 0:
                self.move(1)
                yield self.env.timeout(self.image.setup_bytes / self.platform.bandwidth)
                self.move(-1)
            if function.spec.setup_s > 0:
                yield self.env.timeout(function.spec.setup_s)
            self.claim(0)
        except simpy.Interrupt:  # it is not wanted any more
            if self.moves_since < math.inf:
                self.move(-1)
            self.claim(0)
            return
        self.is_ready, self.ready_s = True, self.env.now
        function.ready.append(self)
        function.ready.sort(key=attrgetter("ready_s", "slot"))
        self.serve_waiting()

    def claim(self, amount: int) -> None:
        """Its cold start claims so much of the CPU from now on."""
        node = self.node
        node.meter()
        self.function.start_j += self.claimed * (node.unit_j[CPU] - self.claim_j)
        node.change_load((amount - self.claimed, *[0] * BUS), 1)
        self.claimed, self.claim_j = amount, node.unit_j[CPU]

    def move(self, change: int) -> None:
        """The data that it needs first begins to come, or has come."""
        self.node.meter()
        self.node.transfers += change
        if change > 0:
            self.moves_since = self.env.now
        else:
            self.function.network_j += (self.env.now - self.moves_since) * self.node.transfer_w
            self.moves_since = math.inf

    def serve_waiting(self) -> None:
        """Free workers take up what waits for a replica."""
        while self.function.waiting and self.work < self.function.workers:
            self.work += 1
            self.function.waiting.popleft().succeed(self)

    def release(self) -> None:
        """A worker is free."""
        self.work -= 1
        if not self.drains:
            self.serve_waiting()
        elif self.work == 0:
            self.stop()
            self.platform.place()

    def drain(self) -> None:
        """It takes no more requests, and stops when it has none."""
        self.function.replicas.remove(self)
        self.drains = True
        if self.is_ready:
            self.function.ready.remove(self)
        elif self.life.is_alive:
            self.life.interrupt()
        if self.work == 0:
            self.stop()

    def stop(self) -> None:
        self.node.hold(self.image, -1)
        self.function.idle_j += self.node.share_j - self.share_j
        self.platform.slots.append(self.slot)


@dataclass(slots=True, eq=False)
class Invocation:
    """A request that executes."""

    image: Image
    process: simpy.Process
    stretch: float


class Platform:
    """A run: nodes, functions, and what becomes of requests."""

    def __init__(self, run: FaasRun, functions: list[Function]) -> None:
        scenario, world = run.scenario, run.world
        self.env = simpy.Environment()
        self.contention = scenario.contention.model == "shared"
        self.off_after_s = scenario.power.off_after_s
        self.bandwidth = float(world.rules[0]["bandwidth"])
        self.end_s = scenario.duration_s
        self.nodes = [Node(self, row) for row in world.nodes]
        self.functions = functions
        self.slots = list(range(SLOTS))[::-1]
        """Of replicas; of those that are ready at one instant the lowest comes first."""
        self.place()
        for function in functions:
            self.env.process(self.scale(function))
        arrivals = zip(world.arrivals.tolist(), world.arriving.tolist(), strict=True)
        self.env.process(self.arrive(list(arrivals)))

    def run(self) -> None:
        self.env.run(until=self.end_s)
        for node in self.nodes:
            node.meter()

    def arrive(self, arrivals: list[tuple[float, int]]) -> Process:
        """Requests come."""
        for time, f in arrivals:
            yield self.env.timeout(time - self.env.now)
            self.env.process(self.serve(self.functions[f]))

    def serve(self, function: Function) -> Process:
        """A request: from its arrival to its response."""
        arrival, number = self.env.now, function.arrived
        function.arrived += 1
        if not function.ready or function.waiting:
            turn = self.env.event()
            function.waiting.append(turn)
            replica = yield turn
        else:
            replica = min(function.ready, key=lambda one: one.work)
            replica.work += 1
        with replica.workers.request() as worker:
            yield worker
            yield from self.execute(function, replica, number)
        function.responses.append(self.env.now - arrival)
        replica.release()

    def execute(self, function: Function, replica: Replica, number: int) -> Process:
        """A request claims its share of the node and executes, as fast as others let it."""
        node, image = replica.node, replica.image
        claim = image.claims[node.device]
        assert claim is not None
        assert self.env.active_process is not None
        node.meter()
        before = node.unit_j.copy()
        node.change_load(claim, 1)
        invocation = Invocation(image, self.env.active_process, 1.0)
        node.running[invocation] = None
        left = image.times[node.device][number]
        while left > 0.0:
            invocation.stretch, begin = node.stretch(image), self.env.now
            try:
                yield self.env.timeout(left * invocation.stretch)
                left = 0.0
            except simpy.Interrupt:
                left -= (self.env.now - begin) / invocation.stretch
        node.meter()
        del node.running[invocation]
        function.dynamic_j += sum(claim[r] * (node.unit_j[r] - before[r]) for r in range(POWERED))
        node.change_load(claim, -1)

    def scale(self, function: Function) -> Process:
        """By requests a second for each replica, as Kubernetes does."""
        rule, counts = function.spec.scaling, [0]
        if rule.by == "none":
            return
        while True:
            yield self.env.timeout(rule.interval_s)
            counts.append(function.arrived)
            ticks = min(len(counts) - 1, rule.window)
            rate = (counts[-1] - counts[-1 - ticks]) / (ticks * rule.interval_s)
            count, before = function.wanted, function.wanted
            if abs(rate / (before * rule.threshold) - 1.0) > rule.tolerance:
                count = math.ceil(rate / rule.threshold - 1e-9)
            if count < before and self.env.now - function.changed < rule.cooldown_s:
                count = before
            count = min(max(count, rule.minimum), rule.maximum)
            if count != before:
                function.wanted, function.changed = count, self.env.now
            while len(function.replicas) > count:
                late = [replica for replica in function.replicas if not replica.is_ready]
                (late or function.replicas)[-1].drain()
            self.place()

    def place(self) -> None:
        """Places what is wanted, each on the node where it executes fastest."""
        for function in self.functions:
            while len(function.replicas) < function.wanted:
                found = [
                    (image.mean_s[node.device], number, image)
                    for number, node in enumerate(self.nodes)
                    if (image := next((i for i in function.images if node.fits(i)), None))
                ]
                if not found:
                    break
                _, number, image = min(found, key=lambda one: one[:2])
                Replica(self, function, image, self.nodes[number])
