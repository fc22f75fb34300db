"""Power caps, batteries, panels, and grids of zones: cases by hand."""

import pytest

from cloudarena import simulate
from cloudarena.base.errors import SpecError
from tests.scenarios.faas.cases import column, function, scenario

NUC = {"model": "linear", "idle_w": 10, "cpu_w": 20}
NOTHING = {"source": "none"}


def powered(made=None, **power):
    """A NUC of 10 W, and 20 W more at full CPU, for 100 s."""
    made = function(requests=NOTHING) if made is None else made
    return scenario(made, power={"devices": {"nuc": NUC}, **power}, carbon={"g_per_kwh": 360})


def supplied(**supply):
    """What the battery of 360 J of a NUC with nothing to do gives in 100 s."""
    result = simulate(powered(supplies={"nuc": {"battery_wh": 0.1, **supply}}), "first-fit")
    row = {name: 3600 * column(result, "supplies", f"{name}_wh")[0] for name in PARTS}
    return result, tuple(row[name] for name in PARTS)


PARTS = ("solar", "spilled", "grid", "charge")


def test_a_cap_slows_down_what_executes():
    # A request of 1 s at full CPU would draw 30 W; with 20 W it takes twice as long.
    made = function(rate=0.1, image={"use": {"cpu": 1.0}})
    free, capped = (simulate(powered(made, caps=caps)) for caps in ({}, {"nuc": 20}))
    assert (free.metrics["response_mean_s"], capped.metrics["response_mean_s"]) == (1, 2)
    for result in (free, capped):
        assert column(result, "nodes", "dynamic_energy_j") == pytest.approx([200])
        assert sum(column(result, "invocations", "energy_j")) == pytest.approx(200)
    with pytest.raises(SpecError, match=r"power\.caps: nuc: 10 is not allowed: more than its idle"):
        powered(caps={"nuc": 10}).start(0)


def test_a_battery_comes_before_the_grid():
    result, parts = supplied()
    assert parts == pytest.approx((0, 0, 1000 - 360, 0))
    assert result.metrics["grid_wh"] == pytest.approx(640 / 3600)
    assert result.metrics["energy_wh"] == pytest.approx(1000 / 3600)
    assert result.metrics["carbon_g"] == pytest.approx(640 * 360 / 3.6e6)
    assert result.metrics["cost_usd"] == pytest.approx(640 / 3.6e6 * 0.25)
    _, parts = supplied(charge=0.5, solar_w=4)  # 6 W are missing, for 30 s there is charge
    assert parts == pytest.approx((400, 0, 70 * 6, 0))
    _, parts = supplied(solar_series=[[0, 15], [40, 0]], solar_scale=2)
    assert parts == pytest.approx((1200, 40 * 20, 600 - 360, 0))


def test_a_node_without_a_grid_fails_and_comes_back():
    # Empty at 36 s. From 50 s on 6 W: after 6 s there are 36 J, which last for 9 s, and so on.
    result, parts = supplied(grid=False, solar_series=[[0, 0], [50, 6]])
    assert column(result, "nodes", "on_share") == pytest.approx([(36 + 3 * 9) / 100])
    assert parts == pytest.approx((300, 0, 0, 5 * 6))
    assert result.metrics["energy_wh"] == pytest.approx(630 / 3600)
    assert column(result, "replicas", "scheduled_s") == pytest.approx([0, 56, 71, 86])


def test_a_node_with_little_charge_takes_no_replica():
    result, _ = supplied(charge=0.5, least_charge=0.6, solar_w=20)
    assert column(result, "replicas", "scheduled_s") == pytest.approx([3.6])


def test_the_charge_over_time():
    spec = powered(supplies={"nuc": {"battery_wh": 0.1, "solar_series": [[0, 0], [50, 30]]}})
    result = simulate(spec, "first-fit", record="full")
    assert column(result, "supplies_series", "time_s") == [10.0 * k for k in range(1, 11)]
    charges = [3600 * value for value in column(result, "supplies_series", "charge_wh")]
    assert charges == pytest.approx([260, 160, 60, 0, 0, 200, 360, 360, 360, 360])


