"""Queueing theory against the simulators: what a model says, and what a run measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cloudarena import queueing
from cloudarena.base.arrays import Floats, Ints
from cloudarena.catalogue import load
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.flows import Flows, make_flows
from cloudarena.engine.max_min import finishing, join, leave, next_finish
from cloudarena.engine.streams import stream
from cloudarena.experiments.simulate import simulate
from cloudarena.reproduce.entry import Entry, Findings, Row, Settings, exact, measured, simultaneous
from cloudarena.reproduce.queues import LOADS, compare, service

SERVERS, LOAD = 4, 0.75
QUICK_LOAD, QUICK, FULL = 0.6, 10, 20
SHARED, COLD, OPERATIONS = 2000, 400, 1_000_000
"""Requests that share a processor, how many of them pass first, and its operations a second."""


def _function(**changes: Any) -> Any:
    """One function with exponential times on one node, with as many workers as servers."""
    return load(
        {
            "scenario": "faas",
            "duration_s": 20_000,
            "devices": {"types": {"nuc": 1}},
            "contention": {"model": "none"},
            "sample_s": 1000,
            "functions": [
                {
                    "name": "f",
                    "workers": SERVERS,
                    "requests": {"source": "poisson", "rate": LOAD * SERVERS},
                    "image": {
                        "execution": {"distribution": "exponential", "mean_s": 1.0},
                        "use": {"cpu": 0.01},
                    },
                    "start_s": 0.0,
                    **{f"{phase}_cores": 0.0 for phase in ("pull", "start", "setup")},
                    **changes,
                }
            ],
        }
    )


def _mean_response(seed: int) -> float:
    """The mean response of M/M/4 by the faas scenario."""
    return float(simulate(_function(), seed=seed, record="none").metrics["response_mean_s"])


def _lost_share(seed: int) -> float:
    """The share of requests that find all servers busy and no queue."""
    metrics = simulate(_function(queue_limit=0), seed=seed, record="none").metrics
    return float(metrics["rejected"] / metrics["requests"])


def _shared_response(seed: int) -> float:
    """The mean response of requests that share one core, by the workflow scenario."""
    rng = stream(seed, "processor sharing")
    arrivals = np.cumsum(rng.exponential(1.0 / LOAD, SHARED))
    work = np.ceil(rng.exponential(OPERATIONS, SHARED)).astype(int)
    flows = [
        {
            "arrival": float(arrival),
            "functions": [{"computation": int(one), "memory_req": 1, "parallelism": 1}],
        }
        for arrival, one in zip(arrivals, work, strict=True)
    ]
    node = {"count": 1, "cpu": 1, "memory": SHARED}
    server = {"name": "s", "hourly_rate": 1.0, "cold_start_latency": 0, "numa_nodes": node}
    scenario = load(
        {
            "scenario": "workflow",
            "cluster": {"single_core_speed": OPERATIONS, "servers": [server]},
            "memory_options": [1],
            "workload": flows,
        }
    )
    table = simulate(scenario, seed=seed, record="full").tables["functions"]
    spent = table["completion"].to_numpy() - table["submission"].to_numpy()
    return float(spent[COLD:].mean())


CASES: tuple[tuple[str, float, Callable[[int], float]], ...] = (
    (
        f"M/M/{SERVERS} in faas: response",
        float(queueing.mmc(LOAD * SERVERS, 1.0, SERVERS).response_s),
        _mean_response,
    ),
    (
        f"Erlang B in faas, {SERVERS} servers: share lost",
        float(queueing.erlang_b(SERVERS, LOAD * SERVERS)),
        _lost_share,
    ),
    (
        "M/M/1, processor sharing in workflow: response",
        float(queueing.mg1_ps(LOAD, 1.0).response_s),
        _shared_response,
    ),
)
"""The cases that other scenarios than tiers simulate, all at a load of 0.75."""


def _littles_law() -> Row:
    """Requests in the system over time are their times in it, to the last digits."""
    scenario = service(
        45.0, 600.0, 0.0, ((0, 1), (2, 1), (1, 0)), ((220.0, 120.0), (20.0, 10.0), (80.0, 40.0)),
        (0.8, 0.6), room=20, period_s=60.0,
    )  # fmt: skip
    requests = simulate(scenario, "static", record="full").tables["requests"].to_pydict()
    moments = np.concatenate((requests["arrival"], requests["finish"]))
    changes = np.repeat((1.0, -1.0), len(moments) // 2)
    order = np.argsort(moments, kind="stable")
    area = float((np.cumsum(changes[order])[:-1] * np.diff(moments[order])).sum())
    spent = float(np.sum(requests["response"]))
    return exact("Little's law: area under the number in the system, s", spent, area, 1e-9 * spent)


@jit_uncounted
def _finish_all(flows: Flows, amount: Floats, which: Ints, finish: Floats) -> None:
    """Joins one flow on each route at 0 and notes when each finishes."""
    for flow in range(len(amount)):
        which[join(flows, flow, amount[flow], 0.0)] = flow
    for _ in range(len(amount)):
        now, slot = next_finish(flows), finishing(flows)
        leave(flows, slot, now)
        finish[which[slot]] = now


def _max_min() -> Iterator[Row]:
    """Three flows on links of 10 and 4 bytes a second: over both, over the first, the second.

    The second link is the narrow one: its two flows have 2 bytes a second, the other one 8.
    """
    flows = make_flows(np.array([10.0, 4.0]), np.array([0, 2, 3, 4]), np.array([0, 1, 0, 1]), 3)
    finish = np.zeros(3)
    _finish_all(flows, np.full(3, 20.0), np.zeros(3, np.int64), finish)
    for name, theirs, ours in zip(
        ("both links", "the wide link", "the narrow link"), (10.0, 2.5, 10.0), finish, strict=True
    ):
        yield exact(f"max-min flows: 20 bytes over {name}, s", theirs, float(ours), 1e-9)


def _run(settings: Settings) -> Findings:
    """Runs all cases: at a load of 0.6, or at four loads."""
    loads, replications = (LOADS, FULL) if settings.full else ((QUICK_LOAD,), QUICK)
    found = [one for at in loads for one in compare(at, replications)]
    cells = len(found) + len(CASES)
    rows = [
        measured(f"{one.name}, load {one.load:g}", one.theory, simultaneous(one.values, cells))
        for one in found
    ]
    for name, theory, run in CASES:
        values = np.array([run(seed) for seed in range(replications)])
        rows.append(measured(f"{name}, load {LOAD:g}", theory, simultaneous(values, cells)))
    rows += [_littles_law(), *_max_min()]
    return Findings(rows)


ENTRY = Entry(
    "theory",
    "Queues, networks and flows against theory",
    "Textbook formulas: Erlang 1917, Pollaczek 1930, Khinchine 1932, Jackson 1957, Little 1961, "
    "Kleinrock 1975; the functions of cloudarena.queueing.",
    "Each case is simulated 10 times (20 in full) after a warm-up of ten relaxation times; tiers "
    "unless another scenario is named. The published number is what theory says. Intervals are "
    "Student's, so wide that all of them hold together with 95 %. Little's law and max-min flows "
    "are without chance. In full at loads of 0.3, 0.6, 0.9 and 0.99.",
    _run,
)
