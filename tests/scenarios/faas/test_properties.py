"""What holds in every run."""

import subprocess
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.scenarios.faas import sources
from cloudarena.scenarios.faas.metrics.responses import Responses
from cloudarena.testing import check_policy
from tests.scenarios.faas.cases import function, scenario

SMALL = {"duration_s": 90, "devices.count": 30}


def columns(result, table):
    return {
        name: result.tables[table][name].to_numpy() for name in result.tables[table].column_names
    }


def check_sums(result):
    metrics, functions = result.metrics, columns(result, "functions")
    ends = sum(metrics[name] for name in ("completed", "rejected", "timed_out", "unfinished"))
    assert ends == metrics["requests"] == functions["requests"].sum()
    energy = result.tables["nodes"]["energy_j"].to_numpy()
    assert functions["energy_j"].sum() == pytest.approx(energy.sum(), rel=1e-9)
    assert metrics["energy_wh"] * 3600 == pytest.approx(energy.sum(), rel=1e-12)
    parts = [functions[f"{name}_energy_j"] for name in ("dynamic", "start", "network", "idle")]
    assert functions["energy_j"] == pytest.approx(sum(parts), rel=1e-12)
    power = columns(result, "power")
    assert (power["power_w"] * power["interval_s"]).sum() == pytest.approx(energy.sum(), rel=1e-9)
    series = columns(result, "nodes_series")
    by_node = (series["power_w"] * series["interval_s"]).reshape(-1, len(energy)).sum(axis=0)
    assert by_node == pytest.approx(energy, rel=1e-9)
    for name in ("idle", "network"):
        total = result.tables["nodes"][f"{name}_energy_j"].to_numpy().sum()
        assert functions[f"{name}_energy_j"].sum() == pytest.approx(total, rel=1e-9)
    own = columns(result, "replicas")["idle_energy_j"].sum()
    assert own == pytest.approx(functions["idle_energy_j"][:-1].sum(), rel=1e-9)
    invocations = columns(result, "invocations")
    dynamic = functions["dynamic_energy_j"].sum()
    assert invocations["energy_j"].sum() == pytest.approx(dynamic, rel=1e-9)
    assert metrics["requests"] == len(invocations["request"])
    undone = metrics["requests"] - metrics["completed"]
    assert metrics["unserved_share"] == undone / metrics["requests"]


@settings(max_examples=12)
@given(
    seed=st.integers(0, 1000),
    policy=st.sampled_from(["kubernetes", "least-power", "random", "highest-performance"]),
    router=st.sampled_from(["round-robin", "least-loaded", "random", "locality"]),
    requests=st.booleans(),
    limits=st.booleans(),
)
def test_requests_and_energies_add_up(seed, policy, router, requests, limits):
    changes = {**SMALL, "router": router, "network.requests": requests}
    if limits:
        changes |= {"functions[0].timeout_s": 8.0, "functions[2].queue_limit": 3}
    spec = cloudarena.load("faas/urban-sensing", changes)
    run = spec.start(seed, "full")
    run.play(spec.kind.policies.resolve(policy))
    result = run.result()
    check_sums(result)
    # Little's law: the requests in the system over time are the times that requests were there.
    rows = columns(result, "invocations")
    finish = rows["finish_s"]
    there = np.where(np.isnan(finish), run.now, finish) - rows["arrival_s"]
    assert run.world.clock[0]["in_system_s"] == pytest.approx(there.sum(), rel=1e-9)
    assert (columns(result, "power")["dynamic_w"] >= -1e-9).all()
    assert (rows["waited_s"] <= there + 1e-9).all()


