"""Max-min fair flows: ours against the obvious version in Python, in one run.

``python -m benchmarks.max_min [--plain 200] [--out FILE]``: CPU milliseconds (user and system) for
flows that join one after the other, and all leave when they finish, with code that is compiled
before the clock starts. The plain version fixes one flow after the other, that of the smallest
share first, at each join and leave; its cost is cubic in the number of flows. Both must finish all
flows at the same times.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.mapping import markdown, shown
from cloudarena.base.files import write_text
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.flows import Flows, make_flows
from cloudarena.engine.max_min import finishing, join, leave, next_finish

BYTES_S = 125e6
SPACING_S = 0.01
"""Between two joins; far less than a flow takes, so that nearly all are there at a time."""
REPEATS = 3


class Case(NamedTuple):
    """Flows over links: the links of each route, and the route and bytes of each flow."""

    name: str
    capacity: NDArray[np.float64]
    routes: list[list[int]]
    route: NDArray[np.int64]
    amount: NDArray[np.float64]


def one_link(flows: int) -> Case:
    """All flows on one link, as when a registry is asked by one node."""
    amount = np.random.default_rng(0).uniform(50e6, 150e6, flows)
    return Case("one link", np.array([BYTES_S]), [[0]], np.zeros(flows, np.int64), amount)


def star(flows: int, nodes: int) -> Case:
    """From one link to many nodes, each with a link of its own."""
    amount = np.random.default_rng(1).uniform(50e6, 150e6, flows)
    capacity = np.full(nodes + 1, BYTES_S)
    routes = [[0, 1 + node] for node in range(nodes)]
    return Case(f"star of {nodes:,}", capacity, routes, np.arange(flows) % nodes, amount)


def cells(flows: int, nodes: int) -> Case:
    """Ten nodes in a cell behind its uplink, all cells on a wide backbone."""
    amount = np.random.default_rng(2).uniform(50e6, 150e6, flows)
    ups = nodes // 10
    capacity = np.concatenate(([ups * BYTES_S], np.full(ups, BYTES_S / 8), np.full(nodes, BYTES_S)))
    routes = [[0, 1 + node // 10, 1 + ups + node] for node in range(nodes)]
    return Case(f"{ups:,} cells of 10", capacity, routes, np.arange(flows) % nodes, amount)


@jit_uncounted
def run(
    flows: Flows,
    route: NDArray[np.int64],
    amount: NDArray[np.float64],
    flow_of: NDArray[np.int64],
    finish: NDArray[np.float64],
) -> None:
    """Joins the flows one by one and notes when each finishes."""
    joined, finished = 0, 0
    while finished < len(route):
        arrival = joined * SPACING_S if joined < len(route) else np.inf
        now = next_finish(flows)
        if now < arrival:
            slot = finishing(flows)
            leave(flows, slot, now)
            finish[flow_of[slot]] = now
            finished += 1
        else:
            flow_of[join(flows, route[joined], amount[joined], arrival)] = joined
            joined += 1


def ours(case: Case) -> tuple[float, NDArray[np.float64]]:
    """CPU milliseconds, the best of several, and when each flow finishes."""
    number = len(case.route)
    begin = np.cumsum([0, *map(len, case.routes)])
    links = np.array([link for route in case.routes for link in route])
    times = []
    finish = np.zeros(number)
    for _ in range(REPEATS):
        flows = make_flows(case.capacity, begin, links, number)
        start = time.process_time()
        run(flows, case.route, case.amount, np.zeros(number, np.int64), finish)
        times.append(1000.0 * (time.process_time() - start))
    return min(times), finish


class PlainFlows:
    """The obvious version: dictionaries, and all rates again at each change."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.left: dict[int, float] = {}
        self.rates: dict[int, float] = {}
        self.now = 0.0

    def advance(self, time: float) -> None:
        for flow, rate in self.rates.items():
            self.left[flow] -= rate * (time - self.now)
        self.now = time

    def next_finish(self) -> tuple[float, int]:
        times = [(self.now + self.left[flow] / rate, flow) for flow, rate in self.rates.items()]
        return min(times, default=(math.inf, -1))

    def share(self) -> None:
        """Fixes one flow after the other, that with the smallest share of a link first."""
        routes = {flow: self.case.routes[self.case.route[flow]] for flow in self.left}
        users: dict[int, int] = {}
        for route in routes.values():
            for link in route:
                users[link] = users.get(link, 0) + 1
        free = {link: float(self.case.capacity[link]) for link in users}
        self.rates = {}
        while routes:
            shares = (
                (min(free[link] / users[link] for link in route), flow)
                for flow, route in routes.items()
            )
            share, flow = min(shares)
            self.rates[flow] = share
            for link in routes.pop(flow):
                free[link] -= share
                users[link] -= 1

    def run(self) -> NDArray[np.float64]:
        finish = np.zeros(len(self.case.route))
        joined, finished = 0, 0
        while finished < len(finish):
            arrival = joined * SPACING_S if joined < len(finish) else math.inf
            time, flow = self.next_finish()
            self.advance(min(time, arrival))
            if time < arrival:
                finish[flow] = time
                del self.left[flow]
                finished += 1
            else:
                self.left[joined] = float(self.case.amount[joined])
                joined += 1
            self.share()
        return finish


def plain(case: Case, expected: NDArray[np.float64]) -> float:
    """CPU milliseconds of the plain version, which must agree."""
    start = time.process_time()
    finish = PlainFlows(case).run()
    elapsed = 1000.0 * (time.process_time() - start)
    if not np.allclose(finish, expected, rtol=1e-9, atol=1e-9):
        raise AssertionError(f"{case.name}: flows finish at other times")
    return elapsed


def table(plain_flows: int) -> str:
    """A row for each case."""
    ours(one_link(4))
    rows = []
    compared = [one_link(plain_flows // 2), one_link(plain_flows), star(plain_flows, 20)]
    compared.append(cells(plain_flows, 20))
    alone = [one_link(400), one_link(10_000), star(10_000, 1_000), cells(10_000, 1_000)]
    for case in (*compared, *alone):
        own, finish = ours(case)
        row = [case.name, f"{len(case.route):,}", shown(own)]
        if any(case is one for one in compared):
            other = plain(case, finish)
            row += [shown(other), f"{other / own:,.0f}"]
        else:
            row += ["", ""]
        rows.append(row)
    return markdown(["CPU ms", "flows", "ours", "plain Python", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--plain", type=int, default=200, help="flows for the plain version")
    parser.add_argument("--out", type=Path, help="writes the table there")
    arguments = parser.parse_args()
    text = table(arguments.plain)
    print(text, end="")
    if arguments.out is not None:
        write_text(arguments.out, text)


if __name__ == "__main__":
    main()
