"""The scenario with a network, slow and obvious: each flow looks at all the others.

Images come from the registry, data from the nearest holder, requests and responses from and to a
gateway after the latency of their way. All flows share links max-min fairly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cloudarena.engine.hashing import make_key, uniform
from cloudarena.scenarios.faas.build.network import build_infrastructure
from cloudarena.scenarios.faas.kernel.transfers import latency_key
from cloudarena.workloads.faas.devices import DEVICES
from cloudarena.workloads.faas.topology import draw_latency, find_routes

from .parts import Act, Node, Replica, Request, Timer
from .run import Reference


@dataclass(eq=False)
class Flow:
    """Bytes on their way."""

    links: list[int]
    left: float
    owner: Any
    arrives: Act
    function: int
    ends: tuple[int, int]
    rate: float = 0.0


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
        self.topology = build_infrastructure(scenario, seed).topology
        self.nodes = [Node(DEVICES[name]) for name in self.topology.devices]
        self.flows: list[Flow] = []
        self.capacity = self.topology.link_bytes_s.tolist()
        self.origin_key = make_key(seed, "origin")
        self.latency_key = make_key(seed, "latency")

    def events(self) -> list[tuple[float, int, int, Any]]:
        """Flows come first, the others in their kinds."""
        share(self.flows, self.capacity)
        events = super().events()
        for k, flow in enumerate(self.flows):
            time = self.now + flow.left / flow.rate
            events.append((time, 0, k, lambda f=flow: self.flow_done(f)))
        return events

    def node_names(self) -> list[str]:
        """The names of the nodes."""
        return list(self.topology.names[: len(self.nodes)])

    def change_link(self, ends: tuple[str, str], fails: bool) -> None:
        """Next to nothing moves over a link that has failed."""
        topology = self.topology
        for begin, end in (ends, ends[::-1]):
            vertex = topology.names.index(begin)
            for hop in range(topology.hop_begin[vertex], topology.hop_begin[vertex + 1]):
                link = int(topology.hop_link[hop])
                if topology.names[topology.hop_to[hop]] == end and link >= 0:
                    self.capacity[link] = 1e-3 if fails else float(topology.link_bytes_s[link])

    def zone_of(self, node: Node) -> str:
        """The zone of a node."""
        return self.topology.zones[self.topology.zone[self.nodes.index(node)]]

    def traffic(self, node: Node) -> list[tuple[int, float]]:
        """The flows that begin or end at a node."""
        vertex = self.nodes.index(node)
        return [(flow.function, flow.rate) for flow in self.flows if vertex in flow.ends]

    def pass_time(self, time: float) -> None:
        """Bytes move; those between a vertex and itself were there at once."""
        for flow in self.flows:
            flow.left -= flow.rate * (time - self.now) if flow.links else flow.left
        super().pass_time(time)

    def flow_done(self, flow: Flow) -> None:
        self.flows.remove(flow)
        flow.arrives()

    def forget(self, owner: Any) -> None:
        """What was on its way for somebody is given up."""
        super().forget(owner)
        self.flows = [flow for flow in self.flows if flow.owner is not owner]

    def move(self, source: int, target: int, size: float, owner: Any, f: int, then: Act) -> None:
        """Bytes go from a vertex to another."""
        routes = find_routes(self.topology, [source], [target])
        ends = (source, target) if source != target else (-1, -1)
        self.flows.append(Flow(routes.links.tolist(), size, owner, then, f, ends))

    def move_data(
        self, stores: bool, f: int, node: Node, megabytes: float, owner: Any, then: Act
    ) -> None:
        """Data of a function goes between a node and the nearest holder, the first of several."""
        storage, copies = self.topology.storage.tolist(), self.spec.network.copies
        copies = len(storage) if copies is None else min(copies, len(storage))
        names = sorted(function.name for function in self.spec.functions)
        first, vertex = names.index(self.spec.functions[f].name), self.nodes.index(node)
        holders = sorted((first + k) % len(storage) for k in range(copies))

        def far(holder: int) -> float:
            routes = find_routes(self.topology, [storage[holder]], [vertex])
            return float(routes.latency_s[0] + 1e6 / routes.bytes_s[0])

        if megabytes == 0 or any(storage[holder] == vertex for holder in holders):
            then()
            return
        holder = storage[min(holders, key=far)]
        ends = (vertex, holder) if stores else (holder, vertex)
        self.move(*ends, megabytes * 1e6, owner, f, then)

    def begin(self, replica: Replica) -> None:
        """The first replica with an image on a node pulls it; the others wait with it."""
        function, node = self.spec.functions[replica.function], replica.node
        if self.spec.network.preloaded:
            node.images[function.name] = 0.0
        if function.name not in node.images:
            node.images[function.name], replica.pulls = math.inf, True
            vertex, size = self.nodes.index(node), function.image.image_mb * 1e6
            there = lambda: self.image_there(node, function.name)  # noqa: E731
            owner, registry = (node, function.name), self.topology.registry
            self.move(registry, vertex, size, owner, replica.function, there)
        elif node.images[function.name] < math.inf:
            self.starts(replica)

    def image_there(self, node: Node, name: str) -> None:
        """All that waited for an image start."""
        node.images[name] = self.now
        for replica in list(node.replicas):
            if self.spec.functions[replica.function].name == name and replica.phase == "pulling":
                self.starts(replica)

    def forget_pull(self, node: Node, name: str) -> None:
        """The flow of an image for which nobody waits is given up."""
        self.flows = [flow for flow in self.flows if flow.owner != (node, name)]

    def message(self, request: Request, answers: bool, size_kb: float, then: Act) -> None:
        """A request or response: its latency, then its bytes."""
        f, number = request.function, request.number
        gateways = self.topology.gateways.tolist() or list(range(len(self.nodes)))
        client = gateways[int(uniform(self.origin_key, self.keys[f], number) * len(gateways))]
        node = self.nodes.index(request.replica.node)
        source, target = (node, client) if answers else (client, node)
        routes = find_routes(self.topology, [source], [target])
        key = np.uint64(latency_key(self.latency_key, self.keys[f]))
        latency = draw_latency(self.topology.distributions, routes, 0, key, 2 * number + answers)
        number = self.requests.index(request)
        moves = lambda: self.move(source, target, size_kb * 1e3, request, f, then)  # noqa: E731
        self.timers.append(Timer(self.now + latency, 2, number, request, moves))

    def send(self, request: Request, replica: Replica) -> None:
        """A request crosses the network."""
        if not self.spec.network.requests:
            super().send(request, replica)
            return
        request.replica, replica.ends = replica, None
        request.state = "requesting"
        replica.coming.append(request)

        def arrived() -> None:
            replica.coming.remove(request)
            self.reach(request)

        size = self.spec.functions[request.function].request_kb
        self.message(request, False, size, arrived)

    def respond(self, request: Request) -> None:
        """A response crosses the network."""
        if not self.spec.network.requests:
            super().respond(request)
            return
        request.state = "responding"
        size = self.spec.functions[request.function].response_kb
        self.message(request, True, size, lambda: self.finish(request, "completed"))

    def give_up(self, request: Request) -> None:
        """A worker has nothing to do with a response."""
        if request.state == "responding":
            self.forget(request)
            self.finish(request, "timed_out")
        else:
            super().give_up(request)