def test_responses_come_from_the_replica_that_served():
    """Also when that one has stopped and another has its slot."""
    often = {"by": "average-requests", "threshold": 0.5, "minimum": 0, "interval_s": 3}
    work = function(1.0, workers=2, scaling=often, response_kb=5000)
    both = (
        {**work, "requests": {"source": "sine", "mean": 3, "period_s": 40}},
        {**work, "name": "g"},
    )
    spec = scenario(
        *both,
        devices={"mix": "hybrid", "count": 30},
        topology="industrial-iot",
        network={"requests": True},
    )
    result = simulate(spec, "random", record="full")
    rows, replicas = columns(result, "invocations"), columns(result, "replicas")
    served = rows["start_s"] >= 0
    taken = rows["replica"][served].astype(int)
    assert (replicas["function"][taken] == rows["function"][served]).all()
    assert (replicas["running_s"][taken] <= rows["start_s"][served]).all()
    assert np.array_equal(np.bincount(taken, minlength=len(replicas["node"])), replicas["requests"])
    flows = columns(result, "flows")
    sources = flows["source"][flows["purpose"] == "response"]
    answered = rows["node"][rows["outcome"] == "completed"]
    assert sorted(sources) == sorted(answered)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"functions[0].queue_limit": 10**30}, r"queue_limit: 10+ is not allowed: at most"),
        ({"functions[0].name": "idle"}, "name: 'idle' is not allowed: tables use it"),
        ({"functions[0].scaling": {"by": "queue-length", "interval_s": 1e-7}}, "interval_s: 1e-07"),
        ({"sample_s": 1e-9}, "sample_s: 1e-09 is not allowed: at least duration_s / 10,000,000"),
        (
            {
                "functions[0].requests": {
                    "source": "bursts",
                    "base": 1,
                    "burst": 2,
                    "every_s": 1e-9,
                    "length_s": 1e-9,
                }
            },
            r"functions\[0\].requests.length_s: 1e-09 is not allowed",
        ),
        (
            {"functions[0].requests": {"source": "bursts", "rate": 1, "burstiness": 10}},
            r"functions\[0\].requests: unknown key 'rate'. Now base, burst, every_s and length_s",
        ),
        ({"topology": {"kind": "industrial-iot", "cells": 10**9}}, "cells: 1000000000 is not"),
        (
            {"devices.types": {"nuc": 10**6}},
            "^devices: 1,000,000 is not allowed: at most 200,000",
        ),
        (
            {"devices.types": {"nuc": 10**5}, "topology": "city"},
            "^topology: routes of devices and zones: 4,000,000,000 is not allowed: at most",
        ),
        (
            {
                "devices.types": {"nuc": 10**5},
                "functions[0].scaling": {"minimum": 10**5, "maximum": 10**5},
            },
            "^replicas at the start times devices: 10,000,000,000 is not allowed",
        ),
        (
            {"functions[0].requests.rate": 1e7, "duration_s": 1e7, "sample_s": 1e3},
            "^requests: 100,000,000,000,000 is not allowed: at most",
        ),
        (
            {
                "record": "full",
                "sample_s": 0.001,
                "duration_s": 1e4,
                "devices.types": {"nuc": 1000},
            },
            "samples times devices: 10,000,000,000 is not",
        ),
        ({"prices.kwh_usd": 1e300}, r"prices.kwh_usd: 1e\+300 is not allowed: at most"),
        ({"carbon.g_per_kwh": 1e300}, r"carbon.g_per_kwh: 1e\+300 is not allowed: at most"),
        ({"carbon.series": [[0, 1e300]]}, r"carbon.series\[0\].* is not allowed: at most"),
        ({"power.boot_s": 1e300}, r"power.boot_s: 1e\+300 is not allowed: at most"),
        ({"functions[0].request_kb": 1e300}, "request_kb: .* is not allowed: at most"),
        ({"functions[0].timeout_s": 1e300}, "timeout_s: .* is not allowed: at most"),
        ({"functions[0].start_cores": 1e300}, "start_cores: .* is not allowed: at most"),
        ({"scheduler.horizon_s": 0}, "horizon_s: 0 is not allowed: more than 0"),
        (
            {
                "functions[0].requests": {
                    "source": "bursts",
                    "base": 1,
                    "burst": 2,
                    "length_s": 1e308,
                }
            },
            r"length_s: 1e\+308 is not allowed: at most",
        ),
        ({"devices.types": {}}, r"devices.types: {} is not allowed: at least 1"),
        ({"devices": {"mix": {"nuc": -1}, "count": 2}}, r"^devices.mix.nuc: -1 is not allowed"),
        ({"devices": {"mix": 5, "count": 2}}, r"^devices.mix: 5 is not allowed: text$"),
    ],
)
def test_what_no_run_could_take_is_one_line(changes, words):
    spec = scenario(function()).model_dump(mode="json", exclude_none=True)
    with pytest.raises(SpecError, match=words) as error:
        cloudarena.load(spec, changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "model",
    [
        {"model": "linear", "idle_w": 10, "cpu_w": 40},
        {"model": "points", "watts": [10, 20, 28, 34, 39, 43, 46, 48, 49, 50, 50]},
        {"model": "curve", "idle_w": 10, "busy_w": 50},
    ],
)
def test_power_rises_with_load(model):
    energies = []
    for rate in (0.01, 0.1, 0.3, 0.5, 1.0, 2.0):
        work = function(2.0, rate=rate, workers=8)
        spec = scenario(work, power={"devices": {"nuc": model}})
        energies.append(simulate(spec, record="none").metrics["energy_wh"])
    assert energies == sorted(energies)
    assert len(set(energies)) == len(energies)


