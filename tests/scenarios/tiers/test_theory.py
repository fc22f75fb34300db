"""The simulation agrees with queueing theory inside the 95 % interval over 20 replications.

The interval is that of all comparisons together (Bonferroni): of so many by themselves one in
twenty would fail by chance.

Each VM has a queue of its own, so M/M/c has no place in this model; tests/validation/test_mmc.py
holds that formula against a simulation by itself. Loads of 0.99 need long runs and are slow.
"""

import numpy as np
import pytest
from scipy import stats

from cloudarena import queueing, simulate
from cloudarena.scenarios.tiers import TiersScenario

REPLICATIONS = 20
COMPARISONS = 48
LOADS = (0.3, 0.6, 0.9, pytest.param(0.99, marks=pytest.mark.slow))
NO_LIMIT = 200_000
"""Room that never is full."""
RUBIS = ((220.0, 120.0), (36.0, 20.0), (80.0, 40.0))
COUNTS = ((1, 1), (2, 4), (2, 1))


def service(rate, counts=((1, 0),), rates=((1.0, 0.5),), forward=(), **others):
    """A service of these VMs that nobody changes, at a constant arrival rate."""
    tiers = [
        {
            "name": f"tier-{k}",
            "fat": {"rate": fat_rate, "max": max(fat, 1), "start": fat},
            "thin": {"rate": thin_rate, "max": max(thin, 1), "start": thin},
            "room": others.get("room", 200),
        }
        for k, ((fat, thin), (fat_rate, thin_rate)) in enumerate(zip(counts, rates, strict=True))
    ]
    keys = {key: value for key, value in others.items() if key not in ("room", "kind")}
    return TiersScenario.parse(
        {
            "scenario": "tiers",
            "arrivals": {"kind": "constant", "rate": rate},
            "routing": {"kind": others.get("kind", "depth"), "forward": list(forward)},
            "tiers": tiers,
            "period_s": 1e9,
            **keys,
        }
    )


def measured(scenario, *names):
    """Metrics, (names, replications)."""
    runs = [simulate(scenario, "static", seed, "none").metrics for seed in range(REPLICATIONS)]
    return np.array([[run[name] for run in runs] for name in names])


def holds(values, theory):
    """Holds that theory is in the interval of the mean of the values."""
    half = stats.sem(values) * stats.t.ppf(1 - 0.025 / COMPARISONS, len(values) - 1)
    assert np.mean(values) == pytest.approx(theory, abs=half)


def lasting(load, services=20_000):
    """So many services, and a quarter of that to warm up; more where the load is high.

    A queue forgets its past in about 1 / (1 - sqrt(load))^2 services.
    """
    services = max(services, 24 / (1 - np.sqrt(load)) ** 2)
    return 1.25 * services, 0.25 * services


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("room", [5, 50])
def test_one_queue_with_room(load, room):
    duration, warmup = lasting(min(load, 0.9), 40_000)
    scenario = service(load, room=room, duration_s=duration, warmup_s=warmup)
    theory = queueing.mm1c(load, 1.0, room)
    response, blocked, arrived = measured(scenario, "response_mean_s", "blocked", "arrived")
    holds(response, float(theory.response_s))
    if blocked.sum() > 100:
        holds(blocked / arrived, float(theory.blocked))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    ("law", "scv"), [("deterministic", 0.0), ("log-normal", 0.5), ("hyper-exponential", 4.0)]
)
def test_general_service(load, law, scv):
    duration, warmup = lasting(load, 40_000)
    scenario = service(
        load,
        room=NO_LIMIT,
        duration_s=duration * (1 + scv),
        warmup_s=warmup,
        service=law,
        service_scv=max(scv, 0.5),
    )
    theory = queueing.mg1(load, 1.0, scv)
    holds(measured(scenario, "response_mean_s")[0], float(theory.response_s))


@pytest.mark.parametrize("load", LOADS)
def test_a_tandem(load):
    # All go on to the second tier and come back through the first: two visits there, one here.
    duration, warmup = lasting(load)
    scenario = service(
        load, ((1, 0), (1, 0)), ((2.0, 1.0), (1.25, 1.0)), (1.0,),
        room=NO_LIMIT, duration_s=duration, warmup_s=warmup,
    )  # fmt: skip
    by_hand = 2 / (2 - 2 * load) + 1 / (1.25 - load)
    network = queueing.jackson([load, 0.0], [[0.0, 0.5], [1.0, 0.0]], [2.0, 1.25])
    assert float(network.response_s) == pytest.approx(by_hand)
    holds(measured(scenario, "response_mean_s")[0], by_hand)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("kind", ["depth", "random_walk"])
@pytest.mark.parametrize("balance", ["weighted", "equal"])
def test_the_chain_of_tiers(load, kind, balance):
    forward = (0.8, 0.6) if kind == "depth" else (0.3, 0.2)
    chain = queueing.TierChain(RUBIS, forward, NO_LIMIT, kind, balance)
    one = queueing.evaluate(chain, 1.0, np.array(COUNTS))
    rate = load / float(one.utilisation.max())
    theory = queueing.evaluate(chain, rate, np.array(COUNTS))
    duration, warmup = lasting(load)
    scenario = service(
        rate, COUNTS, RUBIS, forward, kind=kind, balance=balance,
        room=NO_LIMIT, duration_s=duration / 20, warmup_s=warmup / 20,
    )  # fmt: skip
    holds(measured(scenario, "response_mean_s")[0], float(theory.response_s))


def test_littles_law_is_exact_and_requests_add_up():
    scenario = service(
        45.0,
        ((0, 1), (2, 1), (1, 0)),
        ((220.0, 120.0), (20.0, 10.0), (80.0, 40.0)),
        (0.8, 0.6),
        room=20,
        duration_s=600,
        period_s=60,
    )
    result = simulate(scenario, "static", record="full")
    requests = result.tables["requests"].to_pydict()
    metrics = result.metrics
    assert metrics["blocked"] > 0
    assert metrics["served"] + metrics["blocked"] == metrics["arrived"] == len(requests["arrival"])
    end = max(requests["finish"])
    # The number in the system, integrated over time, is the sum of the times spent in it. Blocked
    # requests leave when they are blocked.
    moments = np.concatenate((requests["arrival"], requests["finish"]))
    changes = np.concatenate((np.ones(len(moments) // 2), -np.ones(len(moments) // 2)))
    order = np.argsort(moments, kind="stable")
    inside = np.cumsum(changes[order])
    area = float(np.sum(inside[:-1] * np.diff(moments[order])))
    assert area == pytest.approx(sum(requests["response"]), rel=1e-9)
    tiers = result.tables["tiers"].to_pydict()
    held = np.array(tiers["held"]).reshape(-1, 3)
    lengths = np.append(np.full(9, 60.0), end - 540.0)
    spent = np.array(tiers["sojourn_s"]) * np.array(tiers["served"])
    assert (held * lengths[:, None]).sum() == pytest.approx(spent.sum(), rel=1e-9)
