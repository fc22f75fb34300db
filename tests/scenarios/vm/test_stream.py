"""A run whose VMs come into memory as they arrive gives the numbers of one that holds them all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.contract import Result
from cloudarena.scenarios.vm import POLICIES, run
from cloudarena.scenarios.vm.build import index
from cloudarena.workloads import columns
from cloudarena.workloads.vm import poisson
from cloudarena.workloads.vm.stream import SizeCounts

from .cases import Case, cases, write_files


def trace(case: Case, folder: Path, rows_in_group: int, **options: Any) -> dict[str, Any]:
    """The VMs of a case as a Parquet file of small row groups, without readings."""
    write_files([{**row, "readings": {}} for row in case.rows], folder, "parquet")
    path = folder / "vmtable.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=rows_in_group)
    return {"source": "files", "vmtable": str(path), **options}


def same(streamed: Result, loaded: Result) -> None:
    """All that a streamed run keeps is as in the other."""
    assert streamed.metrics == pytest.approx(loaded.metrics, rel=0, abs=0, nan_ok=True)
    for name, table in streamed.tables.items():
        assert table.equals(loaded.tables[name]), name


@settings(max_examples=60, deadline=None)
@given(
    case=cases(),
    name=st.sampled_from(POLICIES.array_names()),
    rows=st.integers(1, 7),
    percent=st.sampled_from([0.0, 30.0, 100.0]),
    index_from=st.sampled_from([1, 10**9]),
)
def test_a_streamed_trace_gives_the_same_numbers(case, name, rows, percent, index_from):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "STREAM_ROWS", 1)
        patch.setattr(columns, "BATCH_ROWS", rows)
        patch.setattr(index, "INDEX_FROM", index_from)
        results = [
            cloudarena.simulate(
                cloudarena.load(
                    {
                        **case.spec,
                        "workload": trace(
                            case, Path(folder), rows, cpu_percent=percent, stream=stream
                        ),
                    }
                ),
                name,
            )
            for stream in (True, False)
        ]
    same(*results)
    assert "vms" in results[1].tables
    assert "vms" not in results[0].tables


def test_a_streamed_generator_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr(run, "STREAM_ROWS", 1)
    monkeypatch.setattr(poisson, "PART", 100)
    spec = {
        "scenario": "vm",
        "ticks": 400,
        "machines": [{"count": 20, "cores": 32, "memory_gb": 128, "price": {"hour_usd": 1.0}}],
        "buffer": {"budget_ticks": 5, "delay_ticks": 1},
    }
    source = {
        "source": "poisson-vms",
        "vms": 2000,
        "per_tick": 6,
        "lifetime_ticks": 35,
        "cpu_percent": 25,
    }
    results = [
        cloudarena.simulate(
            cloudarena.load({**spec, "workload": {**source, "stream": stream}}), "best-fit", seed=3
        )
        for stream in (True, False)
    ]
    same(*results)
    assert results[0].metrics["delay_ticks"] > 0
    assert results[0].metrics["completed"] > 1000
    assert results[0].metrics["cost_usd"] > 300  # what forgotten VMs used was free


def test_stepped_runs_stream_too(monkeypatch):
    monkeypatch.setattr(run, "STREAM_ROWS", 1)
    monkeypatch.setattr(poisson, "PART", 10)
    spec = {
        "scenario": "vm",
        "ticks": 60,
        "machines": [{"count": 5, "cores": 32, "memory_gb": 128}],
        "workload": {
            "source": "poisson-vms",
            "vms": 90,
            "per_tick": 2,
            "lifetime_ticks": 9,
            "stream": True,
        },
    }
    going = cloudarena.load(spec).start(0)
    policy, seen = POLICIES.resolve("worst-fit"), []
    while (decision := going.decision) is not None:
        seen.append(decision.request.vm)
        going.apply(policy(decision))
    assert seen == list(range(1, 91))
    assert len(going.world.vms.outcome) < 60  # the others are forgotten
    same(going.result(), cloudarena.simulate(cloudarena.load(spec), "worst-fit"))


def table(created: list[int], folder: Path) -> dict[str, Any]:
    """A trace with VMs that arrive at these ticks, one in each row group."""
    rows = len(created)
    names = {
        "vmid": np.arange(rows),
        "subscriptionid": np.zeros(rows),
        "deploymentid": ["a"] * rows,
    }
    whole = {"vmcreated": created, "vmdeleted": created, "vmcategory": [2] * rows}
    sizes = {"vmcorecountbucket": [1.0] * rows, "vmmemorybucket": [1.0] * rows}
    path = folder / "vms.parquet"
    columns_ = {**names, **whole, **sizes, "lifetime": [3] * rows}
    pq.write_table(pa.table(columns_), path, row_group_size=1)
    return {"source": "files", "vmtable": str(path), "stream": True, "cpu_percent": 0}


def test_a_trace_that_is_not_sorted_is_refused_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "BATCH_ROWS", 1)
    spec = {"scenario": "vm", "ticks": 9, "machines": [{"count": 1, "cores": 9, "memory_gb": 9}]}
    workload = table([0, 4, 3], tmp_path)
    words = "row 3: vmcreated: 3 is not allowed: at least that of the row before .sort the table.$"
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.simulate(cloudarena.load({**spec, "workload": workload}), "first-fit")


def test_readings_are_not_streamed(tmp_path):
    workload = {**table([0], tmp_path), "readings": "readings.parquet"}
    spec = {"scenario": "vm", "machines": [{"count": 1, "cores": 9, "memory_gb": 9}]}
    with pytest.raises(CloudarenaError, match="stream: true is not allowed with readings"):
        cloudarena.load({**spec, "workload": workload})


@given(
    sizes=st.lists(st.sampled_from([0.5, 1.0, 2.0, 8.0]), min_size=1, max_size=9),
    cut=st.integers(0, 9),
)
def test_the_median_of_parts_is_that_of_all(sizes, cut):
    counts = SizeCounts()
    for part in (sizes[:cut], sizes[cut:]):
        counts.add(np.array(part))
    assert counts.median() == np.median(sizes)
