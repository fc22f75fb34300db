"""M/M/c by its formula against a simulation of its own: a queue for all servers.

A request is served by the server that is free first. 20 replications; the 95 % interval is that of
all comparisons together, since of 24 by themselves one or two would fail.
"""

import numpy as np
import pytest
from scipy import stats

from cloudarena.engine.compiled import compiled
from cloudarena.queueing import erlang_c, mmc

REPLICATIONS = 20
COMPARISONS = 24


@compiled
def waits(gaps, services, servers):
    """The time that each request waits: free[k] is when server k has nothing left to do."""
    free = np.zeros(servers)
    waited = np.empty(len(gaps))
    now = 0.0
    for request in range(len(gaps)):
        now += gaps[request]
        first = np.argmin(free)
        begin = max(now, free[first])
        waited[request] = begin - now
        free[first] = begin + services[request]
    return waited


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9, pytest.param(0.99, marks=pytest.mark.slow)])
@pytest.mark.parametrize("servers", [1, 3, 8])
def test_mmc_is_that_of_a_simulation(load, servers):
    requests = int(max(100_000, 200 / (1 - np.sqrt(load)) ** 2))
    responses, late = [], []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng([seed, servers, int(100 * load)])
        gaps = rng.exponential(1 / (load * servers), requests)
        services = rng.exponential(1.0, requests)
        waited = waits(gaps, services, servers)[requests // 5 :]
        responses.append(np.mean(waited + services[requests // 5 :]))
        late.append(np.mean(waited > 0))
    response_s = mmc(load * servers, 1.0, servers).response_s
    must_wait = erlang_c(servers, load * servers)
    for values, formula in ((responses, response_s), (late, must_wait)):
        half = stats.sem(values) * stats.t.ppf(1 - 0.025 / COMPARISONS, REPLICATIONS - 1)
        assert np.mean(values) == pytest.approx(float(formula), abs=half)
