"""Nodes and links that fail, are off or have a battery; requests that are tried again."""

from __future__ import annotations

from typing import Any

from .parts import Node, Request


class Failures:
    """Nodes and links that fail, are off or have a battery; requests that are tried again."""

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
