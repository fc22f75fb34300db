"""A run whose jobs come into memory as they arrive gives the numbers of one that holds them all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError, PolicyError
from cloudarena.contract import Result
from cloudarena.scenarios.jobs import POLICIES, run
from cloudarena.scenarios.jobs.build import index
from cloudarena.workloads import columns
from cloudarena.workloads.jobs import poisson
from cloudarena.workloads.jobs.files import job_table

from .cases import Spec
from .test_properties import any_specs

MACHINES = [{"count": 5, "cpu": 16, "memory": 64}]


def trace(spec: Spec, folder: Path, **options: Any) -> Spec:
    """A spec whose jobs are in a Parquet file, as trace convert writes it."""
    path = folder / "jobs.parquet"
    if not path.exists():
        pq.write_table(job_table(cloudarena.load(spec).load_workload(0)), path, row_group_size=2)
    return {**spec, "workload": {"source": "file", "path": str(path), **options}}


def same(streamed: Result, loaded: Result) -> None:
    """All that a streamed run keeps is as in the other."""
    assert streamed.metrics == pytest.approx(loaded.metrics, rel=1e-14, abs=0, nan_ok=True)
    for name, table in streamed.tables.items():
        assert table.equals(loaded.tables[name]), name


@settings(max_examples=60, phases=(Phase.generate,), deadline=None)
@given(
    spec=any_specs(),
    name=st.sampled_from(POLICIES.array_names()),
    rows=st.integers(1, 5),
    index_from=st.sampled_from([1, 10**9]),
)
def test_a_streamed_trace_gives_the_same_numbers(spec, name, rows, index_from):
    spec = {**spec, "known": ["durations"]}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "STREAM_ROWS", 1)
        patch.setattr(columns, "BATCH_ROWS", rows)
        patch.setattr(index, "INDEX_FROM", index_from)
        loaded = cloudarena.simulate(trace(spec, Path(folder)), name)
        streamed = cloudarena.simulate(trace(spec, Path(folder), stream=True), name)
    same(streamed, loaded)
    assert set(streamed.tables) == {"series"}


@pytest.mark.parametrize("name", ["best-fit", "sjf", "easy-backfilling"])
def test_a_streamed_generator_gives_the_same_numbers(monkeypatch, name):
    monkeypatch.setattr(run, "STREAM_ROWS", 1)
    monkeypatch.setattr(poisson, "PART", 100)
    source = {"source": "poisson-jobs", "jobs": 3000, "rate": 0.5, "duration_s": 40}
    spec = {"scenario": "jobs", "machines": MACHINES, "failures": {"mtbf_s": 900, "mttr_s": 50}}
    results = [
        cloudarena.simulate({**spec, "workload": {**source, "stream": stream}}, name, seed=3)
        for stream in (True, False)
    ]
    same(*results)
    assert results[0].metrics["jobs_finished"] == 3000
    assert results[0].metrics["wait_p95_s"] > 0
    assert results[0].metrics["lost_instances"] > 0


def test_finished_jobs_are_forgotten(monkeypatch):
    monkeypatch.setattr(run, "STREAM_ROWS", 1)
    monkeypatch.setattr(poisson, "PART", 50)
    source = {"source": "poisson-jobs", "jobs": 2000, "rate": 0.2, "duration_s": 40}
    spec = {"scenario": "jobs", "machines": MACHINES, "workload": {**source, "stream": True}}
    going = cloudarena.load(spec).start(0, record="none")
    going.play(POLICIES.resolve("first-fit"))
    assert len(going.workload.submit) < 150
    assert len(going.world.machines.rows) < 1500
    assert going.result().metrics["jobs_finished"] == 2000


def written(folder: Path, submit: list[float], **others: list[Any]) -> Spec:
    """A trace with jobs of one task, submitted at these times."""
    ones = [1.0] * len(submit)
    table = {
        "job": list(range(len(submit))),
        "submit_s": submit,
        "task": list(range(len(submit))),
        **dict.fromkeys(("instances", "cpu", "memory", "duration_s"), ones),
        **others,
    }
    pq.write_table(pa.table(table), folder / "own.parquet", row_group_size=1)
    source = {"source": "file", "path": str(folder / "own.parquet"), "stream": True}
    return {"scenario": "jobs", "machines": MACHINES, "workload": source}


def test_a_trace_that_is_not_sorted_is_refused_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "BATCH_ROWS", 1)
    words = (
        r"row 3: submit_s: 3.0 is not allowed: at least that of the row before .sort the table.$"
    )
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.simulate(written(tmp_path, [0, 4, 3]), "first-fit")


def test_a_bad_row_of_a_stream_is_named_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "BATCH_ROWS", 1)
    spec = written(tmp_path, [0, 4, 5, 6], cpu=[1.0, 1.0, -1.0, 1.0])
    with pytest.raises(CloudarenaError, match=r"row 3: cpu: -1.0 is not allowed: from 0 to"):
        cloudarena.simulate(spec, "first-fit")


def test_names_of_users_are_not_streamed(tmp_path):
    spec = written(tmp_path, [0, 4], user=["a", "b"])
    with pytest.raises(CloudarenaError, match="names are not allowed in a stream: whole numbers"):
        cloudarena.simulate(spec, "first-fit")


def test_jobs_without_estimates_can_be_streamed(tmp_path):
    """And a policy that needs estimates says so, as without a stream."""
    spec = written(tmp_path, [0, 4])
    assert cloudarena.simulate(spec, "first-fit").metrics["jobs_finished"] == 2
    with pytest.raises(PolicyError, match="estimate"):
        cloudarena.simulate(spec, "sjf")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "jobs.csv"}, "stream: true is not allowed with jobs.csv: a Parquet file"),
        ({"offset": 3}, "stream: true is not allowed with offset, jobs, window"),
        ({"estimates": "exact"}, "all jobs of the file"),
        ({"scale": 2}, "all jobs of the file"),
    ],
)
def test_what_cannot_be_streamed_is_refused(tmp_path, options, words):
    spec = written(tmp_path, [0, 4])
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.load({**spec, "workload": {**spec["workload"], **options}})


def test_a_policy_that_keeps_numbers_of_tasks_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="is not allowed with stream: true: a function of arrays"):
        cloudarena.simulate(written(tmp_path, [0, 4]), "conservative-backfilling")
