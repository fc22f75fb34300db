"""SimFaaS's own example: cold starts and instances of a function that scales per request."""

from __future__ import annotations

import numpy as np

from cloudarena.base.statistics import interval
from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate
from cloudarena.reproduce.entry import Entry, Findings, Settings, measured

COLD, REQUESTS, SERVERS = 1213, 898_469, 7.6612
"""What its README printed after a million seconds."""
SERVERS_LEEWAY = 0.05
QUICK, FULL = (1e5, 4), (1e6, 8)
"""Seconds, and replications."""


def _run(settings: Settings) -> Findings:
    """Runs the example of the catalogue."""
    seconds, count = FULL if settings.full else QUICK
    scenario = load("faas/serverless-basic", {"duration_s": seconds})
    runs = [simulate(scenario, "first-fit", seed, "none").metrics for seed in range(count)]
    cold = interval(np.array([run["cold_start_share"] for run in runs]))
    servers = interval(np.array([run["replicas_mean"] for run in runs]))
    error = 2.0 * COLD**0.5 / REQUESTS
    rows = [
        measured("cold-start probability", COLD / REQUESTS, cold, error),
        measured("mean number of instances", SERVERS, servers, SERVERS_LEEWAY),
    ]
    return Findings(rows)


ENTRY = Entry(
    "simfaas",
    "A function that scales per request",
    "Mahmoudi and Khazaei, SimFaaS, 2021; the output in the README of github.com/pacslab/simfaas: "
    "1,213 cold starts of 898,469 requests, 7.6612 servers.",
    "0.9 requests a second, 1.991 s warm and 2.244 s cold on average, exponential, instances "
    "expire after 600 s; 4 runs of 10^5 s, in full 8 of 10^6 s, with 95 % intervals. The "
    "published run is one draw too: two standard errors of its cold starts and 0.05 servers are "
    "allowed.",
    _run,
)
