"""The canonical format of a job trace: what may stand in it, and what is made of it."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.workloads import columns
from cloudarena.workloads.jobs.alibaba_like import alibaba_like
from cloudarena.workloads.jobs.columns import pick_jobs, slice_jobs
from cloudarena.workloads.jobs.files import job_table, load_job_file, write_job_files
from cloudarena.workloads.jobs.lublin import lublin_feitelson
from cloudarena.workloads.jobs.stream import joined
from cloudarena.workloads.jobs.tpch_like import tpch_like

from .cases import same_jobs

JOBS = {
    "job": ["late", "early", "late", "early"],
    "submit_s": [25.5, 20.25, 25.5, 20.25],
    "task": ["a", "x", "b", "y"],
    "instances": [1, 2, 3, 4],
    "cpu": [1.0, 2.0, 0.5, 4.0],
    "memory": [0.25, 0.5, 0.0, 1.0],
    "duration_s": [10.0, 20.0, 30.0, 40.5],
}
MORE = {
    "disk": [0.0, 1.0, 0.0, 0.0],
    "gpu": [0.5, 0.0, 0.0, 0.0],
    "user": [5, 3, 5, 3],
    "estimate_s": [11.0, 20.0, 60.0, 41.0],
    "gang": [False, True, False, False],
    "parents": ["", "", "a", "x"],
}


def write(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pacsv.write_csv(table, path)
    return path


@pytest.fixture(params=["csv", "parquet"])
def trace(request, tmp_path):
    """Writes a trace, with some columns changed or added, and returns its path."""

    def build(**columns):
        return write(tmp_path / f"jobs.{request.param}", pa.table({**JOBS, **columns}))

    return build


def test_models_of_gpus(trace, tmp_path):
    path = trace(gpu=[1.0, 1.0, 1.0, 1.0], gpu_models=["T4|A10", "", "V100", ""])
    workload = load_job_file(path)
    assert workload.gpu_models.tolist() == ["", "", "T4|A10", "V100"]  # early is the first job
    assert slice_jobs(workload, 1).gpu_models.tolist() == ["T4|A10", "V100"]
    assert pick_jobs(workload, np.array([1, 0]), np.zeros(2)).gpu_models[0] == "T4|A10"
    write_job_files(workload, tmp_path / "again")
    same_jobs(load_job_file(tmp_path / "again" / "jobs.parquet"), workload)
    assert load_job_file(trace(gpu_models=[""] * 4)).gpu_models is None
    plain = load_job_file(trace())
    both = joined([plain, workload]).gpu_models
    assert both.tolist() == [""] * 6 + ["T4|A10", "V100"]
    assert joined([plain, plain]).gpu_models is None


def test_needed_columns(trace):
    workload = load_job_file(trace())
    assert workload.job_ids.to_pylist() == ["early", "late"]
    assert workload.submit.tolist() == [0, 5.25]
    assert workload.task_ids.to_pylist() == ["x", "y", "a", "b"]
    assert workload.instances.tolist() == [2, 4, 1, 3]
    assert workload.demand.tolist() == [
        [2, 0.5, 0, 0],
        [4, 1, 0, 0],
        [1, 0.25, 0, 0],
        [0.5, 0, 0, 0],
    ]
    assert workload.duration.tolist() == [20, 40.5, 10, 30]
    assert np.isnan(workload.estimate).all()
    assert workload.user.tolist() == [0, 0]
    assert workload.gang.tolist() == [False] * 4
    assert workload.parents.size == 0


def test_all_columns(trace):
    workload = load_job_file(trace(**MORE))
    assert workload.demand[:, 2].tolist() == [1, 0, 0, 0]
    assert workload.demand[:, 3].tolist() == [0, 0, 0.5, 0]
    assert workload.user.tolist() == [3, 5]
    assert workload.estimate.tolist() == [20, 41, 11, 60]
    assert workload.gang.tolist() == [True, False, False, False]
    assert workload.first_parent.tolist() == [0, 0, 1, 1, 2]
    assert workload.parents.tolist() == [0, 2]


def test_empty_cells(trace):
    columns = {
        "disk": [None, 1.0, None, None],
        "estimate_s": [None, None, 33.0, None],
        "user": ["ann", "bob", "ann", "bob"],
        "gang": [None, "true", "0", "False"],
        "parents": [None, None, "a", None],
    }
    workload = load_job_file(trace(**columns))
    assert workload.demand[:, 2].tolist() == [1, 0, 0, 0]
    assert workload.estimate.tolist() == [33] * 4  # where there is none, the longest
    assert workload.user.tolist() == [1, 0]
    assert workload.gang.tolist() == [True, False, False, False]
    assert workload.parents.tolist() == [2]


def test_several_parents_and_names_that_stand_twice(trace):
    columns = {"job": [1, 1, 1, 1], "submit_s": [0.0] * 4, "task": [7, 7, 8, 9]}
    workload = load_job_file(trace(**columns, parents=["", "", " 7", "8; 7 ;8"]))
    assert workload.task_ids.to_pylist() == [7, 7, 8, 9]
    assert workload.first_parent.tolist() == [0, 0, 0, 2, 5]
    assert workload.parents.tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    "workload",
    [
        alibaba_like(20, 3),
        lublin_feitelson(50, 1),
        tpch_like(10, 2),
        slice_jobs(tpch_like(10, 2), 4, 3),
        tpch_like(3, 0)._replace(user=np.array([4, -1, 4])),
    ],
    ids=["alibaba", "lublin", "tpch", "slice", "users"],
)
def test_round_trip_is_exact(tmp_path, workload):
    write_job_files(workload, tmp_path / "trace")
    same_jobs(load_job_file(tmp_path / "trace" / "jobs.parquet"), workload)
    same_jobs(load_job_file(write(tmp_path / "jobs.csv", job_table(workload))), workload)


def test_names_stay_what_they_are(trace, tmp_path):
    workload = load_job_file(trace(job=["007", "8", "007", "8"]))
    assert workload.job_ids.to_pylist() == ["8", "007"]
    write_job_files(workload, tmp_path / "out")
    same_jobs(load_job_file(tmp_path / "out" / "jobs.parquet"), workload)
    text = pa.array(["1", "2", "1", "2"])
    stored = load_job_file(write(tmp_path / "text.parquet", pa.table({**JOBS, "job": text})))
    assert stored.job_ids.to_pylist() == ["2", "1"]
    listed = load_job_file(write(tmp_path / "text.csv", pa.table({**JOBS, "job": text})))
    assert listed.job_ids.to_pylist() == [2, 1]


def test_gzipped(tmp_path):
    write(tmp_path / "jobs.csv", pa.table(JOBS))
    packed = tmp_path / "jobs.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "jobs.csv").read_bytes()))
    same_jobs(load_job_file(packed), load_job_file(tmp_path / "jobs.csv"))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"submit_s": [25.5, 20.25, 26, 20.25]}, "submit_s: 26.0 is not allowed: the same in all"),
        ({"submit_s": [1, None, 1, 1]}, "submit_s: nan is not allowed: a number"),
        ({"instances": [1, 2, 0, 1]}, "instances: 0.0 is not allowed: from 1"),
        ({"instances": [1, 2.5, 1, 1]}, "instances: 2.5 is not allowed: a whole number"),
        ({"cpu": [1, 1, -1, 1]}, "cpu: -1.0 is not allowed: from 0 to 1,000,000"),
        ({"memory": [1, 1, None, 1]}, "memory: nan is not allowed"),
        ({"duration_s": [1, 1, 0, 1]}, "duration_s: 0.0 is not allowed: from 1e-06 s to"),
        ({"estimate_s": [1, 1, -2, 1]}, "estimate_s: -2.0 is not allowed: from 1e-06 s to"),
        ({"gpu": [1, 1, 2e6, 1]}, "gpu: 2000000.0 is not allowed"),
        ({"user": ["a", "b", "c", "b"]}, "user: 'c' is not allowed: the same in all rows of a job"),
        ({"gang": ["true", "no", "", ""]}, "gang: 'no' is not allowed: true or false"),
        ({"job": ["late", "", "late", "x"]}, "job: '' is not allowed: any name"),
        ({"task": ["a", "", "b", "c"]}, "task: '' is not allowed: any name"),
        ({"parents": ["", "", "x", ""]}, "parents: 'x' is not allowed: a task of the same job"),
        ({"task": ["map", "x", "b", "y"], "parents": ["", "", "mp", ""]}, "Did you mean 'map'"),
    ],
)
def test_bad_values(trace, columns, words):
    with pytest.raises(TraceError, match=rf"jobs\.\w+, (line [34]|row [23]): .*{words}"):
        load_job_file(trace(**columns))


def test_text_where_a_number_is_needed(trace):
    with pytest.raises(TraceError, match=r"(line 4|row 3): cpu: 'x' is not allowed: a number"):
        load_job_file(trace(cpu=["1", "2", "x", "4"]))


def test_a_circle_names_the_job(trace):
    with pytest.raises(TraceError, match=r"job 'late': its tasks wait .* circle: a, b, a"):
        load_job_file(trace(parents=["b", "", "a", ""]))


def test_bad_files(tmp_path):
    for ending in ("csv", "parquet"):
        path = tmp_path / f"jobs.{ending}"
        with pytest.raises(TraceError, match=rf"jobs.{ending}: does not exist"):
            load_job_file(path)
        with pytest.raises(TraceError, match="has no jobs"):
            load_job_file(write(path, pa.table(JOBS).slice(0, 0)))
        with pytest.raises(TraceError, match="column 'cpu' is missing: needed are job, submit_s"):
            load_job_file(write(path, pa.table(JOBS).drop_columns(["cpu"])))
        with pytest.raises(TraceError, match="column 'prio' is not allowed: only job, submit_s"):
            load_job_file(write(path, pa.table({**JOBS, "prio": [1, 2, 3, 4]})))


def test_names_that_cannot_be_parents():
    workload = tpch_like(1, 0)
    names = pa.array([f"stage {k}" for k in range(len(workload.instances))])
    with pytest.raises(TraceError, match=r"task 'stage \d+': .* has a space or ';' in it"):
        job_table(workload._replace(task_ids=names))


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    write_job_files(alibaba_like(2, 0), tmp_path / "trace")
    before = (tmp_path / "trace" / "jobs.parquet").read_bytes()

    def full(table, path, **options):
        path.write_bytes(b"half")
        raise OSError("full")

    monkeypatch.setattr(columns.pq, "write_table", full)
    with pytest.raises(CloudarenaError, match="cannot be written: full"):
        write_job_files(alibaba_like(2, 1), tmp_path / "trace")
    assert (tmp_path / "trace" / "jobs.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace"]
