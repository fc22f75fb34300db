"""The scenario without a network, slow and obvious: objects, lists, and a look at everything.

Functions of one image, first-fit, round robin, all scalers, how long idle replicas stay and which
make room, nodes that fail, requests that are tried again, functions that call others, contention,
cold starts that claim CPU, transfers that draw power, time limits, queue limits, power models of
all kinds, a grid whose intensity changes. Times are drawn by the same keys as in the kernel.

Of what happens at one instant the kind decides, as ``events`` numbers it, then for replicas their
slots. Requests go by when they came in; in the kernel by their slots, which are used again, so of
requests that end, time out or move data at one instant another may be first. Either is right.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cloudarena.engine.hashing import name_key
from cloudarena.policies.parse import load_function
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.workloads.faas.devices import DEVICES

from .energy import Energy
from .failures import Failures
from .parts import Act, Node, Replica, Request, Timer
from .placing import Placing
from .replicas import Replicas
from .requests import Requests
from .scaling import Scaling


class Reference(Failures, Energy, Placing, Replicas, Requests, Scaling):
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
        self.metered = [[0.0] * 3 for _ in range(count)]
        """Seconds of requests that wait, of cores that are used and of cores that are asked for."""
        self.meters: list[list[list[float]]] = [[[0.0] * 4] for _ in range(count)]
        """At each tick: requests so far, and these three."""
        self.inside_s = [0.0] * count
        self.insides = [[0.0] for _ in range(count)]
        self.suggested = [[f.scaling.minimum] for f in scenario.functions]
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
            if rule.by not in ("none", "per-request"):
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

    def node_names(self) -> list[str]:
        """The names of the nodes."""
        kinds = [node.device.name for node in self.nodes]
        return [f"{kind}-{kinds[:k].count(kind)}" for k, kind in enumerate(kinds)]

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
