"""Small vm cases for Hypothesis, each as a spec and as VMs of the reference."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from hypothesis import strategies as st

import cloudarena
from cloudarena.scenarios.vm import VmScenario
from cloudarena.workloads.vm.columns import CATEGORIES

from .reference import Vm, exact

RATES = st.sampled_from([0.5, 0.75, 1.0, 1.0, 1.15, 1.5, 2.0, 3.0])
CROWDING_RATES = st.sampled_from([1.5, 2.0, 3.0])
MACHINE_SIZES = st.one_of(
    st.integers(1, 16).map(float), st.integers(1, 160).map(lambda tenths: tenths / 10)
)
VM_SIZES = st.one_of(
    st.integers(1, 4).map(float),
    st.integers(1, 30).map(lambda tenths: tenths / 10),
    st.integers(1, 300).map(lambda hundredths: hundredths / 100),
)
PERCENT = st.one_of(
    st.sampled_from([0.0, 100.0, 100.0]),
    st.integers(0, 100).map(float),
    st.integers(0, 1000).map(lambda tenths: tenths / 10),
)


class Case(NamedTuple):
    """A spec without its workload, and the VMs as plain rows."""

    spec: dict[str, Any]
    rows: list[dict[str, Any]]
    as_files: str | None  # "parquet", "csv", or None: written into the spec

    def vms(self) -> list[Vm]:
        """The VMs for the reference."""
        return [
            Vm(
                row["id"],
                row["created"],
                row["lifetime"],
                exact(row["cores"]),
                exact(row["memory_gb"]),
                row["category"],
                row["readings"],
            )
            for row in self.rows
        ]

    def load(self) -> VmScenario:
        """The scenario, with its workload read in."""
        if self.as_files is None:
            return cloudarena.load({**self.spec, "workload": inline(self.rows)})
        with tempfile.TemporaryDirectory() as folder:
            scenario = cloudarena.load(
                {**self.spec, "workload": write_files(self.rows, Path(folder), self.as_files)}
            )
            workload = scenario.load_workload(0)
        # The files are gone: keep what was read.
        object.__setattr__(scenario, "load_workload", lambda seed: workload)
        return scenario


def inline(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The workload as part of a spec; its readings have no gaps."""
    return {
        "source": "inline",
        "vms": [
            {
                "created": row["created"],
                "lifetime": row["lifetime"],
                "cores": row["cores"],
                "memory_gb": row["memory_gb"],
                "category": CATEGORIES[row["category"]],
                "readings": list(row["readings"].values()),
            }
            for row in rows
        ],
    }


def write_files(rows: list[dict[str, Any]], folder: Path, form: str) -> dict[str, Any]:
    """The workload as a vmtable and readings, in the canonical format."""
    vmtable = {
        "vmid": [row["id"] for row in rows],
        "subscriptionid": [f"s{number % 3}" for number in range(len(rows))],
        "deploymentid": [number % 5 for number in range(len(rows))],
        "vmcreated": [row["created"] for row in rows],
        "vmdeleted": [row["created"] + row["lifetime"] - 1 for row in rows],
        "vmcategory": [row["category"] for row in rows],
        "vmcorecountbucket": [row["cores"] for row in rows],
        "vmmemorybucket": [row["memory_gb"] for row in rows],
        "lifetime": [row["lifetime"] for row in rows],
    }
    readings = sorted(
        (row["created"] + k, number, row["id"], percent)
        for number, row in enumerate(rows)
        for k, percent in row["readings"].items()
    )
    readings_table = {
        "timestamp": pa.array([time for time, _, _, _ in readings], pa.int64()),
        "vmid": pa.array([vm for _, _, vm, _ in readings], pa.string()),
        "maxcpu": pa.array([percent for _, _, _, percent in readings], pa.float64()),
    }
    paths = {}
    for name, columns in (("vmtable", vmtable), ("readings", readings_table)):
        paths[name] = str(folder / f"{name}.{form}")
        write = pq.write_table if form == "parquet" else pacsv.write_csv
        write(pa.table(columns), paths[name])
    return {"source": "files", **paths}


