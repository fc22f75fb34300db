"""What executions and cold starts claim, how that slows them, and what all of it draws."""

from __future__ import annotations

import itertools
import math
from typing import Any

from cloudarena.scenarios.faas.state import Claim, Load
from cloudarena.workloads.faas.topology import mbit

from .parts import Node, Replica, Request, idle_power, power_at


class Energy:
    """What executions and cold starts claim, how that slows them, and what all of it draws."""

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
        for f, metered in enumerate(self.metered):
            replicas, function = self.all_of(f), self.spec.functions[f]
            metered[0] += (len(self.waiting[f]) + sum(len(r.queue) for r in replicas)) * seconds
            metered[2] += len(replicas) * function.image.cpu_millicores / 1000 * seconds
        for node in self.nodes:
            for request in self.executing(node):
                use = self.cpu_use(request.function, node) * node.device.cores
                self.metered[request.function][1] += use * seconds
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
