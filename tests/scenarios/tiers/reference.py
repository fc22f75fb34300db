"""A multi-tier service, slowly and obviously: a heap of events, a deque for each VM.

Service begins when a VM takes the next request of its deque, and its end is an event. What
requests draw is what the kernel draws, since both take it from their numbers.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field

from cloudarena.engine.hashing import exponential, make_key, normal, uniform

READY, SERVED, ARRIVAL = range(3)
"""Kinds of events, in their order at one instant."""


@dataclass
class Vm:
    number: int
    tier: int
    size: int
    rate: float
    since: float
    state: str = "booting"
    leaving: bool = False
    queue: deque = field(default_factory=deque)


@dataclass
class Request:
    arrival: float
    visits: int = 0
    tier: int = 0
    back: bool = False
    outcome: str = "in system"
    finish: float = math.nan
    judged: bool = False


class Service:
    """A run under actions that are given."""

    def __init__(self, scenario, seed, arrivals):
        self.scenario = scenario
        self.keys = {name: make_key(seed, name) for name in ("service", "routing", "balance")}
        self.requests = [Request(float(time)) for time in arrivals]
        self.now = 0.0
        self.events = [(r.arrival, ARRIVAL, number) for number, r in enumerate(self.requests)]
        heapq.heapify(self.events)
        self.vms = []
        self.up = [[] for _ in scenario.tiers]
        self.rented_s = [0.0, 0.0]
        self.blocked = [0] * len(scenario.tiers)
        self.busy_s = [0.0] * len(scenario.tiers)
        self.up_s = [0.0] * len(scenario.tiers)
        self.held_s = [0.0] * len(scenario.tiers)
        for number, tier in enumerate(scenario.tiers):
            for size, kind in enumerate((tier.fat, tier.thin)):
                for _ in range(kind.start):
                    self.rent(number, size, 0.0)

    def distribution(self, number, visit):
        spec, key = self.scenario, self.keys["service"]
        if spec.service == "deterministic":
            return 1.0
        if spec.service == "exponential":
            return exponential(key, number, 2 * visit)
        if spec.service == "hyper-exponential":
            share = 0.5 * (1 + math.sqrt((spec.service_scv - 1) / (spec.service_scv + 1)))
            if uniform(key, number, 2 * visit + 1) > share:
                share = 1 - share
            return exponential(key, number, 2 * visit) / (2 * share)
        variance = math.log(1 + spec.service_scv)
        return math.exp(math.sqrt(variance) * normal(key, number, visit) - variance / 2)

    def counts(self):
        """VMs in force."""
        counts = [[0, 0] for _ in self.scenario.tiers]
        for vm in self.vms:
            if vm.state in ("booting", "up") and not vm.leaving:
                counts[vm.tier][vm.size] += 1
        return counts

    def decide(self, wanted):
        """Starts all that is missing, then releases all that is too much."""
        before = self.counts()
        places = [(tier, size) for tier in range(len(before)) for size in range(2)]
        for tier, size in places:
            for _ in range(wanted[tier][size] - before[tier][size]):
                self.rent(tier, size, self.scenario.boot_s)
        for tier, size in places:
            for _ in range(before[tier][size] - wanted[tier][size]):
                self.release(tier, size)

    def rent(self, tier, size, boot_s):
        taken = {vm.number for vm in self.vms if vm.state != "off"}
        number = next(k for k in range(len(taken) + 1) if k not in taken)
        spec = self.scenario.tiers[tier]
        vm = Vm(number, tier, size, (spec.fat, spec.thin)[size].rate, self.now)
        self.vms = [other for other in self.vms if other.state != "off"] + [vm]
        if boot_s > 0:
            heapq.heappush(self.events, (self.now + boot_s, READY, number))
        else:
            self.come_up(vm)

    def release(self, tier, size):
        mine = [vm for vm in self.vms if (vm.tier, vm.size) == (tier, size) and not vm.leaving]
        booting = [vm for vm in mine if vm.state == "booting"]
        if booting:
            vm = min(booting, key=lambda vm: (-vm.since, vm.number))
            self.events = [e for e in self.events if e[1:] != (READY, vm.number)]
            heapq.heapify(self.events)
            self.stop(vm)
            return
        up = [vm for vm in mine if vm.state == "up"]
        vm = min(up, key=lambda vm: (len(vm.queue), vm.number))
        vm.leaving = True
        if any(not other.leaving for other in self.up[tier]):
            self.drain(vm)

    def come_up(self, vm):
        vm.state = "up"
        self.up[vm.tier].append(vm)
        for other in [other for other in self.up[vm.tier] if other.leaving]:
            self.drain(other)

    def drain(self, vm):
        self.up[vm.tier].remove(vm)
        vm.state, vm.leaving = "draining", False
        if not vm.queue:
            self.stop(vm)

    def stop(self, vm):
        vm.state = "off"
        end = min(self.now, self.scenario.duration_s)
        self.rented_s[vm.size] += max(0.0, end - vm.since)

    def run_until(self, time):
        while self.events and self.events[0][0] < time:
            event, kind, number = heapq.heappop(self.events)
            self.pass_to(event)
            if kind == READY:
                self.come_up(self.vm(number))
            elif kind == SERVED:
                self.leave(self.vm(number))
            else:
                self.enter(number, 0)
        if time < math.inf:
            self.pass_to(time)

    def pass_to(self, time):
        for tier, up in enumerate(self.up):
            passed = time - self.now
            self.up_s[tier] += passed * len(up)
            self.busy_s[tier] += passed * sum(bool(vm.queue) for vm in up)
            held = sum(len(vm.queue) for vm in self.vms if vm.tier == tier)
            self.held_s[tier] += passed * held
        self.now = time

    def vm(self, number):
        return next(vm for vm in self.vms if vm.number == number and vm.state != "off")

    def enter(self, number, tier):
        request = self.requests[number]
        request.tier = tier
        request.visits += 1
        up = self.up[tier]
        share = uniform(self.keys["balance"], number, request.visits)
        if self.scenario.balance == "equal":
            vm = up[int(share * len(up))]
        else:
            edges = [sum(vm.rate for vm in up[: k + 1]) for k in range(len(up))]
            vm = next(v for v, edge in zip(up, edges, strict=True) if share * edges[-1] < edge)
        if len(vm.queue) == self.scenario.tiers[tier].room:
            request.outcome, request.finish = "blocked", self.now
            self.blocked[tier] += 1
            return
        vm.queue.append(number)
        if len(vm.queue) == 1:
            self.serve(vm)

    def serve(self, vm):
        number = vm.queue[0]
        work = self.distribution(number, self.requests[number].visits)
        heapq.heappush(self.events, (self.now + work / vm.rate, SERVED, vm.number))

    def leave(self, vm):
        number = vm.queue.popleft()
        request, routing = self.requests[number], self.scenario.routing
        if vm.queue:
            self.serve(vm)
        elif vm.state == "draining":
            self.stop(vm)
        tier = request.tier - 1
        if not request.back:
            share = [*routing.forward, 0.0][request.tier]
            if uniform(self.keys["routing"], number, request.visits) < share:
                tier = request.tier + 1
            else:
                request.back = routing.kind == "depth"
        if tier < 0:
            request.outcome, request.finish = "served", self.now
        else:
            self.enter(number, tier)

    def keeps_sla(self):
        """Whether the time since the last call keeps the SLA; said request by request."""
        sla, times, blocked = self.scenario.sla, [], 0
        bound = sla.seconds + 1e-9
        for request in self.requests:
            if request.arrival >= self.now:
                continue
            if request.outcome == "in system" and self.now - request.arrival > bound:
                times.append(self.now - request.arrival)
            if request.outcome != "in system" and not request.judged:
                request.judged = True
                blocked += request.outcome == "blocked"
                if request.outcome == "served":
                    times.append(request.finish - request.arrival)
        everybody = len(times) + blocked
        if everybody == 0:
            return True
        if sla.metric == "mean":
            few = blocked <= (1 - sla.level) * everybody + 1e-9
            return few and sum(times) / len(times) <= bound
        return sum(time <= bound for time in times) >= sla.level * everybody - 1e-9

    def rented(self):
        """Seconds of fat and thin VMs."""
        seconds, time = list(self.rented_s), min(self.now, self.scenario.duration_s)
        for vm in self.vms:
            if vm.state != "off":
                seconds[vm.size] += max(0.0, time - vm.since)
        return seconds
