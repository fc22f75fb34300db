"""The scenario with a network, slow and obvious: each flow looks at all the others.

Images come from the registry, data from the nearest holder, requests and responses from and to a
gateway after the latency of their way. All flows share links max-min fairly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cloudarena.engine.hashing import make_key, uniform
from cloudarena.scenarios.faas.build_network import build_ground
from cloudarena.workloads.faas_devices import DEVICES
from cloudarena.workloads.faas_topology import draw_latency, find_routes

from .reference import Node, Reference, Replica, Request

Act = Callable[[], None]


@dataclass(eq=False)
class Flow:
    """Bytes on their way."""

    links: list[int]
    left: float
    owner: Any
    arrives: Act
    rate: float = 0.0


@dataclass(eq=False)
class Timer:
    """Something that happens at a time, in the order of its kind."""

    time: float
    kind: int
    number: int
    owner: Any
    act: Act


def share(flows: list[Flow], capacity: list[float]) -> None:
    """Gives flows their rates: again and again the link with the least for each is used up."""
    free, open_flows = list(capacity), list(flows)
    for flow in flows:
        flow.rate = math.inf
    while any(flow.links for flow in open_flows):
        users = {link: 0 for flow in open_flows for link in flow.links}
        for flow in open_flows:
            for link in flow.links:
                users[link] += 1
        rate, tight = min((free[link] / count, link) for link, count in users.items())
        for flow in [flow for flow in open_flows if tight in flow.links]:
            flow.rate = rate
            open_flows.remove(flow)
            for link in flow.links:
                free[link] -= rate


class NetworkReference(Reference):
    """A run over a topology."""

    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        self.topology = build_ground(scenario, seed).topology
        self.nodes = [Node(DEVICES[name]) for name in self.topology.devices]
        self.flows: list[Flow] = []
        self.timers: list[Timer] = []
        self.origin_key = make_key(seed, "origin")
        self.latency_key = make_key(seed, "latency")

    def events(self) -> list[tuple[float, int, int, Any]]:
        """Flows come first, the others in their kinds."""
        share(self.flows, self.topology.link_bytes_s.tolist())
        events = super().events()
        for k, flow in enumerate(self.flows):
            time = self.now + flow.left / flow.rate
            events.append((time, 0, k, lambda f=flow: self.flow_done(f)))
        for timer in self.timers:
            events.append((timer.time, timer.kind, timer.number, lambda t=timer: self.ring(t)))
        return events

    def pass_time(self, time: float) -> None:
        """Bytes move."""
        for flow in self.flows:
            flow.left -= flow.rate * (time - self.now)
        super().pass_time(time)

    def flow_done(self, flow: Flow) -> None:
        self.flows.remove(flow)
        flow.arrives()

    def ring(self, timer: Timer) -> None:
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
        self.flows = [flow for flow in self.flows if flow.owner is not owner]
        self.timers = [timer for timer in self.timers if timer.owner is not owner]

    def move(self, source: int, target: int, size: float, owner: Any, then: Act) -> None:
        """Bytes go from a vertex to another."""
        routes = find_routes(self.topology, [source], [target])
        self.flows.append(Flow(routes.links.tolist(), size, owner, then))

    def move_data(
        self, stores: bool, f: int, node: int, megabytes: float, owner: Any, then: Act
    ) -> None:
        """Data of a function goes between a node and the nearest holder, the first of several."""
        storage, copies = self.topology.storage.tolist(), self.spec.network.copies
        copies = len(storage) if copies is None else min(copies, len(storage))
        holders = sorted((f + k) % len(storage) for k in range(copies))

        def far(holder: int) -> float:
            routes = find_routes(self.topology, [storage[holder]], [node])
            return float(routes.latency_s[0] + 1e6 / routes.bytes_s[0])

        if megabytes == 0 or any(storage[holder] == node for holder in holders):
            then()
            return
        holder = storage[min(holders, key=far)]
        ends = (node, holder) if stores else (holder, node)
        self.move(*ends, megabytes * 1e6, owner, then)

    def begin(self, replica: Replica) -> None:
        """The first replica with an image on a node pulls it; the others wait with it."""
        function, node = self.spec.functions[replica.function], replica.node
        if self.spec.network.preloaded:
            node.images[function.name] = 0.0
        if function.name not in node.images:
            node.images[function.name] = math.inf
            vertex, size = self.nodes.index(node), function.image.image_mb * 1e6
            registry = self.topology.registry
            self.move(registry, vertex, size, None, lambda: self.pulled(node, function.name))
        elif node.images[function.name] < math.inf:
            self.starts(replica)

    def pulled(self, node: Node, name: str) -> None:
        """All that waited for an image start."""
        node.images[name] = self.now
        for replica in list(node.replicas):
            if self.spec.functions[replica.function].name == name and not replica.drains:
                self.starts(replica)

    def starts(self, replica: Replica) -> None:
        """A container starts, then fetches what it needs first, then is set up."""
        f, node = replica.function, self.nodes.index(replica.node)
        function = self.spec.functions[f]

        def set_up() -> None:
            self.move_data(False, f, node, function.image.setup_mb, replica, fetched)

        def fetched() -> None:
            ready = lambda: self.make_ready(replica)  # noqa: E731
            self.after(function.setup_s, 1, replica.slot, replica, ready)

        self.after(function.start_s, 1, replica.slot, replica, set_up)

    def stop_if_empty(self, replica: Replica) -> None:
        """One that is not ready stops whatever it does."""
        if not replica.serves:
            self.forget(replica)
        super().stop_if_empty(replica)

    def message(self, request: Request, answers: bool, size_kb: float, then: Act) -> None:
        """A request or response: its latency, then its bytes."""
        f, number = request.function, request.number
        gateways = self.topology.gateways.tolist() or list(range(len(self.nodes)))
        client = gateways[int(uniform(self.origin_key, f, number) * len(gateways))]
        node = self.nodes.index(request.replica.node)
        source, target = (node, client) if answers else (client, node)
        routes = find_routes(self.topology, [source], [target])
        key = (f << 40) + 2 * number + answers
        latency = draw_latency(self.topology.laws, routes, 0, self.latency_key, key)
        number = self.requests.index(request)
        moves = lambda: self.move(source, target, size_kb * 1e3, request, then)  # noqa: E731
        self.timers.append(Timer(self.now + latency, 2, number, request, moves))

    def send(self, request: Request, replica: Replica) -> None:
        """A request crosses the network."""
        if not self.spec.network.requests:
            super().send(request, replica)
            return
        request.replica = replica
        request.state = "requesting"
        replica.coming.append(request)

        def arrived() -> None:
            replica.coming.remove(request)
            self.reach(request)

        size = self.spec.functions[request.function].request_kb
        self.message(request, False, size, arrived)

    def fetch(self, request: Request) -> None:
        """A worker fetches data."""
        request.state = "fetching"
        size = self.spec.functions[request.function].image.input_mb
        node = self.nodes.index(request.replica.node)
        then = lambda: self.execute(request)  # noqa: E731
        self.move_data(False, request.function, node, size, request, then)

    def complete(self, request: Request) -> None:
        """A worker stores data."""
        request.state = "storing"
        size = self.spec.functions[request.function].image.output_mb
        node = self.nodes.index(request.replica.node)
        then = lambda: self.store(request)  # noqa: E731
        self.move_data(True, request.function, node, size, request, then)

    def respond(self, request: Request) -> None:
        """A response crosses the network."""
        if not self.spec.network.requests:
            super().respond(request)
            return
        request.state = "responding"
        size = self.spec.functions[request.function].response_kb
        self.message(request, True, size, lambda: self.finish(request, "completed"))

    def give_up(self, request: Request) -> None:
        """What moves for a request is given up with it."""
        self.forget(request)
        if request.state == "responding":
            self.finish(request, "timed_out")
        else:
            super().give_up(request)
