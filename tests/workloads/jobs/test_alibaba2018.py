"""Alibaba's table of batch tasks of 2018."""

import gzip

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads import columns
from cloudarena.workloads.jobs.alibaba2018 import load_alibaba2018, scan_alibaba2018

from .cases import same_jobs

ROWS = (
    "M1,1,j_2,1,Terminated,87076,87083,50,0.2",
    "task_xyz,2,j_7,12,Terminated,87000,87000,150,40",
    "R2_1,3.0,j_2,1,Terminated,87076,87086,100,0.39",
    "R6_3,371,j_3,1,Terminated,157297,157325,100,0.49",
    "J5_1_2_4,1,j_2,1,Terminated,87070,87090,100,0.39",
    "R3_1,1,j_2,1,Failed,87076,87086,100,0.39",
    "R2_1_Stg8,39,j_9,1,Running,675174,675174,,",
    "M1,1,j_8,1,Terminated,10,20,,",
    "M2,,j_8,1,Terminated,10,20,100,0.3",
    "M3,1,j_8,1,Terminated,20,10,100,0.3",
    "M4,1,j_8,1,Terminated,20,30,100,101",
    "M5,0,j_8,1,Terminated,20,30,100,1",
)


@pytest.fixture
def table(tmp_path):
    """Writes a table and returns its path."""

    def build(*rows, name="batch_task.csv"):
        path = tmp_path / name
        text = ("\n".join(rows) + "\n").encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path

    return build


@pytest.mark.parametrize("name", ["batch_task.csv", "batch_task.csv.gz"])
def test_by_hand(table, name):
    workload, reading = scan_alibaba2018(table(*ROWS, name=name))
    assert workload.job_ids.to_pylist() == ["j_7", "j_2", "j_3"]
    assert workload.submit.tolist() == [0, 70, 70297]
    assert workload.task_ids.to_pylist() == ["task_xyz", "M1", "R2_1", "J5_1_2_4", "R6_3"]
    assert workload.instances.tolist() == [2, 1, 3, 1, 371]
    assert workload.duration.tolist() == [1, 7, 10, 20, 28]
    assert workload.demand[:, 0].tolist() == [1.5, 0.5, 1, 1, 1]
    assert workload.demand[:, 1] == pytest.approx([0.4, 0.002, 0.0039, 0.0039, 0.0049])
    assert workload.first_parent.tolist() == [0, 0, 0, 1, 3, 3]
    assert workload.parents.tolist() == [1, 1, 2]
    assert reading._asdict() == {
        "jobs": 3,
        "tasks": 5,
        "rows_of_other_status": 2,
        "incomplete_rows": 2,
        "impossible_rows": 3,
        # Task 4 of j_2 and task 3 of j_3.
        "dropped_parents": 2,
        "jobs_in_circles": 0,
    }


def test_batches_do_not_show(table, monkeypatch):
    path = table(*ROWS)
    whole = load_alibaba2018(path)
    monkeypatch.setattr(columns, "BATCH_ROWS", 2)
    monkeypatch.setattr(columns, "BLOCK_BYTES", 120)
    same_jobs(whole, load_alibaba2018(path))


def test_another_status(table):
    assert load_alibaba2018(table(*ROWS), "Failed").task_ids.to_pylist() == ["R3_1"]
    everything = load_alibaba2018(table(*ROWS), None)
    assert everything.task_ids.to_pylist().count("R3_1") == 1
    with pytest.raises(TraceError, match="has no usable tasks of status Waiting"):
        load_alibaba2018(table(*ROWS), "Waiting")


def test_jobs_in_circles_are_left_out(table):
    cut = "M5_14_17_28_30_40_42_52_54_64_66_76_78_88_90_100_1"
    rows = [
        "M1_2,1,j_1,1,Terminated,5,6,100,1",
        "M2_1,1,j_1,1,Terminated,5,6,100,1",
        "M3,1,j_1,1,Terminated,5,6,100,1",
        # The 1 at the end of the cut name is not taken for task 1.
        f"{cut},1,j_2,1,Terminated,7,8,100,1",
        "R1_5,1,j_2,1,Terminated,7,8,100,1",
    ]
    workload, reading = scan_alibaba2018(table(*rows))
    assert workload.job_ids.to_pylist() == ["j_2"]
    assert workload.parents.tolist() == [0]
    assert reading.jobs_in_circles == 1
    with pytest.raises(TraceError, match="the tasks of every job wait for each other in a circle"):
        load_alibaba2018(table(*rows[:2]))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("M1,many,j_2,1,Terminated,1,2,50,0.2", "instance_num: 'many' is not allowed: a number"),
        ("M1,1,j_2,1,Terminated,now,2,50,0.2", "start_time: 'now' is not allowed: a number"),
        ("M1,1,j_2,1,Terminated,1,2,50", "has 8 columns: 9 are needed"),
    ],
)
def test_bad_rows(table, row, words):
    with pytest.raises(TraceError, match=f"batch_task.csv, line 2: {words}"):
        load_alibaba2018(table(ROWS[0], row))


def test_bad_files(table, tmp_path):
    with pytest.raises(TraceError, match="is an archive: unpack it"):
        load_alibaba2018(table(*ROWS, name="batch_task.tar.gz"))
    with pytest.raises(TraceError, match="does not exist"):
        load_alibaba2018(tmp_path / "nowhere.csv")
    with pytest.raises(TraceError, match="has no usable tasks of status Terminated"):
        load_alibaba2018(table(""))
    with pytest.raises(TraceError, match=r"job 'j_2', task 'M1': cpu: 20000000.0 is not allowed"):
        load_alibaba2018(table("M1,1,j_2,1,Terminated,1,2,2e9,0.2"))