def test_all_policies_see_the_same_work():
    spec = cloudarena.load("faas/urban-sensing", SMALL)
    rows = []
    for policy in ("first-fit", "random"):
        found = columns(simulate(spec, policy, record="full"), "invocations")
        order = np.lexsort((found["request"], found["function"].astype(str)))
        rows.append(found["arrival_s"][order])
    assert np.array_equal(*rows)


def test_weights_are_parameters():
    spec = cloudarena.load("faas/urban-sensing", SMALL)
    plain = simulate(spec, "energy-efficiency").metrics
    zero = "weighted:execution-time=0:contention=0"
    assert simulate(spec, zero).metrics == plain
    with pytest.raises(PolicyError, match="speed=1"):
        simulate(spec, "weighted:speed=1")


def test_a_user_may_place_and_scale():
    spec = cloudarena.load("faas/urban-sensing", SMALL)

    def last(nodes, replica, rng):
        """The last valid node."""
        best = -1
        for node in range(len(nodes.valid)):
            if nodes.valid[node]:
                best = node
        return best

    def most(scaling, rng):
        """As many as may be."""
        return scaling.maximum

    class Both:
        """The last valid node, as many as may be."""

        place, scale = staticmethod(last), staticmethod(most)

    for policy in (last, most, Both):
        check_policy(policy, spec)

    class Methods:
        """The same as methods of an object, which may keep state."""

        def place(self, nodes, replica, rng):
            return last(nodes, replica, rng)

        def scale(self, scaling, rng):
            return most(scaling, rng)

    expected = simulate(spec, Both).metrics
    assert simulate(spec, Methods()).metrics == simulate(spec, Methods).metrics == expected
    assert simulate(spec, Methods().place).metrics == simulate(spec, last).metrics
    with pytest.raises(PolicyError, match=r"\(a, b, c, d\) is not allowed: a function of 1"):
        simulate(spec, lambda a, b, c, d: 0)
    more = simulate(spec, most).metrics["replicas_mean"]
    assert more > simulate(spec).metrics["replicas_mean"]


