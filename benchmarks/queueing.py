"""Speed and accuracy of the queueing library, as Markdown tables. Run from the repository.

``python -m benchmarks.queueing speed [--out FILE]``: CPU microseconds (the best of several) for
each of the 42 configurations of the thesis's fleet, against a loop over the states of every queue
in plain Python, whose results are compared first; and of the optimiser.

``python -m benchmarks.queueing accuracy [--requests 100000] [--seeds 4] [--out FILE]``: the model
of a chain against a simulation that goes event by event, in plain Python; minutes.

``python -m benchmarks.queueing approximations [--requests 100000] [--seeds 4] [--out FILE]``: G/G/c
and layers against simulations.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from cloudarena.base.files import write_text
from cloudarena.queueing import (
    Offer,
    Sla,
    TierChain,
    cheapest,
    configurations,
    evaluate,
    ggc,
    layered,
    response_quantile,
    response_tail,
)

# Not `tests.queueing`: Ciw, which other benchmarks need, installs a package named tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from queueing import reference, simulated

RATES, FORWARD, ROOM, RATE = [[220, 120], [36, 20], [80, 40]], [0.8, 0.6], 200, 40.0
PRICES, MOST = [0.0287, 0.0127], [[1, 1], [2, 4], [1, 0]]
LARGE_TIERS = 10
MANY_RATES = 1000
SECONDS, REPEATS = 0.2, 7
LEVEL = 0.95
COUNTS = [[1, 1], [1, 2], [1, 0]]
"""The configuration whose accuracy is measured."""
CASES = (
    ("depth", "weighted", 200, 40.0), ("depth", "weighted", 200, 55.0),
    ("depth", "weighted", 6, 60.0), ("depth", "equal", 6, 60.0), ("depth", "weighted", 3, 110.0),
    ("random_walk", "weighted", 200, 5.0), ("random_walk", "weighted", 6, 8.0),
)  # fmt: skip
VARIABLE = (
    (1, 0.6, 4.0, 1.0), (1, 0.9, 4.0, 1.0), (1, 0.9, 0.25, 1.0), (1, 0.9, 0.0, 0.25),
    (4, 0.6, 1.0, 4.0), (4, 0.9, 1.0, 4.0), (4, 0.9, 4.0, 0.25), (16, 0.9, 0.25, 0.25),
    (16, 0.9, 4.0, 4.0),
)  # fmt: skip
"""Servers, load of each, and the variability of arrivals and of services."""
LAYERS = ((1, 6), (2, 8), (4, 12), (4, 30), (8, 12))
"""Threads and customers: of a processor of 0.3 s, then two of 0.8 s, after 3 s of thinking."""
progress = Console(stderr=True)


def cpu_seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of one call, the best of several spells of calls."""
    best, calls = np.inf, 1
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(calls):
            call()
        spell = time.process_time() - start
        best = min(best, spell / calls)
        calls = max(1, int(SECONDS / max(best, 1e-7)))
    return best


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *rows))


def speed() -> str:
    """The 42 configurations, and the optimiser on small and large fleets."""
    chain, offer = TierChain(RATES, FORWARD, ROOM), Offer(PRICES, MOST)
    counts = configurations(offer)
    plain = counts.tolist()

    def naive() -> list[float]:
        return [
            reference.evaluate_by_states(RATES, FORWARD, ROOM, "weighted", RATE, each)[1]
            for each in plain
        ]

    np.testing.assert_allclose(evaluate(chain, RATE, counts).response_s, naive(), rtol=1e-9)
    loop = cpu_seconds(naive)
    many = np.linspace(1.0, 120.0, MANY_RATES)[:, None] * np.ones(len(counts))
    calls: dict[str, tuple[int, Callable[[], Any]]] = {
        "mean and losses": (1, lambda: evaluate(chain, RATE, counts)),
        f"mean and losses, at {MANY_RATES:,} rates in one call": (
            MANY_RATES,
            lambda: evaluate(chain, many, np.broadcast_to(counts, (MANY_RATES, *counts.shape))),
        ),
        "with losses passed on": (1, lambda: evaluate(chain, RATE, counts, losses=True)),
        "share within 1 s": (1, lambda: response_tail(chain, RATE, counts, 1.0)),
        "95 % quantile": (1, lambda: response_quantile(chain, RATE, counts, LEVEL)),
    }
    rows = [["mean and losses, by a loop over states", f"{1e6 * loop / len(counts):,.0f}", "1"]]
    for name, (rates, call) in calls.items():
        each = cpu_seconds(call) / len(counts) / rates
        ratio = f"{loop / len(counts) / each:,.0f}" if name.startswith("mean") else ""
        micro = 1e6 * each
        rows.append([name, f"{micro:,.0f}" if micro >= 100.0 else f"{micro:.2g}", ratio])
    return markdown(["42 configurations, room 200", "µs each", "times as fast"], rows) + optimiser()