@st.composite
def machine_types(draw: Any) -> list[dict[str, Any]]:
    """One to three types, six machines at most."""
    types = []
    for count in draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)):
        idle = draw(st.sampled_from([0.0, 1.0, 100.0, 120.0]))
        types.append(
            {
                "count": count,
                "cores": draw(MACHINE_SIZES),
                "memory_gb": draw(st.sampled_from([1.0, 4.0])) * draw(MACHINE_SIZES),
                "power": {
                    "idle_w": idle,
                    "busy_w": idle + draw(st.sampled_from([0.0, 9.0, 65.0, 100.0])),
                    "r": draw(st.sampled_from([1.0, 1.4, 1.7, 2.0])),
                    "boot_w": draw(st.sampled_from([None, 0.0, 250.0])),
                    "off_w": draw(st.sampled_from([0.0, idle / 8])),
                },
            }
        )
    return types


@st.composite
def cases(draw: Any, may_warm_up: bool = False) -> Case:
    """Any small data centre and any small workload."""
    ticks = draw(st.one_of(st.integers(1, 30), st.integers(1, 30), st.sampled_from([300, 620])))
    as_files = draw(st.sampled_from([None, None, "parquet", "csv"]))
    crowded = draw(st.booleans())  # many VMs that share machines, so that some overload
    rates = CROWDING_RATES if crowded else RATES
    spec = {
        "scenario": "vm",
        "ticks": ticks,
        "tick_seconds": draw(st.sampled_from([300.0, 3600.0, 0.5])),
        "machines": draw(machine_types()),
        "oversubscription": {
            "cpu": draw(rates),
            "memory": draw(rates),
            "utilisation": draw(rates),
        },
        "overload": draw(st.sampled_from(["record", "kill"])),
        "buffer": {
            "budget_ticks": draw(st.integers(0, 12)),
            "delay_ticks": draw(st.integers(1, 4)),
        },
        "decide_when_full": draw(st.booleans()),
        "off_after_ticks": draw(st.sampled_from([None, 0, 0, 1, 2, 7])),
        "boot_ticks": draw(st.sampled_from([0, 1, 1, 2, 5, 300])),
        "known": draw(st.sampled_from([[], ["lifetimes"]])),
        "record": "full",
    }
    if may_warm_up:
        warmup = draw(st.sampled_from([0, 0, ticks // 4, ticks // 2, ticks - 1]))
        spec["warmup_s"] = warmup * spec["tick_seconds"]
    lifetimes = st.one_of(st.integers(1, 8), st.integers(1, ticks + 10))
    values = PERCENT if as_files is None else st.one_of(st.none(), PERCENT)
    pattern = st.lists(values, max_size=5)
    category = st.sampled_from([0] if crowded else [0, 0, 1, 2])
    whole_machines = st.sampled_from([kind["cores"] for kind in spec["machines"]])
    vm_cores = draw(st.sampled_from([VM_SIZES, st.one_of(VM_SIZES, whole_machines)]))
    rows = []
    arrivals = draw(st.sampled_from([st.integers(0, ticks + 1), st.integers(0, 5)]))
    count = draw(st.integers(10 if crowded else 1, 40))
    created = draw(st.lists(arrivals, min_size=count, max_size=count))
    for number, tick in enumerate(sorted(created)):
        lifetime = draw(lifetimes)
        shape = draw(pattern)
        repeats = draw(st.sampled_from([1, lifetime]))
        readings = dict(enumerate((shape * repeats)[:lifetime]))
        rows.append(
            {
                "id": number + 1 if as_files is None else f"vm-{number * 7 % 41}",
                "created": tick,
                "lifetime": lifetime,
                "cores": draw(vm_cores),
                "memory_gb": draw(VM_SIZES),
                "category": draw(category),
                "readings": {k: value for k, value in readings.items() if value is not None},
            }
        )
    return Case(spec, rows, as_files)
