"""The scenario without a network, slow and obvious: objects, lists, and a look at everything.

Functions of one image, first-fit, round robin, scalers none, average-requests and per-request,
how long idle replicas stay and which make room,
nodes that fail, requests that are tried again, functions that call others,
contention, cold starts that claim CPU, transfers that draw power, time limits, queue limits, power
models of all kinds, a grid whose intensity changes. Times are drawn by the same keys as in the
kernel.

Of what happens at one instant the kind decides, as ``events`` numbers it, then for replicas their
slots. Requests go by when they came in; in the kernel by their slots, which are used again, so of
requests that end, time out or move data at one instant another may be first. Either is right.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloudarena.engine.hashing import make_key, name_key, uniform
from cloudarena.engine.variates import draw, make_distributions
from cloudarena.policies.parse import load_function
from cloudarena.scenarios.faas.kernel.calls import call_number
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.scenarios.faas.state import Choices, Claim, Idle, Load, Step
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
    aged: float = 0.0
    """The rank of the last replica that was evicted there."""
    failed: bool = False
    state: str = "on"
    changes: float | None = None
    """When it has booted, or is switched off."""
    supply: Any = None
    charge: float = 0.0
    sun: float = 0.0
    spilled: float = 0.0
    grid: float = 0.0
    """From the grid, where there is a battery."""
    out: bool = False
    """Whether its battery is empty, and it has failed for that."""
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
    early: bool = False
    """Whether it ended within the warm-up."""
    tries: int = 0
    caller: Any = None
    """The request that waits for it."""
    calls: list[Any] | None = None
    """The calls that it still makes; None before it has executed."""
    open: int = 0
    broken: bool = False
    came_first: float = 0.0
    """When the first of those came that call each other down to this one."""

    def __post_init__(self) -> None:
        self.came_first = self.arrival


@dataclass(eq=False)
class Replica:
    """A replica, its phase and its queue."""

    function: int
    order: int
    node: Node
    slot: int
    """What happens to replicas at one instant goes by their slots, which are used again."""
    phase: str = "scheduled"
    pulls: bool = False
    ends: float | None = None
    """When it ends unless a request comes."""
    placed_s: float = 0.0
    ready_s: float = 0.0
    served: int = 0
    rank: float = 0.0
    idle_from: float = 0.0
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


def power_at(power: Any, use: float) -> float:
    """The watts of a power model at a utilisation of the CPU, with all else idle."""
    if power.model == "points":
        points = power.points or [(k / 10, watts) for k, watts in enumerate(power.watts)]
        for (low, at_low), (high, at_high) in itertools.pairwise(points):
            if low <= use <= high:
                return at_low + (at_high - at_low) * (use - low) / (high - low)
    if power.model == "curve":
        return power.idle_w + (power.busy_w - power.idle_w) * (2 * use - use**power.r)
    return power.idle_w + power.cpu_w * use


def idle_power(power: Any) -> float:
    """The watts of a power model with nothing to do."""
    return power_at(power, 0.0)


class Reference:
    """A run; ``requests``, ``nodes`` and ``used`` hold what became of them."""

    def __init__(self, scenario: Any, seed: int) -> None:
        self.spec, self.now, self.seed = scenario, 0.0, seed
        self.keys = [name_key(function.name) for function in scenario.functions]
        names = scenario.devices.types
        self.nodes = [Node(DEVICES[n]) for n, count in names.items() for _ in range(count)]
        load = scenario.warmup_s if scenario.load_from_s is None else scenario.load_from_s
        span = scenario.duration_s - load
        work = draw_requests(scenario.functions, None, span, seed, scenario.load_scale)
        self.coming = list(
            zip((work.arrival_s + load).tolist(), work.function.tolist(), strict=True)
        )
        self.requests: list[Request] = []
        self.timers: list[Timer] = []
        count = len(scenario.functions)
        self.waiting: list[list[Request]] = [[] for _ in range(count)]
        self.members: list[list[Replica]] = [[] for _ in range(count)]
        self.turn = [0] * count
        self.own_router, self.own_contention, self.own_keep, self.own_evict, *lifecycle = (
            None
            if text is None
            else load_function(Path(text.rpartition(":")[0]), text.split(":")[-1])
            for text in scenario.own_functions
        )
        self.lifecycle = dict(zip(("start", "setup", "execution"), lifecycle, strict=True))
        self.wanted = [f.scaling.minimum for f in scenario.functions]
        self.placed: list[list[Replica]] = [[] for _ in range(count)]
        self.begun = [0] * count
        self.arrived = [0] * count
        self.own = [0] * count
        self.retried = 0
        self.outages = self.listed_outages()
        self.ticks = [0] * count
        self.counts = [[0] for _ in range(count)]
        self.inside_s = [0.0] * count
        self.insides = [[0.0] for _ in range(count)]
        self.suggested: list[list[int]] = [[] for _ in range(count)]
        self.panic: list[float | None] = [None] * count
        self.panic_most = [0] * count
        self.changed = [0.0] * count
        self.spare = list(range(255, -1, -1))
        self.history: list[Replica] = []
        self.gaps: list[list[float]] = [[] for _ in range(count)]
        self.ahead, self.uses, self.evictions = [0] * count, [0] * count, 0
        self.ahead_at: list[float | None] = [None] * count
        self.idle_from: list[float | None] = [None] * count
        self.keep_until = [f.scaling.idle_times.range_s for f in scenario.functions]
        self.cpu_s = [0.0] * count
        """What each function has used of CPU, in seconds of whole nodes, the warm-up too."""
        self.warming = scenario.warmup_s > 0
        self.begin_counting()

    def begin_counting(self) -> None:
        """What is counted begins at zero; requests that have ended do not count."""
        self.used = [dict.fromkeys(("dynamic", "start", "network", "idle"), 0.0) for _ in self.keys]
        self.evictions = 0
        self.wasted = [0.0] * len(self.keys)
        for node in self.nodes:
            node.energy = node.idle = node.network = node.carbon = 0.0
            node.sun = node.spilled = node.grid = 0.0
        for request in self.requests:
            request.early = request.outcome != "unfinished"

    def warm(self) -> None:
        """The warm-up is over."""
        self.warming = False
        self.begin_counting()

    def run(self) -> Reference:
        """Goes from event to event."""
        end = self.spec.duration_s
        for node in self.nodes:
            self.stays_empty(node)
        for name, node in zip(self.node_names(), self.nodes, strict=True):
            supplies = self.spec.power.supplies
            node.supply = supplies.get(name, supplies.get(node.device.name))
            if node.supply is not None:
                node.charge = node.supply.charge * node.supply.battery_wh * 3600
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
                if replica.ends is not None:
                    act = lambda r=replica: self.expire(r)  # noqa: E731
                    events.append((replica.ends, 1, replica.slot, act))
            if self.ahead_at[f] is not None:
                events.append((self.ahead_at[f], 4, f, lambda f=f: self.start_ahead(f)))
            if rule.by in ("average-requests", "concurrency"):
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
        for k, node in enumerate(self.nodes):
            if node.changes is not None:
                events.append((node.changes, -0.5, k, lambda n=node: self.switch(n)))
        if self.coming:
            events.append((self.coming[0][0], 5, 0, self.arrive))
        if self.warming:
            events.append((self.spec.warmup_s, -2, 0, self.warm))
        for k, node in enumerate(self.nodes):
            if node.supply is not None:
                events += [(time, -1.5, k, self.sunshine) for time in self.supply_times(node)]
        if self.outages:
            events.append((self.outages[0][0], -1, 0, self.outage))
        return events

    def stays_empty(self, node: Node) -> None:
        """A node that is on and empty is switched off after a while, if the spec says so."""
        after = self.spec.power.off_after_s
        node.changes = None if after is None else self.now + after

    def switch(self, node: Node) -> None:
        """A node has booted, or is switched off."""
        boots, node.changes = node.state == "booting", None
        node.state = "on" if boots else "off"
        if boots and not node.replicas:
            self.stays_empty(node)

    def node_names(self) -> list[str]:
        """The names of the nodes."""
        kinds = [node.device.name for node in self.nodes]
        return [f"{kind}-{kinds[:k].count(kind)}" for k, kind in enumerate(kinds)]

    def listed_outages(self) -> list[tuple[float, bool, Any]]:
        """When something fails, or works again: what works again goes first."""
        failures = self.spec.topology.failures
        begins = [(failure.at_s, True, failure) for failure in failures]
        ends = [(one.at_s + one.for_s, False, one) for one in failures if one.for_s is not None]
        return sorted([*begins, *ends], key=lambda outage: outage[:2])

    def outage(self) -> None:
        """Something fails, or works again."""
        _, fails, failure = self.outages.pop(0)
        if failure.link is not None:
            self.change_link(failure.link, fails)
            return
        node = self.nodes[self.node_names().index(failure.node)]
        if fails:
            self.fail_node(node)
        else:
            self.repair(node)

    def repair(self, node: Node) -> None:
        """A node works again, and is on."""
        node.failed, node.state = False, "on"
        self.stays_empty(node)

    def sun_w(self, node: Node, time: float) -> float:
        """What the panels of a node give."""
        return [watts for begin, watts in node.supply.rows() if begin <= time][-1]

    def surplus_w(self, node: Node) -> float:
        """What the panels of a node give beyond what it draws."""
        return self.sun_w(node, self.now) - sum(self.watts(node))

    def supply_times(self, node: Node) -> list[float]:
        """When the sun changes, and a battery runs empty or holds enough."""
        times = [begin for begin, _ in node.supply.rows() if begin > self.now]
        watts, full = self.surplus_w(node), node.supply.battery_wh * 3600
        targets = [0.0] if watts < 0 else [node.supply.least_charge * full]
        if node.out:
            targets.append(node.supply.restart_charge * full)
        for target in targets:
            lacks = target - node.charge
            if watts != 0 and lacks / watts > 0 and abs(lacks) > full * 1e-9:
                times.append(self.now + lacks / watts)
        return times

    def sunshine(self) -> None:
        """Nodes without a grid fail with an empty battery, and work again with enough."""
        for node in self.nodes:
            if node.supply is None or node.supply.grid:
                continue
            full = node.supply.battery_wh * 3600
            if not node.out and node.charge < full * 1e-9 and self.surplus_w(node) < 0:
                node.out = True
                self.fail_node(node)
            elif node.out and node.charge > full * (node.supply.restart_charge - 1e-9):
                node.out = False
                self.repair(node)

    def fail_node(self, node: Node) -> None:
        """A node fails with all that is on it."""
        there = [r for r in self.requests if r.outcome == "unfinished" and r.state != "waiting"]
        there = [r for r in there if r.replica is not None and r.replica.node is node]
        for request in sorted(there, key=lambda r: (r.arrival, r.function, r.number)):
            self.fail(request)
        for replica in reversed(list(node.replicas)):
            if replica.drains:
                self.stop_if_empty(replica)
            else:
                self.remove(replica)
        node.failed, node.changes = True, None
        for f in range(len(self.spec.functions)):
            self.serve_members(f)

    def serve_members(self, f: int) -> None:
        """Free workers of a function take up what waits."""
        for member in self.members[f]:
            while self.waiting[f] and member.work() < (self.spec.functions[f].workers or 1):
                self.send(self.waiting[f].pop(0), member)

    def change_link(self, ends: tuple[str, str], fails: bool) -> None:
        """A link fails, or works again; there are none without a network."""
        raise AssertionError("without a network no link can fail")

    def fail(self, request: Request) -> None:
        """A request has failed, or its node: it is begun again, if it may be."""
        f = request.function
        self.take_away(request)
        if request.tries < self.spec.functions[f].retries:
            request.tries += 1
            self.retried += 1
            request.state, request.start, request.replica = "waiting", None, None
            request.calls, request.open, request.broken = None, 0, False
            self.waiting[f].append(request)
            if self.wanted[f] == 0:
                self.wanted[f], self.changed[f] = 1, self.now
        else:
            self.finish(request, "failed")

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
            "scheduled": 0.0,
            "pulling": function.pull_cores if replica.pulls else 0.0,
            "starting": function.start_cores,
            "setting up": function.setup_cores,
            "running": 0.0,
        }[replica.phase]
        return round(min(1.0, busy / cores) * 1e6) / 1e6

    def differs(self, f: int, node: Node) -> Any:
        """What the spec says of a function on a type of device, if anything."""
        return self.spec.functions[f].by_device.get(node.device.name)

    def cpu_use(self, f: int, node: Node) -> float:
        """The CPU that an invocation claims on a node."""
        entry = self.differs(f, node)
        use = self.spec.functions[f].image.use if entry is None or entry.use is None else entry.use
        return use.cpu

    def may_be(self, f: int, node: Node) -> bool:
        """Whether the placement of a function, and of those on a node, let it be there."""
        names = [function.name for function in self.spec.functions]
        rule = self.spec.functions[f].placement
        there = [names[replica.function] for replica in node.replicas]
        avoided = {name for replica in node.replicas for name in self.apart(replica.function)}
        return (
            (rule.devices is None or node.device.name in rule.devices)
            and (rule.tiers is None or node.device.tier in rule.tiers)
            and (not rule.near or any(name in there for name in rule.near))
            and not any(name in there for name in rule.apart)
            and names[f] not in avoided
            and there.count(names[f]) < (rule.per_node or math.inf)
            and self.keeps_budget(f, node)
        )

    def keeps_budget(self, f: int, node: Node) -> bool:
        """Whether a node draws no more than its budget with one more invocation of a function."""
        power, load = self.spec.power.devices[node.device.name], self.load(node)
        watts = self.capped(node, load) + power_at(power, min(1.0, load + self.cpu_use(f, node)))
        watts -= power_at(power, min(1.0, load))
        budget = self.spec.scheduler.most_node_w.get(node.device.name, math.inf)
        return watts <= budget + 1e-9

    def apart(self, f: int) -> tuple[str, ...]:
        """The functions that a function avoids."""
        return self.spec.functions[f].placement.apart

    def drawn(self, what: str, replica: Replica) -> float | None:
        """The drawn start or set-up of a replica, by its device or function; or None."""
        function, entry = (
            self.spec.functions[replica.function],
            self.differs(replica.function, replica.node),
        )
        time = getattr(entry, what, None) or getattr(function, what)
        if time is None:
            return None
        share = uniform(make_key(self.seed, what), self.keys[replica.function], replica.order)
        return draw(make_distributions([time.made()]), 0, share)

    def claims(self, node: Node) -> list[tuple[int, str, float]]:
        """The CPU that is claimed on a node: by which function, for what, how much."""
        executing = [
            (r.function, "dynamic", self.cpu_use(r.function, node)) for r in self.executing(node)
        ]
        return executing + [(r.function, "start", self.cold_claim(r)) for r in node.replicas]

    def load(self, node: Node) -> float:
        """The CPU that is claimed on a node."""
        return sum(claim for _, _, claim in self.claims(node))

    def stretch(self, request: Request) -> float:
        """How much longer than alone a request takes as it stands."""
        node = request.replica.node
        if self.spec.contention.model == "none":
            return self.throttle(node)
        bus = sum(
            self.cpu_use(r.function, node) * self.spec.functions[r.function].memory_bound
            for r in self.executing(node)
        )
        bound = self.spec.functions[request.function].memory_bound
        load, saturation = self.load(node), self.spec.contention.memory_saturation
        if self.own_contention is not None:
            use = self.cpu_use(request.function, node)
            shown = Load(load, 0, 0, 0, 0, bus / saturation, len(self.executing(node)), 0)
            shown = shown._replace(cores=node.device.cores)
            claim = Claim(use, 0, 0, 0, 0, use * bound / saturation, bound)
            return self.own_contention(shown, claim) * self.throttle(node)
        bus = max(1.0, bus / saturation)
        slow = max(1.0, load if load > 1.0 + 1e-9 else 1.0, 1.0 + bound * (bus - 1.0))
        return slow * self.throttle(node)

    def capped(self, node: Node, load: float) -> float:
        """What a node draws at a load, transfers apart."""
        watts = power_at(self.spec.power.devices[node.device.name], min(1.0, load))
        return min(watts, self.spec.power.caps.get(node.device.name, math.inf))

    def throttle(self, node: Node) -> float:
        """How much slower executions are since the node has a cap."""
        power, load = self.spec.power.devices[node.device.name], self.load(node)
        idle = idle_power(power)
        wanted, given = power_at(power, min(1.0, load)), self.capped(node, load)
        return (wanted - idle) / (given - idle) if wanted > given else 1.0

    def watts(self, node: Node) -> tuple[float, float, float]:
        """What a node draws: idle, for its work, and for transfers."""
        power = self.spec.power.devices[node.device.name]
        network = sum(rate for _, rate in self.traffic(node)) / node.device.nic_bytes_s
        idle_w = idle_power(power)
        if node.failed:
            return 0.0, 0.0, network * power.network_w
        if node.state == "off":
            return self.spec.power.off_w, 0.0, network * power.network_w
        if node.state == "booting":
            boot_w = self.spec.power.boot_w
            full = power_at(power, 1.0) if boot_w is None else boot_w
            return full, 0.0, network * power.network_w
        return idle_w, self.capped(node, self.load(node)) - idle_w, network * power.network_w

    def traffic(self, node: Node) -> list[tuple[int, float]]:
        """What crosses a node's interface: for which function, bytes a second."""
        return [(f, mbit(self.spec.network.bandwidth_mbps)) for _, f in node.transfers]

    def pass_time(self, time: float) -> None:
        """Lets requests progress and meters count."""
        seconds = time - self.now
        for node in self.nodes:
            grid = self.grid(node, time) - self.grid(node, self.now)
            power = self.spec.power.devices[node.device.name]
            load = self.load(node)
            idle_w, dynamic, network = self.watts(node)
            for f, rate in self.traffic(node):
                watts = power.network_w * rate / node.device.nic_bytes_s
                self.used[f]["network"] += watts * seconds
            for f, what, claim in self.claims(node):
                if claim > 0:
                    self.used[f][what] += dynamic * claim / load * seconds
                    self.cpu_s[f] += min(1.0, load) * claim / load * seconds
            for replica in node.replicas:
                share = idle_w / len(node.replicas)
                self.used[replica.function]["idle"] += share * seconds
                if replica.serves and not replica.running:
                    memory = self.spec.functions[replica.function].image.memory_mb
                    self.wasted[replica.function] += memory * seconds
            node.idle += idle_w * seconds
            node.network += network * seconds
            node.energy += (idle_w + dynamic + network) * seconds
            if node.supply is None:
                node.carbon += (idle_w + dynamic + network) * grid
                continue
            sun = self.sun_w(node, self.now)
            node.sun += sun * seconds
            charge = node.charge + (sun - idle_w - dynamic - network) * seconds
            full = node.supply.battery_wh * 3600
            node.charge = min(full, max(0.0, charge))
            node.spilled += max(0.0, charge - full)
            if charge < -1e-9 * full:
                node.grid -= charge
                node.carbon -= charge * grid / seconds
        for request in self.requests:
            if request.outcome == "unfinished":
                self.inside_s[request.function] += seconds
        running = [r for r in self.requests if r.state == "running"]
        for request, stretch in [(r, self.stretch(r)) for r in running]:
            request.left -= seconds / stretch
        self.now = time

    def zone_of(self, node: Node) -> str:
        """The zone of a node; there are none without a network."""
        return ""

    def grid(self, node: Node, time: float) -> float:
        """The integral of the intensity of a node's grid in g / J up to a time."""
        carbon = self.spec.carbon
        rows = [*carbon.zones.get(self.zone_of(node), carbon).series, (math.inf, 0.0)]
        spans = itertools.pairwise(rows)
        return sum(g * max(0.0, min(time, end) - begin) for (begin, g), (end, _) in spans) / 3.6e6

    def place_all(self) -> None:
        """Places what is wanted, first-fit, as far as it fits, the first function first."""
        while self.place_one():
            pass

    def place_one(self) -> bool:
        """Places a replica of the first function that lacks one and finds a node."""
        for f, function in enumerate(self.spec.functions):
            rule = function.scaling
            if rule.by == "per-request":
                needed = math.ceil(len(self.waiting[f]) / (function.workers or 1))
                wanted = max(len(self.members[f]) + needed, len(self.placed[f]), rule.minimum)
                self.wanted[f] = min(max(wanted, self.ahead[f]), rule.maximum)
            if len(self.placed[f]) < self.wanted[f]:
                can = [node for node in self.nodes if self.fits(f, node, node.replicas)]
                if not can and self.waiting[f] and self.spec.evict != "none":
                    can = self.make_room(f)
                if not can:
                    continue
                node = can[0]
                replica = Replica(f, self.begun[f], node, self.spare.pop())
                replica.placed_s, self.ahead[f] = self.now, 0
                self.begun[f] += 1
                node.replicas.append(replica)
                self.history.append(replica)
                self.placed[f].append(replica)
                self.schedule(replica)
                return True
        return False

    def fits(self, f: int, node: Node, there: list[Any]) -> bool:
        """Whether a node can take a function beside some of the replicas there."""
        cpu = sum(self.spec.functions[r.function].image.cpu_millicores for r in there)
        room = node.device.cores * 1000 - cpu
        if node.supply is not None:
            full = node.supply.battery_wh * 3600
            if node.charge < (node.supply.least_charge - 1e-9) * full:
                return False
        return (
            not node.failed
            and self.may_be(f, node)
            and self.spec.functions[f].image.cpu_millicores <= room
        )

    def make_room(self, f: int) -> list[Node]:
        """Idle replicas go, the lowest rank first, on the node of the first of them."""
        nodes = self.nodes
        while True:
            victims = []
            for node in nodes:
                idle = [r for r in node.replicas if self.may_go(r)]
                if self.fits(f, node, [r for r in node.replicas if r not in idle]):
                    victims += idle
            if not victims:
                return []
            if self.own_evict is not None:
                for idle in victims:
                    idle.rank = self.own_evict(self.idle(idle))
            victim = min(victims, key=lambda r: (r.rank, self.history.index(r)))
            nodes = [victim.node]
            victim.node.aged = max(victim.node.aged, victim.rank)
            self.evictions += 1
            self.remove(victim)
            if self.fits(f, nodes[0], nodes[0].replicas):
                return nodes

    def idle(self, replica: Replica) -> Idle:
        """What a function of the user's sees of a replica that is idle."""
        f, function = replica.function, self.spec.functions[replica.function]
        return Idle(
            now_s=self.now,
            idle_s=self.now - replica.idle_from,
            memory_mb=function.image.memory_mb,
            cold_s=replica.ready_s - replica.placed_s,
            uses=self.uses[f],
            served=replica.served,
            replicas=len(self.members[f]),
            node=self.nodes.index(replica.node),
        )

    def choices(self, members: list[Replica], workers: int) -> Choices:
        """What a router of the user's sees."""
        nodes = [replica.node for replica in members]
        return Choices(
            node=[self.nodes.index(node) for node in nodes],
            cores=[node.device.cores for node in nodes],
            load=[self.load(node) for node in nodes],
            work=[replica.work() for replica in members],
            workers=[workers] * len(members),
            latency_s=[0.0] * len(members),
            power_w=[sum(self.watts(node)[:2]) for node in nodes],
            served=[replica.served for replica in members],
        )

    def may_go(self, replica: Replica) -> bool:
        """Whether a replica is idle, and its function has more than its fewest."""
        rule = self.spec.functions[replica.function].scaling
        return (
            rule.by == "per-request"
            and replica.serves
            and replica.work() == 0
            and len(self.placed[replica.function]) > rule.minimum
        )

    def become_idle(self, replica: Replica) -> None:
        """A replica has nothing to do: until when it stays."""
        f = replica.function
        function = self.spec.functions[f]
        rule = function.scaling
        if rule.by != "per-request":
            return
        replica.rank = self.now
        if self.spec.evict == "greedy-dual":
            value = self.uses[f] * (replica.ready_s - replica.placed_s) / function.image.memory_mb
            replica.rank = replica.node.aged + value
        keep = rule.keep or self.spec.keep
        replica.idle_from = self.now
        if self.own_keep is not None and rule.keep is None:
            replica.ends = self.now + self.own_keep(self.idle(replica))
            return
        if keep == "forever":
            return
        if keep == "fixed":
            replica.ends = self.now + rule.expiry_s
            return
        begin, until = self.warm_window(f)
        if self.waiting[f] or any(r.work() for r in self.members[f]):
            replica.ends = self.now + until
        elif not replica.served:
            replica.ends = max(self.now, self.keep_until[f])
        else:
            self.idle_from[f], self.keep_until[f] = self.now, self.now + until
            if begin > 0:
                self.ahead_at[f] = self.now + begin
            for member in self.members[f]:
                member.ends = self.now if begin > 0 else self.keep_until[f]

    def warm_window(self, f: int) -> tuple[float, float]:
        """From when to when after its last invocation a function should have a replica."""
        rule = self.spec.functions[f].scaling.idle_times
        known = sorted(b for b in (int(gap / rule.bin_s) for gap in self.gaps[f]) if b < rule.bins)
        counts = [known.count(b) for b in range(rule.bins)]
        if not known or len(self.gaps[f]) > 2 * len(known):
            return 0.0, rule.bins * rule.bin_s
        if statistics.pstdev(counts) < rule.least_variation * statistics.fmean(counts):
            return 0.0, rule.bins * rule.bin_s
        head, tail = (
            next(b for k, b in enumerate(known, 1) if k >= share * len(known))
            for share in (rule.head, rule.tail)
        )
        begin = head * rule.bin_s * (1 - rule.margin)
        return begin, (tail + 1) * rule.bin_s * (1 + rule.margin)

    def start_ahead(self, f: int) -> None:
        """A replica is started before the next request comes."""
        self.ahead_at[f], self.ahead[f] = None, 1

    def count_gap(self, f: int) -> None:
        """The idle time of a function is over."""
        if self.idle_from[f] is not None:
            self.gaps[f].append(self.now - self.idle_from[f])
        self.idle_from[f], self.ahead_at[f], self.ahead[f] = None, None, 0

    def schedule(self, replica: Replica) -> None:
        """A replica is placed: it begins once the scheduler is done and its node is on."""
        node, ready = replica.node, self.now + self.spec.scheduler.delay_s
        if node.state == "off":
            node.state, node.changes = "booting", self.now + self.spec.power.boot_s
        elif node.state == "on":
            node.changes = None
        if node.state == "booting":
            ready = max(ready, node.changes)

        def begin() -> None:
            replica.phase = "pulling"
            self.begin(replica)

        self.after(ready - self.now, 1, replica.slot, replica, begin)

    def begin(self, replica: Replica) -> None:
        """A replica begins: its image is pulled, once for a node."""
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
        seconds = self.drawn("start", replica)
        if seconds is None:
            seconds = function.start_s
        if seconds is None:
            share = uniform(
                make_key(self.seed, "start"), self.keys[replica.function], replica.order
            )
            seconds = draw(make_distributions([start_time(replica.node.device.name)]), 0, share)
        seconds = self.lasts("start", replica, seconds)

        def set_up() -> None:
            replica.phase = "setting up"
            size = function.image.setup_mb
            self.move_data(False, replica.function, replica.node, size, replica, fetched)

        def fetched() -> None:
            ready = lambda: self.make_ready(replica)  # noqa: E731
            seconds = self.drawn("setup", replica)
            seconds = function.setup_s if seconds is None else seconds
            seconds = self.lasts("setup", replica, seconds)
            self.after(seconds, 1, replica.slot, replica, ready)

        self.after(seconds, 1, replica.slot, replica, set_up)

    def lasts(self, what: str, replica: Replica, seconds: float) -> float:
        """How long a step takes: as drawn, or as a function of the user's says."""
        rule, node = self.lifecycle[what], replica.node
        if rule is None:
            return seconds
        step = Step(
            now_s=self.now,
            drawn_s=seconds,
            function=replica.function,
            node=self.nodes.index(node),
            cores=node.device.cores,
            load=self.load(node),
            replicas=len(node.replicas),
            served=replica.served,
        )
        return float(rule(step))

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
        replica.phase, replica.ready_s = "running", self.now
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
            self.become_idle(replica)

    def stop_if_empty(self, replica: Replica) -> None:
        """A replica that drains ends with its last request; one that is not ready at once."""
        if not replica.serves:
            self.forget(replica)
        if replica.work() == 0:
            replica.node.replicas.remove(replica)
            if not replica.node.replicas and replica.node.state == "on":
                self.stays_empty(replica.node)
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
        replica.ends = None
        if (
            len(self.placed[replica.function])
            > self.spec.functions[replica.function].scaling.minimum
        ):
            self.remove(replica)

    def send(self, request: Request, replica: Replica) -> None:
        """A request goes to its replica."""
        request.replica = replica
        replica.ends = None
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
        replica.served += 1
        self.uses[request.function] += 1
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
        entry = self.differs(request.function, request.replica.node)
        time = self.spec.functions[request.function].image.execution
        if entry is not None and entry.execution is not None:
            time = entry.execution
        distribution = make_distributions([time.made()])
        key = make_key(self.seed, "execution")
        share = uniform(key, self.keys[request.function], request.number)
        if time.distribution == "recorded":
            share = (request.number % len(time.seconds) + 0.5) / len(time.seconds)
        request.left = self.lasts("execution", request.replica, draw(distribution, 0, share))

    def arrive(self) -> None:
        """A request arrives: it waits for a replica, or is routed."""
        time, f = self.coming.pop(0)
        self.own[f] += 1
        self.enter(Request(f, self.own[f] - 1, time))

    def enter(self, request: Request) -> None:
        """A request comes in."""
        f = request.function
        self.arrived[f] += 1
        self.requests.append(request)
        members, function = self.members[f], self.spec.functions[f]
        workers = function.workers or 1
        if function.scaling.by == "per-request":
            if (function.scaling.keep or self.spec.keep) == "hybrid-histogram":
                self.count_gap(f)
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
        if self.own_router is not None:
            place = int(self.own_router(self.choices(members, workers)))
        limit = function.queue_limit
        if limit is not None and members[place].work() - workers >= limit:
            self.finish(request, "rejected")
        else:
            self.send(request, members[place])

    def finish(self, request: Request, outcome: str) -> None:
        """A request ends."""
        request.outcome, request.finish, request.state = outcome, self.now, "gone"
        caller = request.caller
        if caller is not None:
            caller.open -= 1
            caller.broken |= outcome != "completed"
            if caller.open == 0 and not caller.calls:
                self.soon(caller, lambda: self.store(caller))

    def soon(self, request: Request, act: Act) -> None:
        """Something happens to a request at this instant, after what happens now."""
        number = self.requests.index(request)
        self.timers.append(Timer(self.now, 2, number, request, act))

    def call(self, request: Request) -> None:
        """A request makes its next call."""
        function = self.spec.functions[request.function]
        total = sum(call.count for call in function.calls)
        call = request.calls.pop(0)
        which = total - len(request.calls) - 1
        key = self.keys[request.function]
        number = call_number(key, request.number, which, request.tries)
        names = [one.name for one in self.spec.functions]
        made = Request(names.index(call.function), number, self.now)
        if call.wait:
            made.caller = request
            request.open += 1
        made.came_first = request.came_first
        if request.calls:
            self.soon(request, lambda: self.call(request))
        elif request.open == 0:
            self.soon(request, lambda: self.store(request))
        self.enter(made)

    def complete(self, request: Request) -> None:
        """A request has executed, and what it has made is stored, unless it fails."""
        f, replica = request.function, request.replica
        key = make_key(self.seed, "failure")
        if (
            uniform(key, self.keys[f] + request.tries, request.number)
            < self.spec.functions[f].failure_share
        ):
            self.fail(request)
            self.serve(replica)
            self.serve_members(f)
            return
        request.state = "storing"
        size = self.spec.functions[request.function].image.output_mb
        then = lambda: self.store(request)  # noqa: E731
        self.move_data(True, request.function, request.replica.node, size, request, then)

    def store(self, request: Request) -> None:
        """A request is done with its worker once it has made its calls and has the answers."""
        if request.calls is None:
            calls = self.spec.functions[request.function].calls
            request.calls = [call for call in calls for _ in range(call.count)]
            if request.calls:
                request.state = "calling"
                self.soon(request, lambda: self.call(request))
                return
        request.replica.running.remove(request)
        if request.broken:
            self.finish(request, "failed")
        else:
            self.respond(request)
        self.serve(request.replica)

    def respond(self, request: Request) -> None:
        """The response gets there."""
        self.finish(request, "completed")

    def give_up(self, request: Request) -> None:
        """A request has taken too long."""
        self.take_away(request)
        self.finish(request, "timed_out")
        if request.replica:
            self.serve(request.replica)

    def take_away(self, request: Request) -> None:
        """A request is taken from where it is; what moved for it is given up with it."""
        self.forget(request)
        for other in self.requests:
            if other.caller is request:
                other.caller = None
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

    def concurrency(self, f: int, intervals: int) -> float:
        """The requests in the system over the last intervals, on average."""
        past = self.insides[f]
        span = min(len(past) - 1, intervals)
        interval_s = self.spec.functions[f].scaling.interval_s
        return (past[-1] - past[-1 - span]) / (span * interval_s)

    def by_concurrency(self, f: int) -> int:
        """As many replicas as Knative gives."""
        rule, ready = self.spec.functions[f].scaling, max(1, len(self.members[f]))
        least, most = ready // rule.most_down, math.ceil(ready * rule.most_up)
        calm, surge = (
            math.ceil(self.concurrency(f, window) / rule.threshold - 1e-9)
            for window in (rule.window, rule.panic_window)
        )
        count, urgent = (int(min(max(one, least), most)) for one in (calm, surge))
        panic = self.panic[f]
        if surge / ready >= rule.panic_threshold:
            self.panic[f] = self.now
        elif panic is not None and self.now - panic > rule.window * rule.interval_s:
            self.panic[f], self.panic_most[f] = None, 0
        if self.panic[f] is not None:
            count = self.panic_most[f] = max(count, urgent, self.panic_most[f])
        return count

    def scale(self, f: int) -> None:
        """By average requests over the last intervals, or by those in the system."""
        rule = self.spec.functions[f].scaling
        self.ticks[f] += 1
        self.counts[f].append(self.arrived[f])
        self.insides[f].append(self.inside_s[f])
        before = self.counts[f][max(0, len(self.counts[f]) - 1 - rule.window)]
        span = min(self.ticks[f], rule.window) * rule.interval_s
        rate, wanted = (self.arrived[f] - before) / span, self.wanted[f]
        count = wanted
        if wanted > 0 and abs(rate / (wanted * rule.threshold) - 1.0) > rule.tolerance:
            count = math.ceil(rate / rule.threshold - 1e-9)
        if rule.by == "concurrency":
            count = self.by_concurrency(f)
        self.suggested[f].append(count)
        if count < wanted:
            count = min(wanted, max(self.suggested[f][-1 - rule.stabilisation :]))
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
        if not self.placed[f]:
            self.uses[f] = 0
        if replica in self.members[f]:
            place = self.members[f].index(replica)
            self.members[f].remove(replica)
            self.turn[f] -= self.turn[f] > place
        replica.drains = True
        self.stop_if_empty(replica)

    def all_of(self, f: int) -> list[Replica]:
        """All replicas of a function that are there, those that drain too."""
        return [r for node in self.nodes for r in node.replicas if r.function == f]