def optimiser() -> str:
    """Milliseconds for one decision."""
    small, offer = TierChain(RATES, FORWARD, ROOM), Offer(PRICES, MOST)
    rates = np.tile([[220.0, 120.0], [36.0, 20.0]], (LARGE_TIERS // 2, 1))
    large = TierChain(rates, [0.9] * (LARGE_TIERS - 1), ROOM)
    most = [[10, 10]] * LARGE_TIERS
    wide, limited = Offer(PRICES, most), Offer(PRICES, most, most_in_total=[20, 30])
    calls = {
        "42 configurations, mean": (small, offer, RATE, Sla(1.0)),
        "42 configurations, 95 % quantile": (small, offer, RATE, Sla(1.0, "quantile", LEVEL)),
        "10 tiers, 120^10 configurations, mean": (large, wide, 60.0, Sla(2.0)),
        "the same with limits in total": (large, limited, 60.0, Sla(2.0)),
        "10 tiers, 95 % quantile (not exact)": (large, wide, 60.0, Sla(2.0, "quantile", LEVEL)),
    }
    rows = []
    for name, arguments in calls.items():
        seconds = cpu_seconds(lambda arguments=arguments: cheapest(*arguments))  # type: ignore[misc]
        rows.append([name, f"{1e3 * seconds:,.2f}"])
    return "\n" + markdown(["cheapest configuration", "ms"], rows)


def accuracy(requests: int, seeds: int) -> str:
    """Simulated and, after a slash, computed with losses; then the half width of 95 %."""
    rows = []
    for routing, balance, room, rate in CASES:
        progress.print(routing, balance, room, rate, style="dim")
        chain = TierChain(RATES, FORWARD, room, routing, balance)
        runs = [reference.simulate(chain, rate, COUNTS, requests, seed) for seed in range(seeds)]
        seen = np.array([[t.mean(), np.quantile(t, LEVEL), 100 * lost] for t, lost in runs])
        half = 2.0 * seen.std(axis=0, ddof=1) / np.sqrt(seeds)
        model = evaluate(chain, rate, COUNTS, losses=True)
        quantile = float(response_quantile(chain, rate, COUNTS, LEVEL, losses=True))
        computed = float(model.response_s), quantile, 100.0 * (1.0 - float(model.served))
        cells = [
            f"{a:.3g} / {b:.3g} ± {h:.1g}"
            for a, b, h in zip(seen.mean(axis=0), computed, half, strict=True)
        ]
        busiest = float(model.utilisation.max())
        rows.append([f"{routing}, {balance}", str(room), f"{rate:g}", f"{busiest:.2f}", *cells])
    header = ["routing, balance", "room", "rate", "busiest VM", "mean s", "95 % s", "lost %"]
    return markdown(header, rows)


def approximations(requests: int, seeds: int) -> str:
    """Simulated and, after a slash, computed; then the half width of 95 %."""
    rows = []
    for servers, load, between, within in VARIABLE:
        progress.print(servers, load, between, within, style="dim")
        rate = load * servers
        wait, error = simulated.mean_wait(
            simulated.with_scv(1.0 / rate, between),
            simulated.with_scv(1.0, within),
            servers,
            requests,
            seeds,
        )
        computed = float(ggc(rate, 1.0, servers, between, within).wait_s)
        cells = [f"{load:g}", f"{between:g}", f"{within:g}"]
        shown = f"{wait:.3g} / {computed:.3g} ± {2.0 * error:.1g}"
        rows.append([str(servers), *cells, shown, f"{100.0 * (computed / wait - 1.0):+.0f}"])
    header = ["servers", "load", "arrival scv", "service scv", "wait s", "off, %"]
    waits = markdown(header, rows)
    rows = []
    demands, servers_each, think = [0.3, 0.8], [1, 2], 3.0
    for threads, customers in LAYERS:
        progress.print(threads, customers, style="dim")
        runs = np.array(
            [
                simulated.layered(
                    demands, servers_each, threads, customers, think, requests // 2, seed
                )
                for seed in range(seeds)
            ]
        )
        model = layered(demands, threads, customers, think, servers_each)
        half = 2.0 * runs.std(axis=0, ddof=1) / np.sqrt(seeds)
        means = runs.mean(axis=0)
        rows.append(
            [
                str(threads),
                str(customers),
                f"{means[0]:.3f} / {model.throughput:.3f} ± {half[0]:.1g}",
                f"{means[1]:.3g} / {model.wait_s:.3g} ± {half[1]:.1g}",
            ]
        )
    return waits + "\n" + markdown(["threads", "customers", "requests/s", "wait s"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("what", choices=("speed", "accuracy", "approximations"))
    parser.add_argument("--requests", type=int, default=100_000, help="of a simulated run")
    parser.add_argument("--seeds", type=int, default=4, help="runs of each case")
    parser.add_argument("--out", type=Path, help="writes the tables there")
    arguments = parser.parse_args()
    if arguments.what == "speed":
        table = speed()
    else:
        simulation = accuracy if arguments.what == "accuracy" else approximations
        table = simulation(arguments.requests, arguments.seeds)
    print(table, end="")
    if arguments.out is not None:
        write_text(arguments.out, table)


if __name__ == "__main__":
    main()
