"""Work that is left undone is never a win: in metrics, in verdicts by them, and in rewards."""

import math

import numpy as np
import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.measures import AtLeast
from cloudarena.scenarios.faas import KIND
from cloudarena.scenarios.faas.metrics.responses import Responses
from cloudarena.scenarios.faas.observe import FaasObserver
from tests.scenarios.faas.cases import column, function, scenario

SMALL = {"duration_s": 60, "devices.count": 30}


def lazy(nodes, replica, rng):
    """No node, ever."""
    return -1


def test_who_serves_nothing_has_nothing_to_show():
    spec = cloudarena.load("faas/edge-energy", SMALL)
    metrics = simulate(spec, lazy).metrics
    assert metrics["completed"] == 0
    assert metrics["unserved_share"] == 1.0
    for name in ("energy_j_per_invocation", "cold_start_share", "queueing_share"):
        assert math.isnan(metrics[name]), name
    for name in ("mean", "p50", "p95", "p99"):
        assert isinstance(metrics[f"response_{name}_s"], AtLeast)
        assert metrics[f"response_{name}_s"] > 1.0
    assert spec.kind.highlights[0] == "unserved_share"


def test_all_that_was_left_undone_counts():
    rejecting = simulate(scenario(function(10.0, queue_limit=2), duration_s=9.5)).metrics
    assert (rejecting["rejected"], rejecting["unfinished"]) == (7, 3)
    assert rejecting["unserved_share"] == 1.0
    impatient = simulate(scenario(function(3.0, timeout_s=4.0), duration_s=10)).metrics
    assert impatient["unserved_share"] == 0.9  # five given up, four unfinished, one answered
    none = simulate(scenario(function(requests={"source": "none"}))).metrics
    assert none["unserved_share"] == 0.0
    assert math.isnan(none["response_mean_s"])


def test_unfinished_requests_have_waited_until_the_end():
    # One worker, 4 s each, a request a second for 10 s: two are answered, after 4 and 7 s.
    metrics = simulate(scenario(function(4.0), duration_s=10)).metrics
    waited = [8, 7, 6, 5, 4, 3, 2, 1]
    assert metrics["response_mean_s"] == pytest.approx(np.mean([4, 7, *waited]))
    assert metrics["response_p95_s"] == pytest.approx(np.quantile([4, 7, *waited], 0.95))
    assert isinstance(metrics["response_p95_s"], AtLeast)
    rows = simulate(scenario(function(4.0), duration_s=10)).tables["functions"].to_pylist()
    assert rows[0]["response_p95_s"] == metrics["response_p95_s"]
    assert rows[1]["response_p95_s"] is None  # of the row idle


def test_who_holds_back_a_few_requests_has_no_shorter_response_times():
    # A product-limit estimate gives the weight of the eight that wait, which would take 90 s each,
    # to those that were answered: it says 3 s for the 95th percentile, as if they were like others.
    answered, held = np.repeat([1.0, 2.0, 3.0], [40, 40, 12]), np.full(8, 2.5)
    times = Responses().times_s(answered, held)
    assert (type(times.p50), times.p50) == (float, 2.0)
    assert isinstance(times.p95, AtLeast)  # 92 of 100 had an answer
    assert isinstance(times.mean, AtLeast)


def test_times_that_were_counted_are_estimated_alike():
    rng = np.random.default_rng(1)
    ended, waited = rng.exponential(size=4000), rng.uniform(0, 1, size=30)
    exact = Responses().times_s(ended, waited)
    counted = Responses()
    counted.add(ended[:3000], np.zeros(3000, np.int32))
    found = counted.times_s(ended[3000:], waited)
    assert found == pytest.approx(exact, rel=1e-3)
    assert counted.times_s(ended[3000:], waited, function=0) == found


REWARDS = [metric.name for metric in KIND.metrics if metric.better is not None]


