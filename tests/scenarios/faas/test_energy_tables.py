"""Energy by phase, node, device, function, invocation and over time: everything adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate
from tests.scenarios.faas.cases import column, function, scenario
from tests.scenarios.faas.test_reference import networked, scenarios

RESOURCES = ("cpu", "accelerator", "disk", "network", "memory")
LINEAR = {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0, "network_w": 20.0}
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def values(result, table, name):
    """A column as an array."""
    return result.tables[table][name].to_numpy(zero_copy_only=False)


def by(result, table, key, name):
    """The sums of a column by another, in the order of appearance."""
    keys, found = column(result, table, key), {}
    for one, value in zip(keys, column(result, table, name), strict=True):
        found[one] = found.get(one, 0.0) + value
    return found


def check_sums(result):
    """Every table tells the same energy."""
    total = 3600 * result.metrics["energy_wh"]
    nodes = {name: values(result, "nodes", name) for name in result.tables["nodes"].column_names}
    parts = sum(nodes[f"{part}_energy_j"] for part in ("idle", "dynamic", "start", "network"))
    assert parts == pytest.approx(nodes["energy_j"], **CLOSE)
    for table in ("nodes", "devices", "functions", "phases", "energy_series", "nodes_series"):
        assert values(result, table, "energy_j").sum() == pytest.approx(total, **CLOSE), table
    power = values(result, "power", "power_w")
    assert power @ values(result, "power", "interval_s") == pytest.approx(total, **CLOSE)
    for name in ("idle", "boot", "dynamic", "start", "network"):
        sums = values(result, "devices", f"{name}_energy_j")
        assert sums.sum() == pytest.approx(nodes[f"{name}_energy_j"].sum(), **CLOSE)
    # Functions, phase by phase and over time.
    functions = result.tables["functions"].to_pylist()
    phases = dict(
        zip(column(result, "phases", "phase"), column(result, "phases", "energy_j"), strict=True)
    )
    for row in functions:
        cold = sum(row[f"{p}_cpu_energy_j"] for p in ("pull", "startup", "setup"))
        assert cold == pytest.approx(row["start_energy_j"], **CLOSE)
    for phase, name in (("execute", "dynamic_energy_j"), ("network", "network_energy_j")):
        assert sum(row[name] for row in functions) == pytest.approx(phases[phase], **CLOSE)
    of_functions = by(result, "energy_series", "function", "energy_j")
    assert of_functions == pytest.approx(
        {row["function"]: row["energy_j"] for row in functions}, rel=1e-9, abs=1e-7
    )
    for part in ("dynamic", "start", "network", "idle"):
        series = values(result, "energy_series", f"{part}_w") @ values(
            result, "energy_series", "interval_s"
        )
        assert series == pytest.approx(
            sum(row[f"{part}_energy_j"] for row in functions), rel=1e-9, abs=1e-7
        )
    in_intervals = by(result, "energy_series", "tick", "power_w")
    assert list(in_intervals.values()) == pytest.approx(power, **CLOSE)
    for name in RESOURCES:  # what all functions use of nodes, interval by interval
        used = by(result, "function_utilisation_series", "tick", name)
        of_all = by(result, "utilisation_series", "tick", name)
        assert list(used) == list(of_all)
        assert list(used.values()) == pytest.approx(list(of_all.values()), **CLOSE), name
    # Nodes over time, and invocations.
    of_nodes = by(result, "nodes_series", "node", "energy_j")
    assert list(of_nodes.values()) == pytest.approx(nodes["energy_j"], **CLOSE)
    last = values(result, "nodes_series", "cumulative_j")[-len(of_nodes) :]
    assert last == pytest.approx(nodes["energy_j"], **CLOSE)
    dynamic = sum(row["dynamic_energy_j"] for row in functions)
    assert values(result, "invocations", "energy_j").sum() == pytest.approx(dynamic, **CLOSE)
    moved = values(result, "flows", "energy_j").sum()
    assert moved <= phases["network"] * (1 + 1e-9) + 1e-9


def recomputed_j(scenario, result):
    """The energy of each node with a linear model, from utilisations alone; None for others.

    What a cap cuts off is not in utilisations: the slow reference knows it.
    """
    known, found = scenario.devices.known, []
    seconds = values(result, "utilisation_series", "interval_s")
    of_node = np.array(column(result, "utilisation_series", "node"), object)
    for row in result.tables["nodes"].to_pylist():
        device = known[row["device"]]
        model = scenario.power_of(device)
        if model.model != "linear" or row["device"] in scenario.power.caps:
            found.append(None)
            continue
        watts = dict(zip(RESOURCES, (model.cpu_w, *model.others_w(device)), strict=True))
        here = of_node == row["node"]
        used = sum(
            watts[name] * (values(result, "utilisation_series", name)[here] @ seconds[here])
            for name in RESOURCES
        )
        idle = model.idle_w * scenario.duration_s
        if scenario.power.off_after_s is not None:  # the slow reference knows when nodes are off
            idle = row["idle_energy_j"]
        found.append(idle + used + row["network_energy_j"])
    return found


def check_functions(scenario, result):
    """What functions draw is what they use, where all nodes are linear and alike."""
    known = [scenario.devices.known[name] for name in column(result, "devices", "device")]
    models = [(scenario.power_of(device), device) for device in known]
    (watts,) = {(model.cpu_w, *model.others_w(device)) for model, device in models}
    used = sum(
        coefficient * values(result, "function_utilisation_series", name)
        for name, coefficient in zip(RESOURCES, watts, strict=True)
    )
    idle = np.array(column(result, "energy_series", "function"), object) == "idle"
    drawn = values(result, "energy_series", "dynamic_w") + values(
        result, "energy_series", "start_w"
    )
    assert used == pytest.approx(drawn[~idle], **CLOSE)


@settings(max_examples=25)
@given(scenario=st.one_of(scenarios(), networked()), seed=st.integers(0, 100))
def test_random_runs_add_up_and_can_be_computed_again(scenario, seed):
    # Series cover the warm-up, which the other tables leave out: see test_warm_up.py.
    whole = {"warmup_s": 0.0, "load_from_s": scenario.begin_s}
    scenario = scenario.model_copy(update=whole)
    result = simulate(scenario, "first-fit", seed, record="full")
    check_sums(result)
    energy = column(result, "nodes", "energy_j")
    for found, expected in zip(recomputed_j(scenario, result), energy, strict=True):
        assert found is None or found == pytest.approx(expected, **CLOSE)


@settings(max_examples=15)
@given(scenario=st.one_of(scenarios(), networked()), seed=st.integers(0, 100))
def test_what_random_functions_draw_can_be_computed_from_what_they_use(scenario, seed):
    spec = scenario.model_dump(mode="json", exclude_none=True)
    spec["power"] |= {"caps": {}, "devices": dict.fromkeys(("nuc", "rpi4"), LINEAR)}
    alike = cloudarena.load(spec)
    check_functions(alike, simulate(alike, "first-fit", seed, record="full"))


def test_all_resources_of_published_functions_add_up():
    work = [
        {"name": name, "requests": {"source": "poisson", "rate": 1.0}}
        for name in ("resnet50-inference", "resnet50-preprocessing")
    ]
    spec = scenario(*work, devices={"types": {"nx": 2}}, network={"preloaded": True})
    check_functions(spec, simulate(spec, "random", record="full"))
    spec = scenario(*work, devices={"types": {"nx": 2, "nuc": 1}}, network={"preloaded": True})
    result = simulate(spec, "random", record="full")
    check_sums(result)
    assert recomputed_j(spec, result) == pytest.approx(column(result, "nodes", "energy_j"), **CLOSE)
    assert values(result, "utilisation_series", "accelerator").max() > 0


def test_phases_by_hand():
    """Twice a container starts for 4 s and sets up for 2 s at half the cores, once after a boot."""
    work = function(seconds=3.0, rate=0.02, start_s=4.0, setup_s=2.0)
    work |= {"start_cores": 2.0, "setup_cores": 2.0}
    work["scaling"] = {"by": "per-request", "minimum": 0, "expiry_s": 5}
    power = {"devices": {"nuc": {"model": "linear", "idle_w": 6, "cpu_w": 20}}}
    power |= {"off_after_s": 1, "off_w": 0.5, "boot_s": 10, "boot_w": 9}
    result = simulate(scenario(work, power=power), "first-fit", record="full")
    phases = dict(
        zip(column(result, "phases", "phase"), column(result, "phases", "energy_j"), strict=True)
    )
    assert column(result, "nodes", "boots") == [1]
    assert phases["boot"] == pytest.approx(90)
    assert (phases["pull"], phases["start"], phases["setup"]) == pytest.approx((0, 80, 40))
    assert phases["execute"] == pytest.approx(2 * 3 * 20 * 0.25)
    (device,) = result.tables["devices"].to_pylist()
    assert (device["nodes"], device["executed"]) == (1, 2)
    assert device["dynamic_j_per_execution"] == pytest.approx(15)
    assert device["j_per_execution"] == pytest.approx(1800 * result.metrics["energy_wh"])
    check_sums(result)


def test_what_functions_use_by_hand():
    """For 10 s two functions claim 75 and 50 % of a node: 60 and 40 % each, then one alone."""
    one = function(10.0, 0.01, image={"use": {"cpu": 0.75}})
    other = {**function(15.0, 0.01, image={"use": {"cpu": 0.5}}), "name": "g"}
    made = scenario(one, other, contention={"model": "none"}, sample_s=8.0, duration_s=30)
    result = simulate(made, "first-fit", record="full")
    begin = column(result, "invocations", "start_s")
    assert begin == [0.0, 0.0]
    rows = result.tables["function_utilisation_series"].to_pylist()
    found = [[row["cpu"] for row in rows if row["function"] == name] for name in "fg"]
    assert found[0] == pytest.approx([0.6, 2 * 0.6 / 8, 0, 0])
    assert found[1] == pytest.approx([0.4, (2 * 0.4 + 5 * 0.5) / 8, 0, 0])
    assert [row["interval_s"] for row in rows[::2]] == [8, 8, 8, 6]
    for level in ("summary", "none"):
        assert "function_utilisation_series" not in simulate(made, record=level).tables


def test_devices_are_compared_by_joules():
    work = function(
        rate=2.0, image={"time_factor": {"rpi4": 4.0}}, scaling={"minimum": 8, "maximum": 8}
    )
    spec = scenario(work, devices={"types": {"nuc": 1, "rpi4": 1}})
    rows = {row["device"]: row for row in simulate(spec, "first-fit").tables["devices"].to_pylist()}
    assert rows["nuc"]["dynamic_j_per_execution"] == pytest.approx(0.25 * 28)
    assert rows["rpi4"]["dynamic_j_per_execution"] == pytest.approx(4 * 0.25 * 6)