def test_stepped_and_compiled_agree_with_extras():
    """What a policy is shown of nodes on batteries, and a copy of a run, are the same stepped."""
    made = function(rate=1.0, retries=1, scaling={"by": "average-requests", "maximum": 4})
    supplies = {"nuc-0": {"battery_wh": 0.1, "grid": False, "solar_w": 8}}
    spec = scenario(
        made,
        devices={"types": {"nuc": 2}},
        power={"devices": {"nuc": NUC}, "supplies": supplies},
        topology={"failures": [{"node": "nuc-1", "at_s": 30, "for_s": 10}]},
    )
    compiled = simulate(spec, "carbon-aware", record="full")
    policy = spec.kind.policies.resolve("carbon-aware")
    run = spec.start(0, "full")
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    stepped = run.result()
    assert stepped.metrics == compiled.metrics
    assert all(stepped.tables[name].equals(table) for name, table in compiled.tables.items())


def test_solar_from_a_table(tmp_path):
    path = tmp_path / "sun.csv"
    path.write_text("time_s,watts\n0,10\n60,0\n")
    _, parts = supplied(solar_path=str(path))
    assert parts == pytest.approx((600, 0, 40, 0))


def zoned(placer, carbon):
    """Where a replica goes of two NUCs in zones of their own, and the carbon of both."""
    nodes = [
        {"name": "hub", "registry": True},
        *({"name": f"box-{zone}", "device": "nuc", "zone": zone} for zone in "ab"),
    ]
    links = [{"a": "hub", "b": f"box-{zone}", "mbps": 1000} for zone in "ab"]
    spec = scenario(
        function(requests=NOTHING),
        devices={},
        topology={"nodes": nodes, "links": links},
        power={"devices": {"nuc": NUC}},
        carbon=carbon,
    )
    result = simulate(spec, placer)
    return column(result, "replicas", "node"), column(result, "nodes", "carbon_g")


def test_zones_have_grids_of_their_own(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("time_s,g_per_kwh\n0,100\n50,500\n")
    carbon = {"g_per_kwh": 360, "zones": {"b": {"path": str(path)}}}
    where, grams = zoned("first-fit", carbon)
    assert where == ["box-a"]
    assert grams == pytest.approx([1000 * 360 / 3.6e6, (500 * 100 + 500 * 500) / 3.6e6])
    assert zoned("carbon-aware", carbon)[0] == ["box-b"]
    assert zoned("carbon-aware", {"zones": {"b": {"g_per_kwh": 400}}})[0] == ["box-a"]
    with pytest.raises(SpecError, match=r"carbon\.zones: 'c' is not allowed: a zone of a device"):
        zoned("first-fit", {"zones": {"c": {}}})


def test_carbon_aware_takes_the_battery_first():
    supplies = {"nuc-1": {"battery_wh": 1.0}}
    spec = scenario(
        function(requests=NOTHING),
        devices={"types": {"nuc": 2}},
        power={"devices": {"nuc": NUC}, "supplies": supplies},
    )
    assert column(simulate(spec, "carbon-aware"), "replicas", "node") == ["nuc-1"]


def test_supplies_are_of_nodes():
    with pytest.raises(SpecError, match=r"power\.supplies: node 'nux' is not allowed: a device"):
        powered(supplies={"nux": {"battery_wh": 1}}).start(0)
    with pytest.raises(SpecError, match="only one of solar_w, solar_path and solar_series"):
        powered(supplies={"nuc": {"battery_wh": 1, "solar_w": 1, "solar_series": [[0, 1]]}})


def test_a_capped_node_is_faster_once_a_replica_that_started_there_is_gone():
    """While another starts 25.2 W are wanted of 11.5 W; it is given up at 10 s, and 11.2 W are."""
    work = function(10.0, 0.01, image={"use": {"cpu": 0.4}})
    rule = {"by": "average-requests", "minimum": 0, "interval_s": 5, "window_s": 5}
    other = function(1.0, 0.01, start_s=50.0, start_cores=2.0, timeout_s=1.0, scaling=rule)
    other |= {"name": "g"}
    power = {"caps": {"nuc": 17.5}}
    power["devices"] = {"nuc": {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0}}
    result = simulate(scenario(work, other, power=power), "first-fit", record="full")
    assert column(result, "replicas", "stopped_s") == [None, 10.0]
    ends = {r["function"]: r["finish_s"] for r in result.tables["invocations"].to_pylist()}
    assert ends["f"] == pytest.approx(10 + 10 - 10 * 11.5 / 25.2)
