"""The speed of the tiers scenario, as a Markdown table. Run from the repository.

``python -m benchmarks.tiers [--requests 300000] [--slow-requests 20000] [--out FILE]``

Figures are CPU seconds, the best of several; SimPy and Ciw take turns with the kernel in one run,
on the same tandem: all requests go through two tiers and back through the first. SimPy's program
serves the very same requests when it is compared with the kernel, request by request, before
anything is timed, and then draws its own; so does Ciw, whose mean is compared. ``pip install
'cloudarena[bench]'`` brings Ciw; without it that line is left out.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import simpy

import cloudarena
from benchmarks.queueing import markdown
from cloudarena.base.files import write_text
from cloudarena.engine.hashing import exponential, make_key
from cloudarena.scenarios.tiers import TiersScenario

RATE, SPEEDS = 0.7, (2.0, 1.0)
"""Requests a second; what the VM of each tier serves in a second."""
TIMES = 3
LONGER = 15
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

    def look(self) -> None:
        """Adds up what was held since the last look."""
        passed = self.environment.now - self.since
        self.held_s += passed * self.held
        self.busy_s += passed * (self.held > 0)
        self.since = self.environment.now

    def visit(self, seconds: float) -> Iterator[Any]:
        """A visit; true if there was room."""
        self.look()
        self.arrived += 1
        if self.held == ROOM:
            self.blocked += 1
            return False
        self.held += 1
        entered = self.environment.now
        with self.vm.request() as turn:
            yield turn
            yield self.environment.timeout(seconds)
        self.look()
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

    def request(number: int) -> Iterator[Any]:
        for visit, tier in enumerate((0, 1, 0), 1):
            if not (yield from tiers[tier].visit(draw(number, visit) / SPEEDS[tier])):
                return
        finish[number] = environment.now

    def source() -> Iterator[Any]:
        for number, arrival in enumerate(arrivals):
            yield environment.timeout(arrival - environment.now)
            environment.process(request(number))

    environment.process(source())
    environment.run()
    return finish


def on_ciw(requests: int) -> float:
    """The same tandem in Ciw: behind the last tier a request is of the class that goes back.

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


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def against_others(requests: int) -> list[list[str]]:
    """CPU seconds per request of the tandem, in the kernel, on SimPy and in Ciw.

    The kernel's are those of fifteen times as many requests, so that a run takes long enough.
    """
    tandem, long = service(requests, SPEEDS), service(LONGER * requests, SPEEDS)
    ours = run(tandem)
    rows = ours.world.requests
    key = make_key(0, "service")
    arrivals = rows["arrival"].tolist()

    def same(number: int, visit: int) -> float:
        return exponential(key, number, 2 * visit)

    def own(number: int, visit: int) -> float:
        return rng.expovariate(1.0)

    rng = random.Random(0)
    np.testing.assert_allclose(on_simpy(arrivals, same), rows["finish"], rtol=1e-9)
    expected = 2 / (SPEEDS[0] - 2 * RATE) + 1 / (SPEEDS[1] - RATE)
    times: dict[str, list[float]] = {"cloudarena": [], "SimPy": []}
    if find_spec("ciw") is not None:
        np.testing.assert_allclose(on_ciw(requests), expected, rtol=0.2)
        times["Ciw"] = []
    for _ in range(TIMES):
        times["SimPy"].append(cpu_seconds(on_simpy, arrivals, own))
        if "Ciw" in times:
            times["Ciw"].append(cpu_seconds(on_ciw, requests))
        times["cloudarena"] += [cpu_seconds(run, long) / LONGER for _ in range(5)]
    each = {name: min(seconds) / len(rows) for name, seconds in times.items()}
    return [
        [f"a tandem, requests a second: {name}", f"{1 / seconds:,.0f}", ratio(seconds, each)]
        for name, seconds in each.items()
    ]


def ratio(seconds: float, each: dict[str, float]) -> str:
    """How many times as fast the kernel is."""
    return f"{seconds / each['cloudarena']:,.0f}"


def one_tier(requests: int, vms: int) -> list[str]:
    """Requests a second through one tier: the kernel alone, then with building and metrics."""
    scenario = service(requests, (1.0,), vms)
    run(scenario)
    whole = min(cpu_seconds(lambda: run(scenario).metrics()) for _ in range(TIMES + 2))
    count = len(run(scenario).world.requests)
    return [f"one tier of {vms} VMs, requests a second", f"{count / whole:,.0f}", ""]


def whole_runs() -> list[list[str]]:
    """CPU seconds of catalogue entries, with nothing recorded."""
    rows = []
    cases = (
        ("tiers/rubis-hour", {}, "utilisation"),
        ("tiers/rubis-hour", {}, "model-based"),
        ("tiers/day", {}, "utilisation"),
        ("tiers/day", {}, "model-based"),
        ("tiers/ten-tiers", {"duration_s": 86400}, "utilisation"),
    )
    for name, overrides, policy in cases:
        scenario = cloudarena.load(name, overrides)
        play = lambda k, s=scenario, p=policy: cloudarena.simulate(s, p, k, "none")  # noqa: E731
        seconds = min(cpu_seconds(play, 0) for _ in range(TIMES))
        visits = int(scenario_visits(scenario, policy))
        label = f"{name}{' for a day' if overrides else ''}, {policy}"
        rows.append([f"{label}: {visits:,} visits, s", f"{seconds:.3f}", ""])
    return rows


def scenario_visits(scenario: Any, policy: str) -> int:
    """Visits to all tiers in a run."""
    going = scenario.start(0, "none")
    chosen = scenario.kind.policies.resolve(policy)
    if hasattr(chosen, "start"):
        chosen.start(scenario, 0)
    going.play(chosen)
    return int(going.world.tiers["arrived"].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=1_000_000, help="through one tier")
    parser.add_argument("--slow-requests", type=int, default=20_000, help="through the tandem")
    parser.add_argument("--out", type=Path, help="writes the table there")
    arguments = parser.parse_args()
    rows = [one_tier(arguments.requests, vms) for vms in (1, 4)]
    rows += against_others(arguments.slow_requests)
    rows += whole_runs()
    table = markdown(["figure", "value", "times as slow"], rows)
    print(table, end="")
    if arguments.out is not None:
        write_text(arguments.out, table)


if __name__ == "__main__":
    main()