@pytest.mark.parametrize("timeout_s", [None, 3.0])
@pytest.mark.parametrize("reward", REWARDS)
def test_no_reward_is_for_doing_nothing(reward, timeout_s):
    impatient = {f"functions[{k}].timeout_s": timeout_s for k in range(3)}
    spec = cloudarena.load("faas/edge-energy", {**SMALL, **impatient})
    observer = FaasObserver(spec, reward)
    values = []
    for policy in (lazy, "energy-efficiency"):
        run, decide = spec.start(0), spec.kind.policies.resolve(policy)
        assert math.isfinite(observer.value(run))
        while run.decision is not None:
            run.apply(decide(run.decision))
            assert math.isfinite(observer.value(run))
        values.append(observer.value(run))
    assert values[0] < values[1]


@pytest.mark.parametrize("reward", REWARDS)
def test_to_answer_a_few_requests_earns_more_than_to_answer_none(reward):
    """A percentile was the same for 6 % and for all of the requests lost: a learner finds that."""
    impatient = {f"functions[{k}].timeout_s": 3.0 for k in range(3)}
    spec = cloudarena.load("faas/edge-energy", {**SMALL, **impatient, "prices.request_usd": 0.1})
    earned, unserved = [], []
    for placed in (0, 1, 4, 16):
        run, decide, count = spec.start(0), spec.kind.policies.resolve("energy-efficiency"), 0
        while (decision := run.decision) is not None:
            if decision.kind == "place" and count == placed:
                run.apply(-1)
            else:
                count += decision.kind == "place"
                run.apply(decide(decision))
        earned.append(KIND.metric[reward].earned(run))
        unserved.append(run.metrics()["unserved_share"])
    nothing = [value for value, share in zip(earned, unserved, strict=True) if share == 1.0]
    something = [value for value, share in zip(earned, unserved, strict=True) if share < 1.0]
    assert len(something) >= 2
    assert max(nothing) < min(something)


def test_the_minimum_of_per_request_stays():
    rule = {"by": "per-request", "minimum": 2, "maximum": 4, "expiry_s": 10.0}
    spec = scenario(function(1.0, rate=0.02, scaling=rule, start_s=3.0), duration_s=500)
    result = simulate(spec)
    assert result.metrics["replicas_mean"] == 2.0
    assert result.metrics["cold_starts"] == 1  # the first, at 0 s
    # What is beyond the minimum still ends.
    more = {**rule, "minimum": 1, "start": 3}
    result = simulate(scenario(function(1.0, rate=0.02, scaling=more), duration_s=100))
    assert column(result, "replicas", "stopped_s").count(None) == 1
    assert result.metrics["cold_starts"] == 0


