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
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import cloudarena
from benchmarks.queueing import markdown
from cloudarena.base.files import write_text
from cloudarena.bench.tandem import RATE, SPEEDS, on_ciw, on_simpy, run, service
from cloudarena.engine.hashing import exponential, make_key

TIMES = 3
LONGER = 15


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
