"""``cloudarena trace`` for job traces."""

import json

import pyarrow.parquet as pq
import pytest

from cloudarena.workloads.jobs.deeprm import deeprm
from cloudarena.workloads.jobs.files import load_job_file

CLOUDSIMPY = (
    "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk\n"
    "5,10,1,0.1,1,M1,3,0\n5,10,1,0.1,1,R2_1_9,4,0\n9,10,1,0.1,2,M1,1,0\n"
)
ALIBABA = "M1,2,j_1,1,Terminated,5,9,100,1\nM1,2,j_2,1,Failed,5,9,100,1\n"
SWF = "; log\n1 0 -1 10 4 -1 -1 4 20 -1 1 3 -1 -1 -1 -1 -1 -1\n"
BORG = "".join(
    json.dumps(
        {
            "time": time,
            "type": kind,
            "collection_id": 1,
            "instance_index": 0,
            "resource_request": {"cpus": 0.5, "memory": 0.5},
        }
    )
    + "\n"
    for time, kind in ((10, 0), (20, 3), (1_000_020, 6))
)
OPENB = "name,cpu_milli,memory_mib,qos,creation_time,deletion_time\na,1000,1024,LS,0,900\n"
NEUTRAL = "job,submit_s,task,instances,cpu,memory,duration_s\n1,5,1,2,1,1,9\n2,6,1,2,1,1,9\n"


@pytest.mark.parametrize(
    ("name", "text", "summary"),
    [
        ("cloudsimpy-csv", CLOUDSIMPY, {"jobs": 2, "dropped_parents": 1, "written_instances": 8}),
        ("alibaba-2018", ALIBABA, {"jobs": 1, "rows_of_other_status": 1}),
        ("swf", SWF, {"jobs": 1, "skipped_jobs": 0, "written_instances": 4}),
        ("borg-2019", BORG, {"jobs": 1, "tasks": 1, "events": 3}),
        ("openb-jobs", OPENB, {"jobs": 1, "pods_that_never_ran": 0}),
        ("jobs", NEUTRAL, {"jobs": 2, "tasks": 2}),
    ],
)
def test_convert_and_describe(cloudarena, tmp_path, name, text, summary):
    trace, out = tmp_path / "trace.csv", tmp_path / "out"
    trace.write_text(text)
    where = ["--pods", trace] if name == "openb-jobs" else [trace]
    code, shown, err = cloudarena("trace", "convert", name, *where, "--out", out, "--json")
    assert (code, err) == (0, "")
    made = json.loads(shown)
    assert made.items() >= summary.items()
    assert made["out"] == str(out)
    code, shown, _ = cloudarena("trace", "describe", out, "--json")
    assert code == 0
    figures = json.loads(shown)[str(out)]
    assert figures["jobs"] == made["written_jobs"] == made["jobs"]
    for options in ([], ["--format", name]):
        code, shown, _ = cloudarena("trace", "describe", trace, *options, "--json")
        told = json.loads(shown)[str(trace)]
        # A table in the canonical format has all columns, and does not say who filled them.
        assert (code, {**told, "not_in_file": {}}) == (0, figures), options


def test_convert_some_jobs(cloudarena, tmp_path):
    (tmp_path / "trace.csv").write_text(NEUTRAL)
    code, out, _ = cloudarena(
        "trace", "convert", "jobs", tmp_path / "trace.csv", "--offset", 1, "--jobs", 5,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 0
    assert "jobs: 2" in out
    assert "written jobs: 1" in out
    table = pq.read_table(tmp_path / "out" / "jobs.parquet")
    assert table["job"].to_pylist() == [2]
    assert table["submit_s"].to_pylist() == [6]  # the clock of the file


def test_any_status(cloudarena, tmp_path):
    (tmp_path / "trace.csv").write_text(ALIBABA)
    code, out, _ = cloudarena(
        "trace", "convert", "alibaba-2018", tmp_path / "trace.csv", "--status", "any",
        "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["jobs"] == 2


@pytest.mark.parametrize("generator", ["alibaba-like", "lublin-feitelson", "deeprm", "tpch-like"])
def test_generate(cloudarena, tmp_path, generator):
    out = tmp_path / "out"
    code, shown, err = cloudarena(
        "trace", "generate", generator, "--jobs", 12, "--seed", 3, "--out", out, "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(shown)["written_jobs"] == 12
    code, shown, _ = cloudarena("trace", "describe", out)
    assert code == 0
    assert any(line.split() == ["jobs", "12"] for line in shown.splitlines())


def test_generate_gives_what_the_function_gives(cloudarena, tmp_path):
    cloudarena(
        "trace", "generate", "deeprm", "--jobs", 9, "--seed", 4, "--rate", 0.3,
        "--step-seconds", 10, "--out", tmp_path / "out",
    )  # fmt: skip
    made = load_job_file(tmp_path / "out" / "jobs.parquet")
    want = deeprm(9, 4, rate=0.3, step_seconds=10)
    assert made.submit.tolist() == want.submit.tolist()
    assert made.demand.tolist() == want.demand.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "alibaba-like", "--jobs", "0", "--out", "x"], "jobs: 0 is not allowed"),
        (["generate", "deeprm", "--jobs", "1", "--rate", "2", "--out", "x"], "rate: 2.0 is not"),
        (["convert", "swf", "no.swf", "--out", "x"], "no.swf: does not exist"),
        (["convert", "jobs", "no.csv", "--out", "x"], "no.csv: does not exist"),
    ],
)
def test_mistakes(cloudarena, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = cloudarena("trace", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "x").exists()


def test_what_a_log_does_not_tell_is_marked(cloudarena, tmp_path):
    trace = tmp_path / "log.swf"
    trace.write_text("; a log\n1 0 0 10 2 -1 -1 2 20 -1 1 7 1 -1 -1 -1 -1 -1\n")
    _, shown, _ = cloudarena("trace", "describe", trace, "jobs/toy", "--json")
    figures = json.loads(shown)
    assert set(figures[str(trace)]["not_in_file"]) == {"gang_tasks", "edges"}
    assert figures["jobs/toy"]["not_in_file"] == {}
    _, shown, _ = cloudarena("trace", "describe", "jobs/alibaba-like-1000", "--seed", 5, "--json")
    (figures,) = json.loads(shown).values()
    words = {"all": "drawn by the generator alibaba-like under seed 5"}
    assert figures["not_in_file"] == words
