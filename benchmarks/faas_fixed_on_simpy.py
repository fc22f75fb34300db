"""Functions with fixed replicas on SimPy: the least that a user of SimPy would write for them.

A process per request: it is routed round robin, waits for a worker of its replica, executes, and
the meter of its node adds up energy at each change. Placement is first-fit. Networks, contention
and scaling are left out, in both.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from cloudarena.scenarios.faas import FaasRun


class Node:
    """A node that meters itself."""

    def __init__(self, env: simpy.Environment, device: Any) -> None:
        self.env, self.power, self.free = env, device.power, device.cores * 1000
        self.load, self.since, self.energy = 0.0, 0.0, 0.0

    def change(self, claim: float) -> None:
        """Meters up to now; then something more or less executes."""
        watts = self.power.idle_w + self.power.cpu_w * min(1.0, self.load)
        self.energy += watts * (self.env.now - self.since)
        self.since, self.load = self.env.now, self.load + claim


def simulate(run: FaasRun, times: list[list[float]]) -> tuple[list[float], float]:
    """Response times and energy in joules; ``times`` are those of each function's requests."""
    from cloudarena.workloads.faas.devices import DEVICES

    env, scenario = simpy.Environment(), run.scenario
    nodes = [Node(env, DEVICES[name]) for name in run.infrastructure.devices]
    replicas: list[list[tuple[simpy.Resource, Node]]] = []
    for function in scenario.functions:
        image = function.image
        assert image is not None
        mine = []
        for _ in range(function.scaling.minimum):
            node = next(node for node in nodes if node.free >= image.cpu_millicores)
            node.free -= image.cpu_millicores
            mine.append((simpy.Resource(env, function.workers or 1), node))
        replicas.append(mine)
    responses: list[float] = []
    numbers = [0] * len(scenario.functions)

    def request(f: int, number: int) -> Generator[simpy.Event, None, None]:
        arrival = env.now
        image = scenario.functions[f].image
        assert image is not None
        workers, node = replicas[f][number % len(replicas[f])]
        with workers.request() as turn:
            yield turn
            node.change(image.use.cpu)
            yield env.timeout(times[f][number])
            node.change(-image.use.cpu)
        responses.append(env.now - arrival)

    def arrivals() -> Generator[simpy.Event, None, None]:
        world = run.world
        for time, f in zip(world.arrivals.tolist(), world.arriving.tolist(), strict=True):
            yield env.timeout(time - env.now)
            env.process(request(f, numbers[f]))
            numbers[f] += 1

    env.process(arrivals())
    env.run(until=scenario.duration_s)
    for node in nodes:
        node.change(0.0)
    return responses, sum(node.energy for node in nodes)
