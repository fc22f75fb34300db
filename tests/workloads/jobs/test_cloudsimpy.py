"""CloudSimPy's lists of jobs."""

import gzip

import numpy as np
import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy, scan_cloudsimpy

HEADER = ",submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk"
ROWS = (
    "0,539,116.5,1.0,0.0054,9,1,283,0",
    "1,7,73.5,0.5,0.0078,3,23,67,0",
    "2,540,87.25,0.5,0.0078,9,24,21,0.5",
    "3,8,1,0.5,0.016,3,23,1,0",
    "4,540,2,3.0,0.016,4,1,2,0",
    "5,1,2,3.0,0.016,5,1,2,0",
)


@pytest.fixture
def listed(tmp_path):
    """Writes a list of jobs and returns its path."""

    def build(*rows, header=HEADER, name="jobs.csv"):
        path = tmp_path / name
        path.write_text("\n".join((header, *rows)) + "\n")
        return path

    return build


def test_by_hand(listed):
    workload = load_cloudsimpy(listed(*ROWS))
    # Job 3 comes at its last row's time, 8; jobs 9 and 4 both at 540, 9 stands first.
    assert workload.job_ids.to_pylist() == [5, 3, 9, 4]
    assert workload.submit.tolist() == [0, 7, 539, 539]
    assert workload.first_task.tolist() == [0, 1, 3, 5, 6]
    # Job 3 has two tasks 23.
    assert workload.task_ids.to_pylist() == [1, 23, 23, 1, 24, 1]
    assert workload.instances.tolist() == [2, 67, 1, 283, 21, 2]
    assert workload.duration.tolist() == [2, 73.5, 1, 116.5, 87.25, 2]
    assert np.isnan(workload.estimate).all()
    assert workload.demand[:, 0].tolist() == [3, 0.5, 0.5, 1, 0.5, 3]
    assert workload.demand[4].tolist() == [0.5, 0.0078, 0.5, 0]
    assert workload.user.tolist() == [0] * 4
    assert not workload.gang.any()
    assert workload.parents.size == 0


def test_columns_are_found_by_name(listed):
    header = "note,job_id,task_id,instances_num,disk,memory,cpu,duration,submit_time,status"
    rows = ["a,x,y,3,0,0.5,1,9,100,ok", ",x,z,4,0,0.5,2,8,100,"]
    workload = load_cloudsimpy(listed(*rows, header=header))
    assert workload.job_ids.to_pylist() == ["x"]
    assert workload.task_ids.to_pylist() == ["y", "z"]
    assert workload.instances.tolist() == [3, 4]
    assert workload.demand.tolist() == [[1, 0.5, 0, 0], [2, 0.5, 0, 0]]


def test_without_disk_and_gzipped(listed, tmp_path):
    text = "submit_time,duration,cpu,memory,job_id,task_id,instances_num\n5,1,1,1,1,1,2.0\n"
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    workload = load_cloudsimpy(path)
    assert workload.instances.tolist() == [2]
    assert workload.demand.tolist() == [[1, 1, 0, 0]]


def test_text_ids_tell_a_dag(listed):
    header = "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk"
    names = ["M1", "5_3_4", "M2_1", "J3_1", "J4_2_9", "task_abc"]
    rows = [f"0,100,1,0,1,{name},1,0" for name in names] + ["0,100,1,0,2,J7_1,1,0"]
    workload, reading = scan_cloudsimpy(listed(*rows, header=header))
    assert workload.first_parent.tolist() == [0, 0, 2, 3, 4, 5, 5, 5]
    assert workload.parents.tolist() == [3, 4, 0, 0, 2]
    assert reading == (2, 7, 2)


def test_a_circle_names_the_job(listed):
    rows = [f"0,0,1,1,0,77,{name},1,0" for name in ("M1_2", "M2_1")]
    with pytest.raises(TraceError, match=r"jobs.csv: job 77: .* in a circle: M1_2, M2_1, M1_2"):
        load_cloudsimpy(listed(*rows))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("6,soon,1,1,0,1,1,1,0", "submit_time: 'soon' is not allowed: a number"),
        ("6,,1,1,0,1,1,1,0", "submit_time: nan is not allowed: a number"),
        ("6,0,0,1,0,1,1,1,0", "duration: 0.0 is not allowed: from 1e-06 s to"),
        ("6,0,-3,1,0,1,1,1,0", "duration: -3.0 is not allowed"),
        ("6,0,1,-1,0,1,1,1,0", "cpu: -1.0 is not allowed: from 0 to 1,000,000"),
        ("6,0,1,1,2e6,1,1,1,0", "memory: 2000000.0 is not allowed: from 0 to 1,000,000"),
        ("6,0,1,1,0,1,1,1,nan", "disk: nan is not allowed"),
        ("6,0,1,1,0,1,1,0,0", "instances_num: 0.0 is not allowed: from 1 to"),
        ("6,0,1,1,0,1,1,1.5,0", "instances_num: 1.5 is not allowed: a whole number"),
        ("6,0,1,1,0,,1,1,0", "job_id: '' is not allowed: any name"),
        ("6,0,1,1,0,1,,1,0", "task_id: '' is not allowed: any name"),
        ("6,0,1,1,0,1,1,1", "has 8 columns: 9 are needed"),
    ],
)
def test_bad_rows(listed, row, words):
    with pytest.raises(TraceError, match=f"jobs.csv, line 3: {words}"):
        load_cloudsimpy(listed(ROWS[0], row))


def test_bad_files(listed, tmp_path):
    with pytest.raises(TraceError, match="column 'instances_num' is missing: needed are submit"):
        load_cloudsimpy(listed(ROWS[0], header=HEADER.replace("instances_num", "instance_num")))
    with pytest.raises(TraceError, match="has no jobs"):
        load_cloudsimpy(listed())
    with pytest.raises(TraceError, match="does not exist"):
        load_cloudsimpy(tmp_path / "nowhere.csv")
    with pytest.raises(TraceError, match="is a folder"):
        load_cloudsimpy(tmp_path)
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(TraceError, match=r"broken.csv.gz: cannot be read"):
        load_cloudsimpy(tmp_path / "broken.csv.gz")
