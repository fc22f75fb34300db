"""One function with exponential times against queueing theory."""

import numpy as np
import pytest

import cloudarena
from cloudarena.experiments.compare import interval
from tests.scenarios.faas.cases import function, scenario

SEEDS = 12


def queue(servers, **changes):
    image = {"execution": {"distribution": "exponential", "mean_s": 1.0}}
    requests = {"source": "poisson", "rate": 0.75 * servers}
    return scenario(
        function(image=image, workers=servers, requests=requests, **changes),
        duration_s=20_000,
        contention={"model": "none"},
        sample_s=1000,
    )


def measured(spec, metric):
    values = [cloudarena.simulate(spec, seed=s, record="none").metrics for s in range(SEEDS)]
    return np.array([metric(value) for value in values])


def erlang_b(servers, load):
    blocking = 1.0
    for k in range(1, servers + 1):
        blocking = load * blocking / (k + load * blocking)
    return blocking


@pytest.mark.parametrize("servers", [1, 4])
def test_waiting_is_that_of_so_many_servers(servers):
    load = 0.75 * servers
    blocking = erlang_b(servers, load)
    waiting = blocking / (1 - (load / servers) * (1 - blocking))
    response = 1.0 + waiting / (servers - load)
    found = interval(measured(queue(servers), lambda m: m["response_mean_s"]), 0.999)
    assert found.low < response < found.high


@pytest.mark.parametrize("servers", [1, 4])
def test_loss_is_erlangs(servers):
    spec = queue(servers, queue_limit=0)
    found = interval(measured(spec, lambda m: m["rejected"] / m["requests"]), 0.999)
    assert found.low < erlang_b(servers, 0.75 * servers) < found.high
