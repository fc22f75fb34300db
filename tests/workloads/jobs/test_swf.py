"""Logs of the Parallel Workloads Archive."""

import gzip

import numpy as np
import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.jobs.swf import FIELDS, load_swf, scan_swf


def line(job, submit, run, allocated, requested=-1, estimate=-1, status=1, user=3, **other):
    """A line of a log, with -1 for what is not given."""
    values = dict.fromkeys(FIELDS, -1)
    values.update({"job number": job, "submit time": submit, "run time": run})
    values.update({"allocated processors": allocated, "requested processors": requested})
    values.update({"requested time": estimate, "status": status, "user": user})
    values.update({name.replace("_", " "): value for name, value in other.items()})
    return "  " + " ".join(str(values[name]) for name in FIELDS)


LINES = (
    "; Version: 2.2",
    ";  Computer: IBM SP2 Caf\xe9",
    "",
    line(1, 100, 50, 4, estimate=600, user=12),
    line(2, 90, 7.5, -1, requested=2, estimate=5, user=11, used_memory=1048576),
    line(3, 120, -1, 4),
    line(4, 120, 0, 4),
    line(5, 120, 9, 0, requested=-1),
    line(6, -1, 9, 1),
    line(7, 130, 9, 1, requested_memory=524288, used_memory=99),
    line(8, 130, 4, 1, status=2),
    line(8, 130, 5, 1, status=3),
    line(9, 140, 60, 64, status=5) + " ; cancelled",
)


@pytest.fixture
def log(tmp_path):
    """Writes a log and returns its path."""

    def build(*lines, name="log.swf"):
        path = tmp_path / name
        text = ("\n".join(lines) + "\n").encode("latin-1")
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path

    return build


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz", "log.txt"])
def test_by_hand(log, name):
    workload, reading = scan_swf(log(*LINES, name=name))
    assert workload.job_ids.to_pylist() == [2, 1, 7, 9]
    assert workload.submit.tolist() == [0, 10, 40, 50]
    assert workload.user.tolist() == [11, 12, 3, 3]
    assert workload.first_task.tolist() == [0, 1, 2, 3, 4]
    assert workload.task_ids.to_pylist() == [1, 1, 1, 1]
    assert workload.instances.tolist() == [2, 4, 1, 64]
    assert workload.gang.tolist() == [True, True, False, True]
    assert workload.duration.tolist() == [7.5, 50, 9, 60]
    # Job 2 ran longer than it had requested; jobs 7 and 9 had requested no time: the longest.
    assert workload.estimate.tolist() == [5, 600, 600, 600]
    assert workload.begin_s == 90
    assert workload.demand[:, 0].tolist() == [1, 1, 1, 1]
    assert workload.demand[:, 1].tolist() == [1, 0, 0.5, 0]
    assert workload.parents.size == 0
    assert reading._asdict() == {"jobs": 4, "skipped_jobs": 4, "partial_lines": 2}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("1 2 3", "has 3 columns: 18 are needed"),
        (line(2, 5, "long", 1), "run time: 'long' is not allowed: a number"),
        (line(2, "nan", 1, 1), "submit time: nan is not allowed: a number"),
        (line(2, 5, "inf", 1), "run time: inf is not allowed: a number"),
        (line(2, 5, 1, 1.5), "allocated processors: 1.5 is not allowed: a whole number"),
        (line(2, 5, 1e11, 1), "run time: 100000000000.0 is not allowed: from 1e-06 s to"),
        (line(2, 5, 1, 1, estimate=1e11), "requested time: 100000000000.0 is not allowed"),
    ],
)
def test_bad_lines(log, bad, words):
    with pytest.raises(TraceError, match=f"log.swf, line 4: {words}"):
        load_swf(log("; header", LINES[3], "; more", bad, LINES[4]))


def test_every_line_too_short(log):
    with pytest.raises(TraceError, match=r"log.swf, line 2: has 5 columns: 18 are needed"):
        load_swf(log("; header", "1 2 3 4 5", "1 2 3 4 5"))


def test_bad_files(log, tmp_path):
    with pytest.raises(TraceError, match=r"has no jobs$"):
        load_swf(log("; nothing here"))
    with pytest.raises(TraceError, match="has no jobs whose run time and processors are known"):
        load_swf(log(LINES[5]))
    with pytest.raises(TraceError, match="does not exist"):
        load_swf(tmp_path / "nowhere.swf")
    with pytest.raises(TraceError, match="is a folder"):
        load_swf(tmp_path)
    (tmp_path / "broken.swf.gz").write_bytes(b"no gzip")
    with pytest.raises(TraceError, match=r"broken.swf.gz: cannot be read"):
        load_swf(tmp_path / "broken.swf.gz")


def test_many_lines_stay_in_order(log):
    rng = np.random.default_rng(0)
    submit = rng.integers(0, 50, 300)
    lines = [line(k, when, 1 + k, 1) for k, when in enumerate(submit.tolist())]
    workload = load_swf(log(*lines))
    order = np.argsort(submit, kind="stable")
    assert workload.job_ids.to_pylist() == order.tolist()
    assert workload.duration.tolist() == (order + 1).tolist()
