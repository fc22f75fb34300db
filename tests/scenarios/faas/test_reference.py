"""The kernel equals the slow, obvious model."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate
from cloudarena.scenarios.faas.build.network import build_infrastructure
from tests.scenarios.faas.reference import NetworkReference, Reference

CPU_POWER = (
    {"model": "linear", "idle_w": 2.9, "cpu_w": 6.0},
    {"model": "curve", "idle_w": 2.9, "busy_w": 8.9, "r": 1.3},
    {"model": "points", "watts": [2.9, 3, 4, 4, 4.5, 5, 6, 7, 7.5, 8, 8.9]},
    {"model": "points", "points": [[0, 2.9], [0.05, 4.5], [0.6, 5], [0.61, 7], [1, 8.9]]},
)


SETUP = {"distribution": "exponential", "mean_s": 0.7}
ON_RPI4 = {
    "execution": {"distribution": "gamma", "shape": 9.0, "mean_s": 2.2},
    "use": {"cpu": 0.8},
    "start": SETUP,
}
KEEPS = st.sampled_from(
    [
        {},
        {"keep": "forever"},
        {"keep": "hybrid-histogram", "idle_times": {"range_s": 6, "bin_s": 0.5}},
        {"keep": "hybrid-histogram", "idle_times": {"range_s": 4, "bin_s": 1, "tail": 0.5}},
        {"keep": "hybrid-histogram", "idle_times": {"range_s": 9, "bin_s": 1.5, "head": 0.6}},
    ]
)
EVICT = ("none", "lru", "greedy-dual")
WARM_UPS = ({}, {"warmup_s": 9.5}, {"warmup_s": 17.3, "load_from_s": 0}, {"load_from_s": 4})
SUN = [[0, 3.0], [14.3, 60.0], [33.1, 0.0]]
SUPPLIES = (
    {},
    {"nuc": {"battery_wh": 0.06, "charge": 0.9, "solar_series": SUN}},
    {"nuc-0": {"battery_wh": 0.05, "grid": False, "solar_series": SUN, "restart_charge": 0.3}},
    {"rpi4": {"battery_wh": 0.03, "charge": 0.5, "least_charge": 0.4, "solar_w": 4.7}},
)
SCALERS = (
    *("none", "average-requests", "concurrency", "per-request", "per-request"),
    *("request-rate", "queue-length", "cpu-utilisation"),
)
MORE_OF_RULES = {
    "request-rate": st.sampled_from(
        [{}, {"step": 2}, {"lower_threshold": 0.2}, {"step": 3, "lower_threshold": 0.0}]
    ),
    "queue-length": st.sampled_from([{}, {"step": 1}, {"tolerance": 0.4}]),
    "cpu-utilisation": st.sampled_from(
        [{}, {"most_up": 2, "most_more": 1}, {"most_up": 1.5}, {"step": 1}, {"tolerance": 0.3}]
    ),
}
"""What rules of scaling have besides."""
OFF = (
    {},
    {"off_after_s": 3.1, "off_w": 0.4, "boot_s": 2.3, "boot_w": 11.0},
    {"off_after_s": 8.7, "boot_s": 0.9},
    {"off_after_s": 0.6},
)
"""Whether nodes are switched off while they are empty."""
ALONE = ({"per_node": 1}, {"devices": ["nuc"]}, {"tiers": ["edge"]})
PLACEMENTS = {1: ALONE, 2: (*ALONE, {"apart": ["f"]}, {"near": ["g"]}, {"apart": ["g"]})}
"""Where functions may be, by how many there are: f or g may want, or avoid, the other."""


@st.composite
def functions(draw, name):
    rule = {"minimum": draw(st.integers(0, 2)), "maximum": draw(st.integers(2, 5))}
    by = draw(st.sampled_from(SCALERS))
    if by == "per-request":
        rule |= {"by": by, "expiry_s": draw(st.sampled_from([3.0, 20.0])), **draw(KEEPS)}
    elif by != "none" or rule["minimum"] == 0:
        rule |= {
            "by": "average-requests" if by == "none" else by,
            **(draw(MORE_OF_RULES[by]) if by in MORE_OF_RULES else {}),
            "stabilisation_s": draw(st.sampled_from([0, 0, 21])),
            "panic_threshold": draw(st.sampled_from([1, 2])),
            "interval_s": draw(st.sampled_from([5, 7])),
            "window_s": draw(st.sampled_from([5, 14])),
            "threshold": draw(st.sampled_from([0.3, 1.0])),
            "cooldown_s": draw(st.sampled_from([0, 12])),
        }
    distribution = draw(
        st.sampled_from(
            [
                {"distribution": "exponential", "mean_s": 1.5},
                {"distribution": "log-normal", "sigma": 0.5, "scale": 1.0, "most": 4.0},
                {"distribution": "gamma", "shape": 2.0, "mean_s": 1.2},
                {"distribution": "weibull", "shape": 0.8, "scale": 1.0},
                {"distribution": "empirical", "seconds": [0.3, 0.31, 2.0]},
            ]
        )
    )
    times = draw(st.sampled_from([{}, {"start": distribution}, {"setup": distribution}]))
    start_s = draw(st.sampled_from([None, 0.0, 1.7]))
    setup_s = draw(st.sampled_from([0.0, 0.3]))
    return {
        **times,
        "by_device": draw(st.sampled_from([{}, {"rpi4": ON_RPI4}, {"nuc": {"setup": SETUP}}])),
        "name": name,
        "requests": {"source": "poisson", "rate": draw(st.sampled_from([0.2, 1.0]))},
        "image": {
            "execution": distribution,
            "use": {"cpu": draw(st.sampled_from([0.1, 0.6]))},
            "cpu_millicores": draw(st.sampled_from([500, 2000])),
            "image_mb": draw(st.sampled_from([0, 300])),
            "setup_mb": draw(st.sampled_from([0.0, 7.0])),
            "input_mb": draw(st.sampled_from([0.0, 13.0])),
            "output_mb": draw(st.sampled_from([0.0, 21.0])),
        },
        "scaling": rule,
        "workers": draw(st.integers(1, 3)),
        "queue_limit": draw(st.sampled_from([None, 0, 2])),
        "timeout_s": draw(st.sampled_from([None, 3.0])),
        "start_s": None if "start" in times else start_s,
        "setup_s": 0.0 if "setup" in times else setup_s,
        "pull_cores": draw(st.sampled_from([0.0, 1.0])),
        "start_cores": draw(st.sampled_from([0.0, 1.0, 9.0])),
        "setup_cores": draw(st.sampled_from([0.0, 2.0])),
    }


def by_request(made):
    """Whether any of the functions scales by request."""
    return any(one["scaling"].get("by") == "per-request" for one in made)


@st.composite
def scenarios(draw):
    names = ["f", "g"][: draw(st.integers(1, 2))]
    made = [draw(functions(name)) for name in names]
    for one in made:
        one["placement"] = draw(st.sampled_from([{}, *PLACEMENTS[len(made)]]))
    return cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 60,
            **draw(st.sampled_from(WARM_UPS)),
            "evict": draw(st.sampled_from(EVICT if by_request(made) else EVICT[:1])),
            "router": draw(st.sampled_from(["round-robin", "least-loaded"])),
            "devices": {"types": {"nuc": draw(st.integers(1, 2)), "rpi4": 1}},
            "functions": made,
            "scheduler": {
                "delay_s": draw(st.sampled_from([0.0, 0.0, 0.7])),
                "most_node_w": draw(st.sampled_from([{}, {"nuc": 14.1, "rpi4": 5.3}])),
            },
            "contention": {"model": draw(st.sampled_from(["shared", "none"]))},
            "power": {
                **draw(st.sampled_from(OFF)),
                "caps": draw(st.sampled_from([{}, {}, {"nuc": 17.5}])),
                "devices": {
                    "rpi4": {"network_w": 0.9, **draw(st.sampled_from(CPU_POWER))},
                    "nuc": {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0, "network_w": 20.0},
                },
            },
            "carbon": {"series": [[0, 100], [23.5, 700], [50, 300]]},
        }
    )


@st.composite
def networked(draw):
    """Over a topology; no function has replicas at two nodes that get ready at one instant."""
    scenario = draw(scenarios())
    spec = scenario.model_dump(mode="json", exclude_none=True)
    spec["topology"] = {
        "kind": draw(st.sampled_from(["urban-sensing", "industrial-iot", "cloud-regions", "city"])),
        "seed": draw(st.integers(0, 3)),
    }
    spec["network"] = {
        "requests": draw(st.booleans()),
        "copies": draw(st.sampled_from([1, 2])),
        "preloaded": draw(st.booleans()),
    }
    for function in spec["functions"]:
        function["scaling"] |= {"minimum": min(1, function["scaling"]["minimum"]), "maximum": 2}
        function["request_kb"] = draw(st.sampled_from([10.0, 2000.0]))
        function["response_kb"] = draw(st.sampled_from([0.0, 3000.0]))
        function["image"] |= {
            "input_mb": draw(st.sampled_from([0.0, 1.3])),
            "output_mb": draw(st.sampled_from([0.0, 2.1])),
        }
    return cloudarena.load(spec)


@st.composite
def failing(draw, of):
    """Nodes and links that fail, requests that are tried again, functions that call others."""
    scenario = draw(of)
    spec = scenario.model_dump(mode="json", exclude_none=True)
    base = build_infrastructure(scenario, 0)
    names = base.names[: len(base.devices)]
    failures = [{"node": draw(st.sampled_from(names)), "at_s": 21.37, "for_s": 11.1}]
    if draw(st.booleans()):
        failures.append({"node": names[0], "at_s": 40.21})
    topology = base.topology
    if topology is not None and draw(st.booleans()):
        linked = [hop for hop, link in enumerate(topology.hop_link) if link >= 0]
        hop = draw(st.sampled_from(linked))
        vertex = int(np.searchsorted(topology.hop_begin, hop, side="right")) - 1
        ends = [topology.names[vertex], topology.names[topology.hop_to[hop]]]
        failures.append({"link": ends, "at_s": 12.3, "for_s": 9.9})
    spec["topology"] = {**spec["topology"], "failures": failures}
    for function in spec["functions"]:
        function["retries"] = draw(st.integers(0, 2))
        function["failure_share"] = draw(st.sampled_from([0.0, 0.0, 0.4]))
    if topology is None:
        spec["power"]["supplies"] = draw(st.sampled_from(SUPPLIES))
        if any(not one.get("grid", True) for one in spec["power"]["supplies"].values()):
            spec["topology"]["failures"] = []
    else:
        zone = topology.zones[topology.zone[0]]
        spec["carbon"]["zones"] = {zone: {"series": [[0, 900], [31.2, 50]]}}
    if len(spec["functions"]) == 2:
        call = {"function": "g", "wait": draw(st.booleans()), "count": draw(st.integers(1, 2))}
        calls = spec["functions"][0]["calls"] = draw(st.sampled_from([[], [call], [call, "g"]]))
        if len(calls) + call["count"] > 2:  # of two at once, which times out first goes by slots
            spec["functions"][1].pop("timeout_s", None)
    return cloudarena.load(spec)


@settings(max_examples=25)
@given(scenario=failing(scenarios()), seed=st.integers(0, 100))
def test_failures_and_calls(scenario, seed):
    reference = Reference(scenario, seed).run()
    result = check(scenario, seed, reference)
    if scenario.warmup_s == 0:
        assert result.metrics["retries"] == reference.retried


@settings(max_examples=25)
@given(scenario=failing(networked()), seed=st.integers(0, 100))
def test_failures_and_calls_over_a_network(scenario, seed):
    check(scenario, seed, NetworkReference(scenario, seed).run())


@settings(max_examples=40)
@given(scenario=scenarios(), seed=st.integers(0, 100))
def test_every_request_ends_alike(scenario, seed):
    check(scenario, seed, Reference(scenario, seed).run())


@settings(max_examples=40)
@given(scenario=networked(), seed=st.integers(0, 100))
def test_every_request_ends_alike_over_a_network(scenario, seed):
    check(scenario, seed, NetworkReference(scenario, seed).run())


def check(scenario, seed, reference):
    """All requests end as in the reference, and the nodes use the same energy."""
    result = simulate(scenario, "first-fit", seed, record="full")
    names = [function.name for function in scenario.functions]
    found = {
        (names.index(row["function"]), row["request"]): row
        for row in result.tables["invocations"].to_pylist()
    }
    counted = [request for request in reference.requests if not request.early]
    late = [
        request
        for request in counted
        if request.came_first < scenario.warmup_s and request.outcome == "completed"
    ]
    assert len(found) == len(counted) == result.metrics["requests"] + len(late)
    for request in counted:
        row = found[request.function, request.number]
        assert row["outcome"] == request.outcome
        assert row["arrival_s"] == pytest.approx(request.arrival, abs=1e-7)
        assert row["start_s"] == pytest.approx(request.start, abs=1e-7)
        assert row["finish_s"] == pytest.approx(request.finish, abs=1e-7)
    check_service(scenario, result, reference)
    close = {"rel": 1e-9, "abs": 1e-6}
    nodes, parts = result.tables["nodes"], result.tables["functions"]
    for column, name in (
        *(("energy_j", "energy"), ("idle_energy_j", "idle")),
        *(("network_energy_j", "network"), ("carbon_g", "carbon")),
    ):
        expected = [getattr(node, name) for node in reference.nodes]
        assert nodes[column].to_pylist() == pytest.approx(expected, **close), column
    assert result.metrics["evictions"] == reference.evictions
    if scenario.power.supplies:
        supplied = [node for node in reference.nodes if node.supply is not None]
        for column, name in (
            *(("solar_wh", "sun"), ("spilled_wh", "spilled")),
            *(("grid_wh", "grid"), ("charge_wh", "charge")),
        ):
            expected = [getattr(node, name) / 3600 for node in supplied]
            assert result.tables["supplies"][column].to_pylist() == pytest.approx(
                expected, rel=1e-7, abs=1e-8
            ), column
    assert parts["wasted_mb_s"].to_pylist()[:-1] == pytest.approx(reference.wasted, **close)
    for name in ("dynamic", "start", "network", "idle"):
        expected = [used[name] for used in reference.used]
        found_j = parts[f"{name}_energy_j"].to_pylist()[:-1]
        assert found_j == pytest.approx(expected, **close), name
    series = result.tables["function_utilisation_series"]
    used = dict.fromkeys(names, 0.0)
    for row in series.to_pylist():
        used[row["function"]] += row["cpu"] * row["interval_s"]
    assert list(used.values()) == pytest.approx(reference.cpu_s, **close)
    return result


def check_service(scenario, result, reference):
    """What was left undone, of all requests; response times of as many as came after a warm-up."""
    functions = {one.name: one for one in scenario.functions}

    def called(function):
        return [functions[call.function] for call in function.calls for _ in range(call.count)]

    def size(function):
        return 1 + sum(size(one) for one in called(function))

    wanted = undone = 0
    for request in reference.requests:
        if not request.again:
            calls = called(scenario.functions[request.function])
            never = sum(size(one) for k, one in enumerate(calls) if k not in request.made)
            wanted += 1 + never
            undone += (request.outcome != "completed") + never
            assert request.outcome != "completed" or never == 0
    assert result.metrics["unserved_share"] == undone / max(1, wanted)
    inside = [one for one in reference.requests if one.outcome == "unfinished"]
    done = [one for one in reference.requests if one.outcome == "completed" and not one.early]
    late = sum(one.came_first < scenario.warmup_s for one in (*inside, *done))
    times = sorted(one.finish - one.arrival for one in done)[late:]
    times += [scenario.duration_s - one.arrival for one in inside]
    expected = sum(times) / len(times) if times else math.nan
    found = result.metrics["response_mean_s"]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6, nan_ok=True)
