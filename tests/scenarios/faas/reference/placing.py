"""Where replicas go, and which make room for them."""

from __future__ import annotations

import math
from typing import Any

from cloudarena.scenarios.faas.state import Choices, Idle

from .parts import Node, Replica, power_at


class Placing:
    """Where replicas go, and which make room for them."""

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
