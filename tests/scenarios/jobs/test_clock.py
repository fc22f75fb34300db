"""Submissions and outages are on one clock; a run begins with the first submission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cloudarena

from .clusters import cluster, column, job, outage, play, starts, task

SUBMITS = [0.0, 100.0, 1.5e9]


@pytest.mark.parametrize("begin", SUBMITS)
def test_an_outage_meets_what_runs_on_its_clock(begin: float) -> None:
    # One core; a job of 100 s; the machine is down from 50 to 60 s after its submission.
    spec = cluster(job(task(100), submit=begin), cpu=1, outages=[outage(0, begin + 50, begin + 60)])
    result = play(spec)
    assert starts(result) == [60]
    assert result.metrics["lost_work_s"] == 50
    assert result.metrics["makespan_s"] == 160
    assert column(result, "time_s", "series") == [0, 50, 60, 160]


def test_what_was_over_before_the_first_submission_has_no_part_in_the_run() -> None:
    outages = [outage(0, 10, 90), outage(0, 95, 100), outage(0, 150, 160)]
    result = play(cluster(job(task(30), submit=100), cpu=1, outages=outages))
    assert starts(result) == [0]
    assert column(result, "machines_up", "series") == [1, 1]


def test_a_machine_that_is_down_at_the_first_submission_is_down_at_the_beginning() -> None:
    result = play(cluster(job(task(30), submit=100), cpu=1, outages=[outage(0, 10, 107)]))
    assert starts(result) == [7]
    gone = play(cluster(job(task(30), submit=100), cpu=1, outages=[outage(0, 10)]))
    assert gone.metrics["unserved_share"] == 1


def test_jobs_that_are_left_out_move_the_beginning(tmp_path: Path) -> None:
    # Jobs at 100 and 300 s of the file, an outage from 350 to 360 s. Of both, the run begins at
    # 100; of the second alone, at 300.
    rows = (
        "job,submit_s,task,instances,cpu,memory,duration_s\n1,100,1,1,1,0,10\n2,300,1,1,1,0,100\n"
    )
    (tmp_path / "jobs.csv").write_text(rows)
    (tmp_path / "outages.csv").write_text("machine,down_s,up_s\n0,350,360\n")
    spec: dict[str, Any] = {
        "scenario": "jobs", "machines": [{"cpu": 1}],
        "failures": {"path": str(tmp_path / "outages.csv")},
        "workload": {"source": "file", "path": str(tmp_path / "jobs.csv")},
    }  # fmt: skip
    assert starts(play(spec)) == [0, 260]
    later = {**spec, "workload": {**spec["workload"], "offset": 1}}
    assert starts(play(later)) == [60]


def test_a_converted_trace_keeps_its_clock(tmp_path: Path) -> None:
    from cloudarena.workloads.jobs.files import job_table, load_job_file

    rows = "job,submit_s,task,instances,cpu,memory,duration_s\n1,1500000000.5,1,1,1,0,10\n"
    (tmp_path / "jobs.csv").write_text(rows)
    workload = load_job_file(tmp_path / "jobs.csv")
    assert (workload.begin_s, workload.submit.tolist()) == (1500000000.5, [0])
    pq.write_table(job_table(workload), tmp_path / "again.parquet")
    assert load_job_file(tmp_path / "again.parquet").begin_s == 1500000000.5
    assert job_table(workload)["submit_s"].equals(pa.chunked_array([[1500000000.5]]))


def test_generated_jobs_begin_at_zero() -> None:
    for entry in ("jobs/hpc-swf", "jobs/deeprm", "jobs/dag-demo", "jobs/alibaba-like-10"):
        workload = cloudarena.load(entry).load_workload(3)
        assert (workload.begin_s, workload.submit[0]) == (0, 0)
