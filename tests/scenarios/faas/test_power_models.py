"""Power models: points at any utilisations, figures by amount, tables by name and from files."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import SpecError
from cloudarena.workloads.faas.devices import DEVICES
from cloudarena.workloads.faas.power_tables import TABLES
from tests.scenarios.faas.cases import column, function, scenario

NUC = {"model": "linear", "idle_w": 0, "cpu_w": 0}


def energy(power, use, **changes):
    """The joules of 100 s in which a NUC uses a share all the time."""
    busy = function(seconds=1000.0, rate=0.011, image={"use": use}, **changes)
    spec = scenario(busy, power={"devices": {"nuc": power}}, contention={"model": "none"})
    result = simulate(spec, "first-fit")
    (started,) = [s for s in column(result, "invocations", "start_s") if s is not None][:1]
    return column(result, "nodes", "energy_j")[0], 100 - started


@pytest.mark.parametrize(("use", "watts"), [(0.0, 3), (0.1, 5), (0.2, 7), (0.5, 8.5), (1.0, 11)])
def test_points_are_joined_by_lines(use, watts):
    power = {"model": "points", "points": [[0, 3], [0.2, 7], [1, 11]]}
    joules, seconds = energy(power, {"cpu": use})
    assert joules == pytest.approx(3 * (100 - seconds) + watts * seconds)


def test_eleven_points_may_be_written_both_ways():
    watts = [5, 6, 8, 9, 9, 12, 13, 15, 15, 16, 20]
    pairs = [[k / 10, w] for k, w in enumerate(watts)]
    for use in (0.05, 0.55, 0.93):
        both = [
            energy({"model": "points", **how}, {"cpu": use})[0]
            for how in ({"watts": watts}, {"points": pairs})
        ]
        assert both[0] == pytest.approx(both[1], rel=1e-12)


@pytest.mark.parametrize(
    ("key", "value", "resource", "full_w"),
    [
        ("memory_w_per_mb", 0.01, "memory", 0.01 * DEVICES["nuc"].memory_bytes / 1e6),
        ("disk_w_per_mb_s", 0.01, "disk", 0.01 * 2500),
        ("network_w_per_mb_s", 0.08, "network", 0.08 * 125),
    ],
)
def test_figures_by_amount_are_those_at_full_use(key, value, resource, full_w):
    joules, seconds = energy(NUC | {key: value}, {"cpu": 0, resource: 0.5})
    assert joules == pytest.approx(0.5 * full_w * seconds)


def test_a_table_is_chosen_by_name_and_devices_go_before_it():
    spec = cloudarena.load("faas/edge-energy", ["power.table=document"])
    assert spec.power.model_of(DEVICES["nx"]).idle_w == 5.0
    assert spec.power.model_of(DEVICES["nx"]).cpu_w == 12.0  # the document gives none
    assert spec.power.model_of(DEVICES["nuc"]).idle_w == 6.0
    changed = cloudarena.load(
        "faas/edge-energy",
        ["power.table=document", "power.devices.nx={model: linear, idle_w: 1, cpu_w: 2}"],
    )
    assert changed.power.model_of(DEVICES["nx"]).idle_w == 1.0


def test_all_tables_have_models_of_known_devices():
    for name, table in TABLES.items():
        spec = cloudarena.load("faas/edge-energy", [f"power.table={name}"])
        assert set(table) == set(DEVICES)
        for device in table:
            assert spec.power.model_of(DEVICES[device]).idle_w == table[device]["idle_w"]


def test_a_table_may_be_a_file_that_a_fit_wrote(tmp_path):
    (tmp_path / "power.yaml").write_text(
        "power:\n  devices:\n    nuc: {model: curve, idle_w: 4, busy_w: 9}\n"
    )
    (tmp_path / "spec.yaml").write_text(
        "scenario: faas\ndevices: {types: {nuc: 1}}\nfunctions: [{name: python-pi}]\n"
        "power: {table: power.yaml}\n"
    )
    spec = cloudarena.load(tmp_path / "spec.yaml")
    assert spec.power.model_of(DEVICES["nuc"]).busy_w == 9
    again = cloudarena.load(spec.model_dump(mode="json"))
    assert again.power == spec.power


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ({"table": "documnt"}, "one of study, study-revised, document, selector, per-amount"),
        ({"table": "gone.yaml"}, "gone.yaml: does not exist"),
        ({"devices": {"nucc": NUC}}, "power.devices: 'nucc' is not allowed: one of rpi3"),
        ({"devices": {"nuc": {"model": "points"}}}, "watts or points is needed"),
        (
            {"devices": {"nuc": {"model": "points", "points": [[0, 1], [0.5, 2]]}}},
            "points: utilisations [0.0, 0.5] are not allowed: from 0 to 1, rising",
        ),
        (
            {"devices": {"nuc": {"model": "points", "points": [[0, 3], [1, 2]]}}},
            "points: watts: [3.0, 2.0] are not allowed: they must not fall",
        ),
        (
            {"devices": {"nuc": NUC | {"disk_w": 1, "disk_w_per_mb_s": 1}}},
            "disk_w_per_mb_s: is not allowed together with disk_w",
        ),
    ],
)
def test_what_is_wrong_with_a_model_is_said(power, message):
    with pytest.raises(SpecError) as error:
        scenario(function(), power=power)
    assert message in str(error.value)