def test_requests_may_be_drawn_window_by_window(monkeypatch):
    spec = cloudarena.load(
        "faas/edge-energy", {"duration_s": 600, "topology": "none", "load_scale": 4.0}
    )
    monkeypatch.setattr(sources, "MOST_AT_ONCE", 7000)
    monkeypatch.setattr(sources, "WINDOW_REQUESTS", 7000)
    run = spec.start(1, "full")
    assert run.world.clock[0]["windows"] == 6
    run.play(spec.kind.policies.resolve("highest-performance"))
    result = run.result()
    check_sums(result)
    assert simulate(spec, "highest-performance", 1, "none").metrics == result.metrics
    rows = columns(result, "invocations")
    arrival = np.sort(rows["arrival_s"])
    assert (np.diff(arrival) > 0).all()
    # The rate is that of the wave: most at a quarter of it, nothing at three quarters.
    peak, trough = (arrival > 100) & (arrival < 200), (arrival > 400) & (arrival < 500)
    assert peak.sum() == pytest.approx(72 * 100 * (1 + 3 / np.pi), rel=0.05)
    assert trough.sum() == pytest.approx(72 * 100 * (1 - 3 / np.pi), rel=0.3)
    ended = ~np.isnan(rows["response_s"])
    waited = run.now - rows["arrival_s"][~ended]
    expected = Responses().times_s(rows["response_s"][ended], waited)
    found = [result.metrics[f"response_{name}_s"] for name in ("mean", "p50", "p95", "p99")]
    assert found == pytest.approx(list(expected), rel=1e-3)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_replay_is_the_run_again(tmp_path, ending):
    changes = {"duration_s": 120, "record": "full"}
    study = cloudarena.load("faas/edge-energy", changes)
    run = simulate(study, "energy-efficiency", 3)
    decisions = run.tables["decisions"]
    assert set(decisions["decision"].to_pylist()) == {"place", "scale"}
    path = tmp_path / f"decisions.{ending}"
    if ending == "csv":
        pyarrow.csv.write_csv(decisions, path)
    else:
        pyarrow.parquet.write_table(decisions, path)
    again = simulate(study, f"replay:{path}", 3)
    assert again.metrics == run.metrics
    assert all(again.tables[name].equals(table) for name, table in run.tables.items())


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0,place,f,nowhere,", "node: 'nowhere' is not in the scenario"),
        ("0,place,g,nuc-0,", "function: 'g' is not in the scenario"),
        ("0,move,f,nuc-0,", "decision: 'move' is not allowed: place or scale"),
        ("0,scale,f,,", "replicas: None is not in the scenario"),
    ],
)
def test_a_replay_that_does_not_fit_says_where(tmp_path, row, words):
    path = tmp_path / "decisions.csv"
    path.write_text(f"time_s,decision,function,node,replicas\n{row}\n")
    with pytest.raises(PolicyError, match=f"line 2: {words}"):
        simulate(scenario(function()), f"replay:{path}")


@pytest.mark.parametrize("policy", ["energy-efficiency", "weighted"])
def test_both_speeds_agree_on_all_that_is_metered(policy):
    """With flows, a grid that changes, nodes that go off, limits, and a scaler of each kind."""
    changes = {
        **SMALL,
        "carbon.series": [[0, 100], [20.5, 700], [60, 50]],
        "power": {"off_after_s": 5, "boot_s": 3},
        "functions[0].timeout_s": 8.0,
        "functions[1].scaling": {"by": "per-request", "minimum": 1, "maximum": 20, "expiry_s": 9},
        "functions[2].queue_limit": 3,
    }
    spec = cloudarena.load("faas/urban-sensing", changes)
    chosen = spec.kind.policies.resolve(policy)
    run = spec.start(2, "full")
    while run.decision is not None:
        run.metrics()  # looks, and changes nothing
        run.apply(chosen(run.decision))
    stepped, played = run.result(), simulate(spec, policy, 2, "full")
    assert str(stepped.metrics) == str(played.metrics)
    assert all(played.tables[name].equals(table) for name, table in stepped.tables.items())
    check_sums(played)


def test_a_run_says_how_much_memory_it_needs():
    spec = scenario(function(rate=1000.0), duration_s=1e6, sample_s=1e3)
    assert spec.memory_needs("none") == (24e9, "requests: 1e+09")  # gaps are held as a whole
    poisson = {"functions[0].requests.source": "poisson"}
    streamed = cloudarena.load(spec.model_dump(mode="json", exclude_none=True), poisson)
    assert streamed.memory_needs("none")[0] < 1e8  # window by window
    needed, why = streamed.memory_needs("full")
    assert needed > 50e9
    assert why == "record: full, requests: 1e+09"


def test_a_spec_is_validated_without_numba_and_arrow():
    code = (
        "import sys, cloudarena\n"
        "cloudarena.load('faas/urban-sensing')\n"
        "print([name for name in ('numba', 'pyarrow', 'scipy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bursts_bring_as_many_requests_as_the_spec_expects():
    """Two thirds of 100 s are calm, at 3 a second, one third is burst, at 30: 12 a second."""
    bursts = {"source": "bursts", "base": 3, "burst": 30, "every_s": 0.2, "length_s": 0.1}
    spec = scenario(function(requests=bursts))
    assert spec.expected_requests() == pytest.approx(1200)
    assert len(spec.draw_window(0).arrival_s) == pytest.approx(1200, rel=0.15)
