"""A tandem of two tiers in the kernel, on SimPy and in Ciw."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import simpy

from cloudarena.scenarios.tiers import TiersScenario

RATE, SPEEDS = 0.7, (2.0, 1.0)
"""Requests a second; what the VM of each tier serves in a second."""

ROOM = 1000
"""Never full at this load."""


def service(requests: int, speeds: tuple[float, ...], vms: int = 1) -> TiersScenario:
    """Tiers of so many VMs each at a constant rate: all requests go to the last tier and back."""
    rate = RATE * vms
    return TiersScenario.parse(
        {
            "scenario": "tiers",
            "duration_s": requests / rate,
            "period_s": 1e9,
            "arrivals": {"source": "constant", "rate": rate},
            "routing": {"forward": [1.0] * (len(speeds) - 1)},
            "tiers": [
                {
                    "name": f"tier-{number}",
                    "fat": {"rate": speed, "max": vms, "start": vms},
                    "thin": {"rate": speed, "max": 0, "start": 0},
                    "room": ROOM,
                }
                for number, speed in enumerate(speeds)
            ],
        }
    )


def run(scenario: TiersScenario, seed: int = 0) -> Any:
    """A run that nobody changes."""
    going = scenario.start(seed, "none")
    going.play(scenario.kind.policies.resolve("static"))
    return going


class SimpyTier:
    """A tier of one VM in SimPy, measured as the kernel measures it."""

    def __init__(self, environment: simpy.Environment) -> None:
        self.environment = environment
        self.vm = simpy.Resource(environment)
        self.held = self.arrived = self.blocked = self.served = 0
        self.held_s = self.busy_s = self.sojourn_s = self.since = 0.0

    def screening(self) -> None:
        """Adds up what was held since the last look."""
        passed = self.environment.now - self.since
        self.held_s += passed * self.held
        self.busy_s += passed * (self.held > 0)
        self.since = self.environment.now

    def visit(self, seconds: float) -> Generator[Any, Any, bool]:
        """A visit; true if there was room."""
        self.screening()
        self.arrived += 1
        if self.held == ROOM:
            self.blocked += 1
            return False
        self.held += 1
        entered = self.environment.now
        with self.vm.request() as turn:
            yield turn
            yield self.environment.timeout(seconds)
        self.screening()
        self.held -= 1
        self.served += 1
        self.sojourn_s += self.environment.now - entered
        return True


def on_simpy(arrivals: list[float], draw: Callable[[int, int], float]) -> list[float]:
    """The tandem as an ordinary SimPy program: a process per request, a resource per VM.

    ``draw`` gives the work of a request's visit.
    """
    environment = simpy.Environment()
    tiers = [SimpyTier(environment) for _ in SPEEDS]
    finish = [0.0] * len(arrivals)

    def request(number: int) -> Generator[Any, Any, None]:
        for visit, tier in enumerate((0, 1, 0), 1):
            if not (yield from tiers[tier].visit(draw(number, visit) / SPEEDS[tier])):
                return
        finish[number] = environment.now

    def source() -> Generator[Any, Any, None]:
        for number, arrival in enumerate(arrivals):
            yield environment.timeout(arrival - environment.now)
            environment.process(request(number))

    environment.process(source())
    environment.run()
    return finish


def on_ciw(requests: int) -> float:
    """Runs the tandem in Ciw: behind the last tier a request is of the class that goes back.

    Returns the mean response.
    """
    import ciw

    network = ciw.create_network(
        arrival_distributions={
            "Down": [ciw.dists.Exponential(RATE), None],
            "Back": [None, None],
        },
        service_distributions={
            kind: [ciw.dists.Exponential(speed) for speed in SPEEDS] for kind in ("Down", "Back")
        },
        routing={"Down": [[0.0, 1.0], [1.0, 0.0]], "Back": [[0.0, 0.0], [1.0, 0.0]]},
        class_change_matrices=[
            {"Down": {"Down": 1.0, "Back": 0.0}, "Back": {"Down": 0.0, "Back": 1.0}},
            {"Down": {"Down": 0.0, "Back": 1.0}, "Back": {"Down": 0.0, "Back": 1.0}},
        ],
        number_of_servers=[1, 1],
    )
    ciw.seed(0)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests, method="Finish")
    times: dict[int, float] = {}
    for record in simulation.get_all_records():
        stay = record.exit_date - record.arrival_date
        times[record.id_number] = times.get(record.id_number, 0.0) + stay
    return float(np.mean(list(times.values())))