def test_all_who_waited_for_room_get_a_replica_when_it_comes(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("inter_arrival_s\n60\n10\n10\n10\n")
    wide = {"cpu_millicores": 4000}
    until = {"by": "average-requests", "minimum": 0, "start": 1, "interval_s": 100, "maximum": 1}
    first = function(name="g", requests={"source": "none"}, image=wide, scaling=until)
    work = function(
        10.0,
        requests={"source": "recorded", "path": str(path)},
        image={"use": {"cpu": 0.25}},
        scaling={"by": "per-request", "minimum": 0, "maximum": 10},
        start_s=2.0,
        memory_bound=0.0,
    )
    result = simulate(scenario(first, work, duration_s=200))
    # The first function gives the node back at 100 s; a start takes 2 s, an execution 10.
    assert column(result, "invocations", "finish_s") == [112.0] * 4


def test_a_replica_that_starts_has_as_many_workers_as_others():
    """Up to the workers of all replicas that there may be, requests wait and are not rejected."""
    rule = {"by": "per-request", "minimum": 0, "maximum": 1}
    work = function(
        50.0, rate=1.0, workers=3, scaling=rule, start_s=20.0, image={"use": {"cpu": 0}}
    )
    metrics = simulate(scenario(work, duration_s=10)).metrics
    assert (metrics["unfinished"], metrics["rejected"]) == (3, 7)


def test_containers_start_as_they_were_measured():
    work = {**function(rate=0.001), "scaling": {"minimum": 4}, "image": function()["image"]}
    del work["start_s"]
    spec = scenario(work, devices={"types": {"rpi3": 1, "nano": 1, "nuc": 1, "xeoncpu": 1}})

    def by_turns(nodes, replica, rng):
        return replica.number

    started = column(simulate(spec, by_turns), "replicas", "starting_time_s")
    # The published bounds by device, in seconds.
    bounds = [(2.5, 24.7), (1.5, 2.9), (1.4, 3.2), (5.1, 8.3)]
    assert all(low < time < high for time, (low, high) in zip(started, bounds, strict=True))
    assert len({*started}) == 4
    same = simulate(spec, lambda nodes, replica, rng: 3 - replica.number)
    other = column(same, "replicas", "starting_time_s")
    assert other != started  # another device, another distribution
    fixed = scenario({**work, "start_s": 1.5}, devices={"types": {"rpi3": 1}})
    assert set(column(simulate(fixed), "replicas", "starting_time_s")) == {1.5}


def test_the_published_functions_of_the_catalogue_start_by_device():
    for name in ("edge-energy", "city-1000", "urban-sensing"):
        spec = cloudarena.load(f"faas/{name}")
        assert all(function.start_s is None for function in spec.functions)


def test_figures_that_cannot_be_compared_are_marked():
    spec = cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 10,
            "devices": {"types": {"xeongpu": 1, "nuc": 1}},
            "functions": [{"name": "python-pi", "scaling": {"minimum": 5}}],
        }
    )
    rows = simulate(spec, "first-fit").tables["replicas"].to_pylist()
    notes = {row["node"]: row["note"] for row in rows}
    assert notes == {
        "xeongpu-0": "measured with a larger input than on other devices",
        "nuc-0": None,
    }


def drawn(spec):
    """What each request of each function drew: arrival, execution and response times."""
    rows = simulate(spec, "first-fit", 3, record="full").tables["invocations"].to_pylist()
    names = ("arrival_s", "executed_s", "response_s")
    return {(row["function"], row["request"]): [row[name] for name in names] for row in rows}


@pytest.mark.parametrize("topology", ["none", "industrial-iot"])
def test_the_order_of_functions_changes_no_draw(topology):
    image = {"execution": {"distribution": "exponential", "mean_s": 0.4}, "cpu_millicores": 500}
    poisson = {"source": "poisson", "rate": 2.0}
    three = [function(name=name, requests=poisson, image=image, workers=9) for name in "fgh"]
    for work in three:
        del work["start_s"]
    changes = {
        "contention": {"model": "none"},
        "topology": topology,
        "network": {"requests": topology != "none", "copies": 1, "preloaded": True},
    }
    expected = drawn(scenario(*three, **changes))
    found = drawn(scenario(*three[::-1], **changes))
    assert expected.keys() == found.keys()
    for key, values in expected.items():
        for before, after in zip(values, found[key], strict=True):
            assert after == (None if before is None else pytest.approx(before, rel=1e-9)), key
    without = drawn(scenario(three[0], three[2], **changes))
    if topology == "none":
        assert without == {key: row for key, row in expected.items() if key[0] != "g"}


def test_metrics_are_those_of_now_also_at_the_first_decision():
    rule = {"by": "per-request", "minimum": 0, "maximum": 4}
    poisson = {"source": "poisson", "rate": 0.01}
    spec = scenario(function(requests=poisson, scaling=rule), duration_s=1000)
    looked_at, other = spec.start(0), spec.start(0)
    assert looked_at.metrics()["energy_wh"] == 0.0
    assert looked_at.decision.now == other.decision.now > 0.0
    assert looked_at.metrics()["energy_wh"] == other.metrics()["energy_wh"] > 0.0
