"""MARO's binary traces and its config.yml, on small files made by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cloudarena import load, simulate
from cloudarena.base.errors import TraceError
from cloudarena.workloads.vm.maro import read_maro
from cloudarena.workloads.vm.maro_config import read_config

Command = Callable[..., tuple[int, str, str]]
PACKED = {"i": "i", "i2": "h", "i8": "q", "f": "f", "d": "d"}
VM_FIELDS = {
    "timestamp": "i",
    "vm_id": "i",
    "sub_id": "i",
    "deploy_id": "i",
    "vm_lifetime": "i",
    "vm_deleted": "i",
    "vm_category": "i",
    "vm_cpu_cores": "i",
    "vm_memory": "i",
}
READING_FIELDS = {"timestamp": "i", "vm_id": "i", "cpu_utilization": "f"}
VMS = [
    # tick, id, subscription, deployment, lifetime, deleted, category, cores, GB
    (0, 7, 1, 11, 3, 2, 1, 2, 8),
    (0, 3, 1, 12, 2, 1, 2, 1, 4),
    (2, 9, 2, 13, 4, 5, 0, 4, 32),
]
READINGS = [
    [(0, 7, 50.0), (0, 3, 100.0), (1, 7, 25.0)],
    [(1, 3, 10.0), (2, 7, 12.5), (2, 9, 80.0), (2, 1000, 5.0), (4, 9, 40.0)],
]


def binary(
    path: Path, fields: dict[str, str], rows: list[tuple[float, ...]], **header: Any
) -> Path:
    """Writes a file as MARO does: header, description, records."""
    attributes = "".join(
        f"- !MaroAttribute\n  adjust_ratio: null\n  dtype: {kind}\n  name: {name}\n"
        f"  raw_name: r\n  slot: 1\n  tzone: null\n"
        for name, kind in fields.items()
    )
    events = "events:\n- !MaroEvent\n  display_name: vm_required\n  type_name: R\n  value: null\n"
    described = f"attributes:\n{attributes}default_event_name: null\n{events}".encode()
    described = header.get("described", described)
    record = struct.Struct("<" + "".join(PACKED[kind] for kind in fields.values()))
    data = b"".join(record.pack(*row) for row in rows)
    ticks = [int(row[0]) for row in rows] or [0]
    packed = struct.pack(
        "<4s b I Q I QQ QQ qq",
        header.get("magic", b"MARO"),
        header.get("kind", 1),
        header.get("version", 100),
        header.get("count", len(rows)),
        header.get("size", record.size),
        69,
        len(described),
        69 + len(described),
        len(data),
        min(ticks),
        max(ticks),
    )
    path.write_bytes(packed + described + data)
    return path


def trace(folder: Path) -> tuple[Path, list[Path]]:
    """The small trace: a table and two files of readings."""
    folder.mkdir(exist_ok=True)
    names = [f"vm_cpu_readings-file-{k}-of-2.bin" for k in (1, 2)]
    parts = zip(names, READINGS, strict=True)
    return (
        binary(folder / "vmtable.bin", VM_FIELDS, VMS),
        [binary(folder / name, READING_FIELDS, rows) for name, rows in parts],
    )


def config(**changes: Any) -> dict[str, Any]:
    """A topology with two regions of racks of two types of machines."""
    curve = {"calibration_parameter": 1.4, "busy_power": 185, "idle_power": 120}
    small = {"calibration_parameter": 1, "busy_power": 10, "idle_power": 1}
    clusters = [{"type": "X", "cluster_amount": 2}, {"type": "Y", "cluster_amount": 1}]
    centre = [{"name": "Japan", "cluster": clusters}]
    return {
        "BUFFER_TIME_BUDGET": 3,
        "DELAY_DURATION": 2,
        "TICKS_PER_HOUR": 12,
        "VM_TABLE": "data/vmtable.bin",
        "CPU_READINGS": "data/vm_cpu_readings-file-1-of-2.bin",
        "PROCESSED_DATA_URL": "https://example.org/gone.tar.gz",
        "KILL_ALL_VMS_IF_OVERLOAD": True,
        "MAX_CPU_OVERSUBSCRIPTION_RATE": 1.15,
        "MAX_MEM_OVERSUBSCRIPTION_RATE": 1,
        "MAX_UTILIZATION_RATE": 0.9,
        "PRICE_PER_CPU_CORES_PER_HOUR": 0.0698,
        "PRICE_PER_MEMORY_PER_HOUR": 0.0078,
        "UNIT_ENERGY_PRICE_PER_KWH": 0.07,
        "POWER_USAGE_EFFICIENCY": 1.7,
        "components": {
            "pm": [
                {"pm_type": 0, "cpu": 32, "memory": 128, "power_curve": curve},
                {"pm_type": 7, "cpu": 16, "memory": 112, "power_curve": small},
            ],
            "rack": [
                {"type": "a", "pm": [{"pm_type": 0, "pm_amount": 3}]},
                {
                    "type": "b",
                    "pm": [{"pm_type": 1, "pm_amount": 2}, {"pm_type": 0, "pm_amount": 1}],
                },
            ],
            "cluster": [
                {"type": "X", "rack": [{"rack_type": "a", "rack_amount": 2}]},
                {
                    "type": "Y",
                    "rack": [
                        {"rack_type": "a", "rack_amount": 1},
                        {"rack_type": "b", "rack_amount": 1},
                    ],
                },
            ],
        },
        "architecture": {
            "region": [
                {"name": "APAC", "zone": [{"name": "z", "data_center": centre}]},
                {"name": "EU", "zone": [{"name": "y", "data_center": centre}]},
            ]
        },
        **changes,
    }


def write_config(folder: Path, **changes: Any) -> Path:
    path = folder / "config.yml"
    path.write_text(yaml.safe_dump(config(**changes)))
    return path


def test_a_binary_trace_is_read(tmp_path: Path) -> None:
    table, files = trace(tmp_path)
    for readings in (files, files[::-1], [tmp_path]):
        vms = read_maro(table, readings)
        assert vms.ids.to_pylist() == [7, 3, 9]
        assert vms.created.tolist() == [0, 0, 2]
        assert vms.lifetime.tolist() == [3, 2, 4]
        assert vms.category.tolist() == [1, 2, 0]
        assert vms.cores.tolist() == [2, 1, 4]
        assert vms.memory_gb.tolist() == [8, 4, 32]
        assert vms.subscription.tolist() == [1, 1, 2]
        assert vms.deployment.tolist() == [11, 12, 13]
        # VM 9 has no reading in its second and fourth tick: the last one holds.
        assert vms.readings.tolist() == [50, 25, 12.5, 100, 10, 80, 80, 40, 40]


def test_records_are_laid_out_by_their_description(tmp_path: Path) -> None:
    fields = dict.fromkeys(VM_FIELDS, "i8") | {"vm_cpu_cores": "f", "vm_category": "i2"}
    order = ["timestamp", *reversed([name for name in fields if name != "timestamp"])]
    rows = [tuple(dict(zip(VM_FIELDS, row, strict=True))[name] for name in order) for row in VMS]
    table = binary(tmp_path / "t.bin", {name: fields[name] for name in order}, rows)
    vms = read_maro(table, trace(tmp_path)[1])
    assert vms.cores.tolist() == [2, 1, 4]
    assert vms.lifetime.tolist() == [3, 2, 4]
    assert vms.category.tolist() == [1, 2, 0]


def test_a_scenario_runs_on_a_binary_trace(tmp_path: Path) -> None:
    trace(tmp_path)
    scenario = load(
        {
            "scenario": "vm",
            "ticks": 7,
            "machines": [{"count": 2, "cores": 4, "memory_gb": 64}],
            "workload": {
                "source": "maro",
                "vmtable": str(tmp_path / "vmtable.bin"),
                "readings": [str(tmp_path)],
            },
        }
    )
    result = simulate(scenario, "first-fit")
    assert result.tables["vms"]["vm"].to_pylist() == [7, 3, 9]
    assert result.tables["vms"]["outcome"].to_pylist() == ["completed"] * 3
    used = [2 * 0.5 + 1, 0.5 + 0.1, 2 * 0.125 + 3.2, 3.2, 1.6, 1.6, 0]
    assert result.tables["series"]["used_cores"].to_pylist() == pytest.approx(used, rel=1e-7)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"magic": b"NARO"}, "is not a binary file of MARO"),
        ({"kind": 2}, "type 2 of version 100 is not allowed"),
        ({"version": 7}, "type 1 of version 7 is not allowed"),
        ({"count": 4}, "is cut short"),
        ({"count": 2**60}, "is cut short"),
        ({"size": 12}, "records of 12 bytes do not fit"),
        ({"described": b"attributes: 5"}, "description of the records cannot be read"),
        ({"described": b"["}, "description of the records cannot be read"),
        ({"described": b"attributes: [!MaroAttribute {name: x, dtype: z}]"}, "cannot be read"),
        ({"described": b"attributes: []"}, "attribute 'vm_id' is missing"),
    ],
)
def test_a_damaged_file_is_one_line(header: dict[str, Any], words: str, tmp_path: Path) -> None:
    table = binary(tmp_path / "t.bin", VM_FIELDS, VMS, **header)
    with pytest.raises(TraceError, match=words) as error:
        read_maro(table, trace(tmp_path)[1])
    assert "\n" not in str(error.value)
    assert str(table) in str(error.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(0, 7, 1, 1, 0, 0, 1, 2, 8)], "t.bin, row 1: lifetime: 0 is not allowed: at least 1"),
        ([VMS[2], VMS[0]], "t.bin, row 2: vmcreated: 0 is not allowed: at least that of the row"),
        ([VMS[0], VMS[0]], "t.bin, row 2: vmid: 7 is not allowed: each VM once"),
        ([(0, 7, 1, 1, 1, 0, 3, 2, 8)], "t.bin, row 1: vmcategory: 3 is not allowed"),
        ([], "has no VMs"),
    ],
)
def test_a_bad_vm_is_named(rows: list[Any], words: str, tmp_path: Path) -> None:
    table = binary(tmp_path / "t.bin", VM_FIELDS, rows)
    with pytest.raises(TraceError, match=words):
        read_maro(table, trace(tmp_path)[1])


def test_a_bad_reading_is_named(tmp_path: Path) -> None:
    table, _ = trace(tmp_path)
    bad = binary(tmp_path / "r.bin", READING_FIELDS, [(0, 7, 50.0), (1, 7, 101.0)])
    words = "r.bin, row 2: cpu_utilization: 101.0 is not allowed: a number from 0 to 100"
    with pytest.raises(TraceError, match=words):
        read_maro(table, [bad])
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="has no files of readings"):
        read_maro(table, [tmp_path / "empty"])
    with pytest.raises(TraceError, match=r"gone\.bin: cannot be read: No such file"):
        read_maro(table, [tmp_path / "gone.bin"])


def test_a_config_is_a_spec(tmp_path: Path) -> None:
    topology = read_config(write_config(tmp_path), ticks=100)
    big = {
        "name": "pm-0",
        "cores": 32,
        "memory_gb": 128,
        "power": {"idle_w": 120, "busy_w": 185, "r": 1.4},
    }
    small = {
        "name": "pm-1",
        "cores": 16,
        "memory_gb": 112,
        "power": {"idle_w": 1, "busy_w": 10, "r": 1},
    }
    assert topology.spec == {
        "scenario": "vm",
        "ticks": 100,
        "tick_seconds": 300,
        # Each region: two clusters X of six big ones; Y: three big, two small, one big.
        "machines": [
            {**big, "count": 15},
            {**small, "count": 2},
            {**big, "count": 1 + 15},
            {**small, "count": 2},
            {**big, "count": 1},
        ],
        "hierarchy": {"regions": 2, "zones": 1, "data_centres": 1, "clusters": 3, "racks": 2},
        "buffer": {"budget_ticks": 3, "delay_ticks": 2},
        "oversubscription": {"cpu": 1.15, "memory": 1, "utilisation": 0.9},
        "prices": {"core_hour_usd": 0.0698, "gb_hour_usd": 0.0078, "kwh_usd": 0.07, "pue": 1.7},
        "overload": "kill",
    }
    assert topology.notes == ()


def test_what_a_config_does_not_say_is_as_in_a_spec(tmp_path: Path) -> None:
    # Older topologies have no prices and no length of a tick.
    path = write_config(tmp_path)
    kept = ("components", "architecture", "KILL_ALL_VMS_IF_OVERLOAD")
    path.write_text(yaml.safe_dump({key: config()[key] for key in kept}))
    topology = read_config(path, ticks=9)
    assert set(topology.spec) == {"scenario", "ticks", "machines", "hierarchy", "overload"}
    assert topology.vmtable is None
    assert topology.readings == ()


def test_a_hierarchy_that_is_not_regular_is_left_out(tmp_path: Path) -> None:
    components = config()["components"]
    components["rack"][0]["pm"][0]["pm_amount"] = 4
    topology = read_config(write_config(tmp_path, components=components), ticks=9)
    assert "hierarchy" not in topology.spec
    assert topology.notes == ("racks or clusters differ in size: the hierarchy is left out",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MAX_CPU_OVERSUBSCRIPTION": 2}, "unknown key 'MAX_CPU_OVERSUBSCRIPTION'. Did you mean"),
        ({"TICKS_PER_HOUR": 0}, "TICKS_PER_HOUR: 0 is not allowed: a number above 0"),
        ({"architecture": {"region": 5}}, "components or architecture cannot be read"),
        ({"architecture": {}}, "components or architecture cannot be read: KeyError: region"),
    ],
)
def test_a_bad_config_is_one_line(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=words) as error:
        read_config(write_config(tmp_path, **changes), ticks=9)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("amount", "kind", "words"),
    [
        (10**12, 0, "pm_amount: 1000000000000 is not allowed: 1 to 1,000,000"),
        (900_000, 0, "more than 1,000,000 machines"),
        (0, 0, "pm_amount: 0 is not allowed"),
        (1, 2, "pm_type: 2 is not allowed: 0 to 1"),
    ],
)
def test_machines_that_cannot_be_are_refused(
    amount: int, kind: int, words: str, tmp_path: Path
) -> None:
    components = config()["components"]
    components["rack"][0]["pm"][0] = {"pm_type": kind, "pm_amount": amount}
    with pytest.raises(TraceError, match=words):
        read_config(write_config(tmp_path, components=components), ticks=9)


def test_a_topology_is_converted_and_runs(tmp_path: Path, cloudarena: Command) -> None:
    trace(tmp_path / "data")
    path = write_config(tmp_path)
    out = tmp_path / "mine"
    command = ("trace", "convert", "maro", "--config", path, "--ticks", 8, "--out", out)
    code, output, _ = cloudarena(*command)
    assert code == 0
    assert "vms: 3" in output
    scenario = load(str(out / "scenario.yaml"))
    assert scenario.machine_count == 36
    result = simulate(scenario, "best-fit")
    assert result.metrics["completed"] == 3
    straight = read_maro(tmp_path / "data" / "vmtable.bin", [tmp_path / "data"])
    assert scenario.load_workload(0).readings.tolist() == straight.readings.tolist()


def test_a_trace_is_converted_without_a_config(tmp_path: Path, cloudarena: Command) -> None:
    table, files = trace(tmp_path / "data")
    out = tmp_path / "mine"
    command = ("trace", "convert", "maro", "--vmtable", table, "--readings", files[0])
    assert cloudarena(*command, "--readings", files[1], "--out", out)[0] == 0
    assert sorted(file.name for file in out.iterdir()) == ["readings.parquet", "vmtable.parquet"]
    code, _, error = cloudarena("trace", "convert", "maro", "--vmtable", table, "--out", out)
    assert code == 2
    assert "Give --config, or --vmtable and --readings" in error
