"""The kernel equals the slow, obvious model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenarios.faas.reference import Reference
from tests.scenarios.faas.reference_network import NetworkReference

import cloudarena
from cloudarena import simulate


@st.composite
def functions(draw, name):
    rule = {"minimum": draw(st.integers(0, 2)), "maximum": draw(st.integers(2, 5))}
    by = draw(st.sampled_from(["none", "average-requests", "per-request"]))
    if by == "per-request":
        rule |= {"by": by, "expiry_s": draw(st.sampled_from([3.0, 20.0]))}
    elif by == "average-requests" or rule["minimum"] == 0:
        rule |= {
            "by": "average-requests",
            "interval_s": draw(st.sampled_from([5, 7])),
            "window_s": draw(st.sampled_from([5, 14])),
            "threshold": draw(st.sampled_from([0.3, 1.0])),
            "cooldown_s": draw(st.sampled_from([0, 12])),
        }
    law = draw(
        st.sampled_from(
            [
                {"law": "exponential", "mean_s": 1.5},
                {"law": "log-normal", "sigma": 0.5, "scale": 1.0, "most": 4.0},
            ]
        )
    )
    return {
        "name": name,
        "requests": {"source": "poisson", "rate": draw(st.sampled_from([0.2, 1.0]))},
        "image": {
            "execution": law,
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
        "start_s": draw(st.sampled_from([None, 0.0, 1.7])),
        "setup_s": draw(st.sampled_from([0.0, 0.3])),
        "pull_cores": draw(st.sampled_from([0.0, 1.0])),
        "start_cores": draw(st.sampled_from([0.0, 1.0, 9.0])),
        "setup_cores": draw(st.sampled_from([0.0, 2.0])),
    }


@st.composite
def scenarios(draw):
    names = ["f", "g"][: draw(st.integers(1, 2))]
    return cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 60,
            "devices": {"types": {"nuc": draw(st.integers(1, 2)), "rpi4": 1}},
            "functions": [draw(functions(name)) for name in names],
            "contention": {"model": draw(st.sampled_from(["shared", "none"]))},
            "power": {
                "devices": {
                    "rpi4": {"model": "linear", "idle_w": 2.9, "cpu_w": 6.0, "network_w": 0.9},
                    "nuc": {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0, "network_w": 20.0},
                }
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
    assert len(found) == len(reference.requests)
    for request in reference.requests:
        row = found[request.function, request.number]
        assert row["outcome"] == request.outcome
        assert row["arrival_s"] == request.arrival
        assert row["start_s"] == pytest.approx(request.start, abs=1e-7)
        assert row["finish_s"] == pytest.approx(request.finish, abs=1e-7)
    close = {"rel": 1e-9, "abs": 1e-6}
    nodes, parts = result.tables["nodes"], result.tables["functions"]
    for column, name in (
        *(("energy_j", "energy"), ("idle_energy_j", "idle")),
        *(("network_energy_j", "network"), ("carbon_g", "carbon")),
    ):
        expected = [getattr(node, name) for node in reference.nodes]
        assert nodes[column].to_pylist() == pytest.approx(expected, **close), column
    for name in ("dynamic", "start", "network", "idle"):
        expected = [used[name] for used in reference.used]
        found_j = parts[f"{name}_energy_j"].to_pylist()[:-1]
        assert found_j == pytest.approx(expected, **close), name
